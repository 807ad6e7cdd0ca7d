//! The folder on disk: what is in it, read and written within it.

use super::error::TopicError;
use super::names::is_topic;
use crate::lock::{PATIENCE, lock};
use jiff::Timestamp;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use throughline_ledger::write_private;

/// The largest file that is taken for a memory or an index.
pub(super) const MOST_BYTES: u64 = 1 << 20;

/// A folder of memories. It need not be there yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Folder(pub(super) PathBuf);

/// Our own files in it. They are no memories, and stay out of a repository that the folder may be part of.
pub(super) const OURS: &str = ".throughline";
/// Where forgotten memories are, among them.
pub(super) const FORGOTTEN: &str = "forgotten";

/// A memory's file.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) file: String,
    pub(super) modified: Timestamp,
    /// `None` for a link.
    pub(super) stamp: Option<Stamp>,
}

/// What tells whether a file was changed, without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) size: i64,
    /// In nanoseconds.
    pub(super) modified: i64,
    /// Another file under the same name has another number.
    pub(super) number: i64,
}

impl Stamp {
    /// Of a file itself; `None` for a link, or what is no file.
    pub(super) fn of(meta: &fs::Metadata) -> Option<Self> {
        #[cfg(unix)]
        let number = std::os::unix::fs::MetadataExt::ino(meta).cast_signed();
        #[cfg(not(unix))]
        let number = 0;
        let nanos = modified(meta).as_nanosecond();
        meta.file_type().is_file().then(|| Self {
            size: i64::try_from(meta.len()).unwrap_or(i64::MAX),
            modified: i64::try_from(nanos).unwrap_or(i64::MAX),
            number,
        })
    }
}

/// Holds the folder for one writer; given back when dropped.
pub(super) struct Held {
    _file: fs::File,
}

impl Folder {
    /// The folder with links resolved; `None` if it is not there.
    fn real(&self) -> Result<Option<PathBuf>, TopicError> {
        match self.0.canonicalize() {
            Ok(real) => Ok(Some(real)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(TopicError::io("find", &self.0)(error)),
        }
    }

    /// A file of the folder with links resolved; `None` if it is not there. A link that leads out of the folder is an error, and so is
    /// what is no file.
    pub(super) fn resolve(&self, file: &str) -> Result<Option<PathBuf>, TopicError> {
        let Some(folder) = self.real()? else { return Ok(None) };
        let path = folder.join(file);
        let outside = || TopicError::Outside { path: self.0.join(file), folder: self.0.clone() };
        let real = match path.canonicalize() {
            Ok(real) => real,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                // A link to nowhere is there, and leads elsewhere.
                return if path.symlink_metadata().is_ok() { Err(outside()) } else { Ok(None) };
            }
            Err(error) => return Err(TopicError::io("find", &path)(error)),
        };
        if !real.starts_with(&folder) {
            return Err(outside());
        }
        let meta = real.metadata().map_err(TopicError::io("look at", &real))?;
        if !meta.is_file() {
            // A pipe would never end.
            let source = std::io::Error::other("it is not a file");
            return Err(TopicError::Io { what: "read", path, source });
        }
        Ok(Some(real))
    }

    /// All of a text file; `None` if it is not there.
    pub(super) fn read(&self, file: &str) -> Result<Option<String>, TopicError> {
        let Some(path) = self.resolve(file)? else { return Ok(None) };
        let bytes = read_at_most(&path, MOST_BYTES + 1)?;
        if bytes.len() as u64 > MOST_BYTES {
            let size = path.metadata().map_or(bytes.len() as u64, |meta| meta.len());
            return Err(TopicError::TooLarge { path, bytes: size, limit: MOST_BYTES });
        }
        String::from_utf8(bytes).map(Some).map_err(|_| TopicError::NotText { path })
    }

    /// The beginning of a file, as text whatever it is, and whether it was.
    pub(super) fn read_head(&self, file: &str, bytes: u64) -> Result<Option<(String, bool)>, TopicError> {
        let Some(path) = self.resolve(file)? else { return Ok(None) };
        let bytes = read_at_most(&path, bytes)?;
        Ok(Some(match String::from_utf8(bytes) {
            Ok(text) => (text, true),
            Err(error) => {
                // What was cut inside its last character is text all the same.
                let is_text = error.utf8_error().error_len().is_none();
                (String::from_utf8_lossy(error.as_bytes()).into_owned(), is_text)
            }
        }))
    }

    /// Files that are memories by their names, newest first.
    pub(super) fn entries(&self) -> Result<Vec<Entry>, TopicError> {
        let listing = match fs::read_dir(&self.0) {
            Ok(listing) => listing,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(TopicError::io("list", &self.0)(error)),
        };
        let mut entries = Vec::new();
        for entry in listing {
            let entry = entry.map_err(TopicError::io("list", &self.0))?;
            let name = entry.file_name();
            let Some(file) = name.to_str().filter(|file| is_topic(file)) else { continue };
            // Of a link its own time counts: where it leads is not looked at here. One that is gone meanwhile is gone.
            let Ok(meta) = entry.metadata() else { continue };
            if meta.is_dir() {
                continue;
            }
            entries.push(Entry { file: file.to_owned(), modified: modified(&meta), stamp: Stamp::of(&meta) });
        }
        newest_first(&mut entries);
        Ok(entries)
    }

    /// Where our own files are.
    pub(super) fn ours(&self) -> PathBuf {
        self.0.join(OURS)
    }

    /// Makes the folder for our own files. One that leads elsewhere is an error.
    pub(super) fn make_ours(&self) -> Result<PathBuf, TopicError> {
        let ours = self.ours();
        make_folder(&ours)?;
        self.check_ours()?;
        let ignore = ours.join(".gitignore");
        if ignore.symlink_metadata().is_err() {
            write_private(&ours, ".gitignore", b"*\n")?;
        }
        Ok(ours)
    }

    /// Whether our own files are where they should be; an error if they lead elsewhere.
    pub(super) fn check_ours(&self) -> Result<bool, TopicError> {
        let ours = self.ours();
        match ours.symlink_metadata() {
            Ok(meta) if meta.file_type().is_dir() => Ok(true),
            Ok(_) => Err(TopicError::Outside { path: ours, folder: self.0.clone() }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(TopicError::io("look at", &ours)(error)),
        }
    }

    /// Waits for the folder to be free, making it if it is not there.
    pub(super) fn hold(&self) -> Result<Held, TopicError> {
        make_folder(&self.0)?;
        let path = self.make_ours()?.join("lock");
        if path.symlink_metadata().is_ok_and(|meta| meta.is_symlink()) {
            return Err(TopicError::Outside { path, folder: self.0.clone() });
        }
        let mut options = fs::OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path).map_err(TopicError::io("open", &path))?;
        match lock(file, PATIENCE).map_err(TopicError::io("lock", &path))? {
            Some(file) => Ok(Held { _file: file }),
            None => Err(TopicError::Busy { path }),
        }
    }

    /// Writes a file that was not there; whether its name was free.
    pub(super) fn create(&self, file: &str, text: &str) -> Result<bool, TopicError> {
        let path = self.0.join(file);
        let mut temporary =
            tempfile::NamedTempFile::new_in(&self.0).map_err(TopicError::io("create a file in", &self.0))?;
        temporary.write_all(text.as_bytes()).map_err(TopicError::io("write", &path))?;
        match temporary.persist_noclobber(&path) {
            Ok(_) => Ok(true),
            Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(TopicError::io("write", &path)(error.error)),
        }
    }

    /// Replaces a file as a whole, or makes it. Where it is a link within the folder, the file that it leads to is replaced. Returns which
    /// file was.
    pub(super) fn replace(&self, file: &str, bytes: &[u8]) -> Result<String, TopicError> {
        let target = match (self.resolve(file)?, self.real()?) {
            (Some(path), Some(folder)) => {
                path.strip_prefix(&folder).ok().and_then(Path::to_str).unwrap_or(file).to_owned()
            }
            (None, _) | (_, None) => file.to_owned(),
        };
        write_private(&self.0, &target, bytes)?;
        Ok(target)
    }

    /// Moves a file to the forgotten ones, as `<time>-<file>`; a number behind the time keeps two apart.
    pub(super) fn put_away(&self, file: &str, now: Timestamp) -> Result<PathBuf, TopicError> {
        let folder = self.ours().join(FORGOTTEN);
        make_folder(&folder)?;
        let real = folder.canonicalize().map_err(TopicError::io("find", &folder))?;
        if self.real()?.is_none_or(|root| !real.starts_with(root.join(OURS))) {
            return Err(TopicError::Outside { path: folder, folder: self.0.clone() });
        }
        let time = now.strftime("%Y%m%dT%H%M%SZ").to_string();
        let times = std::iter::once(time.clone()).chain((2..).map(|n| format!("{time}.{n}")));
        for time in times.take(10_000) {
            let name = format!("{time}-{file}");
            let to = real.join(&name);
            if to.symlink_metadata().is_err() {
                let from = self.0.join(file);
                fs::rename(&from, &to).map_err(TopicError::io("move", &from))?;
                return Ok(folder.join(name));
            }
        }
        Err(TopicError::Io {
            what: "move a file into",
            path: folder,
            source: std::io::Error::from(std::io::ErrorKind::AlreadyExists),
        })
    }
}

fn make_folder(path: &Path) -> Result<(), TopicError> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(TopicError::io("make", path))
}

/// In the order in which memories are listed.
pub(super) fn newest_first(entries: &mut [Entry]) {
    entries.sort_unstable_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.file.cmp(&b.file)));
}

/// When a file was last changed; the epoch where the system does not say.
pub(super) fn modified(meta: &fs::Metadata) -> Timestamp {
    meta.modified().ok().and_then(|time| Timestamp::try_from(time).ok()).unwrap_or(Timestamp::UNIX_EPOCH)
}

fn read_at_most(path: &Path, limit: u64) -> Result<Vec<u8>, TopicError> {
    let file = fs::File::open(path).map_err(TopicError::io("read", path))?;
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes).map_err(TopicError::io("read", path))?;
    Ok(bytes)
}
