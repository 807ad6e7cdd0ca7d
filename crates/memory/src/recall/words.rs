//! From text to the terms that memories are found by.
//!
//! The lexer that search uses reads the text; on top of it, words of coding that mean the same become one term, in English and
//! Chinese: `k8s` is `kubernetes`, 部署 is `deploy`. Chinese is cut along the words that the tables know, and in pairs of characters
//! where they know none.

use super::tables::TABLES;
use std::cell::RefCell;
use std::ops::Range;
use throughline_lexer::{Kind, Lexer, Stemmer, is_stopword};

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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

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

    proptest! {
        #[test]
        fn any_text_has_terms_that_stand_in_it_in_order(text in "\\PC{0,80}|[a-z 部署数据的库_./-]{0,60}") {
            each_term(&text, |term| assert!(text.get(term.from..term.to).is_some() && !term.text.is_empty()));
        }
    }
}
