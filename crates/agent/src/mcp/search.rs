//! Which tools fit words.

use super::catalogue::Entry;
use std::collections::{HashMap, HashSet};

/// A word of the name weighs as much as this many of the description.
const NAME: f64 = 3.0;
/// A word that only begins like the one that is looked for.
const BEGINNING: f64 = 0.5;
/// Beginnings shorter than this are chance.
const SHORTEST: usize = 3;

/// The entries that share words with the query, best first. Rare words weigh more; a word counts once. Ties go by name.
pub(super) fn rank<'a>(query: &str, entries: impl Iterator<Item = &'a Entry>) -> Vec<&'a Entry> {
    let wanted: HashSet<String> = words(query).into_iter().filter(|word| word != "mcp").collect();
    let documents: Vec<(&Entry, HashSet<String>, HashSet<String>)> = entries
        .map(|entry| {
            let name = words(&format!("{} {}", entry.server, entry.tool_name())).into_iter().collect();
            (entry, name, words(&entry.tool.description).into_iter().collect())
        })
        .collect();
    let mut frequency: HashMap<&str, usize> = HashMap::new();
    for (_, name, description) in &documents {
        for word in name.union(description) {
            *frequency.entry(word).or_default() += 1;
        }
    }
    let total = documents.len();
    #[expect(clippy::cast_precision_loss, reason = "thousands of tools at most")]
    let rarity = |word: &str| {
        let count = frequency.get(word).copied().unwrap_or_default();
        (1.0 + (total as f64 + 1.0) / (count as f64 + 1.0)).ln()
    };
    let fit = |word: &str, among: &HashSet<String>| {
        if among.contains(word) {
            return rarity(word);
        }
        let alike = among.iter().filter(|other| {
            word.len().min(other.len()) >= SHORTEST
                && (other.starts_with(word) || word.starts_with(other.as_str()))
        });
        alike.map(|other| BEGINNING * rarity(other)).fold(0.0, f64::max)
    };
    let mut ranked: Vec<(f64, &Entry)> = documents
        .iter()
        .map(|(entry, name, description)| {
            let score: f64 =
                wanted.iter().map(|word| (NAME * fit(word, name)).max(fit(word, description))).sum();
            (score, *entry)
        })
        .filter(|(score, _)| *score > 0.0)
        .collect();
    ranked.sort_by(|(a, left), (b, right)| b.total_cmp(a).then_with(|| left.name.cmp(&right.name)));
    ranked.into_iter().map(|(_, entry)| entry).collect()
}

/// The words of a text, in small letters: runs of letters and digits, also within `camelCase` and `snake_case`.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut was_small = false;
    for part in text.chars() {
        if !part.is_alphanumeric() || (part.is_uppercase() && was_small) {
            words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
        }
        if part.is_alphanumeric() {
            word.extend(part.to_lowercase());
        }
        was_small = part.is_lowercase() || part.is_numeric();
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_names_of_any_case() {
        assert_eq!(
            words("createPullRequest list_issues HTTPServer v2"),
            ["create", "pull", "request", "list", "issues", "httpserver", "v2"]
        );
    }
}
