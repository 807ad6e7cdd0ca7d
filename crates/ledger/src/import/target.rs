//! The ledger that one lane is written to.

use super::outcome::Facts;
use super::peek::{self, Keys, Offsets};
use super::scratch::Scratch;
use super::source::{self, Standing};
use super::takeover::Takeover;
use crate::{Home, LedgerError, SyncPolicy, Writer};
use std::collections::HashMap;
use std::path::Path;
use throughline_core::{Item, MemoryMode, Meta, Record, SessionId, Watermark};

/// Where the messages of other ledgers are, for forks.
pub(super) type Others = HashMap<SessionId, Offsets>;

/// The file that a ledger is gone on with.
pub(super) struct Source<'a> {
    pub(super) path: &'a Path,
    /// Lines that end before this byte are in the ledger of the file's own session; 0 where that was made from another
    /// file.
    pub(super) done: u64,
    /// The file's own session was made from another file.
    pub(super) anew: bool,
    /// The ledger is that of the file's own session, not of a sub-agent.
    pub(super) own: bool,
    /// The session continues another one.
    pub(super) forked: bool,
}

pub(super) struct Target {
    home: Home,
    writer: Writer,
    scratch: Scratch,
    /// Everything that the source says before this byte is in the ledger.
    done: u64,
    /// Records that are in the ledger although the source is not done up to them.
    there: Keys,
    /// Where messages are; read from the ledger when first needed.
    offsets: Option<Offsets>,
    batch: Vec<Record>,
    /// The importer's title so far: one that differs was given by a person.
    title: Option<String>,
    memory_mode: MemoryMode,
    forked_from: Option<SessionId>,
    /// The source is another file than the one imported before: what is new in it may not follow the last message.
    takeover: Option<Takeover>,
    /// The ledger's last line lacks its end, which the next write gives it.
    torn: bool,
    /// Records were written since the last card.
    uncarded: bool,
    changed: bool,
    pub(super) messages: u64,
    /// Kept messages that could not be found.
    pub(super) lost: u64,
}

impl Target {
    pub(super) fn create(home: &Home, meta: Meta, policy: SyncPolicy) -> Result<Self, LedgerError> {
        let writer = Writer::create(home, meta, policy)?;
        Ok(Self::new(home, writer))
    }

    /// Goes on with a ledger.
    pub(super) fn open(
        home: &Home,
        path: &Path,
        policy: SyncPolicy,
        source: &Source<'_>,
    ) -> Result<Self, LedgerError> {
        let writer = Writer::open(home, path, policy)?;
        let marked = writer.card().watermark.clone();
        let of_this_file = match &marked {
            _ if source.anew => false,
            Some(watermark) => source.own || is_of(watermark, source.path)?,
            None => false,
        };
        let watermark = marked.as_ref().filter(|_| of_this_file);
        let scratch = Scratch::of(home);
        let there = match watermark {
            Some(watermark) => peek::keys_after(path, watermark, &scratch)?,
            None => peek::keys(path, &scratch)?,
        };
        let mut target = Self { scratch, there, ..Self::new(home, writer) };
        target.done = watermark.map_or(0, |w| w.offset);
        if marked.is_some() && !of_this_file {
            target.takeover = Some(Takeover::new(source.done == 0 && !source.forked));
        }
        target.torn = peek::is_torn(path)?;
        Ok(target)
    }

    fn new(home: &Home, writer: Writer) -> Self {
        Self {
            home: home.clone(),
            writer,
            scratch: Scratch::of(home),
            done: 0,
            there: Keys::default(),
            offsets: None,
            batch: Vec::new(),
            title: None,
            memory_mode: MemoryMode::default(),
            forked_from: None,
            takeover: None,
            torn: false,
            uncarded: false,
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

    /// What the importer knew when the part that is in the ledger ended.
    pub(super) fn known_so_far(&mut self, facts: &Facts) {
        self.title.clone_from(&facts.title);
        self.memory_mode = facts.memory_mode;
    }

    /// Opens the session where a crash left the ledger without a first line, or where it is known only now what it was
    /// forked from: the newest such line counts.
    pub(super) fn introduce(&mut self, meta: Meta) -> Result<(), LedgerError> {
        let old = peek::meta(self.writer.path())?;
        let known = |old: &Meta| old.forked_from.is_some() || self.writer.card().forked_from.is_some();
        let opens = old.as_ref().is_none_or(|old| meta.forked_from.is_some() && !known(old));
        let counts = if opens { Some(&meta) } else { old.as_ref() };
        // A crash may have left the ledger without a card that says so.
        self.forked_from = counts.and_then(|meta| meta.forked_from.as_ref()).map(|fork| fork.session.clone());
        if opens {
            self.batch.push(Record::Meta(Box::new(meta)));
        }
        Ok(())
    }

    /// Takes a record of a source line that ends at `line_end`, unless the ledger has it.
    pub(super) fn add(&mut self, line_end: u64, record: Record, others: &Others) -> Result<(), LedgerError> {
        if line_end <= self.done {
            return Ok(());
        }
        if self.has(&record) {
            if let Some(takeover) = &mut self.takeover {
                takeover.known(&record);
            }
            return Ok(());
        }
        if let Some(mut takeover) = self.takeover.take() {
            let stand = takeover.begins_with(&record);
            takeover.new_record(&record);
            if let Some(stand) = stand {
                self.append()?;
                if let Some(before) = stand.correction(&self.home, self.writer.path())? {
                    self.take(before, others)?;
                }
            }
            self.takeover = Some(takeover);
        }
        self.take(record, others)
    }

    fn take(&mut self, record: Record, others: &Others) -> Result<(), LedgerError> {
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
        peek::key_of(record).is_some_and(|key| self.there.take(key))
    }

    fn place(&mut self, items: Vec<Item>, others: &Others) -> Result<Vec<Item>, LedgerError> {
        let keeps = items.iter().any(|item| matches!(item, Item::Keep { .. }));
        if keeps && self.offsets.is_none() {
            self.offsets = Some(peek::offsets(self.writer.path(), &self.scratch)?);
        }
        let mut placed = Vec::with_capacity(items.len());
        for mut item in items {
            if let Item::Keep { id, origin, .. } = &mut item {
                let offsets = match &origin.session {
                    None => self.offsets.as_ref(),
                    Some(session) => others.get(session),
                };
                match offsets.map(|o| o.get(id.as_str())).transpose()?.flatten() {
                    Some(offset) => origin.offset = offset,
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
        // What was taken, and what was passed over as known, rests on what is remembered.
        self.scratch.check()?;
        if self.batch.is_empty() {
            return Ok(());
        }
        self.changed = true;
        self.uncarded = true;
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
        self.append()?;
        let took = std::mem::take(&mut self.uncarded) || std::mem::take(&mut self.torn);
        // A source that told nothing new leaves the ledger to the one that it was made from.
        let always = always && (self.takeover.is_none() || self.changed);
        let card = self.writer.card();
        let title = match (&card.title, &facts.title) {
            (Some(by_person), _) if card.title != self.title => Some(by_person.clone()),
            (_, Some(title)) => Some(title.clone()),
            (old, None) => old.clone(),
        };
        let memory_mode =
            if facts.memory_mode == self.memory_mode { card.memory_mode } else { facts.memory_mode };
        self.title = facts.title;
        self.memory_mode = facts.memory_mode;
        if took || (always && (card.watermark.as_ref() != Some(watermark) || card.title != title)) {
            let (watermark, forked_from) = (watermark.clone(), self.forked_from.clone());
            self.writer.update_card(|card| {
                // What stands in a last line without its end was not counted when the ledger was opened.
                card.session = card.session.take().or(facts.session);
                card.created = card.created.or(facts.created);
                card.cwd = card.cwd.take().or(facts.cwd);
                if card.client.is_empty() {
                    facts.client.clone_into(&mut card.client);
                }
                card.title = title;
                card.memory_mode = memory_mode;
                card.forked_from = forked_from.or(card.forked_from.take());
                card.parent_session = card.parent_session.take().or(facts.parent_session);
                card.client_session = card.client_session();
                card.watermark = Some(watermark);
            })?;
        }
        Ok(())
    }

    pub(super) fn end(&mut self, others: &Others) -> Result<(), LedgerError> {
        if let Some(takeover) = &mut self.takeover
            && let Some(last) = takeover.at_the_end(&self.home, self.writer.path())?
        {
            self.take(last, others)?;
            self.append()?;
        }
        self.writer.end_turn()
    }
}

/// Whether a watermark tells of this very file, as it is now.
fn is_of(watermark: &Watermark, path: &Path) -> Result<bool, LedgerError> {
    Ok(watermark.path == path.to_string_lossy() && source::standing(path, watermark)? != Standing::Replaced)
}

fn note_offsets(offsets: &mut Offsets, record: &Record, offset: u64) {
    match record {
        Record::Message(message) => {
            offsets.put(message.id.as_str(), offset);
        }
        Record::Checkpoint(checkpoint) => {
            for item in &checkpoint.items {
                if let Item::New(message) = item {
                    offsets.put(message.id.as_str(), offset);
                }
            }
        }
        Record::Meta(_) | Record::Turn(_) | Record::Event(_) | Record::Edit(_) | Record::Card(_) => {}
    }
}
