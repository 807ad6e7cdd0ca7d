//! Which memories a text is about, by its words.

use super::Topic;
use crate::recall::terms as words;
use std::collections::{BTreeSet, HashMap};

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
    fn overlap_is_the_share_of_common_words() {
        let set = |text: &str| words(text).into_iter().collect::<BTreeSet<_>>();
        assert!((overlap(&set("one two three four"), &set("one two three four")) - 1.0).abs() < 1e-9);
        assert!((overlap(&set("one two three four"), &set("one two three five")) - 0.6).abs() < 1e-9);
        assert!(overlap(&set("one"), &set("one")).abs() < 1e-9);
    }
}
