//! The handbook as data: statements with evidence, its files, and the consolidation that needs no model.
//!
//! `MEMORY.md` is for people and models, and either may change it. `EVIDENCE.md` is written by code: what a key stands for. Both together read
//! back to the same [`Book`]; a text that is not in order reads to a book, too, and to [`Flaw`]s that say where.
//!
//! **Every statement names evidence.** A bullet without is kept in the file as text, and is no statement.
//!
//! **What a person changes stays.** Code knows the statements that it worded; those that it did not are left as they are while their evidence
//! holds, and those that somebody took out do not come back with the same words.

mod bullet;
mod cluster;
mod consolidate;
mod entry;
mod flaw;
mod fold;
mod global;
mod grounds;
mod item;
mod keep;
mod page;
mod rank;
mod skills;
mod stem;
mod summary;

pub use cluster::{Effort, MOST_COMPARED};
pub use consolidate::{consolidate, consolidate_with_effort, evidence_of};
pub use entry::{Entry, MOST_EVIDENCE, MOST_KEYWORD, MOST_KEYWORDS, MOST_QUOTE, MOST_TEXT, Wording};
pub use flaw::{BookFile, Flaw, FlawKind};
pub use global::PROJECTS;
pub use grounds::{Ground, Grounds, SessionRef};
pub use rank::{MEMORY_TOKENS, most_entries};
pub use skills::{MOST_SKILLS, SKILL_DAYS, SKILL_SESSIONS};
pub use stem::{summary_path, summary_stem};
pub use summary::{SUMMARY_VERSION, is_summary};

use super::{EvidenceKey, FindingKind, HandNote, HandbookLimits, Scope};
use crate::store::Output;
use entry::Print;
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use throughline_core::SessionId;

/// What a consolidation is shown.
#[derive(Clone, Copy, Debug)]
pub struct Material<'a> {
    /// Whose handbook. Outputs of other projects are left out, whatever is given.
    pub scope: &'a Scope,
    /// What phase 1 found; for [`Scope::Global`] in all projects.
    pub outputs: &'a [Output],
    /// Notes by hand.
    pub notes: &'a [HandNote],
    /// The book so far.
    pub before: Option<&'a Book>,
    /// What is later than this is taken for now: clocks go wrong.
    pub now: Timestamp,
    /// The handbook's bounds.
    pub limits: &'a HandbookLimits,
}

/// A handbook's statements, and what they rest on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Book {
    scope: Option<Scope>,
    updated: Option<Timestamp>,
    /// By section, in the order of worth.
    entries: Vec<Entry>,
    loose: Vec<Loose>,
    grounds: Grounds,
}

/// Text that somebody wrote between the statements.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Loose {
    place: Place,
    text: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Top,
    Section(FindingKind),
    Unknown(String),
}

impl Book {
    /// A book of some statements. Those that say the same in the same words are one; the order within a section stays.
    pub fn new(scope: Scope, updated: Option<Timestamp>, entries: Vec<Entry>, grounds: Grounds) -> Self {
        Self::assemble(Self { scope: Some(scope), updated, entries, loose: Vec::new(), grounds })
    }

    /// Reads a handbook's files.
    pub fn parse(memory_md: &str, evidence_md: &str) -> (Self, Vec<Flaw>) {
        let (grounds, mut flaws) = Grounds::parse(evidence_md);
        let (book, more) = page::parse(memory_md, grounds);
        flaws.extend(more);
        (book, flaws)
    }

    /// Reads `MEMORY.md` over the evidence that is at hand, as when somebody else wrote it.
    pub fn parse_over(memory_md: &str, grounds: Grounds) -> (Self, Vec<Flaw>) {
        page::parse(memory_md, grounds)
    }

    /// `MEMORY.md`.
    pub fn to_markdown(&self) -> String {
        page::render(self)
    }

    /// `EVIDENCE.md`: the places that are named, and their sessions.
    pub fn evidence_markdown(&self) -> String {
        self.grounds.to_markdown()
    }

    /// All statements, section by section, those of most worth first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The statements of a section.
    pub fn of(&self, kind: FindingKind) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(move |entry| entry.kind == kind)
    }

    /// What the statements rest on.
    pub fn grounds(&self) -> &Grounds {
        &self.grounds
    }

    /// Whose it is, if its header says so.
    pub fn scope(&self) -> Option<&Scope> {
        self.scope.as_ref()
    }

    /// When something was last learnt.
    pub fn updated(&self) -> Option<Timestamp> {
        self.updated
    }

    /// Whether there is no statement.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The sessions that a statement names, the newest first.
    pub fn sessions_of<'a>(&'a self, entry: &'a Entry) -> Vec<&'a SessionId> {
        let mut seen = BTreeSet::new();
        let grounds = entry.evidence.iter().filter_map(|key| self.grounds.get(key));
        grounds.filter_map(|ground| ground.evidence.session()).filter(|id| seen.insert(*id)).collect()
    }

    /// Takes out keys that stand for nothing known, and statements that have no other.
    #[must_use]
    pub fn founded(mut self) -> Self {
        for entry in &mut self.entries {
            entry.evidence.retain(|key| self.grounds.get(key).is_some());
        }
        let (founded, lost): (Vec<Entry>, Vec<Entry>) =
            self.entries.into_iter().partition(|entry| !entry.evidence.is_empty());
        self.entries = founded;
        // Nobody took them out: with their evidence they may come back.
        for entry in lost {
            self.grounds.written.remove(&entry.print());
        }
        Self::assemble(self)
    }

    fn sessions_named(&self, entry: &Entry) -> usize {
        self.sessions_of(entry).len()
    }

    /// Brings a book into the form that reads back.
    fn assemble(mut book: Self) -> Self {
        let mut at: BTreeMap<Print, usize> = BTreeMap::new();
        let mut entries: Vec<Entry> = Vec::new();
        for entry in book.entries.into_iter().map(Entry::tidied) {
            match at.get(&entry.print()) {
                Some(known) => {
                    let known = &mut entries[*known];
                    known.support = known.support.max(entry.support);
                    known.keywords.extend(entry.keywords);
                    known.evidence.extend(entry.evidence);
                }
                None => {
                    at.insert(entry.print(), entries.len());
                    entries.push(entry);
                }
            }
        }
        entries.sort_by_key(|entry| entry.kind);
        book.entries = entries.into_iter().map(Entry::tidied).collect();
        let named: BTreeSet<EvidenceKey> =
            book.entries.iter().flat_map(|entry| entry.evidence.iter().cloned()).collect();
        book.grounds.retain(&named);
        let settled: Vec<_> = book
            .entries
            .iter()
            .map(|entry| {
                let times = || entry.evidence.iter().filter_map(|key| book.grounds.get(key)?.at);
                (book.sessions_named(entry), times().min(), times().max())
            })
            .collect();
        for (entry, (named, first, last)) in book.entries.iter_mut().zip(settled) {
            entry.support = entry.support.max(named);
            (entry.first, entry.last) = (first, last);
        }
        let ours = book.entries.iter().filter(|entry| entry.wording == Wording::Ours);
        let ours: BTreeSet<_> = ours.map(Entry::print).collect();
        // What code once worded and is no longer there was taken out, or changed, by somebody.
        book.grounds.removed.extend(std::mem::take(&mut book.grounds.written));
        book.grounds.removed.retain(|print| !ours.contains(print));
        book.grounds.written = ours;
        book.loose.sort_by_key(|loose| match &loose.place {
            Place::Top => (0, None),
            Place::Section(kind) => (1, Some(*kind)),
            Place::Unknown(_) => (2, None),
        });
        book
    }
}
