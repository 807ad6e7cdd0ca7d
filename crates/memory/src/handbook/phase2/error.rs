//! Why a handbook was not consolidated.

use crate::store::{Failure, StoreError};
use std::io;
use std::path::{Path, PathBuf};
use throughline_ledger::LedgerError;

/// Why a handbook's folder was not changed. In all cases the book that was in force still is.
#[derive(Debug, thiserror::Error)]
pub enum Phase2Error {
    /// Somebody else works in the folder.
    #[error("the handbook {} is being written by another process; try again later", .folder.display())]
    Busy {
        /// Which.
        folder: PathBuf,
    },
    /// Something in the folder, or the folder, is a link: it could lead anywhere.
    #[error("{} is a link, and a handbook follows none; remove it, or put the file in its place", .path.display())]
    Link {
        /// What.
        path: PathBuf,
    },
    /// Links appeared while a consolidation ran. They were removed, and what it wrote is not used.
    #[error("links appeared in the handbook during its consolidation and were removed: {}", .paths.join(", "))]
    Linked {
        /// Which, relative to the folder.
        paths: Vec<String>,
    },
    /// A path leads out of the folder, or to what is not a handbook's.
    #[error("{path:?} is no file of a handbook")]
    Foreign {
        /// Which.
        path: String,
    },
    /// More or larger files than a handbook may have.
    #[error("the handbook {} is too large: {what}", .folder.display())]
    TooLarge {
        /// Which.
        folder: PathBuf,
        /// What is.
        what: String,
    },
    /// A file can't be read or written.
    #[error("could not {what} {}: {source}", .path.display())]
    Io {
        /// What was attempted.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A private file could not be written.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The handbook's history can't be read.
    #[error("the handbook's history can't be read: {why}")]
    History {
        /// Why not.
        why: String,
    },
    /// The store did not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The job is somebody else's now.
    #[error("the lease was lost during the consolidation; whoever has it now goes on")]
    Lost,
    /// Others changed the handbook each time before the result could be put in its place.
    #[error("the handbook was changed by others {times} times during its consolidation; try again later")]
    Disturbed {
        /// How often it was tried.
        times: u32,
    },
    /// The model did not come to an end that can be used.
    #[error("the model did not consolidate: {why}")]
    Model {
        /// Why not.
        why: String,
        /// Whether trying again may help.
        is_passing: bool,
    },
    /// What the model wrote is not valid, twice.
    #[error("what the model wrote is not valid: {0}")]
    Invalid(String),
    /// The caller gave up.
    #[error("the consolidation was cancelled")]
    Cancelled,
    /// Nothing can be undone, or not this.
    #[error("nothing was undone: {why}")]
    NotUndone {
        /// Why not.
        why: String,
    },
    /// The note says nothing, or too much.
    #[error("the note was not kept: {why}")]
    Note {
        /// Why not.
        why: String,
    },
}

impl Phase2Error {
    pub(super) fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { what, path, source }
    }

    /// Whether trying again may help.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Busy { .. }
            | Self::Linked { .. }
            | Self::Io { .. }
            | Self::Ledger(_)
            | Self::History { .. }
            | Self::Lost
            | Self::Disturbed { .. }
            | Self::Invalid(_)
            | Self::Cancelled => true,
            Self::Model { is_passing, .. } => *is_passing,
            Self::Store(error) => error.is_passing(),
            Self::Link { .. }
            | Self::Foreign { .. }
            | Self::TooLarge { .. }
            | Self::NotUndone { .. }
            | Self::Note { .. } => false,
        }
    }

    /// For the store.
    pub fn failure(&self) -> Failure {
        Failure { why: self.to_string(), is_passing: self.is_passing() }
    }
}
