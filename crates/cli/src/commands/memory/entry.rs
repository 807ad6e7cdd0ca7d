//! A memory as commands show it.

use jiff::Timestamp;
use serde_json::{Value, json};
use std::path::PathBuf;
use throughline_memory::MemoryId;
use throughline_memory::topics::Topic;
use throughline_memory::usage::Counts;

/// A memory, and whether it holds.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) id: MemoryId,
    pub(super) topic: Topic,
    pub(super) state: State,
    /// When its time is over; `None`: never.
    pub(super) ends: Option<Timestamp>,
    pub(super) path: PathBuf,
}

/// Whether a memory holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It does.
    Live,
    /// Another one says it now.
    Superseded {
        /// Which.
        by: MemoryId,
    },
    /// Its time is over.
    Expired {
        /// Since when.
        at: Timestamp,
    },
}

impl State {
    pub(super) fn is_live(&self) -> bool {
        match self {
            Self::Live => true,
            Self::Superseded { .. } | Self::Expired { .. } => false,
        }
    }

    /// The word in JSON.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Superseded { .. } => "superseded",
            Self::Expired { .. } => "expired",
        }
    }
}

impl Entry {
    /// As scripts get it; documented in docs/memory.md.
    pub(super) fn json(&self, uses: Option<&Counts>) -> Value {
        let Topic { file, name, description, kind, modified, meta, body: _ } = &self.topic;
        json!({
            "id": self.id,
            "tier": self.id.tier,
            "file": file,
            "path": self.path,
            "name": name,
            "description": description,
            "type": kind,
            "state": self.state.name(),
            "modified": modified,
            "created": meta.created,
            "expires": meta.expires,
            "ends": self.ends,
            "superseded_by": meta.superseded_by.as_ref().map(|by| MemoryId::new(self.id.tier, by.clone())),
            "evidence": meta.evidence,
            "anchors": meta.anchors,
            "sources": meta.sources,
            "uses": uses.copied().unwrap_or_default(),
        })
    }
}
