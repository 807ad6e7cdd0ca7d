//! What an import must remember of every message, in memory that does not grow with the file.
//!
//! Any later line may name any earlier message, so nothing can be forgotten. What is recent is held; the rest lies in
//! unnamed files that vanish with the process: a [`Table`] by key, a [`Paged`] array by number, [`Texts`] by place.
//! Without a folder to put them in, everything is held.

mod pages;
mod table;
mod texts;

#[cfg(test)]
pub(super) mod tests;

pub(super) use pages::{Fixed, Paged};
pub(super) use table::Table;
pub(super) use texts::{Text, Texts};

use crate::home::make_private_dir;
use crate::{Home, LedgerError};
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// Where tables and arrays put what they do not hold.
///
/// **Invariant:** after trouble with a file, what they answer means nothing. Whoever acts on an answer asks
/// [`check`](Self::check) first.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch(Option<Arc<Place>>);

#[derive(Debug)]
struct Place {
    dir: PathBuf,
    limits: Limits,
    trouble: OnceLock<(&'static str, io::ErrorKind, String)>,
}

/// How much is held. The figures are for each table and each array.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Keys of a table.
    keys: usize,
    /// Bits, as a power of two, that tell which keys a table can't have.
    filter: u32,
    /// Items of a page.
    items: usize,
    /// Pages of an array.
    pages: usize,
    /// Bytes of texts.
    bytes: usize,
}

/// About 2 MB for the busiest importer, reached at some 15,000 messages. The filter spares nearly all searches on disk up
/// to a million keys; with more of them an import slows down, and still holds no more.
const LIMITS: Limits = Limits { keys: 14_000, filter: 23, items: 512, pages: 16, bytes: 64 << 10 };

impl Scratch {
    /// In a home. Nothing is made before it is needed.
    pub(super) fn of(home: &Home) -> Self {
        Self::new(home.index(), LIMITS)
    }

    fn new(dir: PathBuf, limits: Limits) -> Self {
        Self(Some(Arc::new(Place { dir, limits, trouble: OnceLock::new() })))
    }

    /// Whether all went well so far.
    pub(super) fn check(&self) -> Result<(), LedgerError> {
        match self.0.as_deref().and_then(|place| Some((place, place.trouble.get()?))) {
            None => Ok(()),
            Some((place, (action, kind, why))) => {
                Err(LedgerError::io(action, &place.dir)(io::Error::new(*kind, why.as_str())))
            }
        }
    }

    /// How much may be held; `None` for any amount.
    fn limits(&self) -> Option<&Limits> {
        self.0.as_deref().map(|place| &place.limits)
    }

    /// Notes what went wrong; the first time counts.
    fn noted<T>(&self, action: &'static str, result: io::Result<T>) -> Option<T> {
        match (result, &self.0) {
            (Ok(value), _) => Some(value),
            (Err(error), Some(place)) => {
                let _ = place.trouble.set((action, error.kind(), error.to_string()));
                None
            }
            (Err(_), None) => None,
        }
    }

    /// A new file that nobody else sees.
    fn file(&self) -> Option<File> {
        let place = self.0.as_deref()?;
        let made = make_private_dir(&place.dir)
            .map_err(io::Error::other)
            .and_then(|()| tempfile::tempfile_in(&place.dir));
        self.noted("make a scratch file in", made)
    }
}

const READ: &str = "read a scratch file in";
const WRITE: &str = "write a scratch file in";

/// Writes at a place, whatever was written before.
fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    #[cfg(unix)]
    {
        std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
    }
    #[cfg(not(unix))]
    {
        use std::io::{Seek, SeekFrom, Write};
        let mut file = file;
        file.seek(SeekFrom::Start(offset))?;
        file.write_all(bytes)
    }
}
