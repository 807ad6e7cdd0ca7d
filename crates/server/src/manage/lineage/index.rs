//! The conversations that are known, in a file that can be thrown away: it is made again from the ledgers.

use crate::manage::snapshot::MARK;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::Error;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;
use throughline_core::{MessageId, Meta, Record, Role, Wire};
use throughline_ledger::{Home, LedgerError, Reader, write_private};
use uuid::Uuid;

/// The place of a message in its conversation: covers everything before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(super) struct Mark(Uuid);

impl From<Mark> for String {
    fn from(mark: Mark) -> Self {
        mark.0.to_string()
    }
}

impl TryFrom<String> for Mark {
    type Error = uuid::Error;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Uuid::parse_str(&text).map(Self)
    }
}

impl Mark {
    /// `None` for ids that were not derived from what was said.
    pub(super) fn of(id: &MessageId) -> Option<Self> {
        Uuid::parse_str(id.as_str()).ok().map(Self)
    }
}

/// The first request of a conversation that its client has no name for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Opening {
    /// Its last message.
    pub(super) tip: Mark,
    /// How many there are.
    pub(super) len: usize,
}

/// One line: a conversation, or what was learnt about it since.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Line {
    pub(super) key: String,
    /// When its ledger was begun: with the key, this names the file.
    pub(super) created: Timestamp,
    pub(super) client: String,
    pub(super) wire: Wire,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) opening: Option<Opening>,
    /// The first word of the model behind the opening.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) anchor: Option<Mark>,
}

/// The file. Several servers may append to it; each reads what the others wrote.
#[derive(Debug)]
pub(super) struct Index {
    home: Home,
    /// Up to where it was read.
    read: u64,
}

const FOLDER: &str = "proxy";
const FILE: &str = "conversations.jsonl";
/// A file that grew beyond this is written anew with what counts.
pub(super) const MOST_BYTES: u64 = 8 << 20;

impl Index {
    /// The index of a home, and what it says. Where there is none, it is made from the ledgers.
    pub(super) fn open(home: &Home) -> (Self, Vec<Line>) {
        let mut index = Self { home: home.clone(), read: 0 };
        if index.path().exists() {
            let lines = index.news();
            return (index, lines);
        }
        let lines = from_ledgers(home);
        index.replace(lines.iter());
        (index, lines)
    }

    fn path(&self) -> PathBuf {
        self.home.root().join(FOLDER).join(FILE)
    }

    /// How large the file is.
    pub(super) fn bytes(&self) -> u64 {
        std::fs::metadata(self.path()).map_or(0, |meta| meta.len())
    }

    /// What was written since it was read last. What can't be read is left out: it is only an index.
    pub(super) fn news(&mut self) -> Vec<Line> {
        let bytes = self.bytes();
        if bytes < self.read {
            // Another server wrote it anew.
            self.read = 0;
        }
        if bytes == self.read {
            return Vec::new();
        }
        let mut text = Vec::new();
        let read = File::open(self.path()).and_then(|mut file| {
            file.seek(SeekFrom::Start(self.read))?;
            file.take(4 * MOST_BYTES).read_to_end(&mut text)
        });
        // A line that is being written is read the next time.
        let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        if read.is_ok() {
            self.read += whole as u64;
        }
        text[..whole]
            .split(|&byte| byte == b'\n')
            .filter_map(|line| serde_json::from_slice(line).ok())
            .collect()
    }

    /// Adds a line, in one write. It is read again with the [news](Self::news), which does no harm.
    pub(super) fn append(&self, line: &Line) -> Result<(), Error> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        if !self.path().exists() {
            return write_private(self.home.root(), &format!("{FOLDER}/{FILE}"), &text).map_err(Error::other);
        }
        OpenOptions::new().append(true).open(self.path())?.write_all(&text)
    }

    /// Writes the whole file anew. If it can't be, the old one is as good.
    pub(super) fn replace<'a>(&mut self, lines: impl Iterator<Item = &'a Line>) {
        let mut text = Vec::new();
        for line in lines {
            if serde_json::to_writer(&mut text, line).is_ok() {
                text.push(b'\n');
            }
        }
        if write_private(self.home.root(), &format!("{FOLDER}/{FILE}"), &text).is_ok() {
            self.read = text.len() as u64;
        }
    }
}

/// What the first line of a ledger says about the conversation, so that the index can be made again.
pub(in crate::manage) fn mark(key: &str, wire: Wire, opening: usize) -> Value {
    json!({"key": key, "wire": wire, "opening": opening})
}

/// Reads the beginnings of all ledgers.
fn from_ledgers(home: &Home) -> Vec<Line> {
    let paths = home.ledgers().unwrap_or_default();
    paths.iter().filter_map(|path| from_ledger(home, path).ok().flatten()).collect()
}

fn from_ledger(home: &Home, path: &std::path::Path) -> Result<Option<Line>, LedgerError> {
    let mut reader = Reader::open(home, path, 0)?;
    let Some((_, Record::Meta(meta))) = reader.next_record()? else { return Ok(None) };
    let Meta { created, client, mut extra, .. } = *meta;
    let Some(mark) = extra.remove(MARK) else { return Ok(None) };
    let text = |name: &str| mark.get(name).cloned().unwrap_or_default();
    let (Value::String(key), Ok(wire)) = (text("key"), serde_json::from_value(text("wire"))) else {
        return Ok(None);
    };
    let mut line = Line { key, created, client, wire, opening: None, anchor: None };
    let len = text("opening").as_u64().unwrap_or(0) as usize;
    let mut seen = 0;
    while len > 0 && line.anchor.is_none() {
        let Some((_, record)) = reader.next_record()? else { break };
        // What we said ourselves is no part of what the client sends.
        let Record::Message(message) = record else { continue };
        if message.flags.meta {
            continue;
        }
        seen += 1;
        if seen == len {
            line.opening = Mark::of(&message.id).map(|tip| Opening { tip, len });
        } else if seen > len && message.role == Role::Assistant {
            line.anchor = Mark::of(&message.id);
        }
    }
    Ok(Some(line))
}

/// All places in the history of a conversation that its ledger knows, in the order in which they were written.
pub(super) fn places(home: &Home, path: &std::path::Path) -> Result<Vec<(Mark, Role)>, LedgerError> {
    let mut reader = Reader::open(home, path, 0)?;
    let mut marks = Vec::new();
    while let Some((_, record)) = reader.next_record()? {
        if let Record::Message(message) = record
            && !message.flags.meta
        {
            marks.extend(Mark::of(&message.id).map(|mark| (mark, message.role)));
        }
    }
    Ok(marks)
}
