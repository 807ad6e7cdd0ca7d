//! Changes, as the history tells them.

use super::history::file_of;
use super::names::INDEX;
use crate::history::{Commit, Step};
use jiff::Timestamp;
use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// Characters of a change's id.
pub(super) const ID: usize = 12;

/// What a change did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// A memory was added.
    Add,
    /// A memory was changed.
    Update,
    /// A memory was said again.
    Confirm,
    /// A memory took the place of another.
    Supersede,
    /// Memories became one.
    Merge,
    /// A memory was forgotten.
    Forget,
    /// A memory was removed, and its words from the history.
    Purge,
    /// The index was put in order.
    Repair,
    /// An earlier change was taken back.
    Undo,
    /// Somebody else changed files: a person by hand, or another agent.
    Found,
}

impl ChangeKind {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Add,
        Self::Update,
        Self::Confirm,
        Self::Supersede,
        Self::Merge,
        Self::Forget,
        Self::Purge,
        Self::Repair,
        Self::Undo,
        Self::Found,
    ];

    /// The word in the history.
    pub fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Update => "update",
            Self::Confirm => "confirm",
            Self::Supersede => "supersede",
            Self::Merge => "merge",
            Self::Forget => "forget",
            Self::Purge => "purge",
            Self::Repair => "repair",
            Self::Undo => "undo",
            Self::Found => "found",
        }
    }
}

impl fmt::Display for ChangeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ChangeKind {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|kind| kind.name() == word).ok_or_else(|| format!("{word:?} is no change"))
    }
}

/// A change, as the history has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Recorded {
    /// Its id, for [`undo`](super::TopicStore::undo).
    pub id: String,
    /// When.
    pub at: Timestamp,
    /// What it did; `None` if somebody else made the commit.
    pub kind: Option<ChangeKind>,
    /// What it did, in a line.
    pub what: String,
    /// The memories that it touched.
    pub files: Vec<String>,
    /// The change that it took back.
    pub undoes: Option<String>,
    /// Whether a later change took it back.
    pub undone: bool,
    /// Whether the history begins with it.
    #[serde(skip)]
    pub(super) is_first: bool,
    /// What each file was and became, the index included.
    #[serde(skip)]
    pub(super) steps: Vec<Step>,
}

impl From<Commit> for Recorded {
    fn from(commit: Commit) -> Self {
        let own =
            commit.said("id: ").filter(|own| own.len() == ID && own.bytes().all(|b| b.is_ascii_hexdigit()));
        let steps: Vec<Step> = (commit.steps.iter())
            .map(|step| Step { file: file_of(&step.file).to_owned(), ..step.clone() })
            .collect();
        Self {
            id: own.unwrap_or(&commit.id).to_owned(),
            at: commit.at,
            kind: commit.said("change: ").and_then(|word| word.parse().ok()),
            what: commit.message.lines().next().unwrap_or_default().to_owned(),
            files: steps.iter().map(|step| step.file.clone()).filter(|file| file != INDEX).collect(),
            undoes: commit.said("undoes: ").map(str::to_owned),
            undone: false,
            is_first: commit.is_first,
            steps,
        }
    }
}
