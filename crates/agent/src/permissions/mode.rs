//! How much is permitted without asking.

use serde::{Deserialize, Serialize};

/// How much is permitted without asking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Reading in the workspace is permitted; everything else is asked.
    #[default]
    Ask,
    /// Files of the workspace may be changed, and sandboxed commands run, without asking.
    AcceptEdits,
    /// Nothing may be changed: the agent looks, and makes a plan.
    Plan,
    /// Everything is permitted but what a rule denies. No sandbox.
    Full,
}

impl Mode {
    /// All modes, from the one that the user cycles through first.
    pub const ALL: [Self; 4] = [Self::Ask, Self::AcceptEdits, Self::Plan, Self::Full];

    /// The name that configuration and commands use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::AcceptEdits => "accept-edits",
            Self::Plan => "plan",
            Self::Full => "full",
        }
    }
}

impl std::fmt::Display for Mode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for Mode {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|mode| mode.name() == name).ok_or_else(|| {
            format!("there is no permission mode {name:?}: it is ask, accept-edits, plan or full")
        })
    }
}
