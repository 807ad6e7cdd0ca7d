//! What a new session is told.

use super::lines::{self, ShortIds};
use super::shelf::{Shelf, Shelved};
use super::{MOST_SEARCHES, Volume};
use crate::handbook::FindingKind;
use crate::handbook::book::Entry;
use crate::recall::{Indexed, Reach, fits};
use std::collections::{BTreeMap, BTreeSet};
use throughline_core::tokens::Counter;
use throughline_core::{SessionId, prompt};

const LEAD: &str = include_str!("../../../../../prompts/handbook_read.md");
const TOLD_LEAD: &str = include_str!("../../../../../prompts/handbook_told.md");
const OPEN: &str = "<handbook>";
const CLOSE: &str = "</handbook>";

/// What a word counts by where it stands in a statement.
const TEXT: f32 = 1.4;
const KEYWORD: f32 = 2.0;
const QUOTE: f32 = 0.7;
/// How well a statement must fit to be told: 1 is one rare word of the request.
const FLOOR: f32 = 0.6;
/// What share of the best one's score the others must reach.
const NEAR_BEST: f32 = 0.2;
/// Percent of the tokens up to which notes are told, then what the user wants, then what fits; the index gets the rest.
const NOTES: u64 = 25;
const WANTED: u64 = 55;
const FITTING: u64 = 85;
/// Statements that are told at most.
const MOST: usize = 60;
/// Keywords of a line of the index, and characters of one.
const KEYWORDS: usize = 24;
const KEYWORD_CHARS: usize = 40;
/// Tokens that marks and line ends around a heading take.
const BETWEEN: u64 = 6;

/// What can be done with a handbook by whoever is told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// It can search and open the books, and its citations are taken out of what people see.
    Searches,
    /// It can only read what it is told, and what it says is seen as it is.
    IsTold,
}

/// What a session is told of its handbooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Briefed {
    /// The text: instructions, then the lines that were chosen.
    pub text: String,
    /// Its tokens.
    pub tokens: u64,
    /// How many statements and notes are in it.
    pub lines: usize,
    /// The sessions that they come from.
    pub sessions: Vec<SessionId>,
}

/// A line that may be told.
struct Line<'a> {
    section: Section,
    text: String,
    sessions: Vec<&'a SessionId>,
}

/// The parts of the text, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Section {
    Notes,
    Statements(FindingKind),
    Index,
}

impl Section {
    fn heading(self) -> &'static str {
        match self {
            Self::Notes => "Notes by hand, not in the book yet",
            Self::Statements(kind) => lines::heading(kind),
            Self::Index => "What else there is, by keywords",
        }
    }
}

pub(super) fn choose(
    shelf: &Shelf,
    (request, reader): (&str, Reader),
    (budget, counter): (u64, &mut Counter),
) -> Option<Briefed> {
    let ids = ShortIds::new(shelf.sessions());
    let lead = match reader {
        Reader::Searches => prompt(LEAD).replace("{{searches}}", &MOST_SEARCHES.to_string()),
        Reader::IsTold => prompt(TOLD_LEAD).to_owned(),
    };
    let mut page = Page::new(lead, budget, counter);
    let statement = |shelved: &Shelved, entry: &Entry| lines::statement(entry, shelved, &ids);
    for shelved in &shelf.books {
        for note in shelved.fresh_notes() {
            let text = lines::note(note, shelved.volume);
            page.add(Line { section: Section::Notes, text, sessions: Vec::new() }, NOTES);
        }
    }
    let fitting = fitting(shelf, request);
    let mut told: BTreeSet<(Volume, usize)> = BTreeSet::new();
    let wanted = shelf.books.iter().flat_map(|shelved| {
        let entries = shelved.book.entries().iter().enumerate();
        entries.filter(|(_, entry)| entry.kind == FindingKind::Preference).map(move |(n, _)| (shelved, n))
    });
    let wanted = wanted.map(|(shelved, n)| (shelved, n, WANTED));
    for (shelved, n, percent) in wanted.chain(fitting.into_iter().map(|(one, n)| (one, n, FITTING))) {
        let Some(entry) = shelved.book.entries().get(n) else { continue };
        if told.len() >= MOST || told.contains(&(shelved.volume, n)) {
            continue;
        }
        let line = Line {
            section: Section::Statements(entry.kind),
            text: statement(shelved, entry),
            sessions: shelved.book.sessions_of(entry),
        };
        if page.add(line, percent) {
            told.insert((shelved.volume, n));
        }
    }
    // Keywords are of use to those who can search.
    let searched = shelf.books.iter().filter(|_| reader == Reader::Searches);
    for shelved in searched {
        for text in index(shelved, &told) {
            page.add(Line { section: Section::Index, text, sessions: Vec::new() }, 100);
        }
    }
    page.finish()
}

/// Statements that touch the request, the best first; those of the project before those of everywhere that fit as well.
fn fitting<'a>(shelf: &'a Shelf, request: &str) -> Vec<(&'a Shelved, usize)> {
    let all: Vec<(&Shelved, usize, &Entry)> = shelf
        .books
        .iter()
        .flat_map(|one| one.book.entries().iter().enumerate().map(move |(n, entry)| (one, n, entry)))
        .collect();
    let indexed: Vec<Indexed> = all.iter().map(|(_, _, entry)| indexed(entry)).collect();
    let (scores, _) = fits(request, Reach::Near, &indexed);
    let best = scores.iter().copied().fold(0.0, f32::max);
    let floor = FLOOR.max(best * NEAR_BEST);
    let mut ranked: Vec<(f32, usize)> = scores
        .into_iter()
        .enumerate()
        .filter(|(_, score)| *score >= floor)
        .map(|(at, score)| (score, at))
        .collect();
    // Of equals the book's own order holds.
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    ranked.into_iter().filter_map(|(_, at)| all.get(at).map(|(one, n, _)| (*one, *n))).collect()
}

/// The words of a statement.
pub(super) fn indexed(entry: &Entry) -> Indexed {
    let keywords = entry.keywords.join("\n");
    let quote = entry.quote.as_deref().unwrap_or_default();
    Indexed::of_fields(&[(&entry.text, TEXT), (&keywords, KEYWORD), (quote, QUOTE)])
}

/// What is not told, a line for each kind: how much there is, and the words by which it is found.
fn index(shelved: &Shelved, told: &BTreeSet<(Volume, usize)>) -> Vec<String> {
    let mut lines = Vec::new();
    let place = format!("{}MEMORY.md", shelved.volume.prefix());
    for kind in FindingKind::ALL {
        let entries = shelved.book.entries().iter().enumerate();
        let rest: Vec<&Entry> = entries
            .filter(|(n, entry)| entry.kind == kind && !told.contains(&(shelved.volume, *n)))
            .map(|(_, entry)| entry)
            .collect();
        if rest.is_empty() {
            continue;
        }
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let fit = |word: &&String| word.chars().count() <= KEYWORD_CHARS;
        rest.iter().flat_map(|entry| entry.keywords.iter().filter(fit)).for_each(|word| {
            *counts.entry(word).or_default() += 1;
        });
        let mut words: Vec<(&str, usize)> = counts.into_iter().collect();
        // The book's order is by worth: of words as frequent, those of worthier statements come first.
        let first = |word: &str| rest.iter().position(|entry| entry.keywords.iter().any(|one| one == word));
        words.sort_by_key(|(word, count)| (std::cmp::Reverse(*count), first(word)));
        let words: Vec<&str> = words.into_iter().take(KEYWORDS).map(|(word, _)| word).collect();
        let words = if words.is_empty() { String::new() } else { format!(": {}", words.join(", ")) };
        lines.push(lines::harmless(&format!("- {} in {place}{words}", lines::counted(kind, rest.len()))));
    }
    if !shelved.skills.is_empty() {
        let names: Vec<&str> = shelved.skills.iter().map(String::as_str).take(KEYWORDS).collect();
        let place = format!("{}{}", shelved.volume.prefix(), crate::handbook::phase2::SKILLS);
        lines.push(lines::harmless(&format!("- skills in {place}: {}", names.join(", "))));
    }
    lines
}

/// The text as it grows.
struct Page<'a, 'c> {
    lead: String,
    lines: Vec<Line<'a>>,
    budget: u64,
    /// Tokens of what comes before the lines, and of the lines.
    fixed: u64,
    used: u64,
    counter: &'c mut Counter,
}

impl<'a, 'c> Page<'a, 'c> {
    fn new(lead: String, budget: u64, counter: &'c mut Counter) -> Self {
        let fixed = counter.text(&lead) + counter.text(OPEN) + counter.text(CLOSE) + BETWEEN;
        Self { lead, lines: Vec::new(), budget, fixed, used: 0, counter }
    }

    /// Adds a line if the lines then have at most `percent` of their room. Whether it did.
    fn add(&mut self, line: Line<'a>, percent: u64) -> bool {
        let is_first = self.lines.iter().all(|other| other.section != line.section);
        let heading = if is_first { self.counter.text(line.section.heading()) + BETWEEN } else { 0 };
        let used = self.used + heading + self.counter.text(&line.text) + 1;
        let fits = used <= self.budget.saturating_sub(self.fixed) * percent / 100;
        if fits {
            self.used = used;
            self.lines.push(line);
        }
        fits
    }

    fn text(&self) -> String {
        let mut text = format!("{}\n\n{OPEN}", self.lead);
        let mut lines: Vec<&Line<'_>> = self.lines.iter().collect();
        lines.sort_by_key(|line| line.section);
        let mut last = None;
        for line in lines {
            if last != Some(line.section) {
                text.push_str(&format!("\n## {}\n", line.section.heading()));
                last = Some(line.section);
            }
            text.push_str(&line.text);
            text.push('\n');
        }
        text.push_str(CLOSE);
        text
    }

    fn finish(mut self) -> Option<Briefed> {
        // Parts are not always as long together as one by one: what was added last goes first.
        let text = loop {
            if self.lines.is_empty() {
                return None;
            }
            let text = self.text();
            if self.counter.text(&text) <= self.budget {
                break text;
            }
            self.lines.pop();
        };
        let mut sessions: Vec<SessionId> =
            self.lines.iter().flat_map(|line| line.sessions.iter().map(|id| (*id).clone())).collect();
        sessions.sort();
        sessions.dedup();
        let lines = self.lines.iter().filter(|line| line.section != Section::Index).count();
        Some(Briefed { tokens: self.counter.text(&text), text, lines, sessions })
    }
}
