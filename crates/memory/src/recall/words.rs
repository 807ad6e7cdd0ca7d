//! From text to the terms that memories are found by.
//!
//! The lexer that search uses reads the text; on top of it, words of coding that mean the same become one term, in English and
//! Chinese: `k8s` is `kubernetes`, 部署 is `deploy`. Chinese is cut along the words that the tables know, and in pairs of characters
//! where they know none.

use aho_corasick::{AhoCorasick, MatchKind};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::LazyLock;
use throughline_lexer::{Kind, Lexer, Stemmer, is_stopword};

const ALIASES: &str = include_str!("data/aliases.txt");
const COMMON: &str = include_str!("data/common.txt");
const EMPTY: &str = include_str!("data/common_zh.txt");

/// A term of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Term<'a> {
    /// What it is found by.
    pub(crate) text: &'a str,
    /// What sort it is.
    pub(crate) sort: Sort,
    /// Where it stands in the text, in bytes.
    pub(crate) from: usize,
    /// Where it ends.
    pub(crate) to: usize,
}

/// What sort of term it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    /// A word, or a part of a name.
    Word,
    /// A whole identifier, path or version, as it was written.
    Name,
    /// Two characters of a script without spaces, where no table knows the word.
    Pair,
}

thread_local! {
    /// Stems are remembered: text repeats its words.
    static STEMMER: RefCell<Stemmer> = RefCell::new(Stemmer::default());
}

/// Gives every term of a text, in order.
pub(crate) fn each_term(text: &str, mut found: impl FnMut(Term<'_>)) {
    STEMMER.with_borrow_mut(|stemmer| read(text, stemmer, &mut found));
}

/// The terms of a text, words and names as they come.
pub(crate) fn terms(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    each_term(text, |term| all.push(term.text.to_owned()));
    all
}

fn read(text: &str, stemmer: &mut Stemmer, found: &mut impl FnMut(Term<'_>)) {
    let tables = &*TABLES;
    let known = tables.unspaced_words(text);
    let mut known = known.iter().peekable();
    let mut covered: Range<usize> = 0..0;
    let mut before: Option<(String, usize)> = None;
    let mut lexer = Lexer::new(text, stemmer);
    while lexer.next_chunk() {
        let tokens = lexer.tokens();
        let lone = matches!(tokens, [one] if one.kind == Kind::Unigram);
        for token in tokens {
            while let Some((range, term)) = known.next_if(|(range, _)| range.start <= token.from) {
                if let Some(term) = term {
                    found(Term { text: term, sort: Sort::Word, from: range.start, to: range.end });
                }
                covered = range.clone();
            }
            let (from, to) = (token.from, token.to);
            let next = known.peek().map_or(usize::MAX, |(range, _)| range.start);
            let is_known = from < covered.end || to > next;
            let word = lexer.text(token);
            let sort = match token.kind {
                Kind::Leaf | Kind::Alias => {
                    let typed = text.get(from..to).unwrap_or_default().to_lowercase();
                    let is_letter = matches!(word.as_bytes(), [one] if one.is_ascii_alphabetic());
                    let is_empty = is_stopword(&typed) || is_letter;
                    if !is_empty {
                        found(Term { text: tables.canonical(word), sort: Sort::Word, from, to });
                    }
                    if token.kind == Kind::Leaf {
                        let pair = before.as_ref().and_then(|(first, start)| {
                            Some((tables.phrases.get(first.as_str())?.get(word)?, *start))
                        });
                        if let Some((term, start)) = pair {
                            found(Term { text: term, sort: Sort::Word, from: start, to });
                        }
                        before = Some((word.to_owned(), from));
                    }
                    continue;
                }
                Kind::Span => Sort::Name,
                Kind::Bigram if is_known => continue,
                Kind::Bigram => Sort::Pair,
                Kind::Unigram if lone && !is_known => Sort::Pair,
                Kind::Unigram | Kind::Mark => continue,
            };
            found(Term { text: word, sort, from, to });
        }
    }
}

/// Whether a term is so common in requests that it says little in a small folder.
pub(crate) fn is_common(term: &str) -> bool {
    TABLES.common.contains(term)
}

/// Changes with the tables: what was indexed under others is read anew.
pub(crate) fn tables_version() -> i64 {
    let mut hasher = blake3::Hasher::new();
    for table in [ALIASES, EMPTY] {
        hasher.update(table.as_bytes());
    }
    let bytes = hasher.finalize();
    bytes.as_bytes().iter().take(4).fold(0, |sum, byte| sum << 8 | i64::from(*byte))
}

static TABLES: LazyLock<Tables> = LazyLock::new(Tables::read);

struct Tables {
    /// From a stem to the term that stands for it.
    words: HashMap<String, String>,
    /// From two stems in a row to the term that stands for them.
    phrases: HashMap<String, HashMap<String, String>>,
    /// Finds words of scripts without spaces; `None` only if the table can't be built.
    unspaced: Option<AhoCorasick>,
    /// For each of them its term, or that it says nothing.
    unspaced_terms: Vec<Option<String>>,
    common: HashSet<String>,
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
        let common = rows(COMMON).flat_map(str::split_whitespace).map(&mut stem).collect();
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(unspaced.iter().map(|(word, _)| word))
            .ok();
        let unspaced_terms = unspaced.into_iter().map(|(_, term)| term).collect();
        let mut tables = Self { words, phrases, unspaced: automaton, unspaced_terms, common };
        let canonical = tables.common.iter().map(|stem| tables.canonical(stem).to_owned()).collect();
        tables.common = canonical;
        tables
    }

    fn canonical<'a>(&'a self, stem: &'a str) -> &'a str {
        self.words.get(stem).map_or(stem, String::as_str)
    }

    fn unspaced_words<'a>(&'a self, text: &str) -> Vec<(Range<usize>, Option<&'a str>)> {
        let Some(automaton) = self.unspaced.as_ref().filter(|_| !text.is_ascii()) else { return Vec::new() };
        let term = |n: usize| self.unspaced_terms.get(n).and_then(Option::as_deref);
        automaton.find_iter(text).map(|hit| (hit.range(), term(hit.pattern().as_usize()))).collect()
    }
}

fn rows(table: &'static str) -> impl Iterator<Item = &'static str> {
    table.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_stems_parts_of_names_names_and_pairs_of_characters() {
        assert_eq!(terms("Running the tests"), ["run", "test"]);
        assert_eq!(terms("parseHttpRequest"), ["parsehttprequest", "pars", "http", "request"]);
        assert_eq!(terms("snake_case"), ["snake_case", "snake", "case"]);
        assert_eq!(terms("上下文"), ["上下", "下文"]);
        assert_eq!(terms("Über Größe"), ["über", "größe"]);
        assert!(terms("").is_empty());
    }

    #[test]
    fn b1_words_of_coding_that_mean_the_same_are_one_term() {
        for same in [
            ["k8s", "kubernetes"],
            ["db", "数据库"],
            ["deployment", "部署"],
            ["tests", "测试"],
            ["pull request", "PR"],
            ["pull-requests", "合并请求"],
            ["roll back", "回滚"],
            ["feature flags", "功能开关"],
        ] {
            let [a, b] = same.map(|text| terms(text).into_iter().collect::<HashSet<_>>());
            assert!(!a.is_disjoint(&b), "{same:?}: {a:?} {b:?}");
        }
        // Known words are cut out whole; what is left comes in pairs; words that say nothing are passed over.
        assert_eq!(terms("我们的数据库迁移脚本"), ["databas", "migrat", "script"]);
        assert_eq!(terms("怎么部署到杭州集群"), ["deploy", "到杭", "杭州", "cluster"]);
    }

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
    }

    proptest! {
        #[test]
        fn any_text_has_terms_that_stand_in_it_in_order(text in "\\PC{0,80}|[a-z 部署数据的库_./-]{0,60}") {
            each_term(&text, |term| assert!(text.get(term.from..term.to).is_some() && !term.text.is_empty()));
        }
    }
}
