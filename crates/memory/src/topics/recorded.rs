//! Changes, as the history tells them.

use super::git::is_id;
use super::history::file_of;
use super::names::INDEX;
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

/// A file before and after a change, as ids in the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) file: String,
    pub(super) before: Option<String>,
    pub(super) after: Option<String>,
}

/// The changes that `git log` wrote, each with its files.
pub(super) fn parse(log: &[u8]) -> Vec<Recorded> {
    let log = String::from_utf8_lossy(log);
    let mut tokens = log.split('\0').map(|token| token.trim_start_matches('\n'));
    let mut changes: Vec<Recorded> = Vec::new();
    while let Some(token) = tokens.next() {
        if let Some(id) = token.strip_prefix('\u{2}') {
            let at = tokens.next().and_then(|second| second.parse().ok());
            let at =
                at.and_then(|second| Timestamp::from_second(second).ok()).unwrap_or(Timestamp::UNIX_EPOCH);
            let is_first = tokens.next().is_none_or(str::is_empty);
            let body = tokens.next().unwrap_or_default();
            let said = |key: &str| body.lines().rev().find_map(|line| line.strip_prefix(key)).map(str::trim);
            let own =
                said("id: ").filter(|own| own.len() == ID && own.bytes().all(|b| b.is_ascii_hexdigit()));
            changes.push(Recorded {
                id: own.unwrap_or(id).to_owned(),
                at,
                kind: said("change: ").and_then(|word| word.parse().ok()),
                what: body.lines().next().unwrap_or_default().to_owned(),
                files: Vec::new(),
                undoes: said("undoes: ").map(str::to_owned),
                undone: false,
                is_first,
                steps: Vec::new(),
            });
        } else if let (Some(about), Some(change)) = (token.strip_prefix(':'), changes.last_mut()) {
            let file = file_of(tokens.next().unwrap_or_default()).to_owned();
            let parts: Vec<&str> = about.split(' ').collect();
            let id = |n: usize| {
                parts
                    .get(n)
                    .filter(|id| is_id(id) && id.bytes().any(|b| b != b'0'))
                    .map(|id| (*id).to_owned())
            };
            change.steps.push(Step { file: file.clone(), before: id(2), after: id(3) });
            if file != INDEX {
                change.files.push(file);
            }
        }
    }
    changes
}
