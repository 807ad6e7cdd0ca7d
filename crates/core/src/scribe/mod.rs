//! The offline scribe: notes, summaries, handoffs and span summaries from facts alone. No model, no failure, bounded.

mod page;
mod parts;
mod words;

use crate::Entry;
use crate::facts::Facts;
use crate::tokens::Counter;
use page::Page;

/// What the scribe writes from.
pub struct Material<'a> {
    /// The record.
    pub facts: &'a Facts,
    /// The messages that stay beside the text: what they say is not said again.
    pub kept: &'a KeptText,
    /// What the person wants the text to pay attention to.
    pub instructions: Option<&'a str>,
    /// Whether every request in force is told, however much room that takes (G).
    pub guarantee: bool,
    /// Ranked details of everything that was said, within a budget, leaving out what a text already says.
    pub digest: &'a mut dyn FnMut(DigestWanted<'_>, &mut Counter) -> String,
}

/// Text of the messages that stay beside a summary.
#[derive(Clone, Debug, Default)]
pub struct KeptText {
    /// All of them.
    pub all: String,
    /// Those that the model reads as said to it: neither its own words nor results of tools.
    pub said: String,
}

/// A request for details.
#[derive(Clone, Copy, Debug)]
pub struct DigestWanted<'a> {
    /// Tokens at most.
    pub budget: u64,
    /// What is said already.
    pub said: &'a [&'a str],
}

/// The sections of session notes, with the guides that stand under them (N1).
pub const NOTES_SECTIONS: [(&str, &str); 10] = [
    ("Session Title", "_Five to ten telling words._"),
    ("Current State", "_What is being worked on right now, what is unfinished, what comes next._"),
    ("Task specification", "_What the user asked for, in their words, and what was decided on the way._"),
    ("Files and Functions", "_Which files matter, what they hold, what was changed._"),
    ("Workflow", "_Which commands are run, in which order, and how to read their output._"),
    (
        "Errors & Corrections",
        "_What went wrong, how it was put right, what the user corrected, what not to try again._",
    ),
    ("Codebase and System Documentation", "_The parts of the system and how they work together._"),
    ("Learnings", "_What worked, what did not, what to avoid; nothing that stands above._"),
    ("Key results", "_Answers, tables and documents that the user asked for, as they were given._"),
    ("Worklog", "_What was done, step by step, in few words._"),
];

/// Writes session notes in ten sections.
pub fn notes(material: &mut Material<'_>, budget: u64, counter: &mut Counter) -> String {
    let mut page = Page::new(budget, counter);
    let shares = Shares::of(budget);
    let (facts, guarantee) = (material.facts, material.guarantee);
    let kept = material.kept;
    let heading = |at: usize| format!("# {}", NOTES_SECTIONS[at].0);
    page.section(&heading(0), |page| parts::title(page, facts));
    page.section(&heading(1), |page| parts::state(page, facts, kept, shares.state));
    page.section(&heading(2), |page| {
        parts::instructions(page, material.instructions);
        words::write(page, facts, &kept.said, words::Room { most: shares.words, guarantee });
        words::write_superseded(page, facts, shares.small);
        parts::answers(page, facts, &kept.all, shares.small);
    });
    page.section(&heading(3), |page| parts::files(page, facts, shares.files));
    page.section(&heading(4), |page| parts::commands(page, facts, shares.small));
    page.section(&heading(5), |page| parts::errors(page, facts, shares.small));
    page.section(&heading(8), |page| parts::results(page, facts, &kept.all, shares.results));
    page.section(&heading(9), |page| parts::details(page, material.digest, &kept.all));
    page.finish()
}

/// Writes a summary in nine sections (P5b).
pub fn summary(material: &mut Material<'_>, budget: u64, counter: &mut Counter) -> String {
    let mut page = Page::with_fixed(budget, &SUMMARY_SECTIONS, counter);
    let shares = Shares::of(budget);
    let (facts, guarantee) = (material.facts, material.guarantee);
    let kept = material.kept;
    page.fixed(SUMMARY_SECTIONS[0], |page| {
        parts::instructions(page, material.instructions);
        parts::request(page, facts);
    });
    page.fixed(SUMMARY_SECTIONS[1], |page| parts::concepts(page, facts, shares.small));
    page.fixed(SUMMARY_SECTIONS[2], |page| parts::files(page, facts, shares.files));
    page.fixed(SUMMARY_SECTIONS[3], |page| parts::errors(page, facts, shares.small));
    page.fixed(SUMMARY_SECTIONS[4], |page| parts::commands(page, facts, shares.small));
    page.fixed(SUMMARY_SECTIONS[5], |page| {
        words::write(page, facts, &kept.said, words::Room { most: shares.words, guarantee });
        words::write_superseded(page, facts, shares.small);
        parts::answers(page, facts, &kept.all, shares.small);
    });
    page.fixed(SUMMARY_SECTIONS[6], |page| {
        parts::handles(page, facts, &kept.all);
        parts::pending(page, facts);
    });
    page.fixed(SUMMARY_SECTIONS[7], |page| parts::results(page, facts, &kept.all, shares.results));
    page.fixed(SUMMARY_SECTIONS[8], |page| parts::next_step(page, facts));
    page.section("# Details from the record", |page| parts::details(page, material.digest, &kept.all));
    page.finish()
}

/// The sections of a summary (P5b). All of them are there, whatever the session holds.
pub const SUMMARY_SECTIONS: [&str; 9] = [
    "1. Primary Request and Intent:",
    "2. Key Technical Concepts:",
    "3. Files and Code Sections:",
    "4. Errors and fixes:",
    "5. Problem Solving:",
    "6. All user messages:",
    "7. Pending Tasks:",
    "8. Current Work:",
    "9. Optional Next Step:",
];

/// Writes a handoff for whoever takes over (P5c).
pub fn handoff(material: &mut Material<'_>, budget: u64, counter: &mut Counter) -> String {
    let mut page = Page::new(budget, counter);
    let shares = Shares::of(budget);
    let (facts, guarantee) = (material.facts, material.guarantee);
    let kept = material.kept;
    page.section("## Progress", |page| {
        parts::instructions(page, material.instructions);
        parts::state(page, facts, kept, shares.state);
    });
    page.section("## What binds", |page| {
        words::write(page, facts, &kept.said, words::Room { most: shares.words, guarantee });
        words::write_superseded(page, facts, shares.small);
    });
    page.section("## Files", |page| parts::files(page, facts, shares.files));
    page.section("## Commands and problems", |page| {
        parts::commands(page, facts, shares.small);
        parts::errors(page, facts, shares.small);
    });
    page.section("## Details", |page| parts::details(page, material.digest, &kept.all));
    page.finish()
}

/// Summarises a span of messages (P4): what was asked, done and said in it.
pub fn span(entries: &[Entry], budget: u64, counter: &mut Counter) -> String {
    let mut facts = Facts::default();
    for entry in entries {
        facts.push(&entry.message);
    }
    let mut page = Page::new(budget, counter);
    let shares = Shares::of(budget);
    words::write(&mut page, &facts, "", words::Room { most: shares.words, guarantee: true });
    parts::files(&mut page, &facts, shares.files * 2);
    parts::commands(&mut page, &facts, shares.small * 2);
    parts::errors(&mut page, &facts, shares.small);
    parts::results(&mut page, &facts, "", shares.results * 3);
    page.finish()
}

/// How a budget is shared out. What a part does not need goes to the details, which come last.
struct Shares {
    state: u64,
    words: u64,
    files: u64,
    results: u64,
    small: u64,
}

impl Shares {
    fn of(budget: u64) -> Self {
        let share = |percent: u64| budget * percent / 100;
        Self { state: share(10), words: share(30), files: share(4), results: share(3), small: share(2) }
    }
}
