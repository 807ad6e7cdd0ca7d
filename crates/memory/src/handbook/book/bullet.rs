//! A statement as a line, and back: marks, the statement, a quote, keywords, how many sessions, keys. Of a task the quote comes first: it is
//! what was asked.
//!
//! The parts behind the statement are read from the end, so that brackets, quotes and parentheses within it are nobody's business. A
//! statement that ends like such a part has a dash behind it; one that begins like one, a dash or a `\\` before it.

use super::entry::{Entry, usual_basis};
use crate::handbook::{Basis, EvidenceKey, FindingKind, TaskOutcome};
use jiff::tz::TimeZone;

const KEYWORDS: &str = "(keywords:";
const NOTED: &str = "ad-hoc note";
/// What sets a statement off from a quote, or from what only looks like one.
const DASH: char = '—';

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
    /// When it was last borne out: the evidence says so, too.
    Day,
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
            Self::Day => "day",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let is_day = || text.parse::<jiff::civil::Date>().is_ok();
        Self::ALL.into_iter().find(|mark| mark.name() == text).or_else(|| is_day().then_some(Self::Day))
    }
}

/// The line of an entry, without the `- `, keywords and keys.
pub(super) fn told(entry: &Entry) -> String {
    let mut line = String::new();
    let is_task = entry.kind == FindingKind::Task;
    if let Some(last) = entry.last.filter(|_| is_task) {
        line.push_str(&format!("[{}] ", last.to_zoned(TimeZone::UTC).date()));
    }
    let basis = (entry.basis != usual_basis(entry.kind)).then_some(Mark::Basis(entry.basis));
    let marks = [entry.noted.then_some(Mark::Noted), basis, entry.outcome.map(Mark::Outcome)];
    for mark in marks.into_iter().flatten() {
        line.push_str(&format!("[{}] ", mark.name()));
    }
    let text = || begun(&entry.text, entry.kind);
    match &entry.quote {
        Some(quote) if is_task => {
            line.push_str(&ended(format!("“{}” {DASH} {}", escaped_quote(quote), text())));
        }
        // The quote ends it: only a dash of its own could be taken for ours.
        Some(quote) => {
            let text = text();
            let text = if text.ends_with(DASH) { format!("{text} {DASH}") } else { text };
            line.push_str(&format!("{text} “{}”", escaped_quote(quote)));
        }
        // A dash behind it may make it begin like a quote.
        None => line.push_str(&begun(&ended(entry.text.clone()), entry.kind)),
    }
    line
}

/// The same with keywords.
pub(super) fn said(entry: &Entry) -> String {
    let mut line = told(entry);
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
pub(super) fn parse(line: &str, kind: FindingKind) -> Bullet {
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
    while let Some((mark, behind)) = mark_at_start(rest) {
        bullet.marks.push(mark);
        rest = behind;
    }
    if let Some((quote, behind)) = quote_at_start(rest).filter(|_| kind == FindingKind::Task) {
        (bullet.quote, rest) = (Some(quote), behind);
    } else if let Some((before, quote)) = quote_at_end(rest) {
        (bullet.quote, rest) = (Some(quote), before);
    }
    bullet.text = unescaped(rest, kind);
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
            Mark::Day => {}
        }
    }
    entry.tidied()
}

type Keys = (Vec<EvidenceKey>, Vec<String>);

fn keys_at_end(text: &str) -> Option<(&str, Keys)> {
    let inner = text.strip_suffix(']')?;
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
    let inner = text.strip_suffix(')')?;
    let (before, inside) = inner.rsplit_once('(')?;
    let count = inside.strip_suffix(" sessions")?.parse().ok()?;
    Some((before.trim_end(), count))
}

fn keywords_at_end(text: &str) -> Option<(&str, Vec<String>)> {
    let inner = text.strip_suffix(')')?;
    // Keywords may have parentheses of their own.
    let mut depth = 1_usize;
    let at = inner.char_indices().rev().find_map(|(at, c)| {
        match c {
            ')' => depth += 1,
            '(' => depth -= 1,
            _ => {}
        }
        (depth == 0).then_some(at)
    })?;
    if !inner[at..].starts_with(KEYWORDS) {
        return None;
    }
    let words = super::entry::tidy_keywords(&[&inner[at + KEYWORDS.len()..]]);
    (!words.is_empty()).then_some((inner[..at].trim_end(), words))
}

fn quote_at_end(text: &str) -> Option<(&str, String)> {
    let inner = text.strip_suffix('”').filter(|inner| !ends_escaped(inner))?;
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
    Some((Mark::parse(inside)?, behind.trim_start()))
}

/// What was asked, set off by a dash from what came of it.
fn quote_at_start(text: &str) -> Option<(String, &str)> {
    let inner = text.strip_prefix('“')?;
    let mut depth = 1_usize;
    for (at, c) in inner.char_indices() {
        let is_escaped = ends_escaped(&inner[..at]);
        match c {
            '“' if !is_escaped => depth += 1,
            '”' if !is_escaped => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let behind = inner[at + c.len_utf8()..].trim_start().strip_prefix(DASH)?;
            let quote = super::entry::one_line(&unescaped_quote(&inner[..at]));
            return (!quote.is_empty()).then_some((quote, behind.trim_start()));
        }
    }
    None
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

/// A text that ends like nothing but itself.
fn ended(text: String) -> String {
    if text.ends_with(DASH) || ends_like_a_part(&text) { format!("{text} {DASH}") } else { text }
}

/// A statement that begins like nothing but itself.
fn begun(text: &str, kind: FindingKind) -> String {
    let mut text = text.to_owned();
    let lead = text.bytes().take_while(|b| *b == b'\\').count();
    if text[lead..].starts_with('[') && (lead > 0 || mark_at_start(&text).is_some()) {
        text.insert(0, '\\');
    }
    if kind == FindingKind::Task && (text.starts_with(DASH) || quote_at_start(&text).is_some()) {
        text.insert_str(0, &format!("{DASH} "));
    }
    text
}

fn unescaped(text: &str, kind: FindingKind) -> String {
    let mut text = text;
    if let Some(behind) = text.strip_prefix(DASH).filter(|_| kind == FindingKind::Task) {
        text = behind.trim_start();
    }
    let lead = text.bytes().take_while(|b| *b == b'\\').count();
    if lead > 0 && text[lead..].starts_with('[') {
        text = &text[1..];
    }
    text.strip_suffix(DASH).map_or(text, str::trim_end).to_owned()
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
