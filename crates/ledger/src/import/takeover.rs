//! A ledger that is gone on with from another file than the one it was made from: the file was replaced, or the session
//! is in two files. What the new source says is compared with what the ledger shows, and the view is set right before
//! anything is added.

use super::peek;
use crate::{Home, LedgerError, resume};
use jiff::Timestamp;
use std::path::Path;
use throughline_core::{
    Checkpoint, Edit, EditId, Entry, Item, Message, MessageId, Op, Origin, Record, Role, Stage, View,
};

pub(super) struct Takeover {
    /// The view that the source tells of so far; `None` where its beginning was not read again.
    told: Option<Told>,
    /// The id of the last record that was added.
    added: Option<String>,
    /// The source told of something that the ledger has, after something that it had not.
    interleaved: bool,
}

/// Where the view must stand.
pub(super) struct Stand {
    id: String,
    at: Option<Timestamp>,
    /// The last message.
    tip: Option<MessageId>,
    /// All messages, where they are known.
    path: Option<Vec<MessageId>>,
}

impl Stand {
    /// What brings the view of a ledger there, if it is not.
    pub(super) fn correction(self, home: &Home, ledger: &Path) -> Result<Option<Record>, LedgerError> {
        let shown = ids(&resume(home, ledger)?.view);
        if self.tip.as_ref() == shown.last() {
            return Ok(None);
        }
        // Where the message is shown, what a person made of the part before it stays.
        let is_shown = self.tip.as_ref().is_none_or(|tip| shown.contains(tip));
        Ok(match (is_shown, self.path) {
            (true, _) => Some(Record::Edit(Box::new(Edit {
                id: EditId::new(self.id),
                at: self.at,
                stage: Stage::Import,
                reason: Edit::FILE_REPLACED.to_owned(),
                freed: None,
                ops: vec![Op::Rewind { to: self.tip }],
            }))),
            (false, Some(path)) => Some(checkpoint(self.at, self.id, path)),
            (false, None) => None,
        })
    }
}

impl Takeover {
    pub(super) fn new(from_front: bool) -> Self {
        Self { told: from_front.then(Told::default), added: None, interleaved: false }
    }

    /// The source tells of a record that the ledger has.
    pub(super) fn known(&mut self, record: &Record) {
        self.interleaved |= self.added.is_some() && shapes_the_view(record);
        self.fold(record);
    }

    /// The source tells of a record that will be added.
    pub(super) fn new_record(&mut self, record: &Record) {
        if let (true, Some(id)) = (shapes_the_view(record), id_of(record)) {
            self.added = Some(id);
        }
        self.fold(record);
    }

    /// Where the view must stand before a record is added; `None` unless it is the first that depends on it.
    pub(super) fn begins_with(&self, record: &Record) -> Option<Stand> {
        let replaces = matches!(record, Record::Checkpoint(_));
        if self.added.is_some() || !shapes_the_view(record) || replaces {
            return None;
        }
        let (tip, path) = match (&self.told, record) {
            (Some(told), _) => (told.head(), Some(told.ids())),
            (None, Record::Message(message)) if message.results().next().is_none() => {
                (Some(message.parent.clone()?), None)
            }
            (None, _) => return None,
        };
        Some(Stand { id: format!("{}.replaced", id_of(record)?), at: peek::time_of(record), tip, path })
    }

    /// What must be written at the end: records that were there already belong among those that were added.
    pub(super) fn at_the_end(&mut self, home: &Home, path: &Path) -> Result<Option<Record>, LedgerError> {
        let (Some(told), Some(id), true) = (&self.told, &self.added, self.interleaved) else {
            return Ok(None);
        };
        self.interleaved = false;
        let told = told.ids();
        if told == ids(&resume(home, path)?.view) {
            return Ok(None);
        }
        Ok(Some(checkpoint(None, format!("{id}.rejoined"), told)))
    }

    fn fold(&mut self, record: &Record) {
        if let Some(told) = &mut self.told {
            told.fold(record);
        }
    }
}

/// The view as a source tells it: the fold of its records, with nothing said in it.
#[derive(Default)]
struct Told {
    view: View,
}

impl Told {
    fn fold(&mut self, record: &Record) {
        match record {
            Record::Message(message) if message.flags.display_only => {}
            Record::Message(message) => self.view.push(stub(&message.id)),
            Record::Edit(edit) => self.view.edit((**edit).clone(), Origin::default()),
            Record::Checkpoint(checkpoint) => {
                let entries = checkpoint.items.iter().map(|item| match item {
                    Item::Keep { id, .. } => stub(id),
                    Item::New(message) => stub(&message.id),
                });
                self.view.replace(checkpoint, entries.collect());
            }
            Record::Meta(_) | Record::Turn(_) | Record::Event(_) | Record::Card(_) => {}
        }
    }

    fn head(&self) -> Option<MessageId> {
        self.view.head().cloned()
    }

    fn ids(&self) -> Vec<MessageId> {
        ids(&self.view)
    }
}

/// A message of which only the id is known.
fn stub(id: &MessageId) -> Entry {
    let mut stub = Message::new(Role::User, Vec::new());
    stub.id = id.clone();
    stub.into()
}

fn ids(view: &View) -> Vec<MessageId> {
    view.entries().iter().map(|entry| entry.message.id.clone()).collect()
}

fn shapes_the_view(record: &Record) -> bool {
    match record {
        Record::Message(message) => !message.flags.display_only,
        Record::Edit(_) | Record::Checkpoint(_) => true,
        Record::Meta(_) | Record::Turn(_) | Record::Event(_) | Record::Card(_) => false,
    }
}

fn id_of(record: &Record) -> Option<String> {
    match record {
        Record::Message(message) => Some(message.id.to_string()),
        Record::Edit(edit) => Some(edit.id.to_string()),
        Record::Checkpoint(checkpoint) => Some(checkpoint.id.to_string()),
        Record::Meta(_) | Record::Turn(_) | Record::Event(_) | Record::Card(_) => None,
    }
}

fn checkpoint(at: Option<Timestamp>, id: String, path: Vec<MessageId>) -> Record {
    let keep = |id| Item::Keep { id, origin: Origin::default(), overlays: Vec::new(), pinned: None };
    Record::Checkpoint(Box::new(Checkpoint {
        id: EditId::new(id),
        at,
        strategy: "branch".to_owned(),
        trigger: "the file was replaced".to_owned(),
        tokens_before: None,
        tokens_after: None,
        check: None,
        preserved: None,
        items: path.into_iter().map(keep).collect(),
    }))
}
