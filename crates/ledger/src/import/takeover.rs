//! A ledger that is gone on with from another file than the one it was made from: the file was replaced, or the session
//! is in two files. What the new source says is compared with what the ledger shows, and the view is set right before
//! anything is added.

use super::peek;
use super::scratch::{Scratch, Table};
use super::shadow::{Id, Kind, NONE, Node, Shadow, key};
use crate::{Home, LedgerError, resume};
use jiff::Timestamp;
use std::collections::HashSet;
use std::path::Path;
use throughline_core::{Checkpoint, Edit, EditId, Item, MessageId, Op, Origin, Record, Stage, View};

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
                reason: "the file was replaced".to_owned(),
                freed: None,
                ops: vec![Op::Rewind { to: self.tip }],
            }))),
            (false, Some(path)) => Some(checkpoint(self.at, self.id, path)),
            (false, None) => None,
        })
    }
}

impl Takeover {
    pub(super) fn new(from_front: bool, scratch: &Scratch) -> Self {
        let told = || Told { view: Shadow::new(scratch), messages: Table::new(scratch) };
        Self { told: from_front.then(told), added: None, interleaved: false }
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

/// The view as a source tells it. It folds what importers make, and only that: they undo edits only to go back to a
/// message on the branch that those had left.
struct Told {
    view: Shadow,
    /// By id.
    messages: Table,
}

impl Told {
    fn fold(&mut self, record: &Record) {
        match record {
            Record::Message(message) if message.flags.display_only => {}
            Record::Message(message) => {
                let message = self.message(&message.id);
                self.view.push(message);
            }
            Record::Edit(edit) => edit.ops.iter().for_each(|op| self.apply(op)),
            Record::Checkpoint(checkpoint) => {
                let id = |item: &Item| match item {
                    Item::Keep { id, .. } => id.clone(),
                    Item::New(message) => message.id.clone(),
                };
                let view: Vec<u32> = checkpoint.items.iter().map(|item| self.message(&id(item))).collect();
                self.view.replace(&view);
            }
            Record::Meta(_) | Record::Turn(_) | Record::Event(_) | Record::Card(_) => {}
        }
    }

    fn apply(&mut self, op: &Op) {
        match op {
            Op::Rewind { to: None } => self.view.rewind(None),
            Op::Rewind { to: Some(id) } => {
                if let Some(to) = self.known(id) {
                    self.view.rewind(Some(to));
                }
            }
            Op::Remove { messages } => {
                let gone: HashSet<u32> = messages.iter().filter_map(|id| self.known(id)).collect();
                let mut view: Vec<u32> = self.view.backwards().filter(|m| !gone.contains(m)).collect();
                view.reverse();
                self.view.replace(&view);
            }
            Op::Undo { .. } | Op::Replace { .. } | Op::Fold { .. } => {}
        }
    }

    fn known(&self, id: &MessageId) -> Option<u32> {
        self.messages.get(key(id.as_str())).map(|message| message as u32)
    }

    fn message(&mut self, id: &MessageId) -> u32 {
        if let Some(known) = self.known(id) {
            return known;
        }
        let node = Node { parent: NONE, entry: NONE, chars: 0, group: 0, kind: Kind::Other };
        let message = self.view.add(&Id::new(id.as_str()), node);
        self.messages.put(key(id.as_str()), message.into());
        message
    }

    fn head(&self) -> Option<MessageId> {
        self.view.tip().and_then(|tip| self.view.id(tip)).map(|id| id.to_message_id())
    }

    fn ids(&self) -> Vec<MessageId> {
        let mut ids: Vec<MessageId> =
            self.view.backwards().filter_map(|m| self.view.id(m)).map(|id| id.to_message_id()).collect();
        ids.reverse();
        ids
    }
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
    let keep = |id| Item::Keep { id, origin: Origin::default(), overlays: Vec::new() };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::scratch::tests::{claude_line, codex_line, told, uuid};
    use crate::import::{ClaudeImporter, ClaudeOptions, CodexImporter, CodexOptions, Importer, Lane, Output};
    use proptest::prelude::*;
    use serde_json::Value;
    use throughline_core::{Entry, Message, Role};

    fn stub(id: &MessageId) -> Entry {
        let mut stub = Message::new(Role::User, Vec::new());
        stub.id = id.clone();
        Entry::from(stub)
    }

    fn fold(view: &mut View, record: &Record) {
        match record {
            Record::Message(message) if message.flags.display_only => {}
            Record::Message(message) => view.push(stub(&message.id)),
            Record::Edit(edit) => view.edit((**edit).clone(), Origin::default()),
            Record::Checkpoint(checkpoint) => {
                let entries = checkpoint.items.iter().map(|item| match item {
                    Item::Keep { id, .. } => stub(id),
                    Item::New(message) => stub(&message.id),
                });
                view.replace(checkpoint, entries.collect());
            }
            Record::Meta(_) | Record::Turn(_) | Record::Event(_) | Record::Card(_) => {}
        }
    }

    /// What is told of the lines of an importer is what a view of its records shows, line by line.
    fn follows(mut importer: impl Importer, lines: impl Iterator<Item = Value>) -> Result<(), TestCaseError> {
        let scratch = Scratch::default();
        let mut shown = View::default();
        let mut told_of = Told { view: Shadow::new(&scratch), messages: Table::new(&scratch) };
        for line in lines {
            for output in told(&mut importer, &line) {
                if let Output::Record { lane: Lane::MAIN, record } = output {
                    fold(&mut shown, &record);
                    told_of.fold(&record);
                }
            }
            prop_assert_eq!(told_of.ids(), ids(&shown));
            prop_assert_eq!(told_of.head(), ids(&shown).last().cloned());
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn b10_what_a_source_tells_is_what_a_view_shows(
            steps in prop::collection::vec((0u8..12, any::<u16>()), 0..120),
        ) {
            let line = |(n, step): (usize, &(u8, u16))| claude_line(n, *step);
            let claude = ClaudeImporter::new(ClaudeOptions::default());
            follows(claude, steps.iter().enumerate().map(line))?;
            let line = |(n, step): (usize, &(u8, u16))| codex_line(n, *step);
            let codex = CodexImporter::new(CodexOptions { session: Some(uuid(0).as_str().into()) });
            follows(codex, steps.iter().enumerate().map(line))?;
        }
    }
}
