//! The memories of a project: what is read.

use super::document::Document;
use super::error::TopicError;
use super::folder::{Entry, Folder, MOST_BYTES};
use super::index::{IndexLimits, IndexPart, Kept, Placed, Rank};
use super::intake::first_line;
use super::life::{Aged, Lifetimes};
use super::names::{INDEX, check};
use super::writing::modified_at;
use super::{Found, Problem, Topic, TopicHead, index};
use crate::ProjectSlug;
use crate::recall::rank;
use jiff::Timestamp;
use std::path::{Path, PathBuf};
use throughline_ledger::Home;
use throughline_redact::redact;

/// Memories that are listed at most, newest first (M4).
pub const MANIFEST_FILES: usize = 200;
/// Lines of each that are read for it.
const HEAD_LINES: usize = 30;
/// Bytes that thirty lines take at most.
const HEAD_BYTES: u64 = 32 << 10;
/// Bytes of a memory that are searched.
pub(super) const SEARCHED_BYTES: u64 = 256 << 10;

/// The memories of a project: a folder of files with an index. See [the module](super) for what it guarantees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicStore {
    pub(super) folder: Folder,
    pub(super) lifetimes: Lifetimes,
    pub(super) keeps_history: bool,
}

impl TopicStore {
    /// The memories in a folder. It need not be there: it is made with the first memory.
    pub fn open(folder: PathBuf) -> Self {
        Self { folder: Folder(folder), lifetimes: Lifetimes::default(), keeps_history: true }
    }

    /// With other lifetimes: they decide which memories have a line in the index.
    #[must_use]
    pub fn with_lifetimes(self, lifetimes: Lifetimes) -> Self {
        Self { lifetimes, ..self }
    }

    /// Without a history of changes: nothing can be undone, and no git is run.
    #[must_use]
    pub fn without_history(self) -> Self {
        Self { keeps_history: false, ..self }
    }

    /// How long memories hold.
    pub fn lifetimes(&self) -> &Lifetimes {
        &self.lifetimes
    }

    /// Where a project's memories are: `projects/<slug>/memory` below the home (M1).
    pub fn folder_of(home: &Home, project: &ProjectSlug) -> PathBuf {
        home.root().join("projects").join(project.as_str()).join("memory")
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder.0
    }

    /// What there is, newest first, by the first lines of at most [`MANIFEST_FILES`] files; and what is not in order.
    pub fn list(&self) -> Result<(Vec<TopicHead>, Vec<Problem>), TopicError> {
        let mut heads = Vec::new();
        let mut problems = Vec::new();
        for entry in self.folder.entries()?.into_iter().take(MANIFEST_FILES) {
            match self.head(&entry) {
                Ok(Some((head, flaw))) => {
                    problems.extend(flaw.map(|what| Problem { file: head.file.clone(), what }));
                    heads.push(head);
                }
                Ok(None) => {}
                Err(error) => problems.push(Problem { file: entry.file, what: error.to_string() }),
            }
        }
        Ok((heads, problems))
    }

    fn head(&self, entry: &Entry) -> Result<Option<(TopicHead, Option<String>)>, TopicError> {
        let Some((text, is_text)) = self.folder.read_head(&entry.file, HEAD_BYTES)? else { return Ok(None) };
        let lines: String = text.split_inclusive('\n').take(HEAD_LINES).collect();
        let document = Document::parse(&lines);
        let flaw = if is_text {
            document.flaw.clone()
        } else {
            Some("it is not UTF-8 text; save it as such".to_owned())
        };
        Ok(Some((topic(entry, &document).into(), flaw)))
    }

    /// What there is, a line each: `- [type] file.md (time): description` (M4). Empty if there is nothing.
    pub fn manifest(&self) -> Result<String, TopicError> {
        let (heads, _) = self.list()?;
        Ok(heads.iter().map(|head| format!("{}\n", manifest_line(head))).collect())
    }

    /// One memory.
    pub fn read(&self, file: &str) -> Result<Topic, TopicError> {
        let file = check(file)?;
        let missing = || TopicError::NoTopic { file: file.to_owned() };
        let path = self.folder.resolve(file)?.ok_or_else(missing)?;
        let text = self.folder.read(file)?.ok_or_else(missing)?;
        let entry = Entry { file: file.to_owned(), modified: modified_at(&path), stamp: None };
        Ok(topic(&entry, &Document::parse(&text)))
    }

    /// The memories that share words with a query, best first.
    pub fn search(&self, query: &str, limit: usize) -> Result<Vec<Found>, TopicError> {
        let topics = self.load(&self.folder.entries()?);
        let ranked = rank(query, topics).into_iter().take(limit);
        Ok(ranked.map(|(topic, score)| Found { topic, score }).collect())
    }

    /// What a session is told of the index when it begins (M6); `None` if there is nothing.
    pub fn index_for_session(&self) -> Result<Option<String>, TopicError> {
        Ok(self.index_within(IndexLimits::default())?.map(|part| part.text))
    }

    /// The same within other limits, where the index is one of several.
    pub fn index_within(&self, limits: IndexLimits) -> Result<Option<IndexPart>, TopicError> {
        let index = self.folder.read_head(INDEX, MOST_BYTES)?;
        Ok(index.and_then(|(text, _)| index::for_session(&text, limits)))
    }

    /// A memory's place in the index; `None` if it can't be read.
    pub(super) fn placed(&self, file: &str, now: Timestamp) -> Option<Placed> {
        let (text, _) = self.folder.read_head(file, HEAD_BYTES).ok()??;
        let entry =
            Entry { file: file.to_owned(), modified: modified_at(&self.folder.0.join(file)), stamp: None };
        let topic = topic(&entry, &Document::parse(&text));
        let is_live = self.lifetimes.is_live(Aged::from(&topic), now);
        let rank = Rank { is_live, kind: Kept::from(topic.kind), modified: topic.modified };
        Some(Placed { line: index_line(&topic), rank })
    }

    /// What can be read of the files. One that can't must not keep the others from being found.
    pub(super) fn load(&self, entries: &[Entry]) -> Vec<Topic> {
        let read = |entry: &Entry| {
            let (text, _) = self.folder.read_head(&entry.file, SEARCHED_BYTES).ok()??;
            Some(topic(entry, &Document::parse(&text)))
        };
        entries.iter().filter_map(read).collect()
    }
}

pub(super) fn topic(entry: &Entry, document: &Document<'_>) -> Topic {
    let head = document.head.clone();
    let stem = || entry.file.trim_end_matches(".md").to_owned();
    Topic {
        file: entry.file.clone(),
        name: head.name.unwrap_or_else(stem),
        description: head.description.unwrap_or_default(),
        kind: head.kind,
        body: document.body().to_owned(),
        modified: entry.modified,
        meta: head.meta,
    }
}

impl From<Topic> for TopicHead {
    fn from(topic: Topic) -> Self {
        let Topic { file, name, description, kind, body: _, modified, meta } = topic;
        Self { file, name, description, kind, modified, meta }
    }
}

fn manifest_line(head: &TopicHead) -> String {
    let kind = head.kind.map(|kind| format!("[{kind}] ")).unwrap_or_default();
    let lead = format!("- {kind}{} ({:.0})", head.file, head.modified);
    if head.description.is_empty() { lead } else { format!("{lead}: {}", head.description) }
}

/// A memory's line in the index, also for files that people wrote: no secret is copied from one file into another.
fn index_line(topic: &Topic) -> String {
    let hook = if topic.description.is_empty() { first_line(&topic.body) } else { &topic.description };
    index::line(redact(&topic.name).text(), &topic.file, redact(hook).text())
}
