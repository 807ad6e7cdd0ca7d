//! What the model has seen of files.

use super::history::Hash;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// How much of a file was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    Whole,
    /// Some lines, counted from one, the last included.
    Lines {
        /// The first.
        from: u64,
        /// The last.
        to: u64,
    },
}

/// What tells apart two states of a file without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Its length.
    pub len: u64,
    /// When it was last changed.
    pub modified: SystemTime,
}

/// Why a file may not be changed yet. Its words are for the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotCurrent {
    /// The model does not know what is in it.
    #[error("it was not read yet: read it first, so that nothing in it is lost unseen")]
    NeverRead,
    /// It was changed by somebody else.
    #[error(
        "it has changed since it was last read: read it again, then make the change on what is there now"
    )]
    Changed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Content(Hash),
    Large(Stamp),
}

#[derive(Debug, Default)]
pub(super) struct Seen {
    files: HashMap<PathBuf, (State, Part)>,
}

impl Seen {
    pub(super) fn content(&mut self, path: &Path, bytes: &[u8], part: Part) {
        self.note(path, State::Content(Hash::of(bytes)), part);
    }

    pub(super) fn large(&mut self, path: &Path, stamp: Stamp, part: Part) {
        self.note(path, State::Large(stamp), part);
    }

    /// A file of which all was seen stays so while it is the same, even if a part is read again.
    fn note(&mut self, path: &Path, state: State, part: Part) {
        let part = match self.files.get(path) {
            Some((old, Part::Whole)) if *old == state => Part::Whole,
            _ => part,
        };
        self.files.insert(path.to_owned(), (state, part));
    }

    pub(super) fn forget(&mut self, path: &Path) {
        self.files.remove(path);
    }

    pub(super) fn part(&self, path: &Path) -> Option<Part> {
        self.files.get(path).map(|(_, part)| *part)
    }

    pub(super) fn is_current(&self, path: &Path, bytes: &[u8]) -> Result<(), NotCurrent> {
        self.check(path, || State::Content(Hash::of(bytes)))
    }

    pub(super) fn is_current_large(&self, path: &Path, stamp: Stamp) -> Result<(), NotCurrent> {
        self.check(path, || State::Large(stamp))
    }

    fn check(&self, path: &Path, now: impl FnOnce() -> State) -> Result<(), NotCurrent> {
        match self.files.get(path) {
            None => Err(NotCurrent::NeverRead),
            Some((then, _)) if *then == now() => Ok(()),
            Some(_) => Err(NotCurrent::Changed),
        }
    }
}
