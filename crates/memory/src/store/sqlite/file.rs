//! The file: where it may be, who may read it, and of which version it is.

use super::{ATTEMPTS, BUSY_MS, Open};
use crate::store::StoreError;
use crate::store::sql::{SqlError, dialect, schema};
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Marks a file as a store of ours.
const APPLICATION: i32 = 0x5468_4c73;
/// Statements that are kept ready.
const STATEMENTS: usize = 64;

/// Where the file is.
pub(super) struct Place {
    path: PathBuf,
    shown: String,
}

/// Tells a file from another one of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity(u64, u64);

impl Place {
    /// A place for the file: the folder is made, and links on the way to it are resolved once.
    pub(super) fn prepare(path: &Path) -> Result<Self, StoreError> {
        let shown = path.display().to_string();
        let refused = |what, why: String| StoreError::Broken { place: shown.clone(), what, why };
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(refused("be opened", "it is not the name of a file".to_owned()));
        };
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder).map_err(|error| refused("be made", error.to_string()))?;
        let folder = folder.canonicalize().map_err(|error| refused("be opened", error.to_string()))?;
        Ok(Self { path: folder.join(name), shown })
    }

    /// For people.
    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    /// Which file is there now.
    pub(super) fn identity(&self) -> Option<Identity> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt as _;
            let meta = fs::symlink_metadata(&self.path).ok()?;
            Some(Identity(meta.dev(), meta.ino()))
        }
        #[cfg(not(unix))]
        None
    }

    /// Opens the file, made or brought up to date as need be.
    pub(super) fn open(&self) -> Result<Open, StoreError> {
        let mut attempt = 0;
        loop {
            match self.connect() {
                // Several that make it at once get in each other's way where SQLite does not wait by itself.
                Err(StoreError::Busy(_)) if attempt < ATTEMPTS => {
                    attempt += 1;
                    std::thread::sleep(Duration::from_millis(u64::from(attempt) * 10));
                }
                other => return other,
            }
        }
    }

    fn connect(&self) -> Result<Open, StoreError> {
        let at = |error: SqlError| error.at(&self.shown);
        self.check_and_make().map_err(at)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let mut db = Connection::open_with_flags(&self.path, flags).map_err(|error| at(error.into()))?;
        let found = prepare(&mut db).map_err(at)?;
        if found > schema::KNOWN {
            return Err(StoreError::Newer { place: self.shown.clone(), found, known: schema::KNOWN });
        }
        Ok(Open { db, file: self.identity() })
    }

    /// Makes the file if there is none, for its owner only. SQLite gives its companions the same rights.
    fn check_and_make(&self) -> Result<(), SqlError> {
        let refused = |why: String| SqlError::Broken { what: "be opened", why };
        for companion in ["", "-wal", "-shm", "-journal"] {
            let mut name = self.path.clone().into_os_string();
            name.push(companion);
            let path = PathBuf::from(name);
            if fs::symlink_metadata(&path).is_ok_and(|meta| !meta.file_type().is_file()) {
                return Err(refused(format!("{} is a link, or no file", path.display())));
            }
        }
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.open(&self.path) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => self.tighten(),
            Err(error) => Err(refused(error.to_string())),
        }
    }

    /// A file that others may read becomes private.
    fn tighten(&self) -> Result<(), SqlError> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let failed =
                |error: std::io::Error| SqlError::Broken { what: "be made private", why: error.to_string() };
            let mode = fs::symlink_metadata(&self.path).map_err(failed)?.permissions().mode();
            if mode & 0o077 != 0 {
                fs::set_permissions(&self.path, fs::Permissions::from_mode(0o600)).map_err(failed)?;
            }
        }
        Ok(())
    }
}

/// Makes a connection fit for use; the version that was found. Of a version that is not known nothing is changed.
fn prepare(db: &mut Connection) -> Result<u32, SqlError> {
    db.busy_timeout(Duration::from_millis(BUSY_MS))?;
    db.set_prepared_statement_cache_capacity(STATEMENTS);
    // In one transaction: between two questions somebody else may make the tables.
    let asking = db.transaction()?;
    let found = version(&asking)?;
    drop(asking);
    if found > schema::KNOWN {
        return Ok(found);
    }
    // What a power cut takes away after it was committed can be made again; the file is whole in any case.
    db.execute_batch(
        "PRAGMA trusted_schema = OFF; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;",
    )?;
    if found < schema::KNOWN {
        return migrate(db);
    }
    Ok(found)
}

/// The version of a store; 0 of an empty file. What belongs to somebody else is refused. Several questions, so to
/// be asked within a transaction.
fn version(db: &Connection) -> Result<u32, SqlError> {
    let version: i64 = db.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let application: i32 = db.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let is_empty = || db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0));
    if application != APPLICATION && (application != 0 || version != 0 || is_empty()? != 0) {
        let why = "it is the database of another program".to_owned();
        return Err(SqlError::Broken { what: "be used", why });
    }
    Ok(u32::try_from(version).unwrap_or(u32::MAX))
}

/// Brings a file up to date; others may be about to do the same.
fn migrate(db: &mut Connection) -> Result<u32, SqlError> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found = version(&tx)?;
    let from = usize::try_from(found).unwrap_or(usize::MAX);
    for migration in schema::MIGRATIONS.iter().skip(from) {
        tx.execute_batch(&dialect::sqlite(migration))?;
    }
    let known = schema::KNOWN.max(found);
    tx.execute_batch(&format!("PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {known};"))?;
    tx.commit()?;
    Ok(known)
}
