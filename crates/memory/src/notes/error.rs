//! What can go wrong with the files of notes.

use super::template::TemplateError;
use std::path::PathBuf;
use throughline_ledger::LedgerError;

/// Why notes can't be kept. What is on disk stays as it is.
#[derive(Debug, thiserror::Error)]
pub enum NotesError {
    /// The file system said no.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A file is larger than notes or prompts ever are.
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
    /// A file or folder leads elsewhere.
    #[error("{} is not inside {}; notes are neither read nor written there", path.display(), root.display())]
    Outside {
        /// The file.
        path: PathBuf,
        /// Where it should be.
        root: PathBuf,
    },
    /// A template of the person's can't be used.
    #[error("{}: {source}", path.display())]
    Template {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: TemplateError,
    },
    /// Headers and guides alone leave no room for notes.
    #[error(
        "the headers and guides of the notes take {tokens} of {limit} tokens; shorten the template or raise the limit"
    )]
    NoRoom {
        /// What the template takes.
        tokens: u64,
        /// What the whole may take.
        limit: u64,
    },
    /// The file could not be written.
    #[error(transparent)]
    Write(#[from] LedgerError),
}
