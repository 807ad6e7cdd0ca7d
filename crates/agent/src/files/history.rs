//! Which files were changed in which turn.
//!
//! `history.jsonl`: a line that has a `path` is a change, one that has none is the beginning of a turn.
//! `{"turn":"m2","path":"/p/a.rs","before":"<hash>","mode":420,"after":"<hash>"}`; `before` is null where there was no file, and where it was
//! too large, which `large` says; `folders` is how many folders had to be made for it; `after` is null where the file was removed.

use super::FilesError;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The BLAKE3 hash of a file's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Hash(blake3::Hash);

impl Hash {
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self(blake3::hash(bytes))
    }
}

impl std::fmt::Display for Hash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.to_hex())
    }
}

/// What a file was before a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Before {
    /// There was none, nor that many folders above it.
    Absent {
        folders: usize,
    },
    Kept {
        hash: Hash,
        mode: u32,
    },
    Large {
        bytes: u64,
    },
}

#[derive(Debug)]
enum Entry {
    Begin { turn: String },
    Change { path: PathBuf, before: Before, after: Option<Hash> },
}

/// What became of a file since some turn began.
#[derive(Debug)]
pub(super) struct Net {
    pub(super) path: PathBuf,
    /// What it was then.
    pub(super) then: Before,
    /// What we last made of it; `None`: we removed it.
    pub(super) ours: Option<Hash>,
}

#[derive(Debug, Default)]
pub(super) struct History {
    entries: Vec<Entry>,
    turn: String,
    file: Option<HistoryFile>,
}

#[derive(Debug)]
struct HistoryFile {
    path: PathBuf,
    /// What could not be written yet.
    pending: String,
}

impl History {
    /// Reads what is there. A line that can't be read, such as one that was torn, is passed over.
    pub(super) fn read(folder: &Path) -> Result<Self, FilesError> {
        let path = folder.join("history.jsonl");
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(source) => return Err(FilesError::Io { action: "read", path, source }),
        };
        let mut history = Self::default();
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            match serde_json::from_slice::<Line>(line).ok().and_then(Line::into_entry) {
                Some((turn, entry)) => {
                    history.turn = turn;
                    history.entries.push(entry);
                }
                None => tracing::warn!(path = %path.display(), "passed over a line of the file history"),
            }
        }
        // A torn line is closed, so that the next one is whole.
        let pending = if bytes.last().is_some_and(|byte| *byte != b'\n') { "\n" } else { "" };
        history.file = Some(HistoryFile { path, pending: pending.to_owned() });
        Ok(history)
    }

    pub(super) fn begin(&mut self, turn: &str) {
        turn.clone_into(&mut self.turn);
        let line = Line { turn: turn.to_owned(), ..Line::default() };
        self.entries.push(Entry::Begin { turn: turn.to_owned() });
        if let Some(file) = &mut self.file
            && let Err(error) = file.append(&line)
        {
            // It stays pending: the next change writes it, or is not made.
            tracing::warn!(%error, "the beginning of a turn is not in the file history yet");
        }
    }

    pub(super) fn changed(
        &mut self,
        path: &Path,
        before: Before,
        after: Option<Hash>,
    ) -> Result<(), FilesError> {
        if let Some(file) = &mut self.file {
            let line = Line::change(self.turn.clone(), path, &before, after);
            if let Err(source) = file.append(&line) {
                file.take_back(&line);
                return Err(FilesError::Io { action: "write", path: file.path.clone(), source });
            }
        }
        self.entries.push(Entry::Change { path: path.to_owned(), before, after });
        Ok(())
    }

    /// The change that was noted last was not made: the file is what it was.
    pub(super) fn not_changed(&mut self, path: &Path, before: Before) {
        let after = match &before {
            Before::Absent { .. } => None,
            Before::Kept { hash, .. } => Some(*hash),
            // What it was is not known; that somebody else changed it will be said, which is harmless.
            Before::Large { .. } => return,
        };
        // If it can't be written, no more is lost than that.
        let _ = self.changed(path, before, after);
    }

    /// The files that were changed since a turn began, in the order of their first change.
    pub(super) fn since(&self, turn: &str) -> Result<Vec<Net>, FilesError> {
        let begin = self.entries.iter().position(|entry| match entry {
            Entry::Begin { turn: begun } => begun == turn,
            Entry::Change { .. } => false,
        });
        let begin = begin.ok_or_else(|| FilesError::UnknownTurn { turn: turn.to_owned() })?;
        let mut nets: Vec<Net> = Vec::new();
        let mut places: HashMap<&Path, usize> = HashMap::new();
        for entry in &self.entries[begin..] {
            let Entry::Change { path, before, after } = entry else { continue };
            match places.get(path.as_path()) {
                Some(place) => nets[*place].ours = *after,
                None => {
                    places.insert(path, nets.len());
                    nets.push(Net { path: path.clone(), then: before.clone(), ours: *after });
                }
            }
        }
        Ok(nets)
    }

    /// A name that no turn has had.
    pub(super) fn new_turn(&self) -> String {
        format!("rewind-{}", self.entries.len())
    }

    pub(super) fn turn(&self) -> &str {
        &self.turn
    }
}

impl HistoryFile {
    fn append(&mut self, line: &Line) -> io::Result<()> {
        self.pending.push_str(&line.to_text());
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(&self.path)?;
        let before = file.metadata()?.len();
        if let Err(error) = file.write_all(self.pending.as_bytes()) {
            // Half a line of a full disk is taken back; if not even that works, it is a torn line, which readers pass over.
            if file.set_len(before).is_err() && !self.pending.starts_with('\n') {
                self.pending.insert(0, '\n');
            }
            return Err(error);
        }
        self.pending.clear();
        Ok(())
    }

    /// A change that was not made shall not be written later.
    fn take_back(&mut self, line: &Line) {
        let text = line.to_text();
        if self.pending.ends_with(&text) {
            self.pending.truncate(self.pending.len() - text.len());
        }
    }
}

#[derive(Default, Serialize, Deserialize)]
struct Line {
    turn: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// A path that is no text, byte by byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path_bytes: Option<Vec<u8>>,
    #[serde(default)]
    before: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    folders: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mode: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    large: Option<u64>,
    #[serde(default)]
    after: Option<String>,
}

impl Line {
    fn change(turn: String, path: &Path, before: &Before, after: Option<Hash>) -> Self {
        let (text, bytes) = match path.to_str() {
            Some(text) => (Some(text.to_owned()), None),
            None => (None, Some(path.as_os_str().as_bytes().to_vec())),
        };
        let mut line = Self { turn, path: text, path_bytes: bytes, ..Self::default() };
        match before {
            Before::Absent { folders: 0 } => {}
            Before::Absent { folders } => line.folders = Some(*folders),
            Before::Kept { hash, mode } => (line.before, line.mode) = (Some(hash.to_string()), Some(*mode)),
            Before::Large { bytes } => line.large = Some(*bytes),
        }
        line.after = after.map(|hash| hash.to_string());
        line
    }

    fn to_text(&self) -> String {
        // A struct of texts and numbers always becomes JSON.
        let mut text = serde_json::to_string(self).unwrap_or_default();
        text.push('\n');
        text
    }

    fn into_entry(self) -> Option<(String, Entry)> {
        let path = match (self.path, self.path_bytes) {
            (Some(text), _) => PathBuf::from(text),
            (None, Some(bytes)) => PathBuf::from(std::ffi::OsString::from_vec(bytes)),
            (None, None) => return Some((self.turn.clone(), Entry::Begin { turn: self.turn })),
        };
        let before = match (self.before, self.large) {
            (Some(hash), _) => Before::Kept { hash: hash_of(&hash)?, mode: self.mode.unwrap_or(0o644) },
            (None, Some(bytes)) => Before::Large { bytes },
            (None, None) => Before::Absent { folders: self.folders.unwrap_or(0) },
        };
        let after = match self.after {
            Some(hash) => Some(hash_of(&hash)?),
            None => None,
        };
        Some((self.turn, Entry::Change { path, before, after }))
    }
}

fn hash_of(hex: &str) -> Option<Hash> {
    blake3::Hash::from_hex(hex).ok().map(Hash)
}
