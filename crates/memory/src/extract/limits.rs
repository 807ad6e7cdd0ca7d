//! The limits of extraction.

use serde::{Deserialize, Serialize};

/// What extraction may do after one turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExtractLimits {
    /// Turns from one extraction to the next; 1: after every turn.
    pub every_turns: u32,
    /// Memories that are added.
    pub adds: usize,
    /// Memories that are changed, confirmed or forgotten.
    pub changes: usize,
    /// Bytes of all that is added.
    pub bytes: usize,
    /// Memories that a model is shown whole because they are near to what was said.
    pub shown: usize,
    /// Bytes of each of them.
    pub shown_bytes: usize,
    /// Bytes of the list of memories that a model is shown.
    pub manifest_bytes: usize,
}

impl Default for ExtractLimits {
    fn default() -> Self {
        Self {
            every_turns: 1,
            adds: 4,
            changes: 4,
            bytes: 6_000,
            shown: 3,
            shown_bytes: 1_500,
            manifest_bytes: 24_000,
        }
    }
}
