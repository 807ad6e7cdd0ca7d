//! What is remembered of a project beyond its sessions: a folder of Markdown files (M1, M2, M4, M6).
//!
//! Each memory is a file with a frontmatter (`name`, `description`, `type`); `MEMORY.md` is their index, a line each. People open,
//! edit, add and delete these files by hand, and other agents write into the same folder. So nothing here is trusted to be in
//! order, and nothing that is not ours is changed: keys that we don't know, lines of the index that point elsewhere, line ends.
//!
//! **Nothing is lost.** Files are replaced as a whole or not at all, under a lock that all of our processes take. A memory's file is written
//! before its line in the index: whoever is killed in between leaves a file that [`TopicStore::repair_index`] finds. Every change
//! is recorded in a history that git keeps, and what others changed by hand is recorded before it, so that
//! [`TopicStore::undo`] can bring it back. A history that can't be written stops no change: the result says so.
//!
//! **The index stays short.** It holds what a session can be told. When it is full, code decides which lines give way; the newest
//! correction is the last. The memories themselves stay, and are found by searching.
//!
//! **What is over does not come back.** A memory that another one [supersedes](TopicStore::supersede), or whose [time](Lifetimes) is over,
//! has no line in the index. Its file stays.
//!
//! **Our own files are apart**, in `.throughline/` with a `.gitignore`, for the folder may be another tool's or part of a repository:
//! the lock, the history, what was forgotten, and a database that can be deleted.
//!
//! **Nothing leads elsewhere.** Names are single file names; places are checked after links are resolved.
//!
//! **No secrets.** What is written is [redacted](throughline_redact) first.
//!
//! ```
//! use throughline_memory::topics::{Added, Meta, NewTopic, TopicStore, TopicType};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! let store = TopicStore::open(folder.path().join("memory"));
//! let topic = NewTopic {
//!     kind: TopicType::Feedback,
//!     name: "Tests first".to_owned(),
//!     description: "Run the tests before every commit".to_owned(),
//!     body: "Run the tests before every commit.\n\n**Why:** a broken main costs everybody.".to_owned(),
//!     meta: Meta::default(),
//! };
//! let Added::Saved(saved) = store.add(topic)? else { return Err("it is new".into()) };
//! assert_eq!(saved.file, "feedback_tests-first.md");
//! let index = store.index_for_session()?.ok_or("no index")?;
//! assert_eq!(index, "- [Tests first](feedback_tests-first.md) — Run the tests before every commit\n");
//! assert_eq!(store.search("what about commits?", 5)?[0].topic.name, "Tests first");
//! # Ok(())
//! # }
//! ```

mod changes;
mod clear;
mod document;
mod error;
mod folder;
mod history;
mod index;
mod intake;
mod life;
mod merge;
mod meta;
mod metadata;
mod names;
pub(crate) mod opposites;
pub(crate) mod prints;
pub(crate) mod raw;
mod recorded;
mod searched;
mod seen;
pub(crate) mod sentences;
mod store;
mod undo;
mod whole;
mod writing;
mod yaml;

pub use clear::Cleared;
pub use error::TopicError;
pub use index::{INDEX_BYTES, INDEX_LINES, IndexLimits, IndexPart};
pub use life::{Aged, Lifetimes};
pub use merge::{Clusters, Contradiction, Proposal};
pub use meta::{Anchor, By, MOST_SOURCES, Meta, Source};
pub(crate) use names::is_topic;
pub use recorded::{ChangeKind, Recorded};
pub use store::{MANIFEST_FILES, TopicStore};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// What a memory is about. There are no others (M2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TopicType {
    /// Who the user is, and what they know.
    User,
    /// How to work: what the user corrected, and what they confirmed.
    Feedback,
    /// What is so in the project, and stands neither in code nor in its history.
    Project,
    /// Where things are outside of the project.
    Reference,
}

impl TopicType {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::User, Self::Feedback, Self::Project, Self::Reference];

    /// The word in the frontmatter.
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Feedback => "feedback",
            Self::Project => "project",
            Self::Reference => "reference",
        }
    }
}

impl fmt::Display for TopicType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for TopicType {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(word.trim())).ok_or_else(|| {
            format!("there is no memory type {word:?}: it is user, feedback, project or reference")
        })
    }
}

/// What the first lines of a memory's file say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TopicHead {
    /// The file's name in the folder.
    pub file: String,
    /// What it is called; without a frontmatter the name of the file.
    pub name: String,
    /// When it helps, in a line. Empty if the file does not say.
    pub description: String,
    /// What it is about; `None` if the file does not say, or says something else.
    #[serde(rename = "type")]
    pub kind: Option<TopicType>,
    /// When the file was last changed.
    pub modified: Timestamp,
    /// What else is known of it.
    pub meta: Meta,
}

/// A memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Topic {
    /// The file's name in the folder.
    pub file: String,
    /// What it is called; without a frontmatter the name of the file.
    pub name: String,
    /// When it helps, in a line. Empty if the file does not say.
    pub description: String,
    /// What it is about; `None` if the file does not say, or says something else.
    #[serde(rename = "type")]
    pub kind: Option<TopicType>,
    /// All that stands behind the frontmatter.
    pub body: String,
    /// When the file was last changed.
    pub modified: Timestamp,
    /// What else is known of it.
    pub meta: Meta,
}

/// A memory to be saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTopic {
    /// What it is about.
    pub kind: TopicType,
    /// What it is called.
    pub name: String,
    /// When it helps, in a line; empty: the first line of the body.
    pub description: String,
    /// What is to be remembered.
    pub body: String,
    /// What else is known of it.
    pub meta: Meta,
}

/// What to change about a memory; `None` stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// What it is about.
    pub kind: Option<TopicType>,
    /// What it is called.
    pub name: Option<String>,
    /// When it helps.
    pub description: Option<String>,
    /// What is to be remembered.
    pub body: Option<String>,
    /// What else is known of it, as a whole. Keys of others in the metadata stay all the same.
    pub meta: Option<Meta>,
}

/// What came of [`TopicStore::add`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Added {
    /// It is saved.
    Saved(Saved),
    /// Nothing was written: this one says much the same, and should be updated.
    Similar(TopicHead),
}

/// A memory was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// Its file.
    pub file: String,
    /// The kinds of secrets that were taken out, one for each place.
    pub redacted: Vec<&'static str>,
    /// Why the history does not have it; `None` if it has.
    pub unrecorded: Option<String>,
}

/// A memory was forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forgotten {
    /// Where its file is now.
    pub kept: PathBuf,
    /// Why the history does not have it; `None` if it has.
    pub unrecorded: Option<String>,
}

/// A memory that a search found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The memory.
    pub topic: Topic,
    /// How well it fits; comparable within one search only.
    pub score: f64,
}

/// What [`TopicStore::undo`] did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undone {
    /// The change that was taken back.
    pub change: Recorded,
    /// Files that are again as they were before it.
    pub restored: Vec<String>,
    /// Files that were not there before it, and are put away.
    pub removed: Vec<String>,
    /// Those of them that had been changed since. The history has that too.
    pub over: Vec<String>,
    /// Why the history does not have it; `None` if it has.
    pub unrecorded: Option<String>,
}

/// What [`TopicStore::repair_index`] did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repair {
    /// Files that had no line and have one now.
    pub added: Vec<String>,
    /// Files whose lines were dropped, for they are not there, or are over.
    pub dropped: Vec<String>,
    /// Files whose lines gave way to others, for the index is full. The files stay.
    pub evicted: Vec<String>,
    /// Why the history does not have it; `None` if it has, or nothing was done.
    pub unrecorded: Option<String>,
}

/// A file that is not as it should be. It stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The file's name in the folder.
    pub file: String,
    /// What is wrong, and what to do.
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.what)
    }
}
