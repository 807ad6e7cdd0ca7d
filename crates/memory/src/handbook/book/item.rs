//! What a consolidation is made of: findings and notes, brought into one form.

use super::entry::{MOST_KEYWORD, MOST_QUOTE, MOST_TEXT, cut, one_line, tidy_keywords};
use super::grounds::{Ground, Grounds, SessionRef};
use super::stem::summary_path;
use super::{HandNote, Material};
use crate::handbook::{
    Basis, Evidence, EvidenceKey, Finding, FindingKind, ProjectKey, Reach, Scope, TaskOutcome,
};
use crate::store::Output;
use crate::topics::opposites::Statement;
use crate::topics::sentences::{key, sentences};
use jiff::Timestamp;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use throughline_core::SessionId;
use throughline_redact::redact;

/// Characters of a note that is told in one statement.
const NOTE_TEXT: usize = 400;
/// Statements of one note.
const NOTE_PARTS: usize = 12;

/// Clauses of one statement that are looked at.
const CLAUSES: usize = 6;

/// One statement that somebody made, or that was seen.
pub(super) struct Item {
    pub(super) kind: FindingKind,
    pub(super) basis: Basis,
    pub(super) text: String,
    pub(super) quote: Option<String>,
    pub(super) keywords: Vec<String>,
    /// The first is the one that tells most.
    pub(super) keys: Vec<EvidenceKey>,
    pub(super) at: Timestamp,
    pub(super) session: Option<SessionId>,
    pub(super) project: Option<ProjectKey>,
    /// How many answers used its session's memories.
    pub(super) used: u64,
    pub(super) reach: Reach,
    pub(super) outcome: Option<TaskOutcome>,
    pub(super) noted: bool,
    /// Its words, the same for all ways to write them.
    pub(super) plain: String,
    pub(super) statement: Statement,
    /// Its sentences and clauses, where there are several.
    pub(super) clauses: Vec<Statement>,
    /// What stands in it as code, in order.
    pub(super) codes: Vec<String>,
}

impl Item {
    /// Newest first, and for the same items always the same.
    pub(super) fn order(&self) -> impl Ord + '_ {
        (Reverse(self.at), !self.noted, &self.session, &self.keys, &self.text, &self.quote)
    }
}

/// All items of a material, the newest first, and where their evidence is.
pub(super) fn gather(material: &Material<'_>) -> (Vec<Item>, Grounds) {
    let mut grounds = Grounds::default();
    let mut items = Vec::new();
    let mut seen: BTreeSet<&SessionId> = BTreeSet::new();
    for output in material.outputs {
        let belongs = match material.scope {
            Scope::Global => true,
            Scope::Project(key) => output.source.project == *key,
        };
        if belongs && seen.insert(&output.source.session) {
            of_output(output, material, &mut grounds, &mut items);
        }
    }
    for note in material.notes {
        of_note(note, material.now, &mut grounds, &mut items);
    }
    items.sort_by(|a, b| a.order().cmp(&b.order()));
    (items, grounds)
}

fn of_output(output: &Output, material: &Material<'_>, grounds: &mut Grounds, items: &mut Vec<Item>) {
    let source = &output.source;
    let updated = source.updated.min(material.now);
    let before = items.len();
    for finding in &output.extraction.findings {
        if is_admitted(finding, material.scope) {
            items.extend(of_finding(finding, output, updated, grounds));
        }
    }
    if items.len() > before {
        let summary = Some(summary_path(source, &output.extraction.slug));
        grounds.add_session(source.session.clone(), SessionRef { updated: Some(updated), summary });
    }
}

/// Only what the user said is a preference, and only that is told beyond its project.
fn is_admitted(finding: &Finding, scope: &Scope) -> bool {
    let is_said = finding.kind == FindingKind::Preference && finding.basis == Basis::Said;
    match scope {
        Scope::Global => is_said,
        Scope::Project(_) => is_said || finding.kind != FindingKind::Preference,
    }
}

fn of_finding(finding: &Finding, output: &Output, updated: Timestamp, grounds: &mut Grounds) -> Option<Item> {
    let source = &output.source;
    let text = cut(&one_line(&finding.text), MOST_TEXT);
    let quote = finding.quote.as_ref().map(|quote| one_line(quote));
    let quote = quote.filter(|quote| !quote.is_empty() && quote.chars().count() <= MOST_QUOTE);
    let mut keys = Vec::new();
    let mut newest = None;
    for evidence in &finding.evidence {
        // A session bears out what happened in it, and nothing else.
        let Evidence::Message { session, at, .. } = evidence else { continue };
        if *session != source.session {
            continue;
        }
        let at = at.map_or(updated, |at| at.min(updated));
        newest = newest.max(Some(at));
        let quote = finding.quote.clone().filter(|_| keys.is_empty());
        let ground = Ground { evidence: dated(evidence, at), at: None, kinds: [finding.kind].into(), quote };
        keys.push(grounds.add(ground));
    }
    // What was asked tells two tasks apart that came to the same.
    let compared = match (finding.kind, &finding.quote) {
        (FindingKind::Task, Some(asked)) => format!("{} {text}", one_line(asked)),
        (_, _) => text.clone(),
    };
    (!text.is_empty() && !keys.is_empty()).then(|| Item {
        kind: finding.kind,
        basis: finding.basis,
        codes: codes(&text),
        clauses: clauses(finding.kind, &text),
        plain: key(&compared),
        statement: Statement::of(&compared),
        text,
        quote,
        keywords: keywords(&finding.keywords),
        keys,
        at: newest.unwrap_or(updated),
        session: Some(source.session.clone()),
        project: Some(source.project.clone()),
        used: output.used,
        reach: finding.reach,
        outcome: finding.outcome,
        noted: false,
    })
}

fn dated(evidence: &Evidence, at: Timestamp) -> Evidence {
    match evidence {
        Evidence::Message { session, message, .. } => {
            Evidence::Message { session: session.clone(), message: message.clone(), at: Some(at) }
        }
        Evidence::Note { file } => Evidence::Note { file: file.clone() },
    }
}

fn keywords(words: &[String]) -> Vec<String> {
    let mut words = tidy_keywords(words);
    words.retain(|word| word.chars().count() <= MOST_KEYWORD);
    words
}

/// A short note is one statement; a long one is as many as it has items and paragraphs.
fn of_note(note: &HandNote, now: Timestamp, grounds: &mut Grounds, items: &mut Vec<Item>) {
    let text = redact(&note.text).into_text();
    let parts = parts(&text);
    let whole = parts.join(" ");
    let told = if whole.chars().count() <= NOTE_TEXT { vec![whole] } else { parts };
    let at = note.at.map(|at| at.min(now));
    for text in told.into_iter().filter(|text| !text.is_empty()).take(NOTE_PARTS) {
        let text = cut(&text, MOST_TEXT);
        let ground = Ground {
            evidence: Evidence::Note { file: note.file.clone() },
            at,
            kinds: [FindingKind::Preference].into(),
            quote: None,
        };
        items.push(Item {
            kind: FindingKind::Preference,
            basis: Basis::Said,
            codes: codes(&text),
            clauses: clauses(FindingKind::Preference, &text),
            plain: key(&text),
            statement: Statement::of(&text),
            text,
            quote: None,
            keywords: Vec::new(),
            keys: vec![grounds.add(ground)],
            // Nobody knows when: then it holds against what is older than now.
            at: at.unwrap_or(now),
            session: None,
            project: None,
            used: 0,
            reach: Reach::Project,
            outcome: None,
            noted: true,
        });
    }
}

/// Items and paragraphs of a text, each in one line without the marks of Markdown before it.
fn parts(text: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut begins = true;
    for line in text.lines() {
        let plain = line.trim();
        let bare = plain.trim_start_matches(['#', '>', '*', '-', '+']).trim_start();
        // `--flag` is no item, and `**bold**` neither.
        let is_marked = bare.len() < plain.len()
            && plain.get(1..).is_some_and(|rest| rest.trim_start_matches('#').starts_with(' '));
        let plain = if is_marked { bare } else { plain };
        if plain.is_empty() || plain.bytes().all(|b| b == b'-') {
            begins = true;
        } else if begins || is_marked {
            parts.push(one_line(plain));
            begins = false;
        } else if let Some(last) = parts.last_mut() {
            last.push(' ');
            last.push_str(&one_line(plain));
        }
    }
    parts
}

/// The clauses of what may be denied later: a rule is seldom taken back in as many words as it was given.
fn clauses(kind: FindingKind, text: &str) -> Vec<Statement> {
    let is_rule = match kind {
        FindingKind::Preference | FindingKind::Procedure => true,
        FindingKind::Pitfall | FindingKind::Environment | FindingKind::Task => false,
    };
    let sentences = if is_rule { sentences(text) } else { Vec::new() };
    let clauses: Vec<&str> = sentences.iter().flat_map(|one| one.split("; ")).collect();
    if clauses.len() < 2 {
        Vec::new()
    } else {
        clauses.into_iter().take(CLAUSES).map(Statement::of).collect()
    }
}

/// What stands between backticks, the same for all ways to run it.
pub(super) fn codes(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(normalised).filter(|code| !code.is_empty()).collect()
}

/// A command without where it is run and what is done with its output.
fn normalised(code: &str) -> String {
    let mut code = one_line(code);
    while let Some((first, rest)) = code.split_once(" && ").filter(|(first, _)| first.starts_with("cd ")) {
        debug_assert!(first.len() < code.len());
        code = rest.to_owned();
    }
    let pipes = [" | tail", " | head", " | less", " | cat", " 2>&1", " 2>/dev/null", " > /dev/null"];
    while let Some(at) =
        pipes.iter().filter_map(|pipe| code.rfind(pipe)).max().filter(|at| is_last(&code[*at..]))
    {
        code.truncate(at);
    }
    code.trim_end_matches(';').trim().to_owned()
}

/// Whether no other command follows.
fn is_last(tail: &str) -> bool {
    !tail.get(3..).unwrap_or_default().contains(['|', ';', '&']) || tail == " 2>&1"
}
