//! The index's folder: which index is current, who may write it, and how a new one takes its place.
//!
//! `index/current` names the folder of the current index. It is replaced in one rename, so a reader sees the old
//! index or the new one, never something between.

use crate::error::SearchError;
use crate::index::Index;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use throughline_ledger::Home;

/// Changes with the schema or the analysis: an index of another version is made anew.
const VERSION: &str = "v2";

/// Where indexes are kept.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    root: PathBuf,
}

/// The right to write, until dropped.
pub(crate) struct WriteLock {
    file: File,
}

impl Drop for WriteLock {
    fn drop(&mut self) {
        // The lock goes with the file anyway.
        let _ = self.file.unlock();
    }
}

/// What changes when someone commits.
pub(crate) type Stamp = Option<(SystemTime, u64)>;

/// Bytes of the file that names the current index, and of an index's own lists.
const LONGEST_NAME: u64 = 4 << 10;
const LARGEST_LIST: u64 = 64 << 20;

/// Fails for anything but a regular file of at most so many bytes: reading a pipe would wait forever.
pub(crate) fn check_regular(path: &Path, most: u64) -> io::Result<()> {
    let meta = fs::symlink_metadata(path)?;
    if !meta.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "is not a regular file"));
    }
    if meta.len() > most {
        let why = format!("has {} bytes, more than {most}", meta.len());
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    Ok(())
}

/// Reads a small regular file.
pub(crate) fn read_small(path: &Path, most: u64) -> io::Result<String> {
    check_regular(path, most)?;
    fs::read_to_string(path)
}

impl Store {
    /// The store of a home.
    pub(crate) fn of(home: &Home) -> Self {
        Self { root: home.index() }
    }

    /// Waits for the right to write.
    pub(crate) fn lock(&self) -> Result<WriteLock, SearchError> {
        let (file, path) = self.lock_file()?;
        file.lock().map_err(SearchError::io("lock", &path))?;
        Ok(WriteLock { file })
    }

    /// Takes the right to write, if nobody has it.
    pub(crate) fn try_lock(&self) -> Result<Option<WriteLock>, SearchError> {
        let (file, path) = match self.lock_file() {
            Ok(found) => found,
            // Whoever may not write can still search.
            Err(SearchError::Io { source, .. })
                if matches!(source.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        match file.try_lock() {
            Ok(()) => Ok(Some(WriteLock { file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(e)) => Err(SearchError::io("lock", &path)(e)),
        }
    }

    fn lock_file(&self) -> Result<(File, PathBuf), SearchError> {
        self.make_root()?;
        let path = self.root.join("write.lock");
        let mut options = private();
        let file = options
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(SearchError::io("open", &path))?;
        Ok((file, path))
    }

    /// The name of the current index; `None` where there is none that this version can read.
    pub(crate) fn current(&self) -> Option<String> {
        let name = read_small(&self.root.join("current"), LONGEST_NAME).ok()?;
        let name = name.trim();
        let (version, serial) = name.split_once('-')?;
        let known =
            version == VERSION && !serial.is_empty() && serial.bytes().all(|b| b.is_ascii_alphanumeric());
        known.then(|| name.to_owned())
    }

    /// Whether there is an index of any version, readable or not.
    pub(crate) fn has_any(&self) -> bool {
        self.root.join("current").exists()
    }

    /// The folder of an index.
    pub(crate) fn dir(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Opens an index that must be there.
    pub(crate) fn open(&self, name: &str) -> Result<Index, SearchError> {
        let dir = self.dir(name);
        // An index that lost its list of segments must not pass for an empty one.
        fs::metadata(dir.join("meta.json")).map_err(SearchError::io("open", &dir))?;
        for entry in fs::read_dir(&dir).map_err(SearchError::io("list", &dir))? {
            let path = entry.map_err(SearchError::io("list", &dir))?.path();
            let most = if path.extension().is_some_and(|e| e == "json") { LARGEST_LIST } else { u64::MAX };
            check_regular(&path, most).map_err(SearchError::io("open", &path))?;
        }
        Index::open(&dir)
    }

    /// A name that no index has yet.
    pub(crate) fn fresh_name(&self) -> String {
        let mut n = fs::read_dir(&self.root).map_or(0, Iterator::count);
        loop {
            let name = format!("{VERSION}-{n}");
            if !self.dir(&name).exists() {
                return name;
            }
            n += 1;
        }
    }

    /// Makes `name` the current index and takes the others away. Needs the right to write.
    pub(crate) fn make_current(&self, _lock: &WriteLock, name: &str) -> Result<(), SearchError> {
        self.make_root()?;
        let (path, aside) = (self.root.join("current"), self.root.join("current.new"));
        let write = || -> io::Result<()> {
            let mut file = private().write(true).create(true).truncate(true).open(&aside)?;
            file.write_all(name.as_bytes())?;
            file.sync_all()?;
            fs::rename(&aside, &path)
        };
        write().map_err(SearchError::io("replace", &path))?;
        for entry in fs::read_dir(&self.root).into_iter().flatten().flatten() {
            let other = entry.file_name();
            let is_index = other.to_str().is_some_and(|other| {
                other
                    .split_once('-')
                    .is_some_and(|(v, n)| v.starts_with('v') && n.bytes().all(|b| b.is_ascii_digit()))
            });
            if is_index && other != name {
                // Readers that still have it open keep what they mapped; what stays behind goes next time.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        Ok(())
    }

    /// Tells whether an index was committed to since.
    pub(crate) fn stamp(&self, name: &str) -> Stamp {
        let meta = fs::metadata(self.dir(name).join("meta.json")).ok()?;
        Some((meta.modified().ok()?, meta.len()))
    }

    fn make_root(&self) -> Result<(), SearchError> {
        make_private_dir(&self.root)
    }
}

/// Makes a folder that only its owner may read: the index holds the words of the sessions.
pub(crate) fn make_private_dir(dir: &Path) -> Result<(), SearchError> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir).map_err(SearchError::io("make", dir))
}

fn private() -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}
