//! Secrets do not get into what is remembered.
//!
//! Everything that long-term memory writes goes through [`redact()`]. What looks like a key, a token or a password is replaced by
//! `[redacted:KIND]`; all else stays to the byte. Rules are data (`rules.rs`), each behind keywords, so that text without any of
//! them costs one pass.
//!
//! ```
//! use throughline_memory::redact::redact;
//!
//! let note = redact("Staging: postgres://app:s3cr3t-Pw@db.internal/main, commit 4f2a9c1b");
//! assert_eq!(note.text(), "Staging: postgres://app:[redacted:url-password]@db.internal/main, commit 4f2a9c1b");
//! assert_eq!(note.kinds(), ["url-password"]);
//! ```

mod judge;
mod rules;

use aho_corasick::AhoCorasick;
use regex::bytes::{Regex, RegexBuilder};
use rules::{RULES, Rule};
use std::fmt;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

/// Text in which no known secret is left. Only [`redact()`] makes one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redacted {
    text: String,
    kinds: Vec<&'static str>,
}

impl Redacted {
    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text alone.
    pub fn into_text(self) -> String {
        self.text
    }

    /// What was taken out; a kind is named once for each place.
    pub fn kinds(&self) -> &[&'static str] {
        &self.kinds
    }

    /// Whether nothing was taken out.
    pub fn is_clean(&self) -> bool {
        self.kinds.is_empty()
    }
}

impl fmt::Display for Redacted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// How what was taken out is written.
const MARK: &str = "[redacted:";

/// Takes secrets out of a text. Doing it twice changes nothing more.
pub fn redact(text: &str) -> Redacted {
    let mut out = Redacted { text: text.to_owned(), kinds: Vec::new() };
    // What stands around a secret can become one when it is gone. Each round takes something out, so there is a last one.
    while let Some(less) = once(&out.text, &mut out.kinds) {
        out.text = less;
    }
    out
}

/// The text without the secrets that are seen at first sight; `None` if there are none.
fn once(text: &str, kinds: &mut Vec<&'static str>) -> Option<String> {
    let mut found = Vec::new();
    for candidate in SCANNER.as_ref()?.candidates(text) {
        candidate.find(text, &mut found);
    }
    if found.is_empty() {
        return None;
    }
    // Of places that overlap the one that begins first is named, and all of them go.
    found.sort_by_key(|(span, order, _)| (span.start, *order));
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (span, _, kind) in found {
        if span.start < done {
            done = done.max(span.end);
            continue;
        }
        out.push_str(&text[done..span.start]);
        out.push_str(MARK);
        out.push_str(kind);
        out.push(']');
        kinds.push(kind);
        done = span.end;
    }
    out.push_str(&text[done..]);
    Some(out)
}

/// A secret: where, by which rule, and of what kind.
type Found = (Range<usize>, usize, &'static str);

/// A rule that could match, with its place among the rules.
struct Candidate<'a> {
    order: usize,
    rule: &'static Rule,
    regex: &'a Regex,
}

impl Candidate<'_> {
    fn find(&self, text: &str, found: &mut Vec<Found>) {
        let Self { order, rule, regex } = self;
        let mut at = 0;
        while let Some(groups) = regex.captures_at(text.as_bytes(), at) {
            let Some(secret) = groups.iter().skip(1).flatten().next().or_else(|| groups.get(0)) else {
                break;
            };
            // Patterns are of bytes: a span must not begin or end inside a character.
            let span = text.floor_char_boundary(secret.start())..text.ceil_char_boundary(secret.end());
            let value = &text[span.clone()];
            let next = text[span.end..].chars().next();
            if !value.contains(MARK) && judge::is_secret(rule.test, value, next) {
                let end = span.start + judge::without_stop(rule.test, value).len();
                found.push((span.start..end, *order, rule.kind));
                at = span.end;
            } else {
                at = judge::resume(rule.test, &span).max(at + 1);
            }
            if at >= text.len() {
                break;
            }
        }
    }
}

/// The keywords of all rules in one automaton, and their patterns, compiled when first needed.
struct Scanner {
    keywords: AhoCorasick,
    /// The rule of each keyword.
    owners: Vec<usize>,
    patterns: Vec<OnceLock<Option<Regex>>>,
}

static SCANNER: LazyLock<Option<Scanner>> = LazyLock::new(Scanner::new);

impl Scanner {
    fn new() -> Option<Self> {
        let owned = RULES.iter().enumerate();
        let (words, owners): (Vec<&str>, Vec<usize>) =
            owned.flat_map(|(at, rule)| rule.keywords.iter().map(move |word| (*word, at))).unzip();
        let keywords = AhoCorasick::builder().ascii_case_insensitive(true).build(words).ok()?;
        Some(Self { keywords, owners, patterns: RULES.iter().map(|_| OnceLock::new()).collect() })
    }

    /// The rules that could match.
    fn candidates<'a>(&'a self, text: &str) -> Vec<Candidate<'a>> {
        let mut wanted = vec![false; RULES.len()];
        let mut missing = RULES.len();
        for word in self.keywords.find_overlapping_iter(text) {
            let Some(at) = self.owners.get(word.pattern().as_usize()) else { continue };
            if let Some(seen) = wanted.get_mut(*at)
                && !std::mem::replace(seen, true)
            {
                missing -= 1;
                if missing == 0 {
                    break;
                }
            }
        }
        let rules = RULES.iter().zip(&self.patterns).enumerate().zip(wanted);
        let rules = rules.filter(|(_, wanted)| *wanted);
        let candidate = |((order, (rule, cell)), _): ((usize, (&'static Rule, &'a OnceLock<_>)), bool)| {
            Some(Candidate { order, rule, regex: compiled(cell, rule)? })
        };
        rules.filter_map(candidate).collect()
    }
}

fn compiled<'a>(cell: &'a OnceLock<Option<Regex>>, rule: &Rule) -> Option<&'a Regex> {
    cell.get_or_init(|| RegexBuilder::new(rule.pattern).unicode(false).build().ok()).as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_compiles_and_has_keywords_in_lower_case() {
        let scanner = SCANNER.as_ref();
        assert!(scanner.is_some());
        for rule in RULES {
            assert!(compiled(&OnceLock::new(), rule).is_some(), "{}", rule.pattern);
            assert!(!rule.keywords.is_empty());
            for word in rule.keywords {
                assert_eq!(*word, word.to_ascii_lowercase(), "{}", rule.kind);
            }
            assert!(rule.kind.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "{}", rule.kind);
        }
    }
}
