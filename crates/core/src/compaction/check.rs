//! The check (B7): a summary is held against the facts before it replaces history.
//!
//! What is missing is appended verbatim. What the user is said to have asked for, and never said, is taken out and reported. Nothing here trusts the
//! summary's own words: only what the ledger holds counts.

use crate::classify::DirectiveKind;
use crate::facts::{Facts, Status};
use crate::scribe::KeptText;
use crate::tokens::Counter;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// What the check found. It is stored with the checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The share of what must not be lost that the summary had by itself, from 0 to 1.
    pub score: f64,
    /// What was missing and was appended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Missing>,
    /// What was missing and did not fit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: usize,
    /// Lines that claimed a request nobody made, and were taken out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsupported: Vec<String>,
}

impl Verdict {
    /// How many things that count the text did not say.
    pub(crate) fn lost(&self) -> usize {
        self.missing.iter().filter(|item| item.kind.weight() > 0.0).count() + self.left_out
    }
}

fn is_zero(n: &usize) -> bool {
    *n == 0
}

/// Something that the summary did not say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Missing {
    /// What it is.
    pub kind: MissingKind,
    /// In the words of the record.
    pub text: String,
    /// The message that says it, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<crate::MessageId>,
}

/// What must survive a compaction, weightiest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingKind {
    /// The newest request.
    NewestRequest,
    /// A request in force.
    Request,
    /// Something that the user forbade.
    Prohibition,
    /// Something that the user corrected.
    Correction,
    /// Something that the user asked for.
    Instruction,
    /// Something that the user decided.
    Decision,
    /// A task that is not finished.
    OpenTask,
    /// A test that fails.
    FailingTest,
    /// A file that was changed.
    ChangedFile,
}

impl MissingKind {
    /// How much it counts in the score of a text.
    pub(crate) fn weight(self) -> f64 {
        match self {
            Self::Prohibition => 3.0,
            Self::Correction | Self::OpenTask | Self::FailingTest => 2.0,
            Self::Instruction | Self::Decision | Self::ChangedFile => 1.0,
            // A text need not repeat what is told beside it anyway.
            Self::NewestRequest | Self::Request => 0.0,
        }
    }

    /// Returns true for what the guarantee demands of every request.
    pub(crate) fn is_guaranteed(self) -> bool {
        match self {
            Self::NewestRequest
            | Self::Prohibition
            | Self::Correction
            | Self::Instruction
            | Self::Decision
            | Self::Request => true,
            Self::OpenTask | Self::FailingTest | Self::ChangedFile => false,
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::NewestRequest => "newest request",
            Self::Prohibition => "user forbade",
            Self::Correction => "user corrected",
            Self::Instruction => "user asked",
            Self::Decision => "user decided",
            Self::Request => "requested",
            Self::OpenTask => "open task",
            Self::FailingTest => "failing test",
            Self::ChangedFile => "changed file",
        }
    }
}

/// What a summary is held against.
#[derive(Debug)]
pub struct Check<'a> {
    /// The record.
    pub facts: &'a Facts,
    /// The messages that stay beside the summary: what they say is not missing.
    pub kept: &'a KeptText,
    /// Tokens that may be appended.
    pub budget: u64,
    /// Tokens that may be appended of what the guarantee demands, the newest request aside; `None` where it is not asked for.
    pub guarantee: Option<u64>,
}

impl Check<'_> {
    /// The summary as it may replace history, and what was found.
    pub fn run(&self, summary: &str, counter: &mut Counter) -> (String, Verdict) {
        let (mut text, unsupported) = self.without_unsupported(summary);
        let mut required = self.required();
        let weight = |required: &[Missing]| -> f64 { required.iter().map(|item| item.kind.weight()).sum() };
        let total = weight(&required);
        required.retain(|item| !self.says(&text, item));
        let lost = weight(&required);
        let score = if total > 0.0 { 1.0 - lost / total } else { 1.0 };
        let demanded: u64 = required
            .iter()
            .filter(|item| item.kind.is_guaranteed())
            .map(|item| counter.text(&item.text) + 8)
            .sum();
        let mut promised = self.guarantee.unwrap_or(0);
        let fits = demanded <= promised;
        // Whole requests tell their sentences; where they do not all fit, the sentences come first.
        required.sort_by_key(|item| (item.kind == MissingKind::Request && !fits, item.kind));
        let mut missing = Vec::new();
        let mut left_out = 0;
        let mut spent = 0;
        let mut appendix = String::new();
        for item in required {
            // A request told whole tells its sentences.
            if appendix.contains(&item.text) {
                continue;
            }
            let line = line_for(&item);
            let cost = counter.text(&line) + 1;
            let must =
                item.kind == MissingKind::NewestRequest || (item.kind.is_guaranteed() && cost <= promised);
            let must = must && self.guarantee.is_some();
            if !must && spent + cost > self.budget {
                left_out += usize::from(item.kind.weight() > 0.0);
                continue;
            }
            match must {
                true => promised = promised.saturating_sub(cost),
                false => spent += cost,
            }
            appendix.push_str(&line);
            missing.push(item);
        }
        if !appendix.is_empty() {
            text.truncate(text.trim_end().len());
            text.push_str("\n\n# Carried over word for word\n");
            text.push_str(&appendix);
        }
        (text, Verdict { score, missing, left_out, unsupported })
    }

    /// Everything that must survive, newest of each kind last.
    fn required(&self) -> Vec<Missing> {
        let facts = self.facts;
        let mut required = Vec::new();
        let mut add = |kind, text: &str, message: Option<&crate::MessageId>| {
            required.push(Missing { kind, text: text.to_owned(), message: message.cloned() });
        };
        let newest = facts.requests().newest().map(|request| &request.ask.message);
        for request in facts.requests().in_force().filter(|_| self.guarantee.is_some()) {
            let kind = match newest == Some(&request.ask.message) {
                true => MissingKind::NewestRequest,
                false => MissingKind::Request,
            };
            let passages = request.ask.passages();
            passages.into_iter().for_each(|passage| add(kind, passage, Some(&request.ask.message)));
        }
        for directive in facts.requests().directives() {
            let kind = match directive.kind {
                DirectiveKind::Prohibition => MissingKind::Prohibition,
                DirectiveKind::Correction => MissingKind::Correction,
                DirectiveKind::Instruction => MissingKind::Instruction,
                DirectiveKind::Decision => MissingKind::Decision,
            };
            add(kind, &directive.sentence, Some(&directive.message));
        }
        for todo in facts.todos().iter().filter(|todo| todo.status != Status::Done) {
            add(MissingKind::OpenTask, &todo.text, None);
        }
        for run in facts.tests().iter().filter(|run| !run.passed) {
            match run.failing.as_slice() {
                [] => add(MissingKind::FailingTest, &run.command, None),
                names => names.iter().for_each(|name| add(MissingKind::FailingTest, name, None)),
            }
        }
        for file in facts.changed_files() {
            add(MissingKind::ChangedFile, &file.path, None);
        }
        required
    }

    fn says(&self, text: &str, item: &Missing) -> bool {
        let there = |needle: &str| text.contains(needle) || self.kept.all.contains(needle);
        match item.kind {
            MissingKind::NewestRequest
            | MissingKind::Prohibition
            | MissingKind::Correction
            | MissingKind::Instruction
            | MissingKind::Decision
            | MissingKind::Request => text.contains(&item.text) || self.kept.said.contains(&item.text),
            MissingKind::OpenTask | MissingKind::FailingTest => there(&item.text),
            // A file may be told by its name alone, where that is unmistakable.
            MissingKind::ChangedFile => {
                let name = item.text.rsplit('/').next().unwrap_or(&item.text);
                there(&item.text) || (name.len() >= 8 && there(name))
            }
        }
    }

    /// Takes out lines that put requests into the user's mouth.
    fn without_unsupported(&self, summary: &str) -> (String, Vec<String>) {
        // Most summaries that keep to the record need no look at the words themselves.
        let mut said: Option<Words> = None;
        let mut kept = String::with_capacity(summary.len());
        let mut unsupported = Vec::new();
        let mut lists_user = false;
        for line in summary.lines() {
            let trimmed = line.trim();
            if is_heading(trimmed) {
                lists_user = trimmed.to_lowercase().contains("user messages");
            } else if claims_request(trimmed, lists_user)
                && !said.get_or_insert_with(|| Words::of(self.facts)).support(trimmed)
            {
                unsupported.push(trimmed.to_owned());
                continue;
            }
            kept.push_str(line);
            kept.push('\n');
        }
        (kept, unsupported)
    }
}

fn line_for(item: &Missing) -> String {
    let id = item.message.as_ref().map(|id| format!(" [{}]", crate::recall::short_id(id)));
    format!("- {}{}: {}\n", item.kind.label(), id.unwrap_or_default(), item.text)
}

fn is_heading(line: &str) -> bool {
    line.starts_with('#')
        || (line
            .split_once('.')
            .is_some_and(|(n, rest)| n.len() <= 2 && n.parse::<u8>().is_ok() && rest.ends_with(':')))
}

/// Whether a line says that the user asked for something: a bullet in the list of user messages, or a sentence with
/// the user as the one who wants.
fn claims_request(line: &str, lists_user: bool) -> bool {
    if lists_user && (line.starts_with('-') || line.starts_with('*') || line.starts_with('>')) {
        return true;
    }
    if !["user", "User", "USER", "用户"].iter().any(|who| line.contains(who)) {
        return false;
    }
    let lower = line.to_lowercase();
    const CLAIMS: [&str; 15] = [
        "user asked",
        "user wants",
        "user wanted",
        "user requested",
        "user said",
        "user told",
        "user instructed",
        "user requires",
        "user insisted",
        "user explicitly",
        "user prefers",
        "the user needs",
        "用户要求",
        "用户希望",
        "用户说",
    ];
    CLAIMS.iter().any(|claim| lower.contains(claim))
}

/// The words that the user used, in all and in each message.
struct Words {
    all: HashSet<String>,
    /// The whole of it in lower case, for quotes.
    text: String,
}

impl Words {
    fn of(facts: &Facts) -> Self {
        let mut all = HashSet::new();
        let mut text = String::new();
        let asked = facts.requests().all().iter().map(|request| request.ask.text.as_str());
        for said in asked.chain(facts.answers().iter().map(|said| said.text.as_str())) {
            all.extend(content_words(said));
            text.push_str(&normal(said));
            text.push('\n');
        }
        Self { all, text }
    }

    /// Whether the user's words bear the line out: a quote must be theirs, and most of its content words must be.
    fn support(&self, line: &str) -> bool {
        let quotes = quotes(line);
        if !quotes.is_empty() {
            return quotes.iter().all(|quote| self.text.contains(&normal(quote)));
        }
        let words: Vec<String> = content_words(line).collect();
        let known = words.iter().filter(|word| self.all.contains(*word)).count();
        words.is_empty() || known * 2 >= words.len()
    }
}

fn normal(text: &str) -> String {
    text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Quoted passages of several words: shorter ones are names.
fn quotes(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (open, close) in [('"', '"'), ('“', '”'), ('「', '」')] {
        let mut rest = line;
        while let Some(start) = rest.find(open) {
            let inner = &rest[start + open.len_utf8()..];
            let Some(end) = inner.find(close) else { break };
            let quote = &inner[..end];
            if quote.split_whitespace().count() >= 3 || quote.chars().count() >= 24 {
                found.push(quote);
            }
            rest = &inner[end + close.len_utf8()..];
        }
    }
    found
}

/// Words that carry meaning, in lower case; Chinese and Japanese in pairs of characters.
fn content_words(text: &str) -> impl Iterator<Item = String> {
    const EMPTY: [&str; 44] = [
        "the",
        "and",
        "for",
        "that",
        "this",
        "with",
        "from",
        "have",
        "has",
        "had",
        "was",
        "were",
        "are",
        "not",
        "but",
        "you",
        "user",
        "users",
        "asked",
        "wants",
        "wanted",
        "requested",
        "said",
        "told",
        "instructed",
        "explicitly",
        "requires",
        "insisted",
        "prefers",
        "needs",
        "should",
        "would",
        "could",
        "will",
        "can",
        "all",
        "any",
        "its",
        "into",
        "also",
        "then",
        "them",
        "they",
        "about",
    ];
    let lower = text.to_lowercase();
    let mut words: Vec<String> = Vec::new();
    for run in lower.split(|c: char| !c.is_alphanumeric() && c != '_') {
        if !run.is_ascii() {
            let chars: Vec<char> = run.chars().collect();
            words.extend(chars.windows(2).map(|pair| pair.iter().collect()));
        } else if run.len() >= 3 && !EMPTY.contains(&run) {
            words.push(run.trim_end_matches('s').to_owned());
        }
    }
    words.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Message, Role};

    fn facts(said: &[&str]) -> Facts {
        let mut facts = Facts::default();
        for text in said {
            facts.push(&Message::text(Role::User, *text));
        }
        facts
    }

    fn run(facts: &Facts, summary: &str) -> (String, Verdict) {
        Check { facts, kept: &KeptText::default(), budget: 1_000, guarantee: None }
            .run(summary, &mut Counter::for_model("gpt-5"))
    }

    #[test]
    fn b7_what_is_missing_is_appended_word_for_word() {
        let facts = facts(&["Fix the login. Never touch the lockfile."]);
        let (text, verdict) = run(&facts, "# Current State\nThe login is being fixed.");
        assert!(text.contains("Never touch the lockfile."));
        assert_eq!(verdict.missing[0].kind, MissingKind::Prohibition);
        assert!(verdict.score < 1.0);
        let (again, verdict) = run(&facts, &text);
        assert_eq!((verdict.score, verdict.missing.len()), (1.0, 0));
        assert_eq!(again.trim_end(), text.trim_end());
    }

    #[test]
    fn b7_a_request_nobody_made_is_taken_out_and_reported() {
        let facts = facts(&["Fix the login bug in auth.rs"]);
        let summary = "1. Primary Request and Intent:\nThe user asked to fix the login bug in auth.rs.\n\
                       The user wants the production database dropped afterwards.\n\
                       6. All user messages:\n- Fix the login bug in auth.rs\n- \"please also rewrite everything in Go\"";
        let (text, verdict) = run(&facts, summary);
        assert_eq!(verdict.unsupported.len(), 2, "{:?}", verdict.unsupported);
        assert!(!text.contains("database") && !text.contains("rewrite"));
        assert!(text.contains("The user asked to fix the login bug"));
    }

    #[test]
    fn b7_what_does_not_fit_is_counted() {
        let facts = facts(&["never do a. never do b. never do c."]);
        let (_, verdict) = Check { facts: &facts, kept: &KeptText::default(), budget: 12, guarantee: None }
            .run("x", &mut Counter::for_model("gpt-5"));
        assert_eq!(verdict.missing.len() + verdict.left_out, 3);
        assert!(verdict.left_out > 0);
    }
}
