//! The name of a memory among all tiers.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Whose memories they are. In the order in which they are told and searched: what is nearer comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Those of the project.
    Project,
    /// Those of one linked worktree of it.
    Worktree,
    /// Those that a team shares (M8).
    Team,
    /// Those that hold in every project.
    Global,
}

impl Tier {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Project, Self::Worktree, Self::Team, Self::Global];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::Worktree => "worktree",
            Self::Team => "team",
            Self::Global => "global",
        }
    }

    /// What a session is told of it, above its index.
    pub(super) fn heading(self) -> &'static str {
        match self {
            Self::Project => "## Memories of this project",
            Self::Worktree => "## Memories of this worktree alone (their files: worktree/NAME)",
            Self::Team => "## Memories that the team shares (their files: team/NAME)",
            Self::Global => "## Memories for every project (their files: global/NAME)",
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Tier {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|tier| tier.name().eq_ignore_ascii_case(word.trim()));
        found.ok_or_else(|| {
            format!("there are no memories of {word:?}: it is project, worktree, team or global")
        })
    }
}

/// One memory among all tiers. As text: `file.md` for the project's own, else `global/file.md` and the like.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct MemoryId {
    /// Whose it is.
    pub tier: Tier,
    /// Its file.
    pub file: String,
}

impl MemoryId {
    /// A file of a tier.
    pub fn new(tier: Tier, file: impl Into<String>) -> Self {
        Self { tier, file: file.into() }
    }
}

impl fmt::Display for MemoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.tier {
            Tier::Project => f.write_str(&self.file),
            Tier::Worktree | Tier::Team | Tier::Global => write!(f, "{}/{}", self.tier, self.file),
        }
    }
}

impl FromStr for MemoryId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let wrong = || {
            format!(
                "{text:?} is no file name of a memory; give it as listed, such as user_role.md or global/user_role.md"
            )
        };
        let (tier, file) = match text.strip_prefix("./").unwrap_or(text).split_once('/') {
            Some((tier, file)) => (tier.parse().map_err(|_| wrong())?, file),
            None => (Tier::Project, text.strip_prefix("./").unwrap_or(text)),
        };
        if file.is_empty() || file.contains(['/', '\\', '\0']) {
            return Err(wrong());
        }
        Ok(Self::new(tier, file))
    }
}

impl From<MemoryId> for String {
    fn from(id: MemoryId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for MemoryId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}
