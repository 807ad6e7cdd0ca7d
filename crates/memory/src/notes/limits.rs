//! The figures of session notes.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// When notes are written and how long they may be (N2, N4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NotesLimits {
    /// Tokens of context at which notes are first written.
    pub first_tokens: u64,
    /// Tokens by which the context grew since the last update: no update without it.
    pub growth_tokens: u64,
    /// Tool calls since the last update that make one due.
    pub tool_calls: u64,
    /// Tokens of one section, its header and guide included.
    pub section_tokens: u64,
    /// Tokens of the whole file.
    pub total_tokens: u64,
    /// Failed updates in a row after which the offline scribe writes instead.
    pub failures: u32,
    /// Seconds that a compaction waits for an update that runs (P5a).
    pub wait_seconds: u64,
}

impl Default for NotesLimits {
    fn default() -> Self {
        Self {
            first_tokens: 10_000,
            growth_tokens: 5_000,
            tool_calls: 3,
            section_tokens: 2_000,
            total_tokens: 12_000,
            failures: 3,
            wait_seconds: 15,
        }
    }
}

impl NotesLimits {
    /// [`wait_seconds`](Self::wait_seconds) as a time.
    pub fn wait(&self) -> Duration {
        Duration::from_secs(self.wait_seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_the_specifications_and_can_be_set_one_by_one() {
        let limits: NotesLimits = serde_json::from_str(r#"{"tool_calls": 7}"#).unwrap();
        assert_eq!(limits, NotesLimits { tool_calls: 7, ..NotesLimits::default() });
        let figures = NotesLimits::default();
        assert_eq!((figures.first_tokens, figures.growth_tokens, figures.tool_calls), (10_000, 5_000, 3));
        assert_eq!((figures.section_tokens, figures.total_tokens), (2_000, 12_000));
        assert!(serde_json::from_str::<NotesLimits>(r#"{"tool_call": 7}"#).is_err());
    }
}
