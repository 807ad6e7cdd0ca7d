//! A statement of the book.

use crate::handbook::{Basis, EvidenceKey, FindingKind, TaskOutcome};
use jiff::Timestamp;
use std::collections::BTreeSet;
use std::fmt;

/// Characters of a statement: it is one line.
pub const MOST_TEXT: usize = 600;
/// Characters of a quote.
pub const MOST_QUOTE: usize = 300;
/// Keywords of a statement.
pub const MOST_KEYWORDS: usize = 6;
/// Characters of a keyword.
pub const MOST_KEYWORD: usize = 60;
/// Places that a statement names; the newest of each session, and the oldest.
pub const MOST_EVIDENCE: usize = 6;

/// A statement with its evidence: a bullet of `MEMORY.md`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it is about: its section.
    pub kind: FindingKind,
    /// How it is known.
    pub basis: Basis,
    /// The statement, in one line.
    pub text: String,
    /// Words that stand in the evidence.
    pub quote: Option<String>,
    /// Words by which it is looked for.
    pub keywords: Vec<String>,
    /// What it rests on, the newest first.
    pub evidence: Vec<EvidenceKey>,
    /// How many sessions bear it out: more than are named, where there are many.
    pub support: usize,
    /// When it was first borne out, by the evidence named.
    pub first: Option<Timestamp>,
    /// When it last was.
    pub last: Option<Timestamp>,
    /// How it went, if it is a task.
    pub outcome: Option<TaskOutcome>,
    /// Whether somebody wrote it down by hand, to be remembered.
    pub noted: bool,
    /// Who worded it.
    pub wording: Wording,
}

/// Who worded a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wording {
    /// The offline consolidation: it may word it anew.
    Ours,
    /// A person or a model: it stays as it is while its evidence holds.
    Theirs,
}

impl Entry {
    /// A statement that rests on nothing yet.
    pub fn new(kind: FindingKind, text: &str) -> Self {
        Self {
            kind,
            basis: usual_basis(kind),
            text: one_line(text),
            quote: None,
            keywords: Vec::new(),
            evidence: Vec::new(),
            support: 0,
            first: None,
            last: None,
            outcome: None,
            noted: false,
            wording: Wording::Theirs,
        }
    }

    /// What tells it from other statements: what it says, and of a task also what was asked.
    pub(super) fn print(&self) -> Print {
        match (self.kind, &self.quote) {
            (FindingKind::Task, Some(asked)) => Print::of(self.kind, &format!("{asked}\n{}", self.text)),
            (_, _) => Print::of(self.kind, &self.text),
        }
    }

    /// In the form that reads back: one line, keywords without what sets them apart, nothing twice.
    pub(super) fn tidied(mut self) -> Self {
        self.text = one_line(&self.text);
        self.quote = self.quote.map(|quote| one_line(&quote)).filter(|quote| !quote.is_empty());
        self.keywords = tidy_keywords(&self.keywords);
        let mut seen = BTreeSet::new();
        self.evidence.retain(|key| seen.insert(key.clone()));
        self
    }
}

/// How statements of a kind are known, as a rule: what is not so is marked.
pub(super) fn usual_basis(kind: FindingKind) -> Basis {
    match kind {
        FindingKind::Preference => Basis::Said,
        FindingKind::Procedure | FindingKind::Pitfall | FindingKind::Environment | FindingKind::Task => {
            Basis::Observed
        }
    }
}

/// Without line ends and control characters; single spaces.
pub(super) fn one_line(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// At most so many characters, cut behind a word; what is cut is shown.
pub(super) fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let room = most.saturating_sub(1);
    let end = text.char_indices().nth(room).map_or(text.len(), |(at, _)| at);
    let kept = &text[..end];
    // A very long word is cut in its middle.
    let whole = kept.rfind(' ').filter(|at| *at * 2 > end).map_or(kept, |at| &kept[..at]);
    format!("{}…", whole.trim_end())
}

/// Single words or names: no commas and parentheses, which set them apart.
pub(super) fn tidy_keywords<S: AsRef<str>>(keywords: &[S]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let parts = keywords.iter().flat_map(|keyword| keyword.as_ref().split(','));
    let clean = parts.map(|part| one_line(part.replace(['(', ')'], " ").trim().trim_end_matches('\\')));
    let is_word = |word: &String| word.chars().any(char::is_alphanumeric);
    clean.filter(|word| is_word(word) && seen.insert(word.to_lowercase())).collect()
}

/// A statement by its hash: `w` and ten hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Print(String);

impl Print {
    const DIGITS: usize = 10;

    pub(super) fn of(kind: FindingKind, text: &str) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(kind.name().as_bytes()).update(&[0]).update(text.as_bytes());
        Self(format!("w{}", &hasher.finalize().to_hex()[..Self::DIGITS]))
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('w')?;
        let is_hex = digits.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        (digits.len() == Self::DIGITS && is_hex).then(|| Self(text.to_owned()))
    }
}

impl fmt::Display for Print {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
