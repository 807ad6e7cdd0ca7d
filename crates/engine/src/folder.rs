//! A folder in which the decisions about one conversation persist.

use crate::{Preparer, Restored};
use jiff::Timestamp;
use std::path::{Path, PathBuf};
use throughline_core::pipeline::Journal;
use throughline_core::stages::budget::Persisted;
use throughline_core::{Card, Meta, Origin, Record, SessionId, content_id};
use throughline_ledger::{Home, LedgerError, SyncPolicy, Writer};
use throughline_wire::splice::Body;

/// Writes decisions to a ledger, and texts that previews stand for to `tool-results` below a folder.
pub struct LedgerJournal {
    writer: Writer,
    root: PathBuf,
}

impl LedgerJournal {
    /// A journal in an open ledger.
    pub fn new(writer: Writer, root: &Path) -> Self {
        Self { writer, root: root.to_owned() }
    }

    /// The ledger.
    pub fn path(&self) -> &Path {
        self.writer.path()
    }

    /// What lists show of the session.
    pub fn card(&self) -> &Card {
        self.writer.card()
    }

    /// Changes what lists show.
    pub fn update_card(&mut self, change: impl FnOnce(&mut Card)) -> Result<(), LedgerError> {
        self.writer.update_card(change)
    }

    /// Makes sure that what was written is there after a power cut.
    pub fn end_turn(&mut self) -> Result<(), LedgerError> {
        self.writer.end_turn()
    }
}

impl Journal for LedgerJournal {
    type Error = LedgerError;

    fn append(&mut self, record: Record) -> Result<Origin, LedgerError> {
        Ok(self.writer.append(&[record])?.into_iter().next().unwrap_or_default())
    }

    fn persist(&mut self, file: &Persisted) -> Result<(), LedgerError> {
        throughline_ledger::write_private(&self.root, &file.file_name, file.text.as_bytes())
    }

    fn place(&self, file_name: &str) -> Option<String> {
        Some(self.root.join(file_name).display().to_string())
    }
}

/// A folder for the requests of one conversation: a home of its own with one ledger; or only a place for long texts.
pub enum RequestFolder {
    /// Decisions persist.
    Recorded(Box<LedgerJournal>),
    /// Only texts that previews stand for are saved, below this folder.
    Unrecorded(PathBuf),
}

impl RequestFolder {
    /// Opens a folder, or makes it, and tells `preparer` what was decided there before.
    pub fn open(root: &Path, preparer: &mut Preparer, now: Timestamp) -> Result<Self, LedgerError> {
        let root = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
        let home = Home::new(root.clone());
        let writer = match home.ledgers()?.first() {
            Some(path) => {
                let writer = Writer::open(&home, path, SyncPolicy::Turn)?;
                preparer.restore(Restored::read(&home, path)?);
                writer
            }
            None => {
                let meta = Meta::new(SessionId::fresh(), now, "throughline");
                Writer::create(&home, meta, SyncPolicy::Turn)?
            }
        };
        Ok(Self::Recorded(Box::new(LedgerJournal::new(writer, &root))))
    }

    /// Nothing is written down but the texts that previews stand for, below `home` in a folder of the conversation's own: call
    /// ids are unique in a conversation, not among several. The same conversation always gets the same folder.
    pub fn unrecorded(home: &Path, body: &Body) -> Self {
        let first = body.message(0).map(|message| content_id(None, &message).to_string());
        Self::Unrecorded(home.join("requests").join(first.as_deref().unwrap_or("empty")))
    }

    /// Makes sure that what was written is there after a power cut.
    pub fn finish(&mut self) -> Result<(), LedgerError> {
        match self {
            Self::Recorded(journal) => journal.end_turn(),
            Self::Unrecorded(_) => Ok(()),
        }
    }
}

impl Journal for RequestFolder {
    type Error = LedgerError;

    fn append(&mut self, record: Record) -> Result<Origin, LedgerError> {
        match self {
            Self::Recorded(journal) => journal.append(record),
            Self::Unrecorded(_) => Ok(Origin::default()),
        }
    }

    fn persist(&mut self, file: &Persisted) -> Result<(), LedgerError> {
        match self {
            Self::Recorded(journal) => journal.persist(file),
            Self::Unrecorded(root) => {
                throughline_ledger::write_private(root, &file.file_name, file.text.as_bytes())
            }
        }
    }

    fn place(&self, file_name: &str) -> Option<String> {
        match self {
            Self::Recorded(journal) => journal.place(file_name),
            Self::Unrecorded(root) => Some(root.join(file_name).display().to_string()),
        }
    }
}
