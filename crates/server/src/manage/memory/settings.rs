//! How proxied sessions remember.

use jiff::tz::TimeZone;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use throughline_engine::Hire;
use throughline_engine::config::MemorySettings;
use throughline_memory::notes::{NotesLimits, Wording};
use throughline_model::{Governor, Model};

/// How proxied sessions remember, and what they are told.
#[derive(Clone)]
pub struct MemoryOptions {
    /// What is kept, where, for how long, and what comes back. Memories are always chosen by rank: a request waits for no model.
    pub settings: MemorySettings,
    /// The user's time zone: "Thursday" is a day there.
    pub zone: TimeZone,
    /// When notes of a session are kept, and how long they get; `None`: never.
    pub notes: Option<NotesLimits>,
    /// The notes' template and prompt.
    pub wording: Wording,
    /// Who writes notes and looks for what is worth keeping; `None`: the offline scribe.
    pub scribe: Option<Arc<dyn Model>>,
    /// Who decides about work in the background; `None`: it may always begin.
    pub governor: Option<Governor>,
    /// Who works on handbooks when a session begins; `None`: nobody.
    pub hire: Option<Hire>,
    /// MCP servers of the user's own: what they say does not come from outside (H7).
    pub own_servers: Vec<String>,
    /// Tokens of the index that a session is told, at most.
    pub index_tokens: u64,
    /// How long a request waits for its memories; zero: not at all. What is late comes with a later one.
    pub wait: Duration,
}

impl MemoryOptions {
    /// As the settings say, without a model.
    pub fn new(settings: MemorySettings) -> Self {
        Self {
            settings,
            zone: TimeZone::UTC,
            notes: Some(NotesLimits::default()),
            wording: Wording::default(),
            scribe: None,
            governor: None,
            hire: None,
            own_servers: Vec::new(),
            index_tokens: 4_000,
            wait: Duration::from_millis(300),
        }
    }
}

impl fmt::Debug for MemoryOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryOptions")
            .field("settings", &self.settings)
            .field("scribe", &self.scribe.as_ref().map(|model| model.id()))
            .field("hires", &self.hire.is_some())
            .field("index_tokens", &self.index_tokens)
            .field("wait", &self.wait)
            .finish_non_exhaustive()
    }
}
