//! What is known of files: what the model has read, and what they were before it changed them.
//!
//! Every change that a tool makes goes through [`Files::change`]: the old content is put away first, then the file is
//! replaced. So a user can [go back](Files::restore) to how the files were when any of their messages was sent.

mod backups;
mod history;
mod restore;
mod seen;
pub(crate) mod text;

pub use restore::Restored;
pub use seen::{NotCurrent, Part, Stamp};

use crate::workspace::{OpenError, read_whole, replace_file};
use backups::Backups;
use history::{Before, Hash, History};
use seen::Seen;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Content over this size is not put away.
pub const MAX_BACKUP: u64 = 10 * 1024 * 1024;

/// Files over this size are not changed, and of their content no hash is made.
pub const MAX_FILE: u64 = 64 * 1024 * 1024;

/// What is known of files. Shared: clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Files {
    seen: Arc<Mutex<Seen>>,
    kept: Arc<Mutex<Kept>>,
}

#[derive(Debug, Default)]
struct Kept {
    backups: Backups,
    history: History,
}

/// A file's history could not be kept or used.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// The history can't be read or written.
    #[error("can't {action} {path}: {source}. Nothing was changed; check the folder and its free space")]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The old content can't be put away.
    #[error("can't put away the old content of {path}: {reason}. Nothing was changed")]
    Backup {
        /// Of which file.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// It is no longer what the change was made for.
    #[error("{path} was changed by somebody else just now; nothing was written. Read it again")]
    Raced {
        /// Which.
        path: PathBuf,
    },
    /// The file itself can't be written.
    #[error(transparent)]
    Write(#[from] OpenError),
    /// Nothing is known of such a turn.
    #[error("no file history begins at {turn:?}: files can't be put back to where they were then")]
    UnknownTurn {
        /// Which.
        turn: String,
    },
}

/// A change of a file that is about to be made.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// The resolved path.
    pub path: &'a Path,
    /// What is there now.
    pub before: Old<'a>,
    /// What shall be there.
    pub after: &'a [u8],
}

/// What is there before a change.
#[derive(Clone, Copy, Debug)]
pub enum Old<'a> {
    /// Nothing.
    Absent,
    /// A file.
    File {
        /// Its content.
        bytes: &'a [u8],
        /// Its permissions.
        mode: u32,
    },
    /// A file that is too large to be read.
    Large {
        /// How large.
        bytes: u64,
    },
}

impl Old<'_> {
    fn is_still_at(&self, path: &Path) -> bool {
        match (self, read_whole(path, MAX_FILE)) {
            (Self::File { bytes, .. }, Ok((now, _))) => *bytes == now,
            (Self::Absent, Err(OpenError::Missing { .. })) => true,
            (Self::Large { bytes }, Err(OpenError::TooLarge { bytes: now, .. })) => *bytes == now,
            // What can't be looked at can't be written either: that error says more.
            (_, Err(OpenError::Folder { .. } | OpenError::Special { .. } | OpenError::Link { .. })) => true,
            (_, Err(OpenError::Io { .. })) => true,
            (Self::Absent | Self::Large { .. }, Ok(_)) => false,
            (Self::Absent | Self::File { .. }, Err(OpenError::TooLarge { .. })) => false,
            (Self::File { .. } | Self::Large { .. }, Err(OpenError::Missing { .. })) => false,
        }
    }
}

/// Whether the old content can be had back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undo {
    /// It can.
    Possible,
    /// It was too large to be put away.
    TooLarge,
}

impl Files {
    /// Nothing is known yet, and nothing is kept on disk: the history ends with the process.
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps the history in a private folder, and goes on with what is there. The folder is made when there is something to
    /// keep. One process at a time may use it.
    pub fn at(folder: PathBuf) -> Result<Self, FilesError> {
        let kept = Kept { history: History::read(&folder)?, backups: Backups::on_disk(folder) };
        Ok(Self { seen: Arc::default(), kept: Arc::new(Mutex::new(kept)) })
    }

    /// The same history for another reader, such as a sub-agent, who has seen nothing yet.
    #[must_use]
    pub fn another_reader(&self) -> Self {
        Self { seen: Arc::default(), kept: self.kept.clone() }
    }

    /// The model has been shown a file, whose whole content is `bytes`.
    pub fn saw(&self, path: &Path, bytes: &[u8], part: Part) {
        self.seen().content(path, bytes, part);
    }

    /// The model has been shown a part of a file that is too large to be read whole.
    pub fn saw_large(&self, path: &Path, stamp: Stamp, part: Part) {
        self.seen().large(path, stamp, part);
    }

    /// What the model has seen of a file, current or not.
    pub fn seen_part(&self, path: &Path) -> Option<Part> {
        self.seen().part(path)
    }

    /// Whether the model knows a file as it is: it has seen it, and its content is the same now.
    pub fn is_current(&self, path: &Path, bytes: &[u8]) -> Result<(), NotCurrent> {
        self.seen().is_current(path, bytes)
    }

    /// The same for a file that is too large to be read whole.
    pub fn is_current_large(&self, path: &Path, stamp: Stamp) -> Result<(), NotCurrent> {
        self.seen().is_current_large(path, stamp)
    }

    /// The model has seen nothing: its context begins anew, or somewhere before.
    pub fn forget_seen(&self) {
        *self.seen() = Seen::default();
    }

    /// The following changes belong to this user message. Beginning a turn again changes nothing about where it began.
    pub fn begin_turn(&self, turn: &str) {
        self.kept().history.begin(turn);
    }

    /// Puts the old content away and writes the new one, or changes nothing. The model knows the file afterwards. Of two agents
    /// that change a file at the same time, the second is refused: what the first wrote is not lost.
    pub fn change(&self, change: Change<'_>) -> Result<Undo, FilesError> {
        let Change { path, before, after } = change;
        let mut kept = self.kept();
        if !before.is_still_at(path) {
            return Err(FilesError::Raced { path: path.to_owned() });
        }
        let before = kept.put_away(path, before)?;
        let undo = match &before {
            Before::Absent { .. } | Before::Kept { .. } => Undo::Possible,
            Before::Large { .. } => Undo::TooLarge,
        };
        kept.write(Write { path, before, after: Some(after), mode: None })?;
        drop(kept);
        let mut seen = self.seen();
        let part = seen.part(path).unwrap_or(Part::Whole);
        seen.content(path, after, part);
        Ok(undo)
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        // Nothing panics in between that would leave it half changed.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What to do to a file whose old content is safe.
struct Write<'a> {
    path: &'a Path,
    before: Before,
    after: Option<&'a [u8]>,
    mode: Option<u32>,
}

impl Kept {
    fn put_away(&mut self, path: &Path, old: Old<'_>) -> Result<Before, FilesError> {
        match old {
            Old::Absent => {
                let missing = |folder: &&Path| folder.symlink_metadata().is_err();
                Ok(Before::Absent { folders: path.ancestors().skip(1).take_while(missing).count() })
            }
            Old::Large { bytes } => Ok(Before::Large { bytes }),
            Old::File { bytes, .. } if bytes.len() as u64 > MAX_BACKUP => {
                Ok(Before::Large { bytes: bytes.len() as u64 })
            }
            Old::File { bytes, mode } => {
                let hash = self
                    .backups
                    .put(bytes)
                    .map_err(|reason| FilesError::Backup { path: path.to_owned(), reason })?;
                Ok(Before::Kept { hash, mode })
            }
        }
    }

    /// The history is written first: a change that it does not know can't be undone, one that was not made does no harm.
    fn write(&mut self, write: Write<'_>) -> Result<(), FilesError> {
        let Write { path, before, after, mode } = write;
        let was = before.clone();
        self.history.changed(path, before, after.map(Hash::of))?;
        let outcome = match after {
            Some(bytes) => replace_file(path, bytes, mode),
            None => crate::workspace::remove_file(path).map(drop),
        };
        outcome.map_err(|error| {
            self.history.not_changed(path, was);
            FilesError::Write(error)
        })
    }
}
