//! How well a memory fits a request, by its words (B1).
//!
//! BM25 over weighted fields. Three things are different from the book. A folder of twenty memories can't tell which words are rare, so
//! tables say beforehand which are not. A word that is near one of the request counts in its place, but less. And scores are
//! measured in rare words: **1 is one rare word of the request, once in the body**, in a folder of any size, so that one floor
//! serves all.

use super::query::{Query, Reach, Word};
use super::tables::{TABLES, Telling};
use super::words::{Sort, each_term};
use crate::topics::Topic;
use std::collections::{BTreeMap, HashMap};

/// What a word counts by where it stands.
const NAME: f32 = 2.5;
const DESCRIPTION: f32 = 1.7;
const BODY: f32 = 1.0;
/// The words that it was made of, and the places that it is about.
const AROUND: f32 = 0.5;

/// How soon more of the same word stops to count.
const SATURATION: f32 = 1.0;
/// How much a long memory is held against itself …
const LENGTH: f32 = 0.3;
/// … against one of so many words …
const USUAL: f32 = 64.0;
/// … up to so many times that.
const LONGEST: f32 = 4.0;

/// What a word that is near one of the request counts of it.
const NEAR: f32 = 0.35;
/// What a word counts that differs from one of the request by a slip of the finger.
const MISSPELT: f32 = 0.7;
/// What a whole name counts beside its parts.
const WHOLE: f32 = 0.5;
/// In how many requests a word is, at least, that they are full of; and one that names a tool.
const COMMON: f64 = 0.25;
const TOOL: f64 = 0.12;
/// A smaller folder says no more about which words are rare than one of this size.
const FEW: u64 = 30;

/// Changes with what is kept of a memory's words.
pub(crate) const VERSION: u32 = 1;

/// A memory's words.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Indexed {
    /// What each term counts in it.
    pub(crate) terms: BTreeMap<String, f32>,
    /// English words as they were typed, with their terms: what slips of the finger are compared with.
    pub(crate) spellings: BTreeMap<String, String>,
}

/// Shorter words are not compared letter by letter.
const SHORTEST_SPELLING: usize = 5;
const LONGEST_SPELLING: usize = 24;

impl Indexed {
    pub(crate) fn of(topic: &Topic) -> Self {
        let mut fields =
            vec![(topic.name.as_str(), NAME), (&topic.description, DESCRIPTION), (&topic.body, BODY)];
        fields.extend(topic.meta.sources.iter().map(|source| (source.quote.as_str(), AROUND)));
        let anchors: Vec<String> = topic.meta.anchors.iter().map(ToString::to_string).collect();
        fields.extend(anchors.iter().map(|anchor| (anchor.as_str(), AROUND)));
        Self::of_fields(&fields)
    }

    /// The words of some texts, each with what a word in it counts: 1 as in a body.
    pub(crate) fn of_fields(fields: &[(&str, f32)]) -> Self {
        let mut indexed = Self::default();
        let mut length = 0.0;
        let mut read = |text: &str, weight: f32| {
            each_term(text, |term| {
                *indexed.terms.entry(term.text.to_owned()).or_default() += weight;
                if term.sort != Sort::Name {
                    length += weight;
                }
                if term.sort == Sort::Word
                    && let Some(typed) = text.get(term.from..term.to)
                    && is_spelling(typed)
                {
                    indexed.spellings.insert(typed.to_lowercase(), term.text.to_owned());
                }
            });
        };
        fields.iter().for_each(|(text, weight)| read(text, *weight));
        let norm = 1.0 - LENGTH + LENGTH * (length / USUAL).min(LONGEST);
        indexed.terms.values_mut().for_each(|weight| *weight /= norm);
        indexed
    }
}

/// Whether a word may be compared letter by letter.
pub(crate) fn is_spelling(typed: &str) -> bool {
    (SHORTEST_SPELLING..=LONGEST_SPELLING).contains(&typed.len())
        && typed.bytes().all(|b| b.is_ascii_alphabetic())
}

/// Whether two words differ by one slip of the finger: a letter too many, too few, another one, or two exchanged.
pub(crate) fn is_slip(a: &str, b: &str) -> bool {
    let (a, b) = if a.len() <= b.len() { (a.as_bytes(), b.as_bytes()) } else { (b.as_bytes(), a.as_bytes()) };
    if b.len() - a.len() > 1 || a == b {
        return false;
    }
    let from = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[from..], &b[from..]);
    if a.len() < b.len() {
        return a == &b[1..];
    }
    match (a, b) {
        ([x, y, rest_a @ ..], [u, v, rest_b @ ..]) if x == v && y == u && rest_a == rest_b => true,
        ([_, rest_a @ ..], [_, rest_b @ ..]) => rest_a == rest_b,
        _ => false,
    }
}

/// What is known of the words of a request in all folders together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Holders {
    /// Memories that there are.
    pub(crate) memories: u64,
    /// Of each term, how many have it; those that none has may be missing.
    pub(crate) of: HashMap<String, u64>,
    /// For words that no memory has, terms that are spelt nearly like them.
    pub(crate) respelt: HashMap<String, Vec<String>>,
}

impl Holders {
    fn count(&self, term: &str) -> u64 {
        self.of.get(term).copied().unwrap_or(0)
    }

    /// How rare a term is; 1 if one memory has it.
    fn rarity(&self, term: &str, telling: Telling) -> f32 {
        let all = self.memories.max(FEW) as f64 + 1.0;
        let beforehand = match telling {
            Telling::Much => 0.0,
            Telling::Some => TOOL,
            Telling::Little => COMMON,
        };
        let rarity = |share: f64| (1.0 + 1.0 / share).ln() - std::f64::consts::LN_2;
        let share = (self.count(term) as f64 + 0.5) / all;
        (rarity(share.max(beforehand)).max(0.0) / rarity(1.5 / all)) as f32
    }
}

/// The terms that a request looks for, besides its own: near ones, and those that its words may be slips of.
pub(crate) fn sought(query: &Query) -> Vec<&str> {
    let mut all: Vec<&str> = query.words.iter().map(|word| word.term.as_str()).collect();
    for word in query.words.iter().filter(|word| counts_near(query, word)) {
        all.extend(TABLES.near(&word.term).iter().map(String::as_str));
    }
    all.sort_unstable();
    all.dedup();
    all
}

fn counts_near(query: &Query, word: &Word) -> bool {
    query.reach == Reach::Near && word.sort == Sort::Word
}

/// A request, ready to be held against memories.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    /// The terms that count, with how many memories hold each, the rarest first.
    pub(crate) terms: Vec<(String, u64)>,
    /// For each word of the request, the terms that may stand for it and what they count.
    features: Vec<Vec<(usize, f32)>>,
    /// What a memory reaches that is about every word of the request.
    pub(crate) attainable: f32,
}

/// What a word counts in a memory that is about it: it stands in the name, in the description and in the body.
const ABOUT: f32 = 1.7;

impl Plan {
    pub(crate) fn of(query: &Query, holders: &Holders) -> Self {
        let mut plan = Self::default();
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut options: Vec<Vec<(String, f32)>> = Vec::new();
        for word in &query.words {
            let itself = holders.rarity(&word.term, word.telling);
            if word.sort != Sort::Name {
                plan.attainable += itself * ABOUT;
            }
            let mut feature: Vec<(String, f32)> = Vec::new();
            if holders.count(&word.term) > 0 {
                let share = if word.sort == Sort::Name { WHOLE } else { 1.0 };
                feature.push((word.term.clone(), itself * share));
            }
            if counts_near(query, word) {
                for near in TABLES.near(&word.term).iter().filter(|near| !query.has(near)) {
                    let value = itself.min(holders.rarity(near, TABLES.telling(near)));
                    feature.push((near.clone(), value * NEAR));
                }
            }
            for term in holders.respelt.get(&word.term).into_iter().flatten() {
                feature.push((term.clone(), holders.rarity(term, TABLES.telling(term)) * MISSPELT));
            }
            feature.retain(|(term, value)| *value > 0.0 && holders.count(term) > 0);
            if !feature.is_empty() {
                options.push(feature);
            }
        }
        let mut terms: Vec<(String, u64)> =
            options.iter().flatten().map(|(term, _)| (term.clone(), holders.count(term))).collect();
        terms.sort_unstable_by(|a, b| a.1.cmp(&b.1).then_with(|| a.0.cmp(&b.0)));
        terms.dedup();
        for (place, (term, _)) in terms.iter().enumerate() {
            places.insert(term.clone(), place);
        }
        let placed = |(term, value): (String, f32)| Some((*places.get(&term)?, value));
        plan.features =
            options.into_iter().map(|feature| feature.into_iter().filter_map(placed).collect()).collect();
        plan.terms = terms;
        plan
    }

    /// How well a memory fits that has these weights of the plan's terms, in their order; 0 if it has none.
    pub(crate) fn fit(&self, weights: &[f32]) -> f32 {
        let count = |&(place, value): &(usize, f32)| {
            let weight = weights.get(place).copied().unwrap_or(0.0);
            value * weight * (SATURATION + 1.0) / (weight + SATURATION)
        };
        self.features.iter().map(|feature| feature.iter().map(count).fold(0.0, f32::max)).sum()
    }

    /// How many words of the request some memory speaks of.
    pub(crate) fn breadth(&self) -> usize {
        self.features.len()
    }

    /// The weights of the plan's terms in a memory.
    pub(crate) fn weights(&self, indexed: &Indexed) -> Vec<f32> {
        self.terms.iter().map(|(term, _)| indexed.terms.get(term).copied().unwrap_or(0.0)).collect()
    }
}

/// How well each of some texts fits a request, and what one would reach that is about every word of it. 0: it has nothing to do with it.
pub(crate) fn fits(request: &str, reach: Reach, all: &[Indexed]) -> (Vec<f32>, f32) {
    let query = Query::of(request, reach);
    let plan = Plan::of(&query, &holders(&query, all));
    (all.iter().map(|one| plan.fit(&plan.weights(one))).collect(), plan.attainable)
}

/// Ranks memories that are at hand, best first; those that have nothing to do with the request are left out.
pub(crate) fn rank(request: &str, topics: Vec<Topic>) -> Vec<(Topic, f64)> {
    let indexed: Vec<Indexed> = topics.iter().map(Indexed::of).collect();
    let (scores, _) = fits(request, Reach::Own, &indexed);
    let mut ranked: Vec<(Topic, f64)> =
        topics.into_iter().zip(scores.into_iter().map(f64::from)).filter(|(_, score)| *score > 0.0).collect();
    // Of equals the newer one comes first.
    ranked.sort_by(|(a, x), (b, y)| {
        y.total_cmp(x).then_with(|| b.modified.cmp(&a.modified)).then_with(|| a.file.cmp(&b.file))
    });
    ranked
}

/// How many of these memories have each word that is looked for.
fn holders(query: &Query, all: &[Indexed]) -> Holders {
    let count = |term: &str| all.iter().filter(|one| one.terms.contains_key(term)).count() as u64;
    let mut holders = Holders { memories: all.len() as u64, ..Holders::default() };
    for term in sought(query) {
        holders.of.insert(term.to_owned(), count(term));
    }
    let unknown = query.words.iter().filter(|word| holders.of.get(&word.term).is_none_or(|n| *n == 0));
    let mut respelt = HashMap::new();
    for word in unknown.filter(|word| may_be_slip(word)) {
        let mut terms: Vec<String> = all
            .iter()
            .flat_map(|one| &one.spellings)
            .filter(|(typed, _)| is_slip(typed, &word.typed))
            .map(|(_, term)| term.clone())
            .collect();
        terms.sort_unstable();
        terms.dedup();
        respelt.insert(word.term.clone(), terms);
    }
    for term in respelt.values().flatten() {
        holders.of.insert(term.clone(), count(term));
    }
    holders.respelt = respelt;
    holders
}

/// Whether a word that no memory has may be one that was mistyped.
pub(crate) fn may_be_slip(word: &Word) -> bool {
    word.sort == Sort::Word && word.telling == Telling::Much && is_spelling(&word.typed)
}
