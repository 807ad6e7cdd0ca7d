//! Which ledgers may hold more than the index. Writers leave a mark when they take a ledger; whoever has brought the
//! index up to date takes it away, unless someone is still writing.

use crate::error::SearchError;
use crate::store::read_small;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use throughline_ledger::Home;

/// Bytes of a ledger's path.
const LONGEST_PATH: u64 = 16 << 10;

/// The mark of one ledger.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Marker {
    /// The ledger's path relative to the sessions folder.
    pub(crate) ledger: String,
    file: PathBuf,
}

impl Marker {
    /// All marks, by ledger.
    pub(crate) fn all(home: &Home) -> Result<Vec<Self>, SearchError> {
        let dir = home.dirty();
        let entries = match fs::read_dir(&dir) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(SearchError::io("list", &dir)(e)),
        };
        let mut all = Vec::new();
        for entry in entries {
            let file = entry.map_err(SearchError::io("list", &dir))?.path();
            match read_small(&file, LONGEST_PATH) {
                // Just made, not yet filled: its ledger is new and shows with the next search.
                Ok(ledger) if ledger.is_empty() => {}
                Ok(ledger) => all.push(Self { ledger, file }),
                // Taken away between listing and reading.
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                // Nothing that a writer left.
                Err(e) if e.kind() == io::ErrorKind::InvalidData => {}
                Err(e) => return Err(SearchError::io("read", &file)(e)),
            }
        }
        all.sort();
        Ok(all)
    }

    /// How long the ledger is; `None` where there is none.
    pub(crate) fn ledger_len(&self, home: &Home) -> Option<u64> {
        fs::metadata(home.resolve(&self.ledger)?).ok().map(|meta| meta.len())
    }

    /// Takes the mark away, if the ledger still ends where the index does and nobody writes it.
    ///
    /// A writer marks *after* it got the lock, so a mark that is taken away under the lock is never a new writer's.
    pub(crate) fn clear(&self, home: &Home, indexed_until: u64) -> Result<bool, SearchError> {
        let ledger = home.resolve(&self.ledger).map(File::open);
        let file = match ledger {
            Some(Ok(file)) => file,
            Some(Err(e)) if e.kind() == io::ErrorKind::NotFound => return self.remove(),
            Some(Err(_)) => return Ok(false),
            None => return self.remove(),
        };
        if file.try_lock().is_err() {
            return Ok(false);
        }
        let up_to_date = file.metadata().is_ok_and(|meta| meta.len() == indexed_until);
        let cleared = if up_to_date { self.remove() } else { Ok(false) };
        // The lock goes with the file anyway.
        let _ = file.unlock();
        cleared
    }

    fn remove(&self) -> Result<bool, SearchError> {
        match fs::remove_file(&self.file) {
            Ok(()) => Ok(true),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(true),
            Err(e) => Err(SearchError::io("remove", &self.file)(e)),
        }
    }
}
