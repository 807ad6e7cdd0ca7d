//! What the ledger is told of an extraction: how far it came, and what it did.

use super::proposal::{Applied, Refused};
use crate::notes::Author;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use throughline_core::{Event, MessageId};

/// The event of an extraction that reached the end.
pub const EXTRACTED: &str = "memory.extracted";
/// The event of one that did not: the same messages are looked at again.
pub const NOT_EXTRACTED: &str = "memory.not_extracted";

/// An extraction, as the ledger has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtractRecord {
    /// The last message that was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<MessageId>,
    /// Who proposed.
    pub by: Author,
    /// What was done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub applied: Vec<Applied>,
    /// What was not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Refused>,
    /// Why a model's answer was not used, if it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// The receipt of the fork.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<String>,
}

impl ExtractRecord {
    /// The line to write.
    pub fn to_event(&self, at: Option<Timestamp>, is_complete: bool) -> Event {
        let name = if is_complete { EXTRACTED } else { NOT_EXTRACTED };
        Event { at, name: name.to_owned(), data: serde_json::to_value(self).unwrap_or_default() }
    }

    /// Reads a line; `None` if it is about something else, or was written by somebody else.
    pub fn from_event(event: &Event) -> Option<Self> {
        let is_ours = event.name == EXTRACTED || event.name == NOT_EXTRACTED;
        is_ours.then(|| Self::deserialize(&event.data).ok()).flatten()
    }

    /// How far the newest extraction came that reached its end. `events` are given newest first.
    pub fn cursor<'a>(events: impl IntoIterator<Item = &'a Event>) -> Option<MessageId> {
        let mut complete = events.into_iter().filter(|event| event.name == EXTRACTED);
        complete.find_map(|event| Self::from_event(event)?.cursor)
    }
}
