//! The ledger that one lane is written to.

use super::outcome::Facts;
use super::peek::{self, Keys, Offsets};
use super::shadow::key;
use crate::{Home, LedgerError, SyncPolicy, Writer};
use std::collections::HashMap;
use std::path::Path;
use throughline_core::{Edit, EditId, Item, Meta, Op, Record, SessionId, Stage, Watermark};

/// Where the messages of other ledgers are, for forks.
pub(super) type Others = HashMap<SessionId, Offsets>;

pub(super) struct Target {
    writer: Writer,
    /// Everything that the source says before this byte is in the ledger.
    done: u64,
    /// Records that are in the ledger although the source is not done up to them.
    there: Keys,
    /// Where messages are; read from the ledger when first needed.
    offsets: Option<Offsets>,
    batch: Vec<Record>,
    /// The importer's title so far: one that differs was given by a person.
    title: Option<String>,
    /// The source is another file than the one imported before: its first new message may not follow the last one.
    replaced: bool,
    /// The ledger's last line lacks its end, which the next write gives it.
    torn: bool,
    changed: bool,
    pub(super) messages: u64,
    /// Kept messages that could not be found.
    pub(super) lost: u64,
}

impl Target {
    pub(super) fn create(home: &Home, meta: Meta, policy: SyncPolicy) -> Result<Self, LedgerError> {
        let writer = Writer::create(home, meta, policy)?;
        Ok(Self::new(writer, 0, Keys::new()))
    }

    /// Goes on with a ledger. `anew`: its source is read from the front again.
    pub(super) fn open(
        home: &Home,
        path: &Path,
        policy: SyncPolicy,
        anew: bool,
    ) -> Result<Self, LedgerError> {
        let writer = Writer::open(home, path, policy)?;
        let watermark = if anew { None } else { writer.card().watermark.clone() };
        let there = match &watermark {
            Some(watermark) => peek::keys_after(path, watermark)?,
            None => peek::keys(path)?,
        };
        let mut target = Self::new(writer, watermark.map_or(0, |w| w.offset), there);
        target.replaced = anew;
        target.torn = peek::is_torn(path)?;
        Ok(target)
    }

    fn new(writer: Writer, done: u64, there: Keys) -> Self {
        Self {
            writer,
            done,
            there,
            offsets: None,
            batch: Vec::new(),
            title: None,
            replaced: false,
            torn: false,
            changed: false,
            messages: 0,
            lost: 0,
        }
    }

    pub(super) fn path(&self) -> &Path {
        self.writer.path()
    }

    /// Whether anything was added.
    pub(super) fn changed(&self) -> bool {
        self.changed
    }

    /// The importer's title when the part that is in the ledger ended.
    pub(super) fn known_so_far(&mut self, title: Option<String>) {
        self.title = title;
    }

    /// Takes a record of a source line that ends at `line_end`, unless the ledger has it.
    pub(super) fn add(&mut self, line_end: u64, record: Record, others: &Others) -> Result<(), LedgerError> {
        if line_end <= self.done || self.has(&record) {
            return Ok(());
        }
        if let (Record::Message(message), true) = (&record, self.replaced) {
            self.replaced = false;
            if let Some(parent) = &message.parent {
                let edit = Edit {
                    id: EditId::new(format!("{}.replaced", message.id)),
                    at: message.at,
                    stage: Stage::Import,
                    reason: "the file was replaced".to_owned(),
                    freed: None,
                    ops: vec![Op::Rewind { to: Some(parent.clone()) }],
                };
                let edit = Record::Edit(Box::new(edit));
                if !self.has(&edit) {
                    self.batch.push(edit);
                }
            }
        }
        let record = match record {
            Record::Checkpoint(mut checkpoint) => {
                // Kept messages are named by where they are, so they must be somewhere.
                self.append()?;
                let items = std::mem::take(&mut checkpoint.items);
                checkpoint.items = self.place(items, others)?;
                Record::Checkpoint(checkpoint)
            }
            Record::Message(message) => {
                self.messages += 1;
                Record::Message(message)
            }
            other @ (Record::Meta(_)
            | Record::Turn(_)
            | Record::Event(_)
            | Record::Edit(_)
            | Record::Card(_)) => other,
        };
        self.batch.push(record);
        Ok(())
    }

    fn has(&mut self, record: &Record) -> bool {
        if self.there.is_empty() {
            return false;
        }
        let Some(key) = peek::key_of(record) else { return false };
        match self.there.get_mut(&key) {
            Some(1) => {
                self.there.remove(&key);
                true
            }
            Some(n) => {
                *n -= 1;
                true
            }
            None => false,
        }
    }

    fn place(&mut self, items: Vec<Item>, others: &Others) -> Result<Vec<Item>, LedgerError> {
        let keeps = items.iter().any(|item| matches!(item, Item::Keep { .. }));
        if keeps && self.offsets.is_none() {
            self.offsets = Some(peek::offsets(self.writer.path())?);
        }
        let mut placed = Vec::with_capacity(items.len());
        for mut item in items {
            if let Item::Keep { id, origin, .. } = &mut item {
                let id = key(id.as_str());
                let found = match &origin.session {
                    None => self.offsets.as_ref().and_then(|o| o.get(&id)),
                    Some(session) => others.get(session).and_then(|o| o.get(&id)),
                };
                match found {
                    Some(offset) => origin.offset = *offset,
                    None => {
                        self.lost += 1;
                        continue;
                    }
                }
            }
            placed.push(item);
        }
        Ok(placed)
    }

    fn append(&mut self) -> Result<(), LedgerError> {
        if self.batch.is_empty() {
            return Ok(());
        }
        self.changed = true;
        let origins = self.writer.append(&self.batch)?;
        if let Some(offsets) = &mut self.offsets {
            for (record, origin) in self.batch.iter().zip(origins) {
                note_offsets(offsets, record, origin.offset);
            }
        }
        self.batch.clear();
        Ok(())
    }

    /// Writes what was taken, then how far the source was read. `always`: even if nothing was taken.
    pub(super) fn flush(
        &mut self,
        watermark: &Watermark,
        facts: Facts,
        always: bool,
    ) -> Result<(), LedgerError> {
        let took = !self.batch.is_empty() || std::mem::take(&mut self.torn);
        self.append()?;
        let card = self.writer.card();
        let title = match (&card.title, &facts.title) {
            (Some(by_person), _) if card.title != self.title => Some(by_person.clone()),
            (_, Some(title)) => Some(title.clone()),
            (old, None) => old.clone(),
        };
        self.title = facts.title;
        if took || (always && (card.watermark.as_ref() != Some(watermark) || card.title != title)) {
            let watermark = watermark.clone();
            self.writer.update_card(|card| {
                card.title = title;
                card.watermark = Some(watermark);
            })?;
        }
        Ok(())
    }

    pub(super) fn end(&mut self) -> Result<(), LedgerError> {
        self.writer.end_turn()
    }
}

fn note_offsets(offsets: &mut Offsets, record: &Record, offset: u64) {
    match record {
        Record::Message(message) => {
            offsets.insert(key(message.id.as_str()), offset);
        }
        Record::Checkpoint(checkpoint) => {
            for item in &checkpoint.items {
                if let Item::New(message) = item {
                    offsets.insert(key(message.id.as_str()), offset);
                }
            }
        }
        Record::Meta(_) | Record::Turn(_) | Record::Event(_) | Record::Edit(_) | Record::Card(_) => {}
    }
}
