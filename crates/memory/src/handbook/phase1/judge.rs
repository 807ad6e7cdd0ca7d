//! What of a model's answer holds against the record: nothing gets through that the session does not show.
//!
//! **A preference is the user's own sentence.** It must quote words that they typed, and what is kept is the whole sentence that these stand
//! in, not the model's. **A command was run, or the user named it**: what a page or a file merely mentions does not become a procedure. **No orders**
//! but the user's. So the worst that a model which obeys a hostile session can do is to choose badly among true statements.

use super::answer::{Answer, Bullet, bullets};
use super::sections::Section;
use super::transcript::{Passage, Voice};
use crate::extract::OwnWords;
use crate::handbook::voice::{is_harmful_command, is_order, is_order_in_subject};
use crate::handbook::{Basis, Evidence, Extraction, Finding, FindingKind, Reach, TaskOutcome};
use std::collections::HashMap;
use throughline_core::SessionId;
use throughline_core::text::one_line;
use throughline_redact::redact;

/// Bullets of one answer that are looked at.
pub(super) const MOST_BULLETS: usize = 24;
/// Findings of one session.
const MOST_FINDINGS: usize = 60;
/// Characters of a statement.
const STATEMENT: usize = 400;
/// Places that one statement names.
const MOST_EVIDENCE: usize = 8;
/// Words by which one is looked for.
const MOST_KEYWORDS: usize = 8;
/// Bytes of a section's summary, and of a session's.
const SUMMARY_PART: usize = 6 << 10;
const SUMMARY: usize = 16 << 10;

/// How much of a model's answers was not kept, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Bullets under no heading of ours, or beyond the number that is looked at.
    pub shapeless: u64,
    /// Bullets that name no message of the section.
    pub without_evidence: u64,
    /// Preferences that the user did not type, or that are about the task alone.
    pub not_said: u64,
    /// Statements with a command, a name or an address that the record does not bear out.
    pub not_seen: u64,
    /// Statements and lines of summaries that read like orders.
    pub orders: u64,
    /// Statements with a credential in them.
    pub credentials: u64,
}

impl Dropped {
    /// All together.
    pub fn total(&self) -> u64 {
        let Self { shapeless, without_evidence, not_said, not_seen, orders, credentials } = self;
        shapeless + without_evidence + not_said + not_seen + orders + credentials
    }
}

/// Judges answers on the sections of one session, and puts together what holds.
pub(super) struct Judge<'a> {
    session: &'a SessionId,
    findings: Vec<Finding>,
    /// Which statements there are, by kind and words.
    known: HashMap<(FindingKind, String), usize>,
    summary: String,
    slug: String,
    pub(super) dropped: Dropped,
}

/// What a section shows.
struct Shown<'a> {
    passages: HashMap<u32, &'a Passage>,
    own: Vec<(&'a Passage, OwnWords)>,
    /// All that calls were given, and all there is; white space as one blank.
    calls: String,
    all: String,
}

impl<'a> Shown<'a> {
    fn of(section: &'a Section) -> Self {
        let mut calls = String::new();
        for passage in section.passages() {
            for (voice, range) in &passage.parts {
                if *voice == Voice::Call {
                    calls.push_str(&passage.text[range.clone()]);
                }
            }
        }
        let own = section.passages().iter();
        Self {
            passages: section.by_number(),
            own: own.filter_map(|passage| Some((passage, OwnWords::of(&passage.message)?))).collect(),
            calls: folded(&calls),
            all: folded(&section.text()),
        }
    }

    /// Whether the agent ran or opened it, or the user named it.
    fn is_used(&self, span: &str) -> bool {
        self.calls.contains(&folded(span)) || self.own.iter().any(|(_, words)| words.find(span).is_some())
    }

    fn stands(&self, span: &str) -> bool {
        self.all.contains(&folded(span))
    }

    /// Whether a text orders something, commands aside that were run: `make check` is one, and what it does is known.
    fn orders(&self, text: &str) -> bool {
        let mut plain = text.to_owned();
        for span in spans(text) {
            if self.is_used(span) && !is_harmful_command(span) && !is_order_in_subject(span) {
                plain = plain.replace(&format!("`{span}`"), "`x`");
            }
        }
        is_order(&plain)
    }
}

impl<'a> Judge<'a> {
    pub(super) fn new(session: &'a SessionId) -> Self {
        Self {
            session,
            findings: Vec::new(),
            known: HashMap::new(),
            summary: String::new(),
            slug: String::new(),
            dropped: Dropped::default(),
        }
    }

    /// Takes in what a model says of a section.
    pub(super) fn hear(&mut self, answer: &Answer, section: &Section) {
        if answer.is_empty() {
            return;
        }
        let shown = Shown::of(section);
        let before = self.findings.len();
        for (at, bullet) in bullets(&answer.raw_memory).into_iter().enumerate() {
            let Some(kind) = bullet.kind.filter(|_| at < MOST_BULLETS) else {
                self.dropped.shapeless += 1;
                continue;
            };
            let finding = match kind {
                FindingKind::Preference => self.preference(&bullet, &shown),
                FindingKind::Procedure
                | FindingKind::Pitfall
                | FindingKind::Environment
                | FindingKind::Task => self.statement(kind, &bullet, &shown),
            };
            if let Some(finding) = finding {
                self.add(finding);
            }
        }
        if self.findings.len() == before {
            // A summary of nothing is nothing.
            return;
        }
        if self.slug.is_empty() {
            self.slug = answer.slug();
        }
        self.summarise(&answer.rollout_summary, &shown);
    }

    /// The user's own sentence, if the bullet quotes one.
    fn preference(&mut self, bullet: &Bullet, shown: &Shown<'_>) -> Option<Finding> {
        let is_named = |passage: &Passage| bullet.evidence.contains(&passage.number);
        let (named, others): (Vec<_>, Vec<_>) = shown.own.iter().partition(|(passage, _)| is_named(passage));
        let all = || named.iter().chain(&others);
        let found = quotes(&bullet.text)
            .into_iter()
            .find_map(|quote| all().find_map(|(passage, words)| Some((*passage, words.find(quote)?, quote))));
        let Some((passage, quoted, quote)) = found.filter(|(_, quoted, _)| quoted.is_lasting) else {
            self.dropped.not_said += 1;
            return None;
        };
        if quoted.text.chars().count() > STATEMENT {
            self.dropped.not_said += 1;
            return None;
        }
        let (text, quote) = (quoted.text.clone(), quote.to_owned());
        if !redact(&text).is_clean() || !redact(&quote).is_clean() {
            self.dropped.credentials += 1;
            return None;
        }
        Some(Finding {
            kind: FindingKind::Preference,
            basis: Basis::Said,
            keywords: keywords(&text),
            text: one_line(&text, STATEMENT),
            quote: Some(quote),
            evidence: vec![self.evidence(passage)],
            reach: if quoted.is_everywhere { Reach::Everywhere } else { Reach::Project },
            outcome: None,
        })
    }

    /// A statement in the model's words, if the record bears it out.
    fn statement(&mut self, kind: FindingKind, bullet: &Bullet, shown: &Shown<'_>) -> Option<Finding> {
        let mut passages: Vec<&Passage> =
            bullet.evidence.iter().filter_map(|number| shown.passages.get(number).copied()).collect();
        passages.truncate(MOST_EVIDENCE);
        if passages.is_empty() || bullet.text.is_empty() {
            self.dropped.without_evidence += 1;
            return None;
        }
        let spans = spans(&bullet.text);
        let is_seen = spans.iter().all(|span| match kind {
            FindingKind::Procedure => shown.is_used(span) && !is_harmful_command(span),
            FindingKind::Preference | FindingKind::Pitfall | FindingKind::Environment | FindingKind::Task => {
                shown.stands(span) && (shown.is_used(span) || !is_harmful_command(span))
            }
        });
        if !is_seen || !addresses(&bullet.text).iter().all(|address| shown.is_used(address)) {
            self.dropped.not_seen += 1;
            return None;
        }
        if !redact(&bullet.text).is_clean() {
            self.dropped.credentials += 1;
            return None;
        }
        let text = one_line(&bullet.text, STATEMENT);
        if shown.orders(&text) {
            self.dropped.orders += 1;
            return None;
        }
        let has = |voice| passages.iter().any(|passage| passage.has(voice));
        let said = quotes(&bullet.text).into_iter().find_map(|quote| {
            let is_own = shown.own.iter().any(|(passage, words)| {
                bullet.evidence.contains(&passage.number) && words.find(quote).is_some()
            });
            is_own.then(|| quote.to_owned())
        });
        let basis = match &said {
            Some(_) => Basis::Said,
            None if has(Voice::Call) || has(Voice::Result) => Basis::Observed,
            None => Basis::Concluded,
        };
        let outcome = match kind {
            FindingKind::Task => Some(bullet.outcome.unwrap_or(TaskOutcome::Uncertain)),
            FindingKind::Preference
            | FindingKind::Procedure
            | FindingKind::Pitfall
            | FindingKind::Environment => None,
        };
        Some(Finding {
            kind,
            basis,
            keywords: keywords(&text),
            text,
            quote: said,
            evidence: passages.into_iter().map(|passage| self.evidence(passage)).collect(),
            reach: Reach::Project,
            outcome,
        })
    }

    fn evidence(&self, passage: &Passage) -> Evidence {
        Evidence::Message { session: self.session.clone(), message: passage.id().clone(), at: passage.at() }
    }

    /// Puts a finding to the others; one that says the same adds its evidence to the first.
    fn add(&mut self, finding: Finding) {
        let words = finding.text.to_lowercase();
        let words: Vec<&str> =
            words.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let key = (finding.kind, words.join(" "));
        let known = self.known.get(&key).copied();
        if let Some(same) = known.and_then(|at| self.findings.get_mut(at)) {
            for evidence in finding.evidence {
                if !same.evidence.contains(&evidence) && same.evidence.len() < MOST_EVIDENCE {
                    same.evidence.push(evidence);
                }
            }
            same.outcome = finding.outcome.or(same.outcome);
        } else if self.findings.len() < MOST_FINDINGS {
            self.known.insert(key, self.findings.len());
            self.findings.push(finding);
        } else {
            self.dropped.shapeless += 1;
        }
    }

    /// The lines of a summary that give no orders and name no address that nobody used.
    fn summarise(&mut self, summary: &str, shown: &Shown<'_>) {
        let mut kept = String::new();
        for line in redact(summary).text().lines() {
            if shown.orders(line) {
                self.dropped.orders += 1;
            } else if !addresses(line).iter().all(|address| shown.is_used(address))
                || spans(line).iter().any(|span| is_harmful_command(span) && !shown.is_used(span))
            {
                self.dropped.not_seen += 1;
            } else if kept.len() + line.len() < SUMMARY_PART {
                kept.push_str(line.trim_end());
                kept.push('\n');
            }
        }
        let kept = kept.trim();
        if kept.is_empty() || self.summary.len() + kept.len() > SUMMARY {
            return;
        }
        if !self.summary.is_empty() {
            self.summary.push_str("\n\n");
        }
        self.summary.push_str(kept);
    }

    /// What the session taught, what is worth most first.
    pub(super) fn finish(mut self) -> (Extraction, Dropped) {
        self.findings.sort_by_key(|finding| finding.kind);
        if self.summary.is_empty() {
            // Nothing of the model's own passed: what did tells the session too.
            let lines: Vec<String> =
                self.findings.iter().map(|finding| format!("- {}", finding.text)).collect();
            self.summary = throughline_core::text::head(&lines.join("\n"), SUMMARY).to_owned();
        }
        let extraction = Extraction { findings: self.findings, summary: self.summary, slug: self.slug };
        (extraction, self.dropped)
    }
}

/// What stands between double quotation marks, the longest first.
fn quotes(text: &str) -> Vec<&str> {
    let mut found = between(text, '"', '"');
    found.extend(between(text, '“', '”'));
    found.extend(between(text, '「', '」'));
    found.sort_by_key(|quote| std::cmp::Reverse(quote.len()));
    // A whole bullet may be the quote.
    found.push(text);
    found
}

/// What stands between backticks.
fn spans(text: &str) -> Vec<&str> {
    between(text, '`', '`')
}

fn between(text: &str, open: char, close: char) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once(open) {
        let Some((inside, behind)) = after.split_once(close) else { break };
        if !inside.trim().is_empty() {
            found.push(inside.trim());
        }
        rest = behind;
    }
    found
}

/// Addresses of the network.
fn addresses(text: &str) -> Vec<&str> {
    let words = text.split(|c: char| c.is_whitespace() || "\"'`()<>[]“”，。".contains(c));
    words
        .filter(|word| word.contains("://") || word.starts_with("www."))
        .map(|word| word.trim_end_matches(['.', ',', ';', ':', '!', '?']))
        .collect()
}

/// Names, paths and commands.
fn keywords(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let named =
        text.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric() && c != '/'));
    let named = named.filter(|word| {
        let has_sign = word.chars().skip(1).any(|c| matches!(c, '/' | '_' | ':' | '.' | '-' | '@'));
        has_sign || word.chars().skip(1).any(char::is_uppercase)
    });
    for word in spans(text).into_iter().chain(named) {
        let is_fit = (2..=60).contains(&word.len()) && word.chars().any(char::is_alphanumeric);
        if is_fit && found.len() < MOST_KEYWORDS && !found.iter().any(|one| one == word) {
            found.push(word.to_owned());
        }
    }
    found
}

fn folded(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !folded.is_empty() {
            folded.push(' ');
        }
        folded.push_str(word);
    }
    folded
}
