//! What can go wrong with a folder of memories.

use std::path::{Path, PathBuf};
use throughline_ledger::LedgerError;
use throughline_redact::Redacted;

/// Why a memory can't be read or written. What is on disk stays as it is.
#[derive(Debug, thiserror::Error)]
pub enum TopicError {
    /// The file system said no.
    #[error("cannot {what} {}: {source}", path.display())]
    Io {
        /// What was attempted.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A file or folder leads elsewhere.
    #[error("{} leads out of {}; memories are neither read nor written there", path.display(), folder.display())]
    Outside {
        /// The file.
        path: PathBuf,
        /// Where it should be.
        folder: PathBuf,
    },
    /// What was given is no name of a memory's file.
    #[error("{file:?} is no file name of a memory; give the name alone, as listed, such as user_role.md")]
    BadName {
        /// What was given.
        file: String,
    },
    /// An anchor that would not be read back.
    #[error("{anchor:?} is no anchor; give path:src/a.rs, commit:4f2a9c1 or symbol:src/a.rs#run")]
    BadAnchor {
        /// What was given.
        anchor: String,
    },
    /// There is no such memory.
    #[error("there is no memory {file:?}; list them to see their files")]
    NoTopic {
        /// The file.
        file: String,
    },
    /// A part of a memory is missing.
    #[error("a memory needs a {what} that is not empty")]
    Empty {
        /// Which part.
        what: &'static str,
    },
    /// A part of a memory is too long.
    #[error("the {what} has {length} characters, over the limit of {limit}; say it shorter")]
    TooLong {
        /// Which part.
        what: &'static str,
        /// How long it is.
        length: usize,
        /// How long it may be.
        limit: usize,
    },
    /// A part of a memory holds a credential's value.
    #[error("the {what} holds a credential ({}); memories never keep credentials: leave the value out, and say where it is kept instead", kinds.join(", "))]
    Credential {
        /// Which part.
        what: &'static str,
        /// Kinds that were found, each once.
        kinds: Vec<&'static str>,
    },
    /// A file is larger than memories ever are.
    #[error("{} has {bytes} bytes, over the limit of {limit}; shorten it or move it away", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// The most it may have.
        limit: u64,
    },
    /// A file is not UTF-8.
    #[error("{} is not UTF-8 text; save it as such or move it away", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
    },
    /// The frontmatter is not one that can be changed without harm.
    #[error("the frontmatter of {file} can't be changed safely ({why}); mend it by hand")]
    Frontmatter {
        /// The file.
        file: String,
        /// Why not.
        why: String,
    },
    /// The history can't be read or written.
    #[error("the history of {} is not to be had: {why}", folder.display())]
    History {
        /// Whose history.
        folder: PathBuf,
        /// Why not.
        why: String,
    },
    /// There is no such change.
    #[error("there is no change {id:?} in the history, or more than one; list the history to see their ids")]
    NoChange {
        /// What was given.
        id: String,
    },
    /// A change that can't be taken back.
    #[error("{what} can't be undone: {why}")]
    NotUndone {
        /// Which change.
        what: String,
        /// Why not.
        why: &'static str,
    },
    /// Memories that can't be one.
    #[error("these memories are not merged: {why}")]
    NotMerged {
        /// Why not.
        why: String,
    },
    /// Somebody changed a file while it was being changed by another.
    #[error("somebody changed {file} meanwhile; look at it again, and change what is there now")]
    Changed {
        /// The file.
        file: String,
    },
    /// Somebody else holds the folder's lock.
    #[error("another process has been writing to {} for a while; try again, or end that process", path.display())]
    Busy {
        /// The lock's file.
        path: PathBuf,
    },
    /// A file could not be written.
    #[error(transparent)]
    Write(#[from] LedgerError),
    /// The record of what was shown and used could not be changed.
    #[error(transparent)]
    Usage(#[from] crate::usage::UsageError),
}

impl TopicError {
    /// Refuses a part in which a credential was found.
    pub(super) fn credential(what: &'static str, found: &Redacted) -> Self {
        Self::Credential { what, kinds: found.distinct_kinds() }
    }

    /// For `map_err`.
    pub(super) fn io(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { what, path, source }
    }
}
