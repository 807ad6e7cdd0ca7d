//! Where notes live (N1).

use super::error::NotesError;
use crate::project::{ProjectSlug, component};
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use throughline_core::SessionId;
use throughline_ledger::{Home, write_private};

/// The largest file that is taken for notes.
const MOST_BYTES: u64 = 1 << 20;

/// The notes of one session: `projects/<project>/<session id>/session-memory/summary.md` below the home.
///
/// Only the owner may read the file and its folders. It is replaced as a whole or not at all, and never outside of
/// the home, whatever links there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotesFile {
    root: PathBuf,
    relative: String,
}

impl NotesFile {
    /// The notes of a session.
    pub fn new(home: &Home, project: &ProjectSlug, session: &SessionId) -> Self {
        let session = component(session.as_str());
        Self {
            root: home.root().to_owned(),
            relative: format!("projects/{project}/{session}/session-memory/summary.md"),
        }
    }

    /// The file.
    pub fn path(&self) -> PathBuf {
        self.root.join(&self.relative)
    }

    /// What it says; `None` if it is not there.
    pub fn read(&self) -> Result<Option<String>, NotesError> {
        let path = self.path();
        let real = match path.canonicalize() {
            Ok(real) => real,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(NotesError::Io { path, source }),
        };
        let root = self.root.canonicalize();
        let root = root.map_err(|source| NotesError::Io { path: self.root.clone(), source })?;
        if !real.starts_with(&root) {
            return Err(NotesError::Outside { path, root: self.root.clone() });
        }
        read_bounded(&path, MOST_BYTES)
    }

    /// Replaces what it says. Everything that notes persist goes through here.
    pub fn write(&self, text: &str) -> Result<(), NotesError> {
        Ok(write_private(&self.root, &self.relative, text.as_bytes())?)
    }
}

/// What tells two texts apart.
pub fn text_hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

/// A text file of at most so many bytes; `None` if it is not there.
pub(super) fn read_bounded(path: &Path, limit: u64) -> Result<Option<String>, NotesError> {
    let io = |source| NotesError::Io { path: path.to_owned(), source };
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io(error)),
    };
    let bytes = file.metadata().map_err(io)?.len();
    let mut text = Vec::new();
    file.take(limit + 1).read_to_end(&mut text).map_err(io)?;
    if text.len() as u64 > limit {
        return Err(NotesError::TooLarge { path: path.to_owned(), bytes: bytes.max(limit + 1), limit });
    }
    String::from_utf8(text).map(Some).map_err(|_| NotesError::NotText { path: path.to_owned() })
}
