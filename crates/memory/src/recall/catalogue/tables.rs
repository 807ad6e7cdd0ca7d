//! The database: where it is, what it holds, when it is no good.

use super::super::{fit, tables};
use crate::topics::TopicStore;
use rusqlite::{Connection, ErrorCode};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Its file among our files.
const FILE: &str = "catalogue.db";
/// How long somebody else who writes is waited for.
const PATIENCE: Duration = Duration::from_secs(2);
/// Changes with the tables below.
const LAYOUT: u32 = 1;

const TABLES: &str = "
    CREATE TABLE memory (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        file TEXT NOT NULL UNIQUE,
        stamp INTEGER NOT NULL, size INTEGER NOT NULL, number INTEGER NOT NULL,
        name TEXT NOT NULL, description TEXT NOT NULL, kind TEXT, modified INTEGER NOT NULL, meta TEXT NOT NULL
    );
    CREATE INDEX memory_by_time ON memory (modified DESC, file);
    CREATE TABLE term (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE, holders INTEGER NOT NULL);
    CREATE TABLE posting (
        term INTEGER NOT NULL, memory INTEGER NOT NULL, weight REAL NOT NULL, PRIMARY KEY (term, memory)
    ) WITHOUT ROWID;
    CREATE INDEX posting_of ON posting (memory);
    CREATE TABLE spelling (word TEXT PRIMARY KEY, term INTEGER NOT NULL) WITHOUT ROWID;
    CREATE INDEX spelling_of ON spelling (term);
    CREATE TABLE folder (stamp INTEGER NOT NULL, memories INTEGER NOT NULL);
    INSERT INTO folder VALUES (-1, 0);
";

/// Where a folder's catalogue is; `None` if it may not be there: no folder, or something else in its place.
pub(super) fn place(store: &TopicStore) -> Option<PathBuf> {
    let place = store.make_ours()?.join(FILE);
    let is_ours = |path: &Path| path.symlink_metadata().map_or(true, |meta| meta.file_type().is_file());
    files(&place).iter().all(|path| is_ours(path)).then_some(place)
}

pub(super) fn connect(place: &Path) -> rusqlite::Result<Connection> {
    let mut options = std::fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    // Should it fail, so does opening, which says why.
    let _ = options.open(place);
    prepare(Connection::open(place)?)
}

pub(super) fn connect_in_memory() -> rusqlite::Result<Connection> {
    prepare(Connection::open_in_memory()?)
}

fn prepare(mut db: Connection) -> rusqlite::Result<Connection> {
    db.busy_timeout(PATIENCE)?;
    db.set_prepared_statement_cache_capacity(32);
    // It can be built again: after a power cut that is the price. What is deleted is overwritten, for it may have been forgotten on purpose.
    db.execute_batch(
        "PRAGMA trusted_schema = OFF; PRAGMA journal_mode = DELETE; PRAGMA synchronous = OFF; PRAGMA secure_delete = ON;",
    )?;
    let version = i64::from((LAYOUT + fit::VERSION) << 24 | tables::version());
    let known = |db: &Connection| db.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0));
    if known(&db)? != version {
        let change = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        // Another process may have been faster.
        if known(&change)? != version {
            let count: i64 = change.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
            if count > 0 {
                return Err(rusqlite::Error::InvalidQuery);
            }
            change.execute_batch(TABLES)?;
            change.pragma_update(None, "user_version", version)?;
        }
        change.commit()?;
    }
    // A broken one is found out before it is relied on.
    db.query_row("SELECT stamp, memories FROM folder", [], |_| Ok(()))?;
    Ok(db)
}

/// Whether somebody else is at it, rather than something wrong with it.
pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// Removes the database with what belongs to it, as far as possible.
pub(super) fn remove(place: &Path) {
    for file in files(place) {
        // What can't be removed is found out when it is opened.
        let _ = std::fs::remove_file(file);
    }
}

fn files(place: &Path) -> [PathBuf; 4] {
    ["", "-journal", "-wal", "-shm"].map(|ending| {
        let mut name = place.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    })
}
