//! The memories of a project as people see them: all of them, and each with its file.

use super::document::Document;
use super::error::TopicError;
use super::folder::Entry;
use super::history::Message;
use super::index::{Placed, repaired};
use super::intake::BODY;
use super::names::{INDEX, check};
use super::recorded::ChangeKind;
use super::store::{TopicStore, topic};
use super::writing::{Writing, modified_at};
use super::{Problem, Repair, Saved, Topic};
use jiff::Timestamp;
use std::collections::BTreeMap;
use throughline_redact::redact;

impl TopicStore {
    /// Every memory as a whole, newest first, however many there are; and what is not in order. A file that can't be read as text is
    /// among the latter alone.
    pub fn all(&self) -> Result<(Vec<Topic>, Vec<Problem>), TopicError> {
        let mut topics = Vec::new();
        let mut problems = Vec::new();
        for entry in self.folder.entries()? {
            match self.folder.read(&entry.file) {
                Ok(Some(text)) => {
                    let document = Document::parse(&text);
                    let flaw = document.flaw.clone();
                    problems.extend(flaw.map(|what| Problem { file: entry.file.clone(), what }));
                    topics.push(topic(&entry, &document));
                }
                Ok(None) => {}
                Err(error) => problems.push(Problem { file: entry.file, what: error.to_string() }),
            }
        }
        Ok((topics, problems))
    }

    /// A memory's file as it stands.
    pub fn source(&self, file: &str) -> Result<String, TopicError> {
        let file = check(file)?;
        self.folder.read(file)?.ok_or_else(|| TopicError::NoTopic { file: file.to_owned() })
    }

    /// What a memory's file would say if this were its text, and what is wrong with it. Nothing is written.
    pub fn parsed(&self, file: &str, text: &str) -> Result<(Topic, Option<String>), TopicError> {
        let file = check(file)?;
        let entry =
            Entry { file: file.to_owned(), modified: modified_at(&self.folder.0.join(file)), stamp: None };
        let document = Document::parse(text);
        let flaw = document.flaw.clone();
        Ok((topic(&entry, &document), flaw))
    }

    /// Replaces a memory's file as a whole by what a person made of it: all keys are theirs. Only if it is still as they saw it
    /// (`before`), and only by what can be read back.
    pub fn rewrite(&self, file: &str, (before, after): (&str, &str)) -> Result<Saved, TopicError> {
        let file = check(file)?;
        let clean = redact(after);
        if !clean.is_clean() {
            return Err(TopicError::credential("file", &clean));
        }
        let document = Document::parse(clean.text());
        if let Some(why) = &document.flaw {
            return Err(TopicError::Frontmatter { file: file.to_owned(), why: why.clone() });
        }
        let length = document.body().chars().count();
        if length > BODY {
            return Err(TopicError::TooLong { what: "text", length, limit: BODY });
        }
        let mut writing = Writing::begin(self)?;
        if self.source(file)? != before {
            return Err(TopicError::Changed { file: file.to_owned() });
        }
        writing.replace(file, clean.text().as_bytes())?;
        writing.place(file)?;
        let unrecorded = writing.commit(&Message::of(ChangeKind::Update, format!("Change {file}")));
        Ok(Saved { file: file.to_owned(), redacted: Vec::new(), unrecorded })
    }

    /// What [`repair_index`](Self::repair_index) would do. Nothing is written.
    pub fn check_index(&self, now: Timestamp) -> Result<Repair, TopicError> {
        let index = self.folder.read(INDEX)?.unwrap_or_default();
        let placed = |entry: Entry| Some((entry.file.clone(), self.placed(&entry.file, now)?));
        let memories: BTreeMap<String, Placed> =
            self.folder.entries()?.into_iter().filter_map(placed).collect();
        let is_gone = |file: &str| matches!(self.folder.resolve(file), Ok(None));
        Ok(repaired(&index, &memories, is_gone).1)
    }
}
