//! What is known of words beforehand, as data: which mean the same, which are near each other, which say little.

use aho_corasick::{AhoCorasick, MatchKind};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::LazyLock;
use throughline_lexer::Stemmer;

const ALIASES: &str = include_str!("data/aliases.txt");
const RELATED: &str = include_str!("data/related.txt");
const COMMON: &str = include_str!("data/common.txt");
const TOOLS: &str = include_str!("data/tools.txt");
const EMPTY: &str = include_str!("data/common_zh.txt");

/// How much a word says, whatever the folder at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Telling {
    /// As much as the folder says.
    Much,
    /// It names a language or a tool, which a project is full of.
    Some,
    /// Requests are full of it, whatever they are about.
    Little,
}

/// Changes with the tables that texts are read by: what was indexed under others is read anew.
pub(crate) fn version() -> u32 {
    let mut hasher = blake3::Hasher::new();
    for table in [ALIASES, EMPTY] {
        hasher.update(table.as_bytes());
    }
    let bytes = hasher.finalize();
    bytes.as_bytes().iter().take(3).fold(0, |sum, byte| sum << 8 | u32::from(*byte))
}

pub(super) static TABLES: LazyLock<Tables> = LazyLock::new(Tables::read);

pub(super) struct Tables {
    /// From a stem to the term that stands for it.
    words: HashMap<String, String>,
    /// From two stems in a row to the term that stands for them.
    pub(super) phrases: HashMap<String, HashMap<String, String>>,
    /// Finds words of scripts without spaces; `None` only if the table can't be built.
    unspaced: Option<AhoCorasick>,
    /// For each of them its term, or that it says nothing.
    unspaced_terms: Vec<Option<String>>,
    near: HashMap<String, Vec<String>>,
    common: HashSet<String>,
    tools: HashSet<String>,
}

impl Tables {
    fn read() -> Self {
        let mut stemmer = Stemmer::default();
        let mut words = HashMap::new();
        let mut phrases: HashMap<String, HashMap<String, String>> = HashMap::new();
        let mut unspaced: Vec<(&str, Option<String>)> = Vec::new();
        let mut stem = |word: &str| stemmer.stem(&word.to_lowercase()).to_owned();
        for row in rows(ALIASES) {
            let Some((first, others)) = row.split_once(':') else { continue };
            let is_phrase = first.contains('-');
            let term = if is_phrase { first.to_owned() } else { stem(first) };
            let itself = is_phrase.then_some(first);
            for alias in others.split_whitespace().chain(itself) {
                if !alias.is_ascii() {
                    unspaced.push((alias, Some(term.clone())));
                } else if let Some((one, two)) = alias.split_once('-') {
                    phrases.entry(stem(one)).or_default().insert(stem(two), term.clone());
                } else {
                    words.insert(stem(alias), term.clone());
                }
            }
        }
        unspaced.extend(rows(EMPTY).flat_map(str::split_whitespace).map(|word| (word, None)));
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(unspaced.iter().map(|(word, _)| word))
            .ok();
        let unspaced_terms = unspaced.into_iter().map(|(_, term)| term).collect();
        let mut canonical = |word: &str| {
            let stem = if word.contains('-') { word.to_owned() } else { stem(word) };
            words.get(&stem).cloned().unwrap_or(stem)
        };
        let (near, common, tools) = known_words(&mut canonical);
        Self { words, phrases, unspaced: automaton, unspaced_terms, near, common, tools }
    }

    /// The term that stands for a stem.
    pub(super) fn canonical<'a>(&'a self, stem: &'a str) -> &'a str {
        self.words.get(stem).map_or(stem, String::as_str)
    }

    /// Terms that are near a term.
    pub(super) fn near(&self, term: &str) -> &[String] {
        self.near.get(term).map_or(&[], Vec::as_slice)
    }

    /// How much a term says.
    pub(super) fn telling(&self, term: &str) -> Telling {
        if self.common.contains(term) {
            Telling::Little
        } else if self.tools.contains(term) {
            Telling::Some
        } else {
            Telling::Much
        }
    }

    /// Words of the tables in a text without spaces, each with its term, or that it says nothing.
    pub(super) fn unspaced_words<'a>(&'a self, text: &str) -> Vec<(Range<usize>, Option<&'a str>)> {
        let Some(automaton) = self.unspaced.as_ref().filter(|_| !text.is_ascii()) else { return Vec::new() };
        let term = |n: usize| self.unspaced_terms.get(n).and_then(Option::as_deref);
        automaton.find_iter(text).map(|hit| (hit.range(), term(hit.pattern().as_usize()))).collect()
    }
}

type Known = (HashMap<String, Vec<String>>, HashSet<String>, HashSet<String>);

/// The tables of words that are near each other, that say little, and that name tools.
fn known_words(canonical: &mut impl FnMut(&str) -> String) -> Known {
    let mut near: HashMap<String, Vec<String>> = HashMap::new();
    for row in rows(RELATED) {
        let group: Vec<String> = row.split_whitespace().map(&mut *canonical).collect();
        for one in &group {
            let known = near.entry(one.clone()).or_default();
            for other in &group {
                if other != one && !known.contains(other) {
                    known.push(other.clone());
                }
            }
        }
    }
    let mut set = |table| rows(table).flat_map(str::split_whitespace).map(&mut *canonical).collect();
    (near, set(COMMON), set(TOOLS))
}

fn rows(table: &'static str) -> impl Iterator<Item = &'static str> {
    table.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_the_tables_stands_in_one_row() {
        let mut seen = HashSet::new();
        for row in rows(ALIASES) {
            let (first, others) = row.split_once(':').expect("a colon behind the first word");
            for word in others.split_whitespace().chain([first]) {
                assert!(seen.insert(word), "{word} stands twice");
            }
        }
        assert!(seen.len() > 1_000);
        assert!(rows(ALIASES).is_sorted_by_key(|row| row.split(':').next()));
        assert!(rows(RELATED).is_sorted());
    }

    #[test]
    fn near_words_are_near_both_ways_and_common_words_say_little() {
        let tables = &*TABLES;
        assert!(tables.near("deploi").is_empty() && tables.near("deploy").contains(&"ship".to_owned()));
        assert!(tables.near("ship").contains(&"deploy".to_owned()));
        assert_eq!(tables.telling("fix"), Telling::Little);
        assert_eq!(tables.telling("rust"), Telling::Some);
        assert_eq!(tables.telling("watermark"), Telling::Much);
    }
}
