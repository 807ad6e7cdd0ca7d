//! One line of a ledger.

use crate::compaction::Verdict;
use crate::json::parse_json;
use crate::{ClientSession, Edit, EditId, Message, MessageId, Overlay, SessionId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What a ledger line says. On disk each line is one JSON object whose first key is `kind`.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// Opens a session.
    Meta(Box<Meta>),
    /// Something was said.
    Message(Box<Message>),
    /// The circumstances of a turn.
    Turn(Box<Turn>),
    /// Something happened that no model is told.
    Event(Box<Event>),
    /// The view was changed.
    Edit(Box<Edit>),
    /// The view was replaced.
    Checkpoint(Box<Checkpoint>),
    /// What a list shows about the session; the newest one is always near the end of the file.
    Card(Box<Card>),
}

/// The format version that [`Meta::version`] carries.
pub(crate) const FORMAT: u32 = 1;

/// The first line of a ledger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Meta {
    /// Format version.
    pub version: u32,
    /// The session.
    pub id: SessionId,
    /// When it began.
    pub created: Timestamp,
    /// Where it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The client that held the conversation: `throughline`, `claude`, `codex`.
    pub client: String,
    /// That client's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_version: Option<String>,
    /// Where this ledger branched off another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkPoint>,
    /// The session whose agent started this one as a sub-agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<SessionId>,
    /// The client's own session, where the client is not Throughline: two ledgers with the same one hold the same conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_session: Option<ClientSession>,
    /// What else the client recorded at the start.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

impl Meta {
    /// The first line of a new session.
    pub fn new(id: SessionId, created: Timestamp, client: impl Into<String>) -> Self {
        Self {
            version: FORMAT,
            id,
            created,
            cwd: None,
            client: client.into(),
            client_version: None,
            forked_from: None,
            parent_session: None,
            client_session: None,
            extra: Map::new(),
        }
    }
}

/// The place where a fork left its parent: nothing is copied, the parent's lines before `offset` are read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ForkPoint {
    /// The parent.
    pub session: SessionId,
    /// The parent's file, relative to the sessions folder.
    pub path: String,
    /// The parent's lines that end at or before this byte belong to the fork.
    pub offset: u64,
    /// The last message taken over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
}

/// The circumstances of a turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// When it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// Working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The context window in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// What else was recorded.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

/// Something that happened and that no model is told: usage, errors, hooks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// When.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// What, such as `usage`.
    pub name: String,
    /// The details.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub data: Value,
}

/// A complete replacement of the view: "from here on the view is this". It deletes nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Names the checkpoint, so that it can be undone.
    pub id: EditId,
    /// When it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// How it was made: `notes`, `summary`, `handoff`, or the client's own name for it.
    pub strategy: String,
    /// What set it off.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub trigger: String,
    /// Tokens of the view before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_before: Option<u64>,
    /// Tokens of the view after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_after: Option<u64>,
    /// What the check of the summary found (B7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<Box<Verdict>>,
    /// The messages that stay verbatim, so that readers of other formats can link them again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preserved: Option<Preserved>,
    /// The new view, in order.
    pub items: Vec<Item>,
}

/// The segment of messages that a compaction kept verbatim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preserved {
    /// The first message of the view before.
    pub head: MessageId,
    /// The last message that the summary stands for.
    pub anchor: MessageId,
    /// The last message kept.
    pub tail: MessageId,
}

/// One message of a checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Item {
    /// A message that is in the ledger already, named and not copied.
    Keep {
        /// The message.
        id: MessageId,
        /// The line that holds it.
        #[serde(flatten)]
        origin: Origin,
        /// Replacements in force on it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        overlays: Vec<Overlay>,
        /// The edit that pinned it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pinned: Option<EditId>,
    },
    /// A message that the checkpoint brings in, such as a summary.
    New(Box<Message>),
}

/// Where the line that holds a message begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The ledger, where it is not the one that says this (forks refer to their parents).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// Byte offset of the line.
    pub offset: u64,
}

/// What lists show. Appended again as the file grows, so that the last 16 KB always hold the newest one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Card {
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// Its name, by a person, a client or a scribe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The person's tags.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Whether memory may be made of it.
    #[serde(skip_serializing_if = "MemoryMode::is_enabled")]
    pub memory_mode: MemoryMode,
    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<Timestamp>,
    /// When something was last said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated: Option<Timestamp>,
    /// Where it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The client that held it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub client: String,
    /// The model last used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The first words of the person, shortened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Messages recorded.
    pub messages: u64,
    /// Real user messages recorded.
    pub turns: u64,
    /// The session this one was forked from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<SessionId>,
    /// The session whose sub-agent this is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<SessionId>,
    /// The client's own session, as [`Meta::client_session`]. [`Card::client_session`] knows it of older ledgers, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_session: Option<ClientSession>,
    /// How far the file it was imported from has been read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watermark: Option<Watermark>,
}

impl Card {
    /// The client's own session. Ledgers that were imported before it was written down are named by it.
    pub fn client_session(&self) -> Option<ClientSession> {
        let imported = || {
            self.watermark.as_ref()?;
            Some(ClientSession::of_transcript(&self.client, self.session.as_ref()?))
        };
        self.client_session.clone().or_else(imported)
    }
}

/// Whether memory may be made of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemoryMode {
    /// Yes.
    #[default]
    Enabled,
    /// No, by choice.
    Disabled,
    /// No: text from outside came in.
    Polluted,
}

impl MemoryMode {
    fn is_enabled(&self) -> bool {
        *self == Self::Enabled
    }
}

/// How far an imported file has been read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watermark {
    /// The file.
    pub path: String,
    /// Everything before this byte is in the ledger.
    pub offset: u64,
    /// Hash of the last line before `offset`: tells a file that grew from one that was replaced.
    pub seal: String,
}

/// Why a line is not a record.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// A kind that this version does not know; a newer one may.
    #[error("unknown kind `{0}` (written by a newer version?)")]
    UnknownKind(String),
    /// Not JSON, or not of the form its kind asks for.
    #[error("not a valid record: {0}")]
    Malformed(#[from] serde_json::Error),
}

#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    kind: std::borrow::Cow<'a, str>,
}

/// Puts `kind` first and the payload's own keys after it.
#[derive(Serialize)]
struct Tagged<'a, T> {
    kind: &'a str,
    #[serde(flatten)]
    payload: &'a T,
}

impl Record {
    /// The word that stands behind `kind` on disk.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Meta(_) => "meta",
            Self::Message(_) => "message",
            Self::Turn(_) => "turn",
            Self::Event(_) => "event",
            Self::Edit(_) => "edit",
            Self::Checkpoint(_) => "checkpoint",
            Self::Card(_) => "card",
        }
    }

    /// Reads one line, without its line end.
    pub fn parse(line: &[u8]) -> Result<Self, RecordError> {
        let kind = kind_of(line)?;
        Ok(match &*kind {
            "meta" => Self::Meta(parse_json(line)?),
            "message" => Self::Message(parse_json(line)?),
            "turn" => Self::Turn(parse_json(line)?),
            "event" => Self::Event(parse_json(line)?),
            "edit" => Self::Edit(parse_json(line)?),
            "checkpoint" => Self::Checkpoint(parse_json(line)?),
            "card" => Self::Card(parse_json(line)?),
            other => return Err(RecordError::UnknownKind(other.to_owned())),
        })
    }

    /// Writes one line, without its line end.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), RecordError> {
        fn tagged<T: Serialize>(out: &mut Vec<u8>, kind: &str, payload: &T) -> Result<(), RecordError> {
            Ok(serde_json::to_writer(out, &Tagged { kind, payload })?)
        }
        let kind = self.kind();
        match self {
            Self::Meta(payload) => tagged(out, kind, payload),
            Self::Message(payload) => tagged(out, kind, payload),
            Self::Turn(payload) => tagged(out, kind, payload),
            Self::Event(payload) => tagged(out, kind, payload),
            Self::Edit(payload) => tagged(out, kind, payload),
            Self::Checkpoint(payload) => tagged(out, kind, payload),
            Self::Card(payload) => tagged(out, kind, payload),
        }
    }
}

/// The kind of a line. Our own writer puts it first, which is read without parsing the rest.
fn kind_of(line: &[u8]) -> Result<std::borrow::Cow<'_, str>, RecordError> {
    if let Some(rest) = line.strip_prefix(br#"{"kind":""#)
        && let Some(end) = rest.iter().take(32).position(|&b| b == b'"')
        && let Ok(kind) = std::str::from_utf8(&rest[..end])
        && !kind.contains('\\')
    {
        return Ok(kind.into());
    }
    Ok(serde_json::from_slice::<Head<'_>>(line)?.kind)
}
