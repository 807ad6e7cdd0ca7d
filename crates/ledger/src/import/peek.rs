//! What a ledger holds already, read without its payloads.

use super::lenient::{Number, Text};
use super::scratch::{Scratch, Table};
use super::shadow::key;
use crate::LedgerError;
use crate::lines::{BackwardLines, Content, ForwardLines, open_at};
use serde::Deserialize;
use std::fs::File;
use std::path::Path;
use throughline_core::{Card, Meta, Record, Watermark};

/// Records by key, each with how often it is there.
#[derive(Default)]
pub(super) struct Keys {
    counts: Table,
    /// All of them.
    left: u64,
}

impl Keys {
    pub(super) fn new(scratch: &Scratch) -> Self {
        Self { counts: Table::new(scratch), left: 0 }
    }

    pub(super) fn add(&mut self, key: u128) {
        self.counts.put(key, self.counts.get(key).unwrap_or(0) + 1);
        self.left += 1;
    }

    /// Takes one out; whether there was one.
    pub(super) fn take(&mut self, key: u128) -> bool {
        let there = self.counts.get(key).filter(|n| *n > 0);
        if let Some(n) = there {
            self.counts.put(key, n - 1);
            self.left -= 1;
        }
        there.is_some()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.left == 0
    }
}

/// Messages by id: where their line begins.
#[derive(Default)]
pub(super) struct Offsets(Table);

impl Offsets {
    pub(super) fn put(&mut self, id: &str, offset: u64) {
        self.0.put(key(id), offset);
    }

    pub(super) fn get(&self, id: &str) -> Result<Option<u64>, LedgerError> {
        let found = self.0.get(key(id));
        self.0.check().map(|()| found)
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Peek<'a> {
    #[serde(borrow)]
    kind: Text<'a>,
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    at: Text<'a>,
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    cwd: Text<'a>,
    #[serde(borrow)]
    model: Text<'a>,
    data: Option<Data>,
    #[serde(borrow)]
    items: Option<Vec<PeekItem<'a>>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Data {
    line: Number,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct PeekItem<'a> {
    #[serde(borrow)]
    new: Option<PeekId<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct PeekId<'a> {
    #[serde(borrow)]
    id: Text<'a>,
}

/// Names a record for telling whether the ledger has it: by its id, or by what marks it where it has none.
pub(super) fn key_of(record: &Record) -> Option<u128> {
    let at = |at: &Option<jiff::Timestamp>| at.map(|at| at.to_string()).unwrap_or_default();
    Some(match record {
        Record::Meta(_) => named("meta", &[]),
        Record::Message(message) => named("message", &[message.id.as_str()]),
        Record::Edit(edit) => named("edit", &[edit.id.as_str()]),
        Record::Checkpoint(checkpoint) => named("checkpoint", &[checkpoint.id.as_str()]),
        Record::Turn(turn) => {
            let text = |text: &Option<String>| text.clone().unwrap_or_default();
            named("turn", &[&at(&turn.at), &text(&turn.cwd), &text(&turn.model)])
        }
        Record::Event(event) => {
            let line = event.data.get("line").and_then(serde_json::Value::as_u64);
            event_key(&at(&event.at), &event.name, line)
        }
        Record::Card(_) => return None,
    })
}

/// Where there is a time the line does not count: it is another one in a file that was written anew.
fn event_key(at: &str, name: &str, line: Option<u64>) -> u128 {
    let line = if at.is_empty() { line.unwrap_or(0) } else { 0 };
    named("event", &[at, name, &line.to_string()])
}

/// When a record says that it was made.
pub(super) fn time_of(record: &Record) -> Option<jiff::Timestamp> {
    match record {
        Record::Message(message) => message.at,
        Record::Edit(edit) => edit.at,
        Record::Checkpoint(checkpoint) => checkpoint.at,
        Record::Turn(turn) => turn.at,
        Record::Event(event) => event.at,
        Record::Meta(meta) => Some(meta.created),
        Record::Card(card) => card.updated,
    }
}

fn named(kind: &str, parts: &[&str]) -> u128 {
    let mut text = kind.to_owned();
    for part in parts {
        text.push('\n');
        text.push_str(part);
    }
    key(&text)
}

impl Peek<'_> {
    fn key(&self) -> Option<u128> {
        let (id, at) = (self.id.or_empty(), self.at.or_empty());
        match self.kind.or_empty() {
            "meta" => Some(named("meta", &[])),
            kind @ ("message" | "edit" | "checkpoint") => Some(named(kind, &[id])),
            "turn" => Some(named("turn", &[at, self.cwd.or_empty(), self.model.or_empty()])),
            "event" => {
                let line = self.data.as_ref().and_then(|d| d.line.0);
                Some(event_key(at, self.name.or_empty(), line))
            }
            _ => None,
        }
    }
}

fn peek(line: &[u8]) -> Option<Peek<'_>> {
    serde_json::from_slice(line).ok()
}

/// The newest card of a ledger.
pub(super) fn card(path: &Path) -> Result<Option<Card>, LedgerError> {
    let file = File::open(path).map_err(LedgerError::io("open", path))?;
    let end = file.metadata().map_err(LedgerError::io("look at", path))?.len();
    Ok(crate::list::newest_card(&file, path, end)?.map(|(_, card)| card))
}

/// Whether the last line of a ledger lacks its end.
pub(super) fn is_torn(path: &Path) -> Result<bool, LedgerError> {
    let file = File::open(path).map_err(LedgerError::io("open", path))?;
    let end = file.metadata().map_err(LedgerError::io("look at", path))?.len();
    let torn = BackwardLines::new(&file, path, end).next_line()?.is_some_and(|line| !line.complete);
    Ok(torn)
}

/// All records of a ledger.
pub(super) fn keys(path: &Path, scratch: &Scratch) -> Result<Keys, LedgerError> {
    let mut keys = Keys::new(scratch);
    each_line(path, |_, line| {
        if let Some(key) = peek(line).and_then(|p| p.key()) {
            keys.add(key);
        }
        true
    })?;
    Ok(keys)
}

/// The records that were written after the ledger first said that `watermark` was reached: those of a batch that a
/// crash cut off, or of another client.
pub(super) fn keys_after(path: &Path, watermark: &Watermark, scratch: &Scratch) -> Result<Keys, LedgerError> {
    let file = File::open(path).map_err(LedgerError::io("open", path))?;
    let end = file.metadata().map_err(LedgerError::io("look at", path))?.len();
    let mut lines = BackwardLines::new(&file, path, end);
    let (mut found, mut settled) = (Vec::new(), 0);
    while let Some(line) = lines.next_line()? {
        let Content::Whole(bytes) = line.bytes else { continue };
        let Some(peek) = peek(bytes) else { continue };
        match peek.key() {
            Some(key) => found.push(key),
            None if peek.kind.get() == Some("card") => match Record::parse(bytes) {
                Ok(Record::Card(card)) if card.watermark.as_ref() == Some(watermark) => settled = found.len(),
                Ok(_) | Err(_) => break,
            },
            None => {}
        }
    }
    let mut keys = Keys::new(scratch);
    found[..settled].iter().for_each(|key| keys.add(*key));
    Ok(keys)
}

/// Where the messages of a ledger are.
pub(super) fn offsets(path: &Path, scratch: &Scratch) -> Result<Offsets, LedgerError> {
    let mut offsets = Offsets(Table::new(scratch));
    each_line(path, |offset, line| {
        if let Some(peek) = peek(line) {
            if peek.kind.get() == Some("message") {
                offsets.put(peek.id.or_empty(), offset);
            }
            for new in peek.items.iter().flatten().filter_map(|item| item.new.as_ref()) {
                offsets.put(new.id.or_empty(), offset);
            }
        }
        true
    })?;
    Ok(offsets)
}

/// Where the last of these records ends. Others may lie between them: what a person did to the session since.
pub(super) fn end_of(path: &Path, mut records: Keys) -> Result<u64, LedgerError> {
    let mut end = 0;
    each_line(path, |offset, line| {
        if let Some(key) = peek(line).and_then(|p| p.key())
            && records.take(key)
        {
            end = offset + line.len() as u64 + 1;
        }
        !records.is_empty()
    })?;
    records.counts.check().map(|()| end)
}

/// The line that opens the session. A crash may have left a ledger without one, or with a piece of one before it.
pub(super) fn meta(path: &Path) -> Result<Option<Meta>, LedgerError> {
    let mut found = None;
    each_line(path, |_, line| {
        if peek(line).is_some_and(|p| p.kind.get() == Some("meta"))
            && let Ok(Record::Meta(meta)) = Record::parse(line)
        {
            found = Some(*meta);
        }
        found.is_none()
    })?;
    Ok(found)
}

/// A last line that lacks only its end counts: the writer will put it there.
fn each_line(path: &Path, mut take: impl FnMut(u64, &[u8]) -> bool) -> Result<(), LedgerError> {
    let mut lines = ForwardLines::new(open_at(path, 0)?, path, 0);
    while let Some(line) = lines.next_line()? {
        if let Content::Whole(bytes) = line.bytes
            && !take(line.offset, bytes)
        {
            break;
        }
    }
    Ok(())
}
