//! A handbook's folder on disk: read as a whole, written file by file, and no link followed.

use super::error::Phase2Error;
use super::paths::{DIFF, NOTES, OURS, part};
use crate::lock::{PATIENCE, lock};
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use throughline_ledger::write_private;

/// Files by their paths in the folder.
pub(super) type Files = BTreeMap<String, Vec<u8>>;

/// The largest file that is read.
const FILE_BYTES: u64 = 8 << 20;
/// All of them together.
const ALL_BYTES: u64 = 128 << 20;
/// How many there may be.
const MOST_FILES: usize = 20_000;
/// How deep folders are looked into.
const DEEPEST: usize = 6;
const LOCK: &str = "lock";
/// Our own files stay out of a repository that the folder may be part of.
const IGNORED: &str = "*\n";

/// The folder of a handbook. It need not be there yet.
#[derive(Clone, Debug)]
pub(super) struct Folder(pub(super) PathBuf);

/// Holds the folder for one writer; given back when dropped.
#[derive(Debug)]
pub(super) struct Held {
    _file: fs::File,
}

impl Folder {
    pub(super) fn ours(&self) -> PathBuf {
        self.0.join(OURS)
    }

    /// Whether it is there. It may be no link, and neither may our own folder in it.
    pub(super) fn is_there(&self) -> Result<bool, Phase2Error> {
        Ok(is_folder(&self.0)? && {
            is_folder(&self.ours())?;
            true
        })
    }

    /// Waits for the folder, making it first.
    pub(super) fn hold(&self) -> Result<Held, Phase2Error> {
        self.is_there()?;
        make(&self.0)?;
        let ours = self.ours();
        make(&ours)?;
        // Made by us or found: neither may lead elsewhere.
        self.is_there()?;
        if ours.join(".gitignore").symlink_metadata().is_err() {
            write_private(&ours, ".gitignore", IGNORED.as_bytes())?;
        }
        let path = ours.join(LOCK);
        refuse_link(&path)?;
        let mut options = fs::OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path).map_err(Phase2Error::io("open", &path))?;
        match lock(file, PATIENCE).map_err(Phase2Error::io("lock", &path))? {
            Some(file) => Ok(Held { _file: file }),
            None => Err(Phase2Error::Busy { folder: self.0.clone() }),
        }
    }

    /// All files of the handbook. What is no file of one is left alone, but a link is refused wherever it is.
    pub(super) fn files(&self) -> Result<Files, Phase2Error> {
        let mut files = Files::new();
        let mut bytes = 0;
        self.walk(&mut |path, kind| {
            match kind {
                Kind::Link => return Err(Phase2Error::Link { path: self.0.join(path) }),
                Kind::File(_) if part(path).is_none() => return Ok(()),
                Kind::File(size) => bytes += size,
            }
            if bytes > ALL_BYTES {
                return Err(self.too_large(format!("its files have more than {ALL_BYTES} bytes together")));
            }
            let content = self.read(path)?.unwrap_or_default();
            files.insert(path.to_owned(), content);
            Ok(())
        })?;
        Ok(files)
    }

    /// Removes links, wherever they are. Returns which there were.
    pub(super) fn remove_links(&self) -> Result<Vec<String>, Phase2Error> {
        let mut links = Vec::new();
        self.walk(&mut |path, kind| {
            if let Kind::Link = kind {
                links.push(path.to_owned());
            }
            Ok(())
        })?;
        for link in &links {
            let path = self.0.join(link);
            fs::remove_file(&path).map_err(Phase2Error::io("remove", &path))?;
        }
        Ok(links)
    }

    /// Removes what a writer left that was killed before its file was in place. Among notes somebody may be writing now.
    pub(super) fn remove_unfinished(&self) -> Result<(), Phase2Error> {
        let mut unfinished = Vec::new();
        self.walk(&mut |path, kind| {
            let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
            let is_ours =
                name.strip_prefix(".tmp").is_some_and(|rest| rest.len() == 6 && !rest.contains('.'));
            if let Kind::File(_) = kind
                && is_ours
                && folder != NOTES
            {
                unfinished.push(path.to_owned());
            }
            Ok(())
        })?;
        for path in unfinished {
            let path = self.0.join(path);
            fs::remove_file(&path).map_err(Phase2Error::io("remove", &path))?;
        }
        Ok(())
    }

    /// A file of the handbook; `None` if it is not there.
    pub(super) fn read(&self, path: &str) -> Result<Option<Vec<u8>>, Phase2Error> {
        let place = self.place(path)?;
        match place.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Phase2Error::io("look at", &place)(error)),
            Ok(meta) => match kind_of(&meta) {
                Some(Kind::File(_)) => {}
                Some(Kind::Link) => return Err(Phase2Error::Link { path: place }),
                None => return Err(Phase2Error::Foreign { path: path.to_owned() }),
            },
        }
        let file = fs::File::open(&place).map_err(Phase2Error::io("read", &place))?;
        let mut bytes = Vec::new();
        file.take(FILE_BYTES + 1).read_to_end(&mut bytes).map_err(Phase2Error::io("read", &place))?;
        if bytes.len() as u64 > FILE_BYTES {
            return Err(self.too_large(format!("{path} has more than {FILE_BYTES} bytes")));
        }
        Ok(Some(bytes))
    }

    /// When a file was last changed, as far as the system says.
    pub(super) fn modified(&self, path: &str) -> Option<Timestamp> {
        let meta = self.place(path).ok()?.symlink_metadata().ok()?;
        meta.modified().ok().and_then(|time| Timestamp::try_from(time).ok())
    }

    /// Replaces a file as a whole, or makes it.
    pub(super) fn write(&self, path: &str, bytes: &[u8]) -> Result<(), Phase2Error> {
        self.place(path)?;
        Ok(write_private(&self.0, path, bytes)?)
    }

    /// Makes a file that was not there; whether its name was free.
    pub(super) fn create(&self, path: &str, bytes: &[u8]) -> Result<bool, Phase2Error> {
        let place = self.place(path)?;
        let Some(parent) = place.parent() else { return Ok(false) };
        make(parent)?;
        self.place(path)?;
        let mut file =
            tempfile::NamedTempFile::new_in(parent).map_err(Phase2Error::io("create a file in", parent))?;
        io::Write::write_all(&mut file, bytes).map_err(Phase2Error::io("write", &place))?;
        match file.persist_noclobber(&place) {
            Ok(_) => Ok(true),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(Phase2Error::io("write", &place)(error.error)),
        }
    }

    /// Removes a file, and folders that are empty without it.
    pub(super) fn remove(&self, path: &str) -> Result<(), Phase2Error> {
        let place = self.place(path)?;
        match fs::remove_file(&place) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Phase2Error::io("remove", &place)(error));
            }
            Ok(()) | Err(_) => {}
        }
        let inner = place.ancestors().skip(1).take_while(|folder| *folder != self.0);
        for folder in inner {
            // One that is not empty stays.
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Makes the files be these, of which `before` are there. Only what differs is written.
    pub(super) fn replace(&self, before: &Files, after: &Files) -> Result<Vec<String>, Phase2Error> {
        let mut changed = Vec::new();
        for (path, content) in after {
            if before.get(path) != Some(content) {
                self.write(path, content)?;
                changed.push(path.clone());
            }
        }
        for path in before.keys().filter(|path| !after.contains_key(*path)) {
            self.remove(path)?;
            changed.push(path.clone());
        }
        Ok(changed)
    }

    /// Where a file is. No folder on the way to it may be a link.
    fn place(&self, path: &str) -> Result<PathBuf, Phase2Error> {
        if part(path).is_none() && path != DIFF {
            return Err(Phase2Error::Foreign { path: path.to_owned() });
        }
        let place = self.0.join(path);
        let mut at = self.0.clone();
        is_folder(&at)?;
        for name in Path::new(path).parent().into_iter().flat_map(Path::iter) {
            at.push(name);
            if !is_folder(&at)? {
                break;
            }
        }
        Ok(place)
    }

    /// Everything below the folder but our own files, in the order of names.
    fn walk(&self, visit: &mut dyn FnMut(&str, Kind) -> Result<(), Phase2Error>) -> Result<(), Phase2Error> {
        if !self.is_there()? {
            return Ok(());
        }
        let mut seen = 0;
        let mut open = vec![(self.0.clone(), String::new(), 0)];
        while let Some((folder, prefix, depth)) = open.pop() {
            let listing = fs::read_dir(&folder).map_err(Phase2Error::io("list", &folder))?;
            let mut entries: Vec<_> =
                listing.collect::<Result<_, _>>().map_err(Phase2Error::io("list", &folder))?;
            entries.sort_by_key(fs::DirEntry::file_name);
            for entry in entries {
                let name = entry.file_name().to_string_lossy().into_owned();
                if prefix.is_empty() && name == OURS {
                    continue;
                }
                seen += 1;
                if seen > MOST_FILES {
                    return Err(self.too_large(format!("it holds more than {MOST_FILES} files")));
                }
                let path = format!("{prefix}{name}");
                let meta = match entry.path().symlink_metadata() {
                    Ok(meta) => meta,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    Err(error) => return Err(Phase2Error::io("look at", &entry.path())(error)),
                };
                if meta.file_type().is_dir() {
                    if depth < DEEPEST {
                        open.push((entry.path(), format!("{path}/"), depth + 1));
                    }
                } else if let Some(kind) = kind_of(&meta) {
                    visit(&path, kind)?;
                }
            }
        }
        Ok(())
    }

    fn too_large(&self, what: String) -> Phase2Error {
        Phase2Error::TooLarge { folder: self.0.clone(), what }
    }
}

#[derive(Clone, Copy)]
enum Kind {
    /// With its size.
    File(u64),
    /// By name, or the same file under another name somewhere.
    Link,
}

/// `None` for what is neither a file nor a link.
fn kind_of(meta: &Metadata) -> Option<Kind> {
    if meta.file_type().is_symlink() {
        return Some(Kind::Link);
    }
    #[cfg(unix)]
    let names = std::os::unix::fs::MetadataExt::nlink(meta);
    #[cfg(not(unix))]
    let names = 1;
    meta.is_file().then_some(if names > 1 { Kind::Link } else { Kind::File(meta.len()) })
}

/// Whether a folder is there. A link is refused, and so is what is no folder.
fn is_folder(path: &Path) -> Result<bool, Phase2Error> {
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Phase2Error::io("look at", path)(error)),
        Ok(meta) if meta.file_type().is_dir() => Ok(true),
        Ok(meta) if meta.file_type().is_symlink() => Err(Phase2Error::Link { path: path.to_owned() }),
        Ok(_) => Err(Phase2Error::io("open", path)(io::ErrorKind::NotADirectory.into())),
    }
}

fn refuse_link(path: &Path) -> Result<(), Phase2Error> {
    match path.symlink_metadata().ok().as_ref().and_then(kind_of) {
        Some(Kind::Link) => Err(Phase2Error::Link { path: path.to_owned() }),
        Some(Kind::File(_)) | None => Ok(()),
    }
}

fn make(path: &Path) -> Result<(), Phase2Error> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(Phase2Error::io("make", path))
}
