//! What can go wrong on the way.

use crate::topics::TopicError;
use std::path::{Path, PathBuf};
use throughline_ledger::LedgerError;

/// Why memories can't be exchanged. A plan that fails has changed nothing; an [`apply`](super::Plan::apply) that fails has done the steps
/// before, and may be planned again.
#[derive(Debug, thiserror::Error)]
pub enum ExchangeError {
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
    /// Both sides are the same folder.
    #[error("{} is the folder of these memories itself; there is nothing to exchange", path.display())]
    Same {
        /// The folder.
        path: PathBuf,
    },
    /// The markers of our block are not in order.
    #[error("{}, line {line}: {why}; mend it by hand, or remove both markers to have a new block", path.display())]
    Markers {
        /// The file.
        path: PathBuf,
        /// Where.
        line: usize,
        /// What is wrong.
        why: &'static str,
    },
    /// A file is larger than we read.
    #[error("{} has more than {limit} bytes; it is left as it is", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The most it may have.
        limit: u64,
    },
    /// A file is not UTF-8, no file, or leads elsewhere.
    #[error("{} is no plain text file; it is neither read nor written", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
    },
    /// A file was changed between the plan and its execution.
    #[error("{} was changed meanwhile; plan again", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// Our own folder.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// A file could not be written.
    #[error(transparent)]
    Write(#[from] LedgerError),
}

impl ExchangeError {
    /// For `map_err`.
    pub(super) fn io(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { what, path, source }
    }
}
