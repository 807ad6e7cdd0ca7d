//! The memories of a project.

use super::document::{Document, Values, compose};
use super::error::TopicError;
use super::folder::{Entry, Folder, MOST_BYTES, modified};
use super::index::{IndexLimits, IndexPart};
use super::names::{INDEX, check, stem};
use super::rank::{Fingerprint, rank};
use super::yaml::one_line;
use super::{Added, Change, Forgotten, Found, NewTopic, Problem, Repair, Saved, Topic, TopicHead, index};
use crate::ProjectSlug;
use crate::redact::redact;
use jiff::Timestamp;
use std::path::{Path, PathBuf};
use throughline_core::text::head;
use throughline_ledger::Home;

/// Memories that are listed at most, newest first (M4).
pub const MANIFEST_FILES: usize = 200;
/// Lines of each that are read for it.
const HEAD_LINES: usize = 30;
/// Bytes that thirty lines take at most.
const HEAD_BYTES: u64 = 32 << 10;
/// Bytes of a memory that are searched.
const SEARCHED_BYTES: u64 = 256 << 10;

/// Characters that a memory's parts have at most.
const NAME: usize = 120;
const DESCRIPTION: usize = 600;
const BODY: usize = 50_000;

/// Where forgotten memories go.
const FORGOTTEN: &str = ".forgotten";

/// The memories of a project: a folder of files with an index. See [the module](super) for what it guarantees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicStore {
    folder: Folder,
}

impl TopicStore {
    /// The memories in a folder. It need not be there: it is made with the first memory.
    pub fn open(folder: PathBuf) -> Self {
        Self { folder: Folder(folder) }
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
        let modified = path.metadata().map_or(Timestamp::UNIX_EPOCH, |meta| modified(&meta));
        Ok(topic(&Entry { file: file.to_owned(), modified }, &Document::parse(&text)))
    }

    /// Saves a memory, unless one of the same name, or one that says much the same, is there.
    pub fn add(&self, new: NewTopic) -> Result<Added, TopicError> {
        let mut intake = Intake::default();
        let body = intake.text("text", &new.body, BODY)?;
        let name = intake.line("name", &new.name, NAME)?;
        let described = one_line(&new.description);
        let description = if described.is_empty() {
            head(&one_line(body.lines().find(|line| !line.trim().is_empty()).unwrap_or_default()), 200)
                .to_owned()
        } else {
            intake.line("description", &described, DESCRIPTION)?
        };

        let meta = new.meta.taken_in(&mut intake.redacted)?;
        let new = NewTopic { kind: new.kind, name, description, body, meta };

        let _held = self.folder.hold()?;
        // An index that can't be read is found out before anything is written.
        let index = self.folder.read(INDEX)?.unwrap_or_default();
        let wanted = Fingerprint::of(&new.name, &new.description, &new.body);
        let entries = self.folder.entries()?;
        for known in self.load(&entries) {
            if wanted.is_near(&Fingerprint::of(&known.name, &known.description, &known.body)) {
                return Ok(Added::Similar(known.into()));
            }
        }
        let text = compose(&new);
        let stem = stem(new.kind, &new.name);
        let names = std::iter::once(format!("{stem}.md")).chain((2..).map(|n| format!("{stem}-{n}.md")));
        for file in names.take(10_000) {
            let is_taken = entries.iter().any(|entry| entry.file.eq_ignore_ascii_case(&file));
            if !is_taken && self.folder.create(&file, &text)? {
                let line = index::line(&new.name, &file, &new.description);
                self.folder.replace(INDEX, &index::with(&index, &file, &line))?;
                return Ok(Added::Saved(Saved { file, redacted: intake.redacted, unrecorded: None }));
            }
        }
        Err(TopicError::Io {
            what: "find a free name in",
            path: self.folder.0.clone(),
            source: std::io::Error::from(std::io::ErrorKind::AlreadyExists),
        })
    }

    /// Changes a memory. What is not changed stays to the byte, whoever wrote it.
    pub fn update(&self, file: &str, change: Change) -> Result<Saved, TopicError> {
        let file = check(file)?;
        let mut intake = Intake::default();
        let name = change.name.map(|name| intake.line("name", &name, NAME)).transpose()?;
        let description =
            change.description.map(|text| intake.line("description", &text, DESCRIPTION)).transpose()?;
        let body = change.body.map(|body| intake.text("text", &body, BODY)).transpose()?;
        let meta = change.meta.map(|meta| meta.taken_in(&mut intake.redacted)).transpose()?;

        let _held = self.folder.hold()?;
        let index = self.folder.read(INDEX)?.unwrap_or_default();
        let source = self.folder.read(file)?.ok_or_else(|| TopicError::NoTopic { file: file.to_owned() })?;
        let document = Document::parse(&source);
        let values = Values {
            name: name.as_deref(),
            description: description.as_deref(),
            kind: change.kind,
            meta: meta.as_ref(),
        };
        let text = document
            .with(values, body.as_deref())
            .map_err(|why| TopicError::Frontmatter { file: file.to_owned(), why })?;
        if text != source {
            self.folder.replace(file, &text)?;
        }
        let is_renamed = name.is_some() || description.is_some();
        if is_renamed || !index::pointers(&index).contains(file) {
            let document = Document::parse(&text);
            let line = index_line(&topic(
                &Entry { file: file.to_owned(), modified: Timestamp::UNIX_EPOCH },
                &document,
            ));
            self.write_index(&index, &index::with(&index, file, &line))?;
        }
        Ok(Saved { file: file.to_owned(), redacted: intake.redacted, unrecorded: None })
    }

    /// Forgets a memory: its file moves to `.forgotten/<time>-<file>`, and its line leaves the index.
    pub fn forget(&self, file: &str, now: Timestamp) -> Result<Forgotten, TopicError> {
        let file = check(file)?;
        let missing = || TopicError::NoTopic { file: file.to_owned() };
        if self.folder.entries()?.iter().all(|entry| entry.file != file) {
            return Err(missing());
        }
        let _held = self.folder.hold()?;
        let index = self.folder.read(INDEX)?;
        let time = now.strftime("%Y%m%dT%H%M%SZ");
        let kept = self.folder.put_away(file, FORGOTTEN, &format!("{time}-{file}"))?;
        if let Some(index) = index {
            self.write_index(&index, &index::without(&index, file))?;
        }
        Ok(Forgotten { kept: self.folder.0.join(kept), unrecorded: None })
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

    /// Gives each file a line in the index, and drops lines whose files are gone. Lines that people wrote stay.
    pub fn repair_index(&self) -> Result<Repair, TopicError> {
        if self.folder.read(INDEX)?.is_none() && self.folder.entries()?.is_empty() {
            return Ok(Repair::default());
        }
        let _held = self.folder.hold()?;
        let index = self.folder.read(INDEX)?.unwrap_or_default();
        let entries = self.folder.entries()?;
        let mut lines = Vec::new();
        // Oldest first: new lines are at the end of an index.
        for entry in entries.iter().rev() {
            if let Ok(Some((text, _))) = self.folder.read_head(&entry.file, HEAD_BYTES) {
                lines.push((entry.file.clone(), index_line(&topic(entry, &Document::parse(&text)))));
            }
        }
        // A file that is there but can't be read is not gone.
        let is_gone = |file: &str| matches!(self.folder.resolve(file), Ok(None));
        let (text, repair) = index::repaired(&index, &lines, is_gone);
        self.write_index(&index, &text)?;
        Ok(repair)
    }

    fn write_index(&self, before: &str, after: &str) -> Result<(), TopicError> {
        if before == after { Ok(()) } else { self.folder.replace(INDEX, after) }
    }

    /// What can be read of the files. One that can't must not keep the others from being found.
    fn load(&self, entries: &[Entry]) -> Vec<Topic> {
        let read = |entry: &Entry| {
            let (text, _) = self.folder.read_head(&entry.file, SEARCHED_BYTES).ok()??;
            Some(topic(entry, &Document::parse(&text)))
        };
        entries.iter().filter_map(read).collect()
    }
}

fn topic(entry: &Entry, document: &Document<'_>) -> Topic {
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
    let hook = if topic.description.is_empty() {
        topic.body.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
    } else {
        &topic.description
    };
    index::line(redact(&topic.name).text(), &topic.file, redact(hook).text())
}

/// Takes in the parts of a memory: checked, and without secrets.
#[derive(Default)]
struct Intake {
    /// The kinds of secrets that were taken out.
    redacted: Vec<&'static str>,
}

impl Intake {
    /// A part in one line.
    fn line(&mut self, what: &'static str, text: &str, limit: usize) -> Result<String, TopicError> {
        self.text(what, &one_line(text), limit)
    }

    /// A part.
    fn text(&mut self, what: &'static str, text: &str, limit: usize) -> Result<String, TopicError> {
        let length = text.chars().count();
        if length > limit {
            return Err(TopicError::TooLong { what, length, limit });
        }
        let clean = redact(text.trim());
        if clean.text().is_empty() {
            return Err(TopicError::Empty { what });
        }
        self.redacted.extend_from_slice(clean.kinds());
        Ok(clean.into_text())
    }
}
