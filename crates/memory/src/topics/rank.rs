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
