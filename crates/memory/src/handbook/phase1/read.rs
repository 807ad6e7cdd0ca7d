//! One pass over a session's ledger: what may be remembered, message by message (H2).
//!
//! **Memory does not follow the session.** A record is read, decided and handed on; nothing of it stays here.
//!
//! **A fork is read from where it left its parent.** What came before is the parent's session, and is extracted there once, not again for every
//! fork. (Rollouts of Codex that hold a copy of their parent's history do not say where it ends: there the copy counts as the
//! session's own.)
//!
//! **What people took back does not count**: see `taken_back.rs`. What a stage cleared, folded or summarised does: the ledger still has it.

use super::policy;
use super::projects::branch;
use super::taken_back::TakenBack;
use jiff::Timestamp;
use std::path::Path;
use throughline_core::{Card, Message, Meta, Record, SessionId};
use throughline_ledger::{Home, LedgerError, Reader};

/// What a ledger says of its session beside what was said in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct About {
    /// The first line.
    pub meta: Option<Meta>,
    /// The newest card.
    pub card: Option<Card>,
    /// The branch that it was on last.
    pub branch: Option<String>,
    /// When something was last said, of what was kept.
    pub last_said: Option<Timestamp>,
}

impl About {
    /// Where it ran.
    pub fn cwd(&self) -> Option<&str> {
        let of_card = || self.card.as_ref().and_then(|card| card.cwd.as_deref());
        self.meta.as_ref().and_then(|meta| meta.cwd.as_deref()).or_else(of_card)
    }
}

/// How much of a ledger was read, and what became of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Messages that may be remembered.
    pub kept: u64,
    /// Messages that may not.
    pub dropped: u64,
    /// Messages that somebody took back.
    pub taken_back: u64,
    /// Lines that could not be read.
    pub unreadable: u64,
}

/// Reads the messages of a session that may be remembered: filtered, redacted, each under its own id, in the order in which they were said.
pub struct KeptMessages {
    reader: Reader,
    taken_back: TakenBack,
    about: About,
    tally: Tally,
}

impl KeptMessages {
    /// From the front of a ledger.
    pub fn open(home: &Home, path: &Path) -> Result<Self, LedgerError> {
        let mut reader = Reader::open(home, path, 0)?;
        let mut about = About::default();
        if let Some((_, Record::Meta(meta))) = reader.next_record()? {
            about.branch = branch(&meta.extra);
            about.meta = Some(*meta);
        } else {
            // Not as ledgers begin: nothing of it is passed over.
            reader = Reader::open(home, path, 0)?;
        }
        let is_fork = about.meta.as_ref().is_some_and(|meta| meta.forked_from.is_some());
        let taken_back = TakenBack::of(home, path, is_fork)?;
        Ok(Self { reader, taken_back, about, tally: Tally::default() })
    }

    /// The next message; `None` at the end.
    pub fn next_message(&mut self) -> Result<Option<Message>, LedgerError> {
        while let Some((origin, record)) = self.reader.next_record()? {
            // Problems are counted, not held: a file may be nothing but.
            self.tally.unreadable += self.reader.problems.drain(..).len() as u64;
            match record {
                Record::Message(message) => {
                    if self.taken_back.has(origin.offset, &message.id) {
                        self.tally.taken_back += 1;
                        continue;
                    }
                    let Some(message) = policy::keep(*message) else {
                        self.tally.dropped += 1;
                        continue;
                    };
                    self.tally.kept += 1;
                    self.about.last_said = self.about.last_said.max(message.at);
                    return Ok(Some(message));
                }
                Record::Turn(turn) => {
                    if let Some(branch) = branch(&turn.extra) {
                        self.about.branch = Some(branch);
                    }
                }
                Record::Card(card) => self.about.card = Some(*card),
                // A checkpoint and an edit bring in summaries and placeholders: what they stand for was read.
                Record::Meta(_) | Record::Event(_) | Record::Edit(_) | Record::Checkpoint(_) => {}
            }
        }
        self.tally.unreadable += self.reader.problems.drain(..).len() as u64;
        Ok(None)
    }

    /// Bytes of the ledger that were read.
    pub fn bytes(&self) -> u64 {
        self.reader.end()
    }

    /// What is known of the session so far.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// What was read so far.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// Whose ledger it says it is.
    pub fn session(&self) -> Option<&SessionId> {
        self.about.meta.as_ref().map(|meta| &meta.id)
    }
}
