use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};
use throughline_core::{MessageId, SessionId, UndoError};

/// Why something could not be done with a ledger.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The file system said no.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was attempted.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// Another process writes this session.
    #[error(
        "session {} is being written by another process; close it there, or fork the session to go on here",
        path.display()
    )]
    Locked {
        /// The ledger.
        path: PathBuf,
    },
    /// A file would be written outside of its folder.
    #[error("{} is not inside {}; nothing was written", path.display(), root.display())]
    Outside {
        /// The file.
        path: PathBuf,
        /// The folder.
        root: PathBuf,
    },
    /// No session has this id.
    #[error("no session `{0}` here; `throughline sessions list` shows what there is")]
    NoSession(String),
    /// Several sessions begin like this.
    #[error("`{prefix}` could be any of {}; give more of the id", candidates.join(", "))]
    Ambiguous {
        /// What was asked for.
        prefix: String,
        /// What it could be.
        candidates: Vec<String>,
    },
    /// The session exists already.
    #[error("session {0} exists already")]
    Exists(SessionId),
    /// The session has no such message.
    #[error("session {session} has no message {message}")]
    NoMessage {
        /// The session.
        session: SessionId,
        /// The message.
        message: MessageId,
    },
    /// There are fewer turns than were to be rolled back.
    #[error("cannot roll back {asked} turns: the view holds {there}")]
    TooFewTurns {
        /// How many were to go.
        asked: usize,
        /// How many there are.
        there: usize,
    },
    /// The edit is not in force.
    #[error("edit {0} is undone already")]
    AlreadyUndone(throughline_core::EditId),
    /// Nothing was edited.
    #[error("there is nothing to undo in this session")]
    NothingToUndo,
    /// An edit can't be undone.
    #[error(transparent)]
    Undo(#[from] UndoError),
    /// A record could not be written as JSON.
    #[error("cannot encode a record: {0}")]
    Encode(String),
}

impl LedgerError {
    /// Wraps an I/O error with what was attempted on which file.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }
}

/// Something in a file that could not be used. It never stops a reader: it is reported, skipped and kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The file.
    pub path: PathBuf,
    /// Where its line begins.
    pub offset: u64,
    /// The line's number, where the file was read from the front.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// What is wrong.
    #[serde(flatten)]
    pub kind: ProblemKind,
}

/// The kinds of problem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "problem", content = "detail")]
pub enum ProblemKind {
    /// The last line has no line end: a write was cut off.
    Torn,
    /// Not a record.
    Garbage(String),
    /// A kind that a newer version may know.
    Newer(String),
    /// Longer than any line may be.
    TooLong(u64),
    /// A checkpoint keeps a message that is not where it says.
    MissingMessage(String),
    /// A kept message was found at another place than the checkpoint says.
    Misplaced(String),
    /// A blob is missing or damaged.
    MissingBlob(String),
    /// An undo names an edit that is not there.
    BadUndo(String),
    /// The parent of a fork can't be read.
    MissingParent(String),
    /// The parent of a fork is shorter than it was when the fork left it.
    ShortParent(String),
    /// No line opens a session.
    NoMeta,
    /// Two messages share an id.
    DuplicateId(String),
    /// A message names a parent that is not there.
    UnknownParent(String),
    /// An edit names a message that is not there.
    UnknownTarget(String),
    /// The end of the file holds no card, so that lists can't show the session in full.
    NoCard,
    /// Others may read the file.
    Exposed(String),
}

impl fmt::Display for ProblemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Torn => write!(f, "the last line is cut off: the process died while writing it"),
            Self::Garbage(why) => write!(f, "not a record: {why}"),
            Self::Newer(kind) => write!(f, "unknown kind `{kind}`, maybe of a newer version"),
            Self::TooLong(bytes) => write!(f, "a line of {bytes} bytes is longer than any record"),
            Self::MissingMessage(id) => write!(f, "kept message {id} is not where the checkpoint says"),
            Self::Misplaced(id) => {
                write!(f, "kept message {id} is at another place than the checkpoint says")
            }
            Self::MissingBlob(hash) => write!(f, "blob {hash} is missing or damaged"),
            Self::BadUndo(edit) => write!(f, "undo of {edit}, which is not there"),
            Self::MissingParent(id) => write!(f, "the session was forked from {id}, which can't be read"),
            Self::ShortParent(id) => {
                write!(f, "the end of {id}, which this session was forked from, is gone")
            }
            Self::NoMeta => write!(f, "no line opens a session"),
            Self::DuplicateId(id) => write!(f, "message id {id} is used twice"),
            Self::UnknownParent(id) => write!(f, "parent {id} is not in the ledger"),
            Self::UnknownTarget(id) => write!(f, "the edit names {id}, which is not in the ledger"),
            Self::NoCard => write!(f, "no card in the last 16 KB: lists can't show title and tags"),
            Self::Exposed(mode) => write!(f, "the file can be read by others (mode {mode}); chmod 600 it"),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path.display(), self.kind),
            None => write!(f, "{} (byte {}): {}", self.path.display(), self.offset, self.kind),
        }
    }
}
