//! BM25 by the book: what everybody would do first.

use std::collections::{BTreeSet, HashMap};

const K1: f64 = 1.2;
const B: f64 = 0.75;

/// Documents, counted.
pub(crate) struct Plain {
    documents: Vec<HashMap<String, f64>>,
    lengths: Vec<f64>,
    holders: HashMap<String, f64>,
    mean: f64,
}

/// Words in lower case, as they stand; characters of scripts without spaces one by one.
fn words(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut word = String::new();
    for c in text.chars().flat_map(char::to_lowercase).chain([' ']) {
        let is_han = ('\u{3400}'..='\u{9fff}').contains(&c);
        if (!c.is_alphanumeric() && c != '_') || is_han {
            if !word.is_empty() {
                all.push(std::mem::take(&mut word));
            }
            if is_han {
                all.push(c.to_string());
            }
        } else {
            word.push(c);
        }
    }
    all
}

impl Plain {
    pub(crate) fn of<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let mut plain =
            Self { documents: Vec::new(), lengths: Vec::new(), holders: HashMap::new(), mean: 0.0 };
        for text in texts {
            let mut counts: HashMap<String, f64> = HashMap::new();
            let words = words(text);
            plain.lengths.push(words.len() as f64);
            words.into_iter().for_each(|word| *counts.entry(word).or_default() += 1.0);
            counts.keys().for_each(|word| *plain.holders.entry(word.clone()).or_default() += 1.0);
            plain.documents.push(counts);
        }
        plain.mean = plain.lengths.iter().sum::<f64>() / plain.lengths.len().max(1) as f64;
        plain
    }

    /// Documents that share a word with a query, best first.
    pub(crate) fn search(&self, query: &str) -> Vec<usize> {
        let query: BTreeSet<String> = words(query).into_iter().collect();
        let all = self.documents.len() as f64;
        let score = |n: usize| -> f64 {
            let norm = K1 * (1.0 - B + B * self.lengths[n] / self.mean.max(1.0));
            let part = |word: &String| {
                let (Some(count), Some(holders)) = (self.documents[n].get(word), self.holders.get(word))
                else {
                    return 0.0;
                };
                let rarity = (1.0 + (all - holders + 0.5) / (holders + 0.5)).ln();
                rarity * count * (K1 + 1.0) / (count + norm)
            };
            query.iter().map(part).sum()
        };
        let mut ranked: Vec<(usize, f64)> =
            (0..self.documents.len()).map(|n| (n, score(n))).filter(|(_, score)| *score > 0.0).collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        ranked.into_iter().map(|(n, _)| n).collect()
    }
}
