//! When memories were shown and used: `.throughline/usage.jsonl` beside the memories, a line for each time.
//!
//! **Lines are only added**, under a lock and in one write, so that several processes never mix theirs. A line that a killed process left
//! torn, or that is somebody else's, is passed over and counted.
//!
//! **It stays small.** When it has grown large, older lines become one line of counts per memory. No count is lost by that; what is
//! lost is in which session it was.

use crate::lock::{PATIENCE, lock};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use throughline_core::text::head;
use throughline_ledger::{LedgerError, write_private};

/// Our own folder in a folder of memories.
const OURS: &str = ".throughline";
const FILE: &str = "usage.jsonl";
const LOCK: &str = "usage.lock";

/// Bytes of lines, behind twice those of the counts, at which lines become counts.
const FOLD_BYTES: u64 = 256 << 10;
/// The newest lines, which stay lines.
const RECENT: usize = 500;
/// The largest file that is read.
const MOST_BYTES: u64 = 64 << 20;
/// Bytes of a session's id, and of a file's name.
const ID_BYTES: usize = 200;
const NAME_BYTES: usize = 255;

/// Why usage can't be read or written.
#[derive(Debug, thiserror::Error)]
pub enum UsageError {
    /// The file system said no.
    #[error("cannot {what} {}: {source}", path.display())]
    Io {
        /// What was attempted.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A place leads elsewhere.
    #[error("{} is a link, or no plain file; usage is neither read nor written there: remove it", path.display())]
    Elsewhere {
        /// The place.
        path: PathBuf,
    },
    /// The file is larger than it ever gets.
    #[error("{} is larger than {MOST_BYTES} bytes; move it away, counts begin anew then", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// Somebody else holds the lock.
    #[error("another process has been writing to {} for a while; try again, or end that process", path.display())]
    Busy {
        /// The lock's file.
        path: PathBuf,
    },
    /// It could not be replaced.
    #[error(transparent)]
    Write(#[from] LedgerError),
}

/// What became of a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Used {
    /// It was put before a model.
    Shown,
    /// An answer made use of it.
    Used,
    /// Somebody asked for it: a person, or a model by a tool.
    Opened,
}

/// One time that something became of a memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Use {
    /// When.
    pub at: Timestamp,
    /// In which session.
    #[serde(default)]
    pub session: Option<String>,
    /// The memory's file.
    pub file: String,
    /// What.
    pub what: Used,
}

/// How often, and when last, something became of a memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    /// How often it was put before a model.
    pub shown: u64,
    /// How often an answer made use of it.
    pub used: u64,
    /// How often somebody asked for it.
    pub opened: u64,
    /// When it was last shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_shown: Option<Timestamp>,
    /// When it was last used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_used: Option<Timestamp>,
    /// When it was last asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_opened: Option<Timestamp>,
}

impl Counts {
    fn count(&mut self, what: Used, at: Timestamp) {
        let (count, last) = match what {
            Used::Shown => (&mut self.shown, &mut self.last_shown),
            Used::Used => (&mut self.used, &mut self.last_used),
            Used::Opened => (&mut self.opened, &mut self.last_opened),
        };
        *count = count.saturating_add(1);
        *last = (*last).max(Some(at));
    }

    fn add(&mut self, other: &Self) {
        self.shown = self.shown.saturating_add(other.shown);
        self.used = self.used.saturating_add(other.used);
        self.opened = self.opened.saturating_add(other.opened);
        self.last_shown = self.last_shown.max(other.last_shown);
        self.last_used = self.last_used.max(other.last_used);
        self.last_opened = self.last_opened.max(other.last_opened);
    }
}

/// All that is known of use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// By file.
    pub counts: HashMap<String, Counts>,
    /// The newest times, oldest first; all are counted as well.
    pub recent: Vec<Use>,
    /// Lines that could not be read.
    pub passed_over: usize,
}

/// The log of one folder of memories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageLog {
    folder: PathBuf,
}

/// A line as it stands in the file.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Line {
    Use(Use),
    Folded { file: String, counts: Counts },
    Header { folded_bytes: u64 },
}

/// The file, taken apart.
#[derive(Default)]
struct Parts {
    folded: BTreeMap<String, Counts>,
    lines: Vec<Use>,
    /// Lines of others, that are objects: perhaps a newer version's. With the file that they speak of.
    foreign: Vec<(Option<String>, String)>,
    torn: usize,
}

impl UsageLog {
    /// The log of a folder of memories. Nothing need be there.
    pub fn of(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// Writes down what became of memories: all of it, or nothing. Nothing is made where there is no folder of memories.
    pub fn record(&self, uses: &[Use]) -> Result<(), UsageError> {
        if uses.is_empty() || !self.folder.is_dir() {
            return Ok(());
        }
        let mut text = String::new();
        for one in uses.iter().filter(|one| !one.file.is_empty() && one.file.len() <= NAME_BYTES) {
            let session = one.session.as_deref().map(|id| head(id, ID_BYTES).to_owned());
            push(&mut text, &Line::Use(Use { session, ..one.clone() }));
        }
        let _held = self.hold()?;
        let path = self.path(FILE);
        is_plain(&path)?;
        let mut file =
            private().read(true).append(true).create(true).open(&path).map_err(failed("open", &path))?;
        let before = file.metadata().map_err(failed("look at", &path))?.len();
        if before > 0 && last_byte(&mut file).map_err(failed("read", &path))? != b'\n' {
            // What a killed process left stays apart.
            text.insert(0, '\n');
        }
        if let Err(error) = file.write_all(text.as_bytes()) {
            // Half of it would be a torn line.
            let _ = file.set_len(before);
            return Err(failed("write", &path)(error));
        }
        let folded = folded_bytes(&mut file).unwrap_or(0);
        if before + text.len() as u64 > FOLD_BYTES.saturating_add(folded.saturating_mul(2)) {
            // What was to be recorded is: a file that stays large is no failure of that.
            let _ = self.rewrite(Some);
        }
        Ok(())
    }

    /// All that is known. Nobody is waited for.
    pub fn read(&self) -> Result<Usage, UsageError> {
        let Parts { folded, lines, foreign, torn } = self.parts()?;
        let mut counts: HashMap<String, Counts> = folded.into_iter().collect();
        for one in &lines {
            counts.entry(one.file.clone()).or_default().count(one.what, one.at);
        }
        Ok(Usage { counts, recent: lines, passed_over: foreign.len() + torn })
    }

    /// How often each memory was shown and used.
    pub fn counts(&self) -> Result<HashMap<String, Counts>, UsageError> {
        Ok(self.read()?.counts)
    }

    /// How often one memory was shown and used.
    pub fn counts_of(&self, file: &str) -> Result<Counts, UsageError> {
        Ok(self.counts()?.remove(file).unwrap_or_default())
    }

    /// Takes out all that is known of one memory.
    pub fn forget(&self, file: &str) -> Result<(), UsageError> {
        self.change(|name| (name != file).then_some(name))
    }

    /// From now on a memory has another name.
    pub fn rename(&self, from: &str, to: &str) -> Result<(), UsageError> {
        self.change(|name| Some(if name == from { to.to_owned() } else { name }))
    }

    fn change(&self, name: impl Fn(String) -> Option<String>) -> Result<(), UsageError> {
        if !self.path(FILE).exists() {
            return Ok(());
        }
        let _held = self.hold()?;
        self.rewrite(name)
    }

    /// Writes the file anew, older lines as counts. The lock is held.
    fn rewrite(&self, name: impl Fn(String) -> Option<String>) -> Result<(), UsageError> {
        let Parts { folded, lines, foreign, torn: _ } = self.parts()?;
        let mut counts: BTreeMap<String, Counts> = BTreeMap::new();
        for (file, more) in folded {
            if let Some(file) = name(file) {
                counts.entry(file).or_default().add(&more);
            }
        }
        let lines: Vec<Use> =
            lines.into_iter().filter_map(|one| Some(Use { file: name(one.file)?, ..one })).collect();
        let (old, recent) = lines.split_at(lines.len().saturating_sub(RECENT));
        for one in old {
            counts.entry(one.file.clone()).or_default().count(one.what, one.at);
        }
        let mut body = String::new();
        for (file, counts) in counts {
            push(&mut body, &Line::Folded { file, counts });
        }
        for (file, line) in foreign.into_iter().rev().take(RECENT).rev() {
            // Of a memory that is to be forgotten nobody's line stays.
            if file.is_none_or(|file| name(file).is_some()) {
                body.push_str(&line);
                body.push('\n');
            }
        }
        let mut text = String::new();
        push(&mut text, &Line::Header { folded_bytes: body.len() as u64 });
        text.push_str(&body);
        for one in recent {
            push(&mut text, &Line::Use(one.clone()));
        }
        is_plain(&self.path(FILE))?;
        Ok(write_private(&self.folder, &format!("{OURS}/{FILE}"), text.as_bytes())?)
    }

    fn parts(&self) -> Result<Parts, UsageError> {
        let path = self.path(FILE);
        is_folder(&self.folder.join(OURS))?;
        is_plain(&path)?;
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Parts::default()),
            Err(error) => return Err(failed("read", &path)(error)),
        };
        let mut bytes = Vec::new();
        file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(failed("read", &path))?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err(UsageError::TooLarge { path });
        }
        Ok(Parts::of(&bytes))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(OURS).join(name)
    }

    /// Waits for the log to be free. The lock is not the folder's: whoever holds that one may write here.
    fn hold(&self) -> Result<File, UsageError> {
        let ours = self.folder.join(OURS);
        is_folder(&ours)?;
        if !ours.is_dir() {
            let mut builder = fs::DirBuilder::new();
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            match builder.create(&ours) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(failed("make", &ours)(error));
                }
                Ok(()) | Err(_) => {}
            }
            // The folder may be part of a repository.
            write_private(&ours, ".gitignore", b"*\n")?;
        }
        let path = self.path(LOCK);
        is_plain(&path)?;
        let file = private().append(true).create(true).open(&path).map_err(failed("open", &path))?;
        lock(file, PATIENCE).map_err(failed("lock", &path))?.ok_or(UsageError::Busy { path })
    }
}

impl Parts {
    fn of(bytes: &[u8]) -> Self {
        let mut parts = Self::default();
        for line in bytes.split(|b| *b == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
            match serde_json::from_slice::<Line>(line) {
                Ok(Line::Use(one)) => parts.lines.push(one),
                Ok(Line::Folded { file, counts }) => parts.folded.entry(file).or_default().add(&counts),
                Ok(Line::Header { .. }) => {}
                Err(_) => match serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(line) {
                    Ok(fields) => {
                        let file = fields.get("file").and_then(|file| file.as_str()).map(str::to_owned);
                        parts.foreign.push((file, String::from_utf8_lossy(line).trim().to_owned()));
                    }
                    Err(_) => parts.torn += 1,
                },
            }
        }
        parts
    }
}

fn push(text: &mut String, line: &Line) {
    // Lines hold nothing that JSON can't.
    if let Ok(line) = serde_json::to_string(line) {
        text.push_str(&line);
        text.push('\n');
    }
}

fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> UsageError {
    let path = path.to_owned();
    move |source| UsageError::Io { what, path, source }
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// A folder that others write to may hold links.
fn is_plain(path: &Path) -> Result<(), UsageError> {
    match path.symlink_metadata() {
        Ok(meta) if !meta.is_file() => Err(UsageError::Elsewhere { path: path.to_owned() }),
        Ok(_) | Err(_) => Ok(()),
    }
}

fn is_folder(path: &Path) -> Result<(), UsageError> {
    match path.symlink_metadata() {
        Ok(meta) if !meta.is_dir() => Err(UsageError::Elsewhere { path: path.to_owned() }),
        Ok(_) | Err(_) => Ok(()),
    }
}

fn last_byte(file: &mut File) -> io::Result<u8> {
    let mut byte = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut byte)?;
    Ok(byte[0])
}

/// How many bytes of the file are counts already, by its first line.
fn folded_bytes(file: &mut File) -> Option<u64> {
    let mut head = Vec::new();
    file.seek(SeekFrom::Start(0)).ok()?;
    file.take(64).read_to_end(&mut head).ok()?;
    match serde_json::from_slice(head.split(|b| *b == b'\n').next()?) {
        Ok(Line::Header { folded_bytes }) => Some(folded_bytes),
        Ok(Line::Use(_) | Line::Folded { .. }) | Err(_) => None,
    }
}
