//! What the ledger is told of an update: the file itself does not say how far it reaches.

use super::file::text_hash;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use throughline_core::{Event, MessageId};

/// The event of an update that was made.
pub const UPDATED: &str = "notes.updated";
/// The event of an update that was not.
pub const FAILED: &str = "notes.failed";

/// Who wrote notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Author {
    /// A model, in a fork.
    Model,
    /// The offline scribe.
    Offline,
}

/// An update, as the ledger has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotesRecord {
    /// The last message that the notes cover.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covers: Option<MessageId>,
    /// Tokens of the notes.
    #[serde(default)]
    pub tokens: u64,
    /// Tokens of the context when the update began.
    #[serde(default)]
    pub context_tokens: u64,
    /// Hash of the file's text: only this text covers that message.
    pub hash: String,
    /// Who wrote them.
    pub by: Author,
    /// The receipt of the fork.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<String>,
}

impl NotesRecord {
    /// The line to write.
    pub fn to_event(&self, at: Option<Timestamp>) -> Event {
        Event { at, name: UPDATED.to_owned(), data: serde_json::to_value(self).unwrap_or_default() }
    }

    /// Reads a line; `None` if it is about something else, or was written by somebody else.
    pub fn from_event(event: &Event) -> Option<Self> {
        (event.name == UPDATED).then(|| Self::deserialize(&event.data).ok()).flatten()
    }

    /// The newest record of the text that the file holds now. `events` are given newest first.
    pub fn of_text<'a>(text: &str, events: impl IntoIterator<Item = &'a Event>) -> Option<Self> {
        let hash = text_hash(text);
        events.into_iter().filter_map(Self::from_event).find(|record| record.hash == hash)
    }
}
