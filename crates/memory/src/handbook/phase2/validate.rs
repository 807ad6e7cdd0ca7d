//! What a model wrote is held against the material before any of it counts.
//!
//! **Every statement names evidence that exists.** Those that don't are taken out; where they are more than a third, all of it is refused.
//! **No instruction that nobody gave.** A preference quotes what the user said, letter by letter, and says no more than they did. Elsewhere
//! nothing bids anybody to do something, and commands and addresses are those of the findings. **What the session is told is no more than the
//! book says.** No secrets. Sizes within their limits.

use super::borne::{Bearing, codes, is_borne, is_quote_of};
use super::paths::{MEMORY, SUMMARY};
use super::staging::Staging;
use crate::extract::borne as words;
use crate::handbook::book::{Book, Entry, FlawKind, Grounds, MOST_TEXT, Wording};
use crate::handbook::voice::{is_harmful_command, is_order, is_order_in_subject};
use crate::handbook::{Basis, EvidenceKey, FindingKind, HandNote, HandbookLimits, Scope};
use crate::notes::{Skill, SkillLimits};
use crate::store::Output;
use std::collections::BTreeMap;
use throughline_core::tokens::Counter;
use throughline_redact::redact;

/// The part of statements that may be taken out.
const MOST_OUT: usize = 3;
/// Bullets of a book.
const MOST_BULLETS: usize = 5_000;

/// What is checked against.
pub(super) struct Check<'a> {
    pub(super) scope: &'a Scope,
    pub(super) outputs: &'a [Output],
    pub(super) notes: &'a [HandNote],
    /// The book before, with what people took out of it.
    pub(super) before: Option<&'a Book>,
    pub(super) limits: &'a HandbookLimits,
    pub(super) counter: &'a mut Counter,
}

/// What stood the check.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) book: Book,
    /// The summary; `None` if code is to write it.
    pub(super) summary: Option<String>,
    /// Files of skills, by name.
    pub(super) skills: BTreeMap<String, String>,
    /// What was taken out, in words for people.
    pub(super) dropped: Vec<String>,
}

/// Why all of it is refused, in words for the model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Flaws(Vec<String>);

impl Flaws {
    /// At most so many, a line each.
    pub(super) fn shown(&self, most: usize) -> String {
        let mut lines: Vec<String> = self.0.iter().take(most).map(|flaw| format!("- {flaw}")).collect();
        if let Some(more) = self.0.len().checked_sub(most).filter(|more| *more > 0) {
            lines.push(format!("- and {more} more"));
        }
        lines.join("\n")
    }
}

impl Check<'_> {
    /// The headings of a summary.
    pub(super) fn headings(&self) -> Vec<String> {
        let empty = Book::new(self.scope.clone(), None, Vec::new(), Grounds::default());
        headings_of(&empty.summary(self.limits.summary_tokens, &mut Counter::for_model("")))
    }

    /// Checks what is staged.
    pub(super) fn run(&mut self, staging: &Staging<'_>) -> Result<Checked, Flaws> {
        let mut flaws = Flaws::default();
        let memory = staging.text(MEMORY).unwrap_or_default();
        let summary = staging.text(SUMMARY).unwrap_or_default();
        self.sizes_and_secrets(staging, &mut flaws);
        if memory.trim().is_empty() && !(self.outputs.is_empty() && self.notes.is_empty()) {
            flaws.0.push(format!("{MEMORY} is empty"));
        }
        if !flaws.0.is_empty() {
            return Err(flaws);
        }
        let bearing = Bearing::of(self.scope, self.outputs, self.notes);
        let mut dropped = Vec::new();
        let book = self.book(memory, &bearing, (&mut dropped, &mut flaws));
        let skills = self.skills(staging, &bearing, &mut dropped);
        let summary = self.summary(summary, &book, &mut dropped);
        if flaws.0.is_empty() { Ok(Checked { book, summary, skills, dropped }) } else { Err(flaws) }
    }

    fn sizes_and_secrets(&self, staging: &Staging<'_>, flaws: &mut Flaws) {
        let pages =
            [MEMORY, SUMMARY].into_iter().filter_map(|path| Some((path.to_owned(), staging.text(path)?)));
        let skills = staging.skills().map(|(name, text)| (format!("skills/{name}/SKILL.md"), text));
        for (path, text) in pages.chain(skills) {
            if text.len() > self.limits.book_bytes {
                flaws.0.push(format!(
                    "{path} has {} bytes, over the limit of {}",
                    text.len(),
                    self.limits.book_bytes
                ));
            }
            for kind in redact(text).kinds() {
                flaws.0.push(format!("{path} holds a secret ({kind}); leave it out"));
            }
        }
        if staging.skills().count() > self.limits.skills {
            flaws.0.push(format!("there are more than {} skills", self.limits.skills));
        }
    }

    fn book(
        &self,
        memory: &str,
        bearing: &Bearing<'_>,
        (dropped, flaws): (&mut Vec<String>, &mut Flaws),
    ) -> Book {
        let grounds = self.grounds(bearing);
        let (written, read) = Book::parse_over(memory, grounds.clone());
        let bare = read.iter().filter(|flaw| matches!(flaw.what, FlawKind::NoEvidence));
        let mut without: Vec<String> = bare.map(ToString::to_string).collect();
        let all = written.entries().len() + without.len();
        if all > MOST_BULLETS {
            flaws.0.push(format!("{MEMORY} has {all} bullets, over the limit of {MOST_BULLETS}"));
        }
        let mut entries = Vec::new();
        for entry in written.entries() {
            match self.entry(entry, bearing, flaws) {
                Ok(entry) => entries.push(entry),
                Err(why) => without.push(format!("“{}” {why}", shortened(&entry.text))),
            }
        }
        if without.len() * MOST_OUT > all {
            flaws.0.push(format!("{} of {all} bullets are not borne out by their evidence:", without.len()));
            flaws.0.append(&mut without.clone());
        }
        dropped.append(&mut without);
        let updated = self.outputs.iter().map(|output| output.source.updated).max();
        let noted = self.notes.iter().filter_map(|note| note.at).max();
        Book::new(self.scope.clone(), updated.max(noted), entries, grounds)
    }

    /// The places of the material, and what people took out before.
    fn grounds(&self, bearing: &Bearing<'_>) -> Grounds {
        const REMOVED: &str = "\n## Taken out by hand\n";
        let before = self.before.map(Book::evidence_markdown).unwrap_or_default();
        let removed = before.find(REMOVED).map_or("", |at| &before[at..]);
        let (grounds, _) = Grounds::parse(&format!("{}{removed}", bearing.grounds().to_markdown()));
        grounds
    }

    /// A statement as it may stay, or why not.
    fn entry(&self, entry: &Entry, bearing: &Bearing<'_>, flaws: &mut Flaws) -> Result<Entry, String> {
        let mut entry = Entry { support: 0, wording: Wording::Theirs, ..entry.clone() };
        entry.evidence.retain(|key| bearing.grounds().get(key).is_some());
        if entry.evidence.is_empty() {
            return Err("names no evidence that exists".to_owned());
        }
        if entry.text.chars().count() > MOST_TEXT {
            return Err(format!("is longer than {MOST_TEXT} characters"));
        }
        entry.noted = bearing.is_noted(&entry);
        if !bearing.has_outcome(&entry) {
            entry.outcome = None;
        }
        let said = bearing.said(&entry);
        match entry.kind {
            FindingKind::Preference => {
                let quote = entry.quote.as_ref().filter(|quote| is_quote_of(quote, &said)).cloned();
                let quote = quote.or_else(|| is_quote_of(&entry.text, &said).then(|| entry.text.clone()));
                let Some(quote) = quote else {
                    flaws.0.push(format!(
                        "the preference “{}” quotes nothing that the user said in its evidence; copy their words letter by letter, or take it out",
                        shortened(&entry.text)
                    ));
                    return Err("is nothing that the user said".to_owned());
                };
                entry.basis = Basis::Said;
                // Where it says more than the user did, their words stand alone.
                let is_theirs =
                    is_quote_of(&entry.text, &said) || words::body(&entry.text, &said, &[]).is_some();
                if !is_theirs {
                    entry.text = quote.clone();
                }
                entry.quote = (entry.text != quote).then_some(quote);
            }
            FindingKind::Procedure | FindingKind::Pitfall | FindingKind::Environment | FindingKind::Task => {
                let sources = bearing.words(&entry);
                let owned: Vec<String> = sources.iter().map(|source| (*source).to_owned()).collect();
                if !bearing.is_finding(&entry) {
                    if is_order(&entry.text) {
                        return Err("reads like an instruction; say what was seen".to_owned());
                    }
                    if !is_borne(&entry.text, &sources) {
                        return Err("says what its evidence does not".to_owned());
                    }
                }
                entry.basis = bearing.basis(&entry);
                entry.quote = entry.quote.take().filter(|quote| is_quote_of(quote, &owned));
            }
        }
        entry.keywords.retain(|word| !is_order(word) && !is_harmful_command(word));
        Ok(entry)
    }

    fn skills(
        &self,
        staging: &Staging<'_>,
        bearing: &Bearing<'_>,
        dropped: &mut Vec<String>,
    ) -> BTreeMap<String, String> {
        let mut skills = BTreeMap::new();
        for (name, text) in staging.skills() {
            match skill(name, text, bearing) {
                Ok(skill) => {
                    skills.insert(name.to_owned(), skill.to_markdown());
                }
                Err(why) => dropped.push(format!("the skill {name} {why}")),
            }
        }
        skills
    }

    /// The summary, if it is one and says nothing that the book does not.
    fn summary(&mut self, text: &str, book: &Book, dropped: &mut Vec<String>) -> Option<String> {
        match self.summary_flaw(text, book) {
            None => Some(format!("{}\n", text.trim_end())),
            Some(why) => {
                dropped.push(format!("{SUMMARY} {why}; code wrote it"));
                None
            }
        }
    }

    fn summary_flaw(&mut self, text: &str, book: &Book) -> Option<String> {
        if text.lines().next().map(str::trim_end) != Some("v1") {
            return Some("does not begin with the line v1".to_owned());
        }
        let wanted = self.headings();
        if headings_of(text) != wanted {
            return Some(format!("has other headings than {}", wanted.join(", ")));
        }
        let tokens = self.counter.text(text);
        if tokens > self.limits.summary_tokens {
            return Some(format!("has {tokens} tokens, over the limit of {}", self.limits.summary_tokens));
        }
        let page = book.to_markdown();
        let own = book.summary(self.limits.summary_tokens, self.counter);
        let sources = [page.as_str(), own.as_str()];
        let said: Vec<String> = book
            .of(FindingKind::Preference)
            .flat_map(|entry| entry.quote.iter().chain([&entry.text]).cloned())
            .collect();
        let lines = text
            .lines()
            .skip(1)
            .map(|line| line.trim_start_matches(['-', '*', ' ']))
            .filter(|line| !line.is_empty() && !line.starts_with('#'));
        for line in lines {
            // What the user said may be said again; all else must state something that the book does.
            let is_said =
                is_quote_of(line, &said) || words::body(line, &said, &[]).is_some() || own.contains(line);
            if !is_said && is_order(line) {
                return Some(format!("gives an instruction that the user did not: “{}”", shortened(line)));
            }
            if !is_said && !is_borne(line, &sources) {
                return Some(format!("says what the book does not: “{}”", shortened(line)));
            }
        }
        None
    }
}

/// A skill by the agentskills rules. It names evidence that exists, and its commands and most of its words are those of what is behind it.
fn skill(name: &str, text: &str, bearing: &Bearing<'_>) -> Result<Skill, String> {
    let (skill, repairs) =
        Skill::read(text, &SkillLimits::default()).map_err(|error| format!("is none: {error}"))?;
    if let Some(repair) = repairs.first() {
        return Err(format!("is not in order: {repair}"));
    }
    if skill.name != name {
        return Err(format!("has the name {} in the folder {name}", skill.name));
    }
    let words = skill.body.split(|c: char| !c.is_ascii_alphanumeric());
    let keys: Vec<EvidenceKey> = words.filter_map(EvidenceKey::parse).collect();
    if keys.is_empty() {
        return Err("names no evidence; put the keys at its end, as `Evidence: [e0123456789]`".to_owned());
    }
    if let Some(key) = keys.iter().find(|key| bearing.grounds().get(key).is_none()) {
        return Err(format!("names evidence that does not exist: {key}"));
    }
    let behind = Entry { evidence: keys, ..Entry::new(FindingKind::Procedure, "") };
    let sources = bearing.words(&behind);
    let commands = codes(&skill.body);
    if let Some(command) = commands.iter().find(|command| is_harmful_command(command)) {
        return Err(format!("tells a command that no handbook should: {}", shortened(command)));
    }
    let said = format!("{}\n{}", skill.description, skill.body);
    if let Some(line) = said.lines().find(|line| is_order_in_subject(line)) {
        return Err(format!("gives an instruction that nobody gave: “{}”", shortened(line)));
    }
    if !is_borne(&without_keys(&said), &sources) {
        return Err("says what its evidence does not".to_owned());
    }
    Ok(skill)
}

/// Headings and keys say nothing of their own.
fn without_keys(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.starts_with("Evidence:"));
    lines.collect::<Vec<_>>().join("\n")
}

fn headings_of(text: &str) -> Vec<String> {
    text.lines().filter(|line| line.starts_with("## ")).map(|line| line.trim_end().to_owned()).collect()
}

fn shortened(text: &str) -> String {
    const MOST: usize = 80;
    if text.chars().count() <= MOST {
        return text.to_owned();
    }
    format!("{}…", text.chars().take(MOST).collect::<String>())
}
