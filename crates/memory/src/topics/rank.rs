//! Which memories a text is about, by its words.

use super::Topic;
use rust_stemmers::{Algorithm, Stemmer};
use std::collections::{BTreeSet, HashMap};

/// Words that say nothing about a subject. Negations are not among them: they do.
const STOP: [&str; 62] = [
    "a", "about", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by",
    "can", "could", "did", "do", "does", "for", "from", "had", "has", "have", "how", "i", "if", "in", "into",
    "is", "it", "its", "me", "my", "of", "on", "or", "our", "she", "he", "so", "some", "than", "that", "the",
    "their", "them", "then", "there", "these", "they", "this", "to", "was", "we", "what", "when", "which",
    "with", "you", "your",
];

/// The words of a text: in lower case, English ones by their stem; parts of identifiers; pairs of characters where a script has no spaces.
pub(super) fn words(text: &str) -> Vec<String> {
    let stemmer = Stemmer::create(Algorithm::English);
    let mut words = Vec::new();
    let mut word = String::new();
    let mut unspaced: Vec<char> = Vec::new();
    let mut was_lower = false;
    for c in text.chars().chain([' ']) {
        let breaks_camel = c.is_uppercase() && was_lower;
        was_lower = c.is_lowercase();
        let is_unspaced = is_unspaced(c);
        if !c.is_alphanumeric() || breaks_camel || is_unspaced {
            end_word(&mut word, &stemmer, &mut words);
        }
        if !is_unspaced {
            end_unspaced(&mut unspaced, &mut words);
        }
        if is_unspaced {
            unspaced.push(c);
        } else if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
    }
    words
}

fn end_word(word: &mut String, stemmer: &Stemmer, words: &mut Vec<String>) {
    if !word.is_empty() && !STOP.contains(&word.as_str()) {
        words.push(stemmer.stem(word).into_owned());
    }
    word.clear();
}

fn end_unspaced(run: &mut Vec<char>, words: &mut Vec<String>) {
    match run.as_slice() {
        [] => {}
        [one] => words.push(one.to_string()),
        run => words.extend(run.windows(2).map(|pair| pair.iter().collect::<String>())),
    }
    run.clear();
}

/// Scripts that are written without spaces: Chinese, Japanese, Thai and neighbours.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// How much more a word counts in the name and in the description than in the body.
const NAME: f64 = 3.0;
const DESCRIPTION: f64 = 2.0;
/// The usual constants of BM25: how soon repetition stops counting, and how much length counts.
const K1: f64 = 1.2;
const B: f64 = 0.6;

/// Scores topics against a query by BM25 over weighted fields. Those that share no word with it have no place in the result.
pub(super) fn rank(query: &str, topics: Vec<Topic>) -> Vec<(Topic, f64)> {
    let query: BTreeSet<String> = words(query).into_iter().collect();
    if query.is_empty() || topics.is_empty() {
        return Vec::new();
    }
    let counted: Vec<Counted> = topics.iter().map(|topic| Counted::of(topic, &query)).collect();
    let count = counted.len() as f64;
    let mean = (counted.iter().map(|topic| topic.length).sum::<f64>() / count).max(1.0);
    let weight = |word: &String| {
        let having = counted.iter().filter(|topic| topic.weights.contains_key(word)).count() as f64;
        (1.0 + (count - having + 0.5) / (having + 0.5)).ln()
    };
    let weights: HashMap<&String, f64> = query.iter().map(|word| (word, weight(word))).collect();
    let score = |topic: &Counted| -> f64 {
        let norm = K1 * (1.0 - B + B * topic.length / mean);
        let part = |(word, weight): (&String, &f64)| {
            weights.get(word).copied().unwrap_or(0.0) * weight * (K1 + 1.0) / (weight + norm)
        };
        topic.weights.iter().map(part).sum()
    };
    let scores: Vec<f64> = counted.iter().map(score).collect();
    let mut ranked: Vec<(Topic, f64)> =
        topics.into_iter().zip(scores).filter(|(_, score)| *score > 0.0).collect();
    // Of equals the newer one comes first.
    ranked.sort_by(|(a, x), (b, y)| {
        y.total_cmp(x).then_with(|| b.modified.cmp(&a.modified)).then_with(|| a.file.cmp(&b.file))
    });
    ranked
}

/// A topic, in words of the query.
struct Counted {
    weights: HashMap<String, f64>,
    length: f64,
}

impl Counted {
    fn of(topic: &Topic, query: &BTreeSet<String>) -> Self {
        let mut counted = Self { weights: HashMap::new(), length: 0.0 };
        let fields = [(NAME, &topic.name), (DESCRIPTION, &topic.description), (1.0, &topic.body)];
        for (weight, text) in fields {
            for word in words(text) {
                counted.length += weight;
                if query.contains(&word) {
                    *counted.weights.entry(word).or_default() += weight;
                }
            }
        }
        counted
    }
}

/// The share of words that two texts have in common at which they say the same.
const SAME: f64 = 0.8;
/// Texts with fewer words than this are not compared: they overlap by chance.
const FEWEST: usize = 4;

/// A text, ready to be compared with many.
pub(super) struct Fingerprint {
    name: Vec<String>,
    description: BTreeSet<String>,
    body: BTreeSet<String>,
}

impl Fingerprint {
    /// Of a memory's parts.
    pub(super) fn of(name: &str, description: &str, body: &str) -> Self {
        let set = |text: &str| words(text).into_iter().collect();
        Self { name: words(name), description: set(description), body: set(body) }
    }

    /// Whether two memories have one name, or say much the same.
    pub(super) fn is_near(&self, other: &Self) -> bool {
        (!self.name.is_empty() && self.name == other.name)
            || overlap(&self.description, &other.description) >= SAME
            || overlap(&self.body, &other.body) >= SAME
    }
}

fn overlap(a: &BTreeSet<String>, b: &BTreeSet<String>) -> f64 {
    if a.len() < FEWEST || b.len() < FEWEST {
        return 0.0;
    }
    let common = a.intersection(b).count() as f64;
    common / (a.len() + b.len()) as f64 / (1.0 - common / (a.len() + b.len()) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_stems_parts_of_names_and_pairs_of_characters() {
        assert_eq!(words("Running the tests"), ["run", "test"]);
        assert_eq!(words("parseHttpRequest snake_case"), ["pars", "http", "request", "snake", "case"]);
        assert_eq!(words("部署日期 v2"), ["部署", "署日", "日期", "v2"]);
        assert_eq!(words("Über Größe"), ["über", "größe"]);
        assert!(words("").is_empty());
    }

    #[test]
    fn overlap_is_the_share_of_common_words() {
        let set = |text: &str| words(text).into_iter().collect::<BTreeSet<_>>();
        assert!((overlap(&set("one two three four"), &set("one two three four")) - 1.0).abs() < 1e-9);
        assert!((overlap(&set("one two three four"), &set("one two three five")) - 0.6).abs() < 1e-9);
        assert!(overlap(&set("one"), &set("one")).abs() < 1e-9);
    }
}
