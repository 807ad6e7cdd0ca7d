//! What we saw of the folder's files last, so that a change among thousands need not read them all.
//!
//! A database that can be deleted at any time: it is built again from the files.

use super::error::TopicError;
use super::folder::Stamp;
use super::prints::{Print, Words};
use crate::recall::tables_version;
use rusqlite::{Connection, OptionalExtension as _, params};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The database's file among our files.
pub(super) const SEEN: &str = "fingerprints.db";
/// Another version is thrown away, and so is one made with another notion of words.
const VERSION: i32 = 2;

fn version() -> i32 {
    VERSION ^ (tables_version() as i32)
}
const TABLES: &str = "
    CREATE TABLE files (
        id INTEGER PRIMARY KEY,
        file TEXT NOT NULL UNIQUE,
        size INTEGER NOT NULL, modified INTEGER NOT NULL, number INTEGER NOT NULL,
        name INTEGER NOT NULL, description BLOB NOT NULL, body BLOB NOT NULL,
        is_over INTEGER NOT NULL
    );
    CREATE TABLE probes (probe INTEGER NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (probe, id)) WITHOUT ROWID;
    CREATE INDEX probes_of ON probes (id);
    CREATE TABLE recorded (
        file TEXT PRIMARY KEY,
        size INTEGER NOT NULL, modified INTEGER NOT NULL, number INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE head (id TEXT NOT NULL, listing BLOB);
    CREATE TABLE printed (listing BLOB);
";

/// A hash of all files of a folder, with their stamps.
pub(super) type Listing = [u8; 32];

/// The database. What it can't do is an error that the caller answers by doing without.
pub(super) struct Seen {
    db: Connection,
}

/// A memory as it was seen.
pub(super) struct Known {
    pub(super) print: Print,
    /// Another one took its place.
    pub(super) is_over: bool,
}

impl Seen {
    /// Opens the database, or begins another one if this one can't be read.
    pub(super) fn open(ours: &Path) -> Result<Self, TopicError> {
        let path = ours.join(SEEN);
        let failed = |error: rusqlite::Error| TopicError::Io {
            what: "open",
            path: path.clone(),
            source: std::io::Error::other(error),
        };
        for name in files() {
            let path = ours.join(name);
            if path.symlink_metadata().is_ok_and(|meta| !meta.file_type().is_file()) {
                return Err(TopicError::Outside { path, folder: ours.to_owned() });
            }
        }
        match Self::connect(&path) {
            Ok(seen) => Ok(seen),
            Err(_) => {
                remove(ours)?;
                Self::connect(&path).map_err(failed)
            }
        }
    }

    fn connect(path: &Path) -> rusqlite::Result<Self> {
        make_private(path);
        let db = Connection::open(path)?;
        // Whoever is killed leaves it whole; after a power cut it may have to be built again.
        db.execute_batch(
            "PRAGMA trusted_schema = OFF; PRAGMA journal_mode = DELETE; PRAGMA synchronous = OFF;",
        )?;
        let found: i32 = db.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        if found != version() {
            let tables: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
            if tables > 0 {
                return Err(rusqlite::Error::InvalidQuery);
            }
            db.execute_batch(&format!("BEGIN; {TABLES} PRAGMA user_version = {}; COMMIT;", version()))?;
        }
        // Finds out about a broken one before it is relied on.
        db.query_row("SELECT count(*) FROM head", [], |_| Ok(()))?;
        Ok(Self { db })
    }

    /// The files as they were when seen.
    pub(super) fn stamps(&self) -> rusqlite::Result<BTreeMap<String, Stamp>> {
        self.stamps_of("SELECT file, size, modified, number FROM files")
    }

    /// The files as they were when recorded in the history, if the history's newest commit is this one.
    pub(super) fn recorded(&self, head: &str) -> rusqlite::Result<Option<BTreeMap<String, Stamp>>> {
        let known: Option<String> =
            self.db.query_row("SELECT id FROM head", [], |row| row.get(0)).optional()?;
        if known.as_deref() != Some(head) {
            return Ok(None);
        }
        self.stamps_of("SELECT file, size, modified, number FROM recorded").map(Some)
    }

    fn stamps_of(&self, query: &str) -> rusqlite::Result<BTreeMap<String, Stamp>> {
        let mut statement = self.db.prepare(query)?;
        let rows = statement.query_map([], |row| {
            Ok((row.get(0)?, Stamp { size: row.get(1)?, modified: row.get(2)?, number: row.get(3)? }))
        })?;
        rows.collect()
    }

    /// Whether the folder was recorded as it is, in the commit that is the newest.
    pub(super) fn is_recorded(&self, head: &str, listing: &Listing) -> bool {
        let query = "SELECT count(*) FROM head WHERE id = ? AND listing = ?";
        self.db.query_row(query, params![head, listing], |row| row.get(0)) == Ok(1)
    }

    /// Whether what the folder's files say was noted as they are.
    pub(super) fn is_noted(&self, listing: &Listing) -> bool {
        let query = "SELECT count(*) FROM printed WHERE listing = ?";
        self.db.query_row(query, params![listing], |row| row.get(0)) == Ok(1)
    }

    /// Notes how files were recorded, `None` for those that are gone, in the commit that is now the newest; and how the whole folder is,
    /// if all of it is recorded.
    pub(super) fn note_recorded(
        &mut self,
        head: &str,
        files: &BTreeMap<String, Option<Stamp>>,
        listing: Option<&Listing>,
    ) -> rusqlite::Result<()> {
        let change = self.db.transaction()?;
        for (file, stamp) in files {
            match stamp {
                Some(Stamp { size, modified, number }) => change.execute(
                    "INSERT OR REPLACE INTO recorded (file, size, modified, number) VALUES (?, ?, ?, ?)",
                    params![file, size, modified, number],
                )?,
                None => change.execute("DELETE FROM recorded WHERE file = ?", [file])?,
            };
        }
        change.execute("DELETE FROM head", [])?;
        change.execute("INSERT INTO head (id, listing) VALUES (?, ?)", params![head, listing])?;
        change.commit()
    }

    /// Notes what files say, `None` for those that are gone; all of the folder is noted then.
    pub(super) fn note(
        &mut self,
        files: &[(String, Option<(Stamp, Known)>)],
        listing: &Listing,
    ) -> rusqlite::Result<()> {
        let change = self.db.transaction()?;
        change.execute("DELETE FROM printed", [])?;
        change.execute("INSERT INTO printed (listing) VALUES (?)", params![listing])?;
        for (file, seen) in files {
            change.execute("DELETE FROM probes WHERE id IN (SELECT id FROM files WHERE file = ?)", [file])?;
            change.execute("DELETE FROM files WHERE file = ?", [file])?;
            let Some((Stamp { size, modified, number }, Known { print, is_over })) = seen else { continue };
            change.execute(
                "INSERT INTO files (file, size, modified, number, name, description, body, is_over) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                params![
                    file,
                    size,
                    modified,
                    number,
                    print.name.cast_signed(),
                    print.description.to_bytes(),
                    print.body.to_bytes(),
                    is_over
                ],
            )?;
            let id = change.last_insert_rowid();
            for probe in print.probes() {
                change
                    .execute("INSERT OR IGNORE INTO probes (probe, id) VALUES (?, ?)", params![probe, id])?;
            }
        }
        change.commit()
    }

    /// Files that may be near a memory, and some that are not; none that is over.
    pub(super) fn candidates(&self, print: &Print) -> rusqlite::Result<Vec<(String, Print)>> {
        let mut statement = self.db.prepare_cached(
            "SELECT file, name, description, body FROM files JOIN probes USING (id) WHERE probe = ? AND NOT is_over",
        )?;
        let mut found: BTreeMap<String, Print> = BTreeMap::new();
        for probe in print.probes() {
            let rows = statement.query_map([probe], |row| {
                let words = |n: usize| -> rusqlite::Result<Words> {
                    Ok(Words::from_bytes(row.get_ref(n)?.as_blob().unwrap_or_default()))
                };
                let print = Print {
                    name: row.get::<_, i64>(1)?.cast_unsigned(),
                    description: words(2)?,
                    body: words(3)?,
                };
                Ok((row.get::<_, String>(0)?, print))
            })?;
            for row in rows {
                let (file, print) = row?;
                found.insert(file, print);
            }
        }
        Ok(found.into_iter().collect())
    }
}

/// Removes the database, with what belongs to it.
pub(super) fn remove(ours: &Path) -> Result<(), TopicError> {
    for name in files() {
        remove_file(&ours.join(name))?;
    }
    Ok(())
}

/// Removes a file that may not be there.
pub(super) fn remove_file(path: &Path) -> Result<(), TopicError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(TopicError::io("remove", path)(error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

fn files() -> impl Iterator<Item = PathBuf> {
    ["", "-journal", "-wal", "-shm"].into_iter().map(|ending| PathBuf::from(format!("{SEEN}{ending}")))
}

/// The database is made by us, so that only its owner may read it.
fn make_private(path: &Path) {
    let mut options = std::fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    // Should it fail, so will opening, which says why.
    let _ = options.open(path);
}
