//! The memories of a project: what is written.

use super::document::{Document, Values, compose};
use super::error::TopicError;
use super::history::Message;
use super::index::{Placed, repaired, without};
use super::intake::{self, Taken, TakenChange};
use super::meta::Source;
use super::names::{INDEX, check, stem};
use super::prints::Print;
use super::recorded::ChangeKind;
use super::store::TopicStore;
use super::writing::{Writing, named};
use super::{Added, Change, Forgotten, NewTopic, Repair, Saved};
use jiff::Timestamp;
use std::collections::BTreeMap;

impl TopicStore {
    /// Saves a memory, unless one of the same name, or one that says much the same, is there.
    pub fn add(&self, new: NewTopic) -> Result<Added, TopicError> {
        let Taken { topic, redacted } = intake::topic(new)?;
        let mut writing = Writing::begin(self)?;
        if let Some(known) = writing.near(&print_of(&topic), &[]) {
            return Ok(Added::Similar(known.into()));
        }
        let file = create(&mut writing, &topic)?;
        writing.place(&file)?;
        let unrecorded = writing.commit(&Message::of(ChangeKind::Add, format!("Add {file}")));
        Ok(Added::Saved(Saved { file, redacted, unrecorded }))
    }

    /// Changes a memory. What is not changed stays to the byte, whoever wrote it.
    pub fn update(&self, file: &str, change: Change) -> Result<Saved, TopicError> {
        let file = check(file)?;
        let change = intake::change(change)?;
        let mut writing = Writing::begin(self)?;
        let is_renamed = change.name.is_some() || change.description.is_some();
        let is_over = change.meta.as_ref().is_some_and(|meta| meta.superseded_by.is_some());
        self.write(&mut writing, file, &change)?;
        if is_renamed || is_over || !super::index::pointers(&writing.index).contains(file) {
            writing.place(file)?;
        }
        let unrecorded = writing.commit(&Message::of(ChangeKind::Update, format!("Change {file}")));
        Ok(Saved { file: file.to_owned(), redacted: change.redacted, unrecorded })
    }

    /// Notes that a memory was said again: one more evidence, and where it comes from. It counts as changed now.
    pub fn confirm(&self, file: &str, source: Source) -> Result<Saved, TopicError> {
        let file = check(file)?;
        let mut writing = Writing::begin(self)?;
        let mut meta = self.read(file)?.meta;
        meta.evidence = meta.evidence.saturating_add(1);
        meta.sources.push(source);
        let change = intake::change(Change { meta: Some(meta), ..Change::default() })?;
        self.write(&mut writing, file, &change)?;
        if !super::index::pointers(&writing.index).contains(file) {
            writing.place(file)?;
        }
        let unrecorded = writing.commit(&Message::of(ChangeKind::Confirm, format!("Confirm {file}")));
        Ok(Saved { file: file.to_owned(), redacted: change.redacted, unrecorded })
    }

    /// Saves a memory in the place of another: that one's file stays, marked as superseded, and its line leaves the index. Nothing is
    /// written if a third one says much the same as the new one.
    pub fn supersede(&self, old: &str, new: NewTopic) -> Result<Added, TopicError> {
        let old = check(old)?;
        let Taken { topic, redacted } = intake::topic(new)?;
        let mut writing = Writing::begin(self)?;
        // Found out before anything is written: an old one that can't be marked would stay beside the new one.
        self.marked(old, old)?;
        if let Some(known) = writing.near(&print_of(&topic), &[old]) {
            return Ok(Added::Similar(known.into()));
        }
        let file = create(&mut writing, &topic)?;
        self.mark(&mut writing, old, &file)?;
        writing.place(&file)?;
        let what = format!("Supersede {old} by {file}");
        let unrecorded = writing.commit(&Message::of(ChangeKind::Supersede, what));
        Ok(Added::Saved(Saved { file, redacted, unrecorded }))
    }

    /// Forgets a memory: its file moves to `.throughline/forgotten/<time>-<file>`, and its line leaves the index.
    pub fn forget(&self, file: &str, now: Timestamp) -> Result<Forgotten, TopicError> {
        let file = check(file)?;
        if self.folder.0.join(file).symlink_metadata().map_or(true, |meta| meta.is_dir()) {
            return Err(TopicError::NoTopic { file: file.to_owned() });
        }
        let mut writing = Writing::begin(self)?;
        let kept = writing.put_away(file, now)?;
        let index = without(&writing.index, file);
        writing.replace_index(&index)?;
        let unrecorded = writing.commit(&Message::of(ChangeKind::Forget, format!("Forget {file}")));
        Ok(Forgotten { kept, unrecorded })
    }

    /// Puts the index in order: drops lines whose memories are gone or over, and gives each memory that has none a line, as far as there
    /// is room. Lines that people wrote stay. Doing it twice changes nothing more.
    pub fn repair_index(&self, now: Timestamp) -> Result<Repair, TopicError> {
        if self.folder.read(INDEX)?.is_none() && self.folder.entries()?.is_empty() {
            return Ok(Repair::default());
        }
        let mut writing = Writing::begin(self)?;
        let placed = |file: &String| Some((file.clone(), self.placed(file, now)?));
        let files = writing.entries.iter().map(|entry| &entry.file);
        let memories: BTreeMap<String, Placed> = files.filter_map(placed).collect();
        // A file that is there but can't be read is not gone.
        let is_gone = |file: &str| matches!(self.folder.resolve(file), Ok(None));
        let (text, mut repair) = repaired(&writing.index, &memories, is_gone);
        writing.replace_index(&text)?;
        let files = repair.added.iter().chain(&repair.dropped).chain(&repair.evicted).cloned().collect();
        let what = format!("Put the lines of {} in order", named(&files));
        repair.unrecorded = writing.commit(&Message::of(ChangeKind::Repair, what));
        Ok(repair)
    }

    /// Writes a change into a memory's file.
    fn write(&self, writing: &mut Writing<'_>, file: &str, change: &TakenChange) -> Result<(), TopicError> {
        let source = self.folder.read(file)?.ok_or_else(|| TopicError::NoTopic { file: file.to_owned() })?;
        let values = Values {
            name: change.name.as_deref(),
            description: change.description.as_deref(),
            kind: change.kind,
            meta: change.meta.as_ref(),
        };
        let text = Document::parse(&source)
            .with(values, change.body.as_deref())
            .map_err(|why| TopicError::Frontmatter { file: file.to_owned(), why })?;
        if text != source {
            writing.replace(file, text.as_bytes())?;
        }
        Ok(())
    }

    /// What marks a memory as superseded by a file.
    pub(super) fn marked(&self, old: &str, by: &str) -> Result<String, TopicError> {
        let source = self.folder.read(old)?.ok_or_else(|| TopicError::NoTopic { file: old.to_owned() })?;
        let document = Document::parse(&source);
        let mut meta = document.head.meta.clone();
        meta.superseded_by = Some(by.to_owned());
        let values = Values { meta: Some(&meta), ..Values::default() };
        document.with(values, None).map_err(|why| TopicError::Frontmatter { file: old.to_owned(), why })
    }

    /// Marks a memory as superseded, and takes its line out of the index.
    pub(super) fn mark(&self, writing: &mut Writing<'_>, old: &str, by: &str) -> Result<(), TopicError> {
        let text = self.marked(old, by)?;
        writing.replace(old, text.as_bytes())?;
        let index = without(&writing.index, old);
        writing.replace_index(&index)
    }
}

/// Writes a new memory's file under a name that is free.
pub(super) fn create(writing: &mut Writing<'_>, topic: &NewTopic) -> Result<String, TopicError> {
    let text = compose(topic);
    let stem = stem(topic.kind, &topic.name);
    let names = std::iter::once(format!("{stem}.md")).chain((2..).map(|n| format!("{stem}-{n}.md")));
    for file in names.take(10_000) {
        // Names that differ by case alone are one on some systems.
        let is_taken = writing.entries.iter().any(|entry| entry.file.eq_ignore_ascii_case(&file));
        if !is_taken && writing.create(&file, &text)? {
            return Ok(file);
        }
    }
    Err(TopicError::Io {
        what: "find a free name for",
        path: stem.into(),
        source: std::io::Error::from(std::io::ErrorKind::AlreadyExists),
    })
}

fn print_of(topic: &NewTopic) -> Print {
    Print::of(&topic.name, &topic.description, &topic.body)
}
