use crate::LedgerError;
use jiff::Timestamp;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::{fs, io};
use throughline_core::SessionId;

/// Where everything of Throughline lives: `sessions/`, `blobs/`, `index/`.
///
/// Folders are made with mode 0700 and files with 0600: sessions hold whatever was pasted into them.
#[derive(Clone, Debug)]
pub struct Home {
    root: PathBuf,
    /// Ledgers that were looked for and found, by session. Others may write to the home: what stands here is only where to look first.
    found: Arc<Mutex<HashMap<String, PathBuf>>>,
}

/// How many ledgers are remembered that were looked for.
const MOST_FOUND: usize = 4_096;

/// How a folder is read.
type ReadDir<'a> = &'a mut dyn FnMut(&Path) -> io::Result<fs::ReadDir>;

impl Home {
    /// Uses `root`, which is made when first needed.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), found: Arc::default() }
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Ledgers, by day.
    pub fn sessions(&self) -> PathBuf {
        self.root.join("sessions")
    }

    /// Long payloads and pictures, by content hash.
    pub fn blobs(&self) -> PathBuf {
        self.root.join("blobs")
    }

    /// What can be rebuilt from the ledgers at any time.
    pub fn index(&self) -> PathBuf {
        self.root.join("index")
    }

    /// Marks of ledgers that may hold more than the index: one file per session, its content the ledger's path
    /// relative to [`sessions`](Self::sessions).
    pub fn dirty(&self) -> PathBuf {
        self.index().join("dirty")
    }

    /// The file of a new session: `sessions/YYYY/MM/DD/<time>-<session id>.jsonl`.
    pub fn ledger_path(&self, created: Timestamp, id: &SessionId) -> PathBuf {
        let time = created.strftime("%Y-%m-%dT%H-%M-%S");
        self.sessions()
            .join(created.strftime("%Y/%m/%d").to_string())
            .join(format!("{time}-{}.jsonl", file_name(id)))
    }

    /// A ledger's path relative to [`sessions`](Self::sessions), as forks and markers name it.
    pub fn relative(&self, path: &Path) -> String {
        path.strip_prefix(self.sessions()).unwrap_or(path).to_string_lossy().into_owned()
    }

    /// The file that a relative path names; `None` where it would lead out of the sessions folder.
    pub fn resolve(&self, relative: &str) -> Option<PathBuf> {
        let path = Path::new(relative);
        let inside = path.components().all(|c| matches!(c, std::path::Component::Normal(_)));
        inside.then(|| self.sessions().join(path))
    }

    /// Every ledger, oldest day first. Links are not followed.
    pub fn ledgers(&self) -> Result<Vec<PathBuf>, LedgerError> {
        let mut found = Vec::new();
        walk(&self.sessions(), 3, &mut found)?;
        Ok(found)
    }

    /// The ledger of a session, by its whole id. What ledgers say of each other is looked up with this.
    ///
    /// One that was found before costs a look at the file; any other is looked for day by day, the newest first. That a session
    /// has no ledger is known only when every day was looked at.
    pub fn find_exact(&self, id: &SessionId) -> Result<PathBuf, LedgerError> {
        self.find_by(id, &mut |dir| fs::read_dir(dir))
    }

    fn find_by(&self, id: &SessionId, read: ReadDir<'_>) -> Result<PathBuf, LedgerError> {
        let wanted = file_name(id);
        let known = || self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = known().get(&wanted).cloned().filter(|path| path.is_file()) {
            return Ok(path);
        }
        let found = newest(&self.sessions(), 3, &wanted, read)?;
        let path = found.ok_or_else(|| LedgerError::NoSession(id.to_string()))?;
        let mut known = known();
        if known.len() >= MOST_FOUND {
            known.clear();
        }
        known.insert(wanted, path.clone());
        Ok(path)
    }

    /// The ledger of a session, by its whole id or a unique beginning of it, as people type it.
    pub fn find(&self, id: &str) -> Result<PathBuf, LedgerError> {
        let wanted = file_name(&SessionId::new(id));
        let mut candidates = Vec::new();
        for path in self.ledgers()? {
            let Some(name) = session_of(&path) else { continue };
            if name == wanted {
                return Ok(path);
            }
            if name.starts_with(&wanted) && !wanted.is_empty() {
                candidates.push((name.to_owned(), path));
            }
        }
        // A session's sub-agents have its id and more: the session itself is meant.
        candidates.sort();
        if let Some((first, path)) = candidates.first()
            && candidates.iter().all(|(name, _)| name.starts_with(first.as_str()))
        {
            return Ok(path.clone());
        }
        if candidates.is_empty() {
            return Err(LedgerError::NoSession(id.to_owned()));
        }
        let candidates = candidates.into_iter().take(5).map(|(name, _)| name).collect();
        Err(LedgerError::Ambiguous { prefix: id.to_owned(), candidates })
    }
}

/// The session id in a ledger's file name, which follows the time: `2026-11-15T22-18-00-<id>.jsonl`.
pub fn session_of(path: &Path) -> Option<&str> {
    const TIME: usize = "2026-11-15T22-18-00-".len();
    path.file_name()?.to_str()?.strip_suffix(".jsonl")?.get(TIME..)
}

/// Ids come from other tools' files: whatever could lead elsewhere is replaced by a hash.
pub(crate) fn file_name(id: &SessionId) -> String {
    let id = id.as_str();
    let harmless = id.len() <= 120
        && !id.starts_with('.')
        && id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
    if harmless { id.to_owned() } else { blake3::hash(id.as_bytes()).to_hex()[..32].to_owned() }
}

fn walk(dir: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), LedgerError> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(LedgerError::io("list", dir)(e)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(LedgerError::io("list", dir))?;
        let kind = entry.file_type().map_err(LedgerError::io("look at", &entry.path()))?;
        let name = entry.file_name();
        if kind.is_dir() && depth > 0 {
            names.push((name, true));
        } else if kind.is_file() && depth == 0 && name.to_string_lossy().ends_with(".jsonl") {
            names.push((name, false));
        }
    }
    names.sort();
    for (name, is_dir) in names {
        let path = dir.join(name);
        if is_dir { walk(&path, depth - 1, found)? } else { found.push(path) }
    }
    Ok(())
}

/// The newest ledger of a session below a folder.
fn newest(dir: &Path, depth: usize, wanted: &str, read: ReadDir<'_>) -> Result<Option<PathBuf>, LedgerError> {
    let entries = match read(dir) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(LedgerError::io("list", dir)(e)),
    };
    let mut below = Vec::new();
    let mut found: Option<PathBuf> = None;
    for entry in entries {
        let entry = entry.map_err(LedgerError::io("list", dir))?;
        let is = |kind: fn(&fs::FileType) -> bool| entry.file_type().is_ok_and(|file| kind(&file));
        if depth > 0 {
            below.extend(is(fs::FileType::is_dir).then(|| entry.file_name()));
        } else if session_of(Path::new(&entry.file_name())) == Some(wanted) && is(fs::FileType::is_file) {
            found = found.max(Some(entry.path()));
        }
    }
    below.sort_unstable();
    for name in below.into_iter().rev() {
        found = newest(&dir.join(name), depth - 1, wanted, read)?;
        if found.is_some() {
            break;
        }
    }
    Ok(found)
}

/// Makes a folder and those above it, for its owner alone.
pub(crate) fn make_private_dir(dir: &Path) -> Result<(), LedgerError> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir).map_err(LedgerError::io("make", dir))
}

/// Options for a file that only its owner may read.
/// Writes a file below `root` that only the owner may read, making the folders on the way. The place is checked after links
/// are resolved: nothing is written outside of `root`. A file that is there already is replaced as a whole, or not at all.
pub fn write_private(root: &Path, relative: &str, bytes: &[u8]) -> Result<(), LedgerError> {
    let path = root.join(relative);
    let outside = || LedgerError::Outside { path: path.clone(), root: root.to_owned() };
    let dir = path.parent().ok_or_else(outside)?;
    let plain = Path::new(relative).components().all(|part| matches!(part, std::path::Component::Normal(_)));
    if !plain {
        return Err(outside());
    }
    make_private_dir(dir)?;
    let real_root = root.canonicalize().map_err(LedgerError::io("find", root))?;
    let real_dir = dir.canonicalize().map_err(LedgerError::io("find", dir))?;
    if !real_dir.starts_with(&real_root) {
        return Err(outside());
    }
    let mut file =
        tempfile::NamedTempFile::new_in(&real_dir).map_err(LedgerError::io("create a file in", dir))?;
    std::io::Write::write_all(&mut file, bytes).map_err(LedgerError::io("write", &path))?;
    file.persist(&path).map_err(|error| LedgerError::io("write", &path)(error.error))?;
    Ok(())
}

pub(crate) fn private_file() -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_other_tools_cannot_lead_out_of_the_folder() {
        for id in ["../../etc/passwd", "a/b", "", ".hidden", "x\0y", &"long".repeat(100)] {
            let name = file_name(&SessionId::new(id));
            assert!(!name.contains(['/', '\0']) && !name.starts_with('.') && name.len() <= 120, "{name}");
        }
        let home = Home::new("/h");
        assert_eq!(home.resolve("../x"), None);
        assert_eq!(home.resolve("/etc/passwd"), None);
        assert_eq!(home.resolve("2026/01/01/x.jsonl"), Some("/h/sessions/2026/01/01/x.jsonl".into()));
    }

    /// A home with a ledger on each of many days; `s<day>` is the session.
    fn home(dir: &Path, days: i64) -> Home {
        let home = Home::new(dir);
        for day in 0..days {
            let created = Timestamp::from_second(1_700_000_000 + day * 86_400).unwrap();
            let path = home.ledger_path(created, &SessionId::new(format!("s{day}")));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        home
    }

    #[test]
    fn a_ledger_is_found_by_reading_newer_days_only_and_again_without_reading_any() {
        let dir = tempfile::tempdir().unwrap();
        let home = home(dir.path(), 400);
        let folders = |home: &Home, session: &str| {
            let mut reads = 0;
            let found = home.find_by(&session.into(), &mut |dir| {
                reads += 1;
                fs::read_dir(dir)
            });
            (found.is_ok(), reads)
        };
        // `sessions`, the year, the month, the day.
        assert_eq!(folders(&home, "s399"), (true, 4));
        assert_eq!(folders(&home.clone(), "s399"), (true, 0), "all who share the home know it");
        let (found, reads) = folders(&home, "s390");
        assert!(found && reads <= 4 + 9 + 1, "{reads}");
        let (found, reads) = folders(&home, "none");
        assert!(!found && reads > 400, "{reads}");
        // Another process may take it away, and put it elsewhere.
        let path = home.find_exact(&"s399".into()).unwrap();
        fs::remove_file(&path).unwrap();
        assert!(!folders(&home, "s399").0);
        fs::write(path.with_file_name("2020-01-01T00-00-00-s399.jsonl"), "").unwrap();
        assert!(folders(&home, "s399").0);
    }
}
