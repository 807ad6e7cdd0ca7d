//! A statement as a line, and back: marks, the statement, a quote, keywords, how many sessions, keys.
//!
//! The parts behind the statement are read from the end, so that brackets, quotes and parentheses within it are nobody's business. A
//! statement that ends, or begins, like such a part has a `\` put before its last, or first, character.

use super::entry::{Entry, usual_basis};
use crate::handbook::{Basis, EvidenceKey, FindingKind, TaskOutcome};

const KEYWORDS: &str = "(keywords:";
const NOTED: &str = "ad-hoc note";
/// What may end a part behind the statement.
const CLOSERS: [char; 3] = ['”', ')', ']'];

/// A bullet as it is read.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Bullet {
    pub(super) marks: Vec<Mark>,
    pub(super) text: String,
    pub(super) quote: Option<String>,
    pub(super) keywords: Vec<String>,
    pub(super) sessions: Option<usize>,
    pub(super) keys: Vec<EvidenceKey>,
    /// What stands among the keys and is none.
    pub(super) odd_keys: Vec<String>,
}

/// What stands in brackets before a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Noted,
    Basis(Basis),
    Outcome(TaskOutcome),
}

impl Mark {
    const ALL: [Self; 8] = [
        Self::Noted,
        Self::Basis(Basis::Said),
        Self::Basis(Basis::Observed),
        Self::Basis(Basis::Concluded),
        Self::Outcome(TaskOutcome::Success),
        Self::Outcome(TaskOutcome::Partial),
        Self::Outcome(TaskOutcome::Failed),
        Self::Outcome(TaskOutcome::Uncertain),
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Noted => NOTED,
            Self::Basis(Basis::Said) => "said",
            Self::Basis(Basis::Observed) => "seen",
            Self::Basis(Basis::Concluded) => "unchecked",
            Self::Outcome(TaskOutcome::Success) => "success",
            Self::Outcome(TaskOutcome::Partial) => "partial",
            Self::Outcome(TaskOutcome::Failed) => "failed",
            Self::Outcome(TaskOutcome::Uncertain) => "uncertain",
        }
    }
}

/// The line of an entry, without the `- ` and without keys.
pub(super) fn said(entry: &Entry) -> String {
    let mut line = String::new();
    let basis = (entry.basis != usual_basis(entry.kind)).then_some(Mark::Basis(entry.basis));
    let marks = [entry.noted.then_some(Mark::Noted), basis, entry.outcome.map(Mark::Outcome)];
    for mark in marks.into_iter().flatten() {
        line.push_str(&format!("[{}] ", mark.name()));
    }
    line.push_str(&escaped(&entry.text));
    if let Some(quote) = &entry.quote {
        line.push_str(&format!(" “{}”", escaped_quote(quote)));
    }
    if !entry.keywords.is_empty() {
        line.push_str(&format!(" {KEYWORDS} {})", entry.keywords.join(", ")));
    }
    line
}

/// The whole line. `named`: how many sessions its keys are of.
pub(super) fn render(entry: &Entry, named: usize) -> String {
    let keys: Vec<&str> = entry.evidence.iter().map(EvidenceKey::as_str).collect();
    let sessions =
        if entry.support > named { format!(" ({} sessions)", entry.support) } else { String::new() };
    format!("- {}{sessions} [{}]", said(entry), keys.join(" "))
}

/// Reads what stands behind `- `.
pub(super) fn parse(line: &str) -> Bullet {
    let mut bullet = Bullet::default();
    let mut rest = line.trim();
    // A full stop behind the keys is nobody's.
    let full = rest.trim_end_matches(['.', ';', ',']);
    if keys_at_end(full).is_some() {
        rest = full;
    }
    while let Some((before, keys)) = keys_at_end(rest) {
        let (good, odd) = keys;
        bullet.keys.splice(0..0, good);
        bullet.odd_keys.splice(0..0, odd);
        rest = before;
    }
    loop {
        if bullet.sessions.is_none()
            && let Some((before, sessions)) = sessions_at_end(rest)
        {
            (bullet.sessions, rest) = (Some(sessions), before);
        } else if bullet.keywords.is_empty()
            && let Some((before, words)) = keywords_at_end(rest)
        {
            (bullet.keywords, rest) = (words, before);
        } else {
            break;
        }
    }
    if let Some((before, quote)) = quote_at_end(rest) {
        (bullet.quote, rest) = (Some(quote), before);
    }
    while let Some((mark, behind)) = mark_at_start(rest) {
        bullet.marks.push(mark);
        rest = behind;
    }
    bullet.text = unescaped(rest);
    bullet
}

/// A bullet as an entry of a section.
pub(super) fn entry(bullet: Bullet, kind: FindingKind) -> Entry {
    let mut entry = Entry::new(kind, &bullet.text);
    entry.quote = bullet.quote;
    entry.keywords = bullet.keywords;
    entry.evidence = bullet.keys;
    entry.support = bullet.sessions.unwrap_or(0);
    for mark in bullet.marks {
        match mark {
            Mark::Noted => entry.noted = true,
            Mark::Basis(basis) => entry.basis = basis,
            Mark::Outcome(outcome) => entry.outcome = Some(outcome),
        }
    }
    entry.tidied()
}

type Keys = (Vec<EvidenceKey>, Vec<String>);

fn keys_at_end(text: &str) -> Option<(&str, Keys)> {
    let inner = closed(text, ']')?;
    let (before, inside) = inner.rsplit_once('[')?;
    let words: Vec<&str> = inside.split([' ', ',', ';']).filter(|word| !word.is_empty()).collect();
    let good: Vec<EvidenceKey> = words.iter().filter_map(|word| EvidenceKey::parse(word)).collect();
    let odd: Vec<String> = words
        .iter()
        .filter(|word| EvidenceKey::parse(word).is_none())
        .map(|word| (*word).to_owned())
        .collect();
    // Brackets without a single key are the statement's own.
    (!good.is_empty()).then_some((before.trim_end(), (good, odd)))
}

fn sessions_at_end(text: &str) -> Option<(&str, usize)> {
    let inner = closed(text, ')')?;
    let (before, inside) = inner.rsplit_once('(')?;
    let count = inside.strip_suffix(" sessions")?.parse().ok()?;
    Some((before.trim_end(), count))
}

fn keywords_at_end(text: &str) -> Option<(&str, Vec<String>)> {
    let inner = closed(text, ')')?;
    let at = inner.rfind(KEYWORDS)?;
    let words = super::entry::tidy_keywords(&[&inner[at + KEYWORDS.len()..]]);
    (!words.is_empty()).then_some((inner[..at].trim_end(), words))
}

fn quote_at_end(text: &str) -> Option<(&str, String)> {
    let inner = closed(text, '”')?;
    let mut depth = 1_usize;
    for (at, c) in inner.char_indices().rev() {
        let is_escaped = ends_escaped(&inner[..at]);
        match c {
            '”' if !is_escaped => depth += 1,
            '“' if !is_escaped => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let quote = unescaped_quote(&inner[at + c.len_utf8()..]);
            let quote = super::entry::one_line(&quote);
            return (!quote.is_empty()).then_some((inner[..at].trim_end(), quote));
        }
    }
    None
}

fn mark_at_start(text: &str) -> Option<(Mark, &str)> {
    let (inside, behind) = text.strip_prefix('[')?.split_once(']')?;
    let mark = Mark::ALL.into_iter().find(|mark| mark.name() == inside)?;
    Some((mark, behind.trim_start()))
}

/// A text without what closes it, unless that is escaped.
fn closed(text: &str, closer: char) -> Option<&str> {
    text.strip_suffix(closer).filter(|inner| !ends_escaped(inner))
}

/// Whether what follows a text is escaped by it.
fn ends_escaped(text: &str) -> bool {
    text.bytes().rev().take_while(|b| *b == b'\\').count() % 2 == 1
}

/// Whether a statement ends like a part that may stand behind it.
fn ends_like_a_part(text: &str) -> bool {
    keys_at_end(text).is_some()
        || sessions_at_end(text).is_some()
        || keywords_at_end(text).is_some()
        || quote_at_end(text).is_some()
}

fn escaped(text: &str) -> String {
    let mut text = text.to_owned();
    if let Some(closer) = text.chars().last().filter(|c| CLOSERS.contains(c)) {
        let at = text.len() - closer.len_utf8();
        if text[..at].ends_with('\\') || ends_like_a_part(&text) {
            // With backslashes before it, one more must not make them pairs that escape nothing.
            let backslashes = text[..at].bytes().rev().take_while(|b| *b == b'\\').count();
            text.insert_str(at, &"\\".repeat(backslashes + 1));
        }
    }
    let lead = text.bytes().take_while(|b| *b == b'\\').count();
    if text[lead..].starts_with('[') && (lead > 0 || mark_at_start(&text).is_some()) {
        text.insert(0, '\\');
    }
    text
}

fn unescaped(text: &str) -> String {
    let mut text = text.to_owned();
    let lead = text.bytes().take_while(|b| *b == b'\\').count();
    if lead > 0 && text[lead..].starts_with('[') {
        text.remove(0);
    }
    if let Some(closer) = text.chars().last().filter(|c| CLOSERS.contains(c)) {
        let at = text.len() - closer.len_utf8();
        let backslashes = text[..at].bytes().rev().take_while(|b| *b == b'\\').count();
        if backslashes > 0 {
            text.replace_range(at - backslashes.div_ceil(2)..at, "");
        }
    }
    text
}

fn escaped_quote(quote: &str) -> String {
    let mut out = String::new();
    let mut chars = quote.chars().peekable();
    while let Some(c) = chars.next() {
        let doubles = c == '\\' && chars.peek().is_none_or(|next| matches!(next, '“' | '”' | '\\'));
        if doubles || matches!(c, '“' | '”') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

fn unescaped_quote(quote: &str) -> String {
    let mut out = String::new();
    let mut chars = quote.chars().peekable();
    while let Some(c) = chars.next() {
        match chars.peek() {
            Some(next @ ('“' | '”' | '\\')) if c == '\\' => {
                out.push(*next);
                chars.next();
            }
            Some(_) | None => out.push(c),
        }
    }
    out
}
