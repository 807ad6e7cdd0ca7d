//! SQLite: one file in the home folder, for all processes of one machine.
//!
//! **Nobody is refused because others write.** A transaction that changes something takes the write lock when it begins, and waits for
//! those before it; readers wait for nobody (WAL). Whoever is killed leaves the file as it was before the transaction.

mod file;
mod tx;

use super::sql::{Backend, Operation, SqlError};
use super::{StoreClock, StoreError};
use file::Place;
use rusqlite::Connection;
use std::fmt;
use std::path::Path;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tx::SqliteTx;

/// Milliseconds that SQLite itself waits for who holds the file.
const BUSY_MS: u64 = 2_000;
/// How often a transaction is begun again after that.
const ATTEMPTS: u32 = 10;

/// The store in a file. Calls run on Tokio's blocking threads, one at a time.
pub struct SqliteStore(Arc<Inner>);

struct Inner {
    place: Place,
    clock: StoreClock,
    open: Mutex<Open>,
}

/// A connection, and the file that it is to.
struct Open {
    db: Connection,
    file: Option<file::Identity>,
}

impl SqliteStore {
    /// Opens the file, or makes it with the folders that lead to it; a file of an older version is brought up to date. It is
    /// readable by its owner only. A link in its place is refused, and so is a file that is not a store, or a newer one's: neither is touched.
    pub fn open(path: &Path, clock: StoreClock) -> Result<Self, StoreError> {
        let place = Place::prepare(path)?;
        let open = Mutex::new(place.open()?);
        Ok(Self(Arc::new(Inner { place, clock, open })))
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SqliteStore").field(&self.0.place.shown()).finish()
    }
}

impl Backend for SqliteStore {
    async fn run<O: Operation>(&self, operation: O) -> Result<O::Answer, StoreError> {
        let inner = Arc::clone(&self.0);
        let place = inner.place.shown().to_owned();
        let done = tokio::task::spawn_blocking(move || inner.run(&operation)).await;
        done.unwrap_or_else(|error| {
            Err(StoreError::Broken { place, what: "do its work", why: error.to_string() })
        })
    }

    fn is_shared(&self) -> bool {
        false
    }
}

impl Inner {
    fn run<O: Operation>(&self, operation: &O) -> Result<O::Answer, StoreError> {
        // Who panicked rolled back on the way out.
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        // A file that was deleted or replaced is one nobody else sees.
        if open.file.is_some() && open.file != self.place.identity() {
            *open = self.place.open()?;
        }
        let mut attempt = 0;
        loop {
            match self.attempt(&mut open.db, operation) {
                Err(SqlError::Busy(_)) if attempt < ATTEMPTS => {
                    attempt += 1;
                    std::thread::sleep(Duration::from_millis(u64::from(attempt) * 10));
                }
                other => return other.map_err(|error| error.at(self.place.shown())),
            }
        }
    }

    fn attempt<O: Operation>(&self, db: &mut Connection, operation: &O) -> Result<O::Answer, SqlError> {
        let mut tx = SqliteTx::begin(db, &self.clock, O::WRITES)?;
        let answer = {
            let future = pin!(operation.run(&mut tx));
            // Nothing in it waits: every statement is done when it returns.
            match future.poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(answer) => answer?,
                Poll::Pending => {
                    let why = "an operation waited for something else than the store".to_owned();
                    return Err(SqlError::Broken { what: "do its work", why });
                }
            }
        };
        tx.commit()?;
        Ok(answer)
    }
}
