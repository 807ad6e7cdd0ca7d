//! The newest editions as copies, where git can't keep them.

use super::error::Phase2Error;
use super::folder::Files;
use super::past::{Entry, RecordKind};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use throughline_ledger::write_private;

/// How many are kept: enough to take back a change, and that again, with what was found between.
const MOST: usize = 8;
const INDEX: &str = "copies/index.json";
const BLOBS: &str = "copies/blobs";

/// Copies of editions. Contents are written before the index that names them, and removed behind it: whoever is killed leaves a whole index.
#[derive(Debug)]
pub(super) struct Copies {
    ours: PathBuf,
    /// Newest first.
    pub(super) kept: Vec<Copy>,
}

/// One of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Copy {
    pub(super) id: String,
    pub(super) at: Timestamp,
    pub(super) kind: RecordKind,
    pub(super) what: String,
    #[serde(default)]
    pub(super) inputs: Option<String>,
    #[serde(default)]
    pub(super) undoes: Option<String>,
    /// Whether there was nothing before it.
    #[serde(default)]
    pub(super) is_first: bool,
    /// Paths with the hashes of their contents.
    pub(super) files: BTreeMap<String, String>,
}

impl Copies {
    /// Those that are there. An index that can't be read is as none: what it named is copied again.
    pub(super) fn open(ours: &Path) -> Self {
        let text = fs::read(ours.join(INDEX)).unwrap_or_default();
        Self { ours: ours.to_owned(), kept: serde_json::from_slice(&text).unwrap_or_default() }
    }

    pub(super) fn commit(&mut self, entry: &Entry, files: &Files) -> Result<String, Phase2Error> {
        let mut named = BTreeMap::new();
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.kept.first().map_or("", |newest| &newest.id).as_bytes());
        for (path, content) in files {
            let hash = blake3::hash(content).to_hex().to_string();
            hasher.update(path.as_bytes()).update(&[0]).update(hash.as_bytes());
            if !self.blob(&hash).is_file() {
                write_private(&self.ours, &format!("{BLOBS}/{hash}"), content)?;
            }
            named.insert(path.clone(), hash);
        }
        let id = hasher.finalize().to_hex()[..40].to_owned();
        let copy = Copy {
            id: id.clone(),
            at: entry.at,
            kind: entry.kind,
            what: entry.what.clone(),
            inputs: entry.inputs.clone(),
            undoes: entry.undoes.clone(),
            is_first: self.kept.is_empty(),
            files: named,
        };
        self.kept.insert(0, copy);
        self.kept.truncate(MOST);
        let index = serde_json::to_vec_pretty(&self.kept).unwrap_or_default();
        write_private(&self.ours, INDEX, &index)?;
        self.tidy();
        Ok(id)
    }

    pub(super) fn files(&self, id: &str) -> Result<Files, Phase2Error> {
        let mut files = Files::new();
        let Some(copy) = self.kept.iter().find(|copy| copy.id == id) else { return Ok(files) };
        for (path, hash) in &copy.files {
            let blob = self.blob(hash);
            let content = fs::read(&blob).map_err(Phase2Error::io("read", &blob))?;
            if blake3::hash(&content).to_hex().as_str() != hash {
                let damaged = io::Error::new(io::ErrorKind::InvalidData, "it is damaged; delete it");
                return Err(Phase2Error::io("read", &blob)(damaged));
            }
            files.insert(path.clone(), content);
        }
        Ok(files)
    }

    /// Removes all, once git has them.
    pub(super) fn clear(&mut self) {
        self.kept.clear();
        let _ = fs::remove_file(self.ours.join(INDEX));
        let _ = fs::remove_dir_all(self.ours.join(BLOBS));
    }

    fn blob(&self, hash: &str) -> PathBuf {
        self.ours.join(BLOBS).join(hash)
    }

    /// Contents that no edition has are in nobody's way: failing leaves them.
    fn tidy(&self) {
        let named: BTreeSet<&str> =
            self.kept.iter().flat_map(|copy| copy.files.values()).map(String::as_str).collect();
        for entry in fs::read_dir(self.ours.join(BLOBS)).into_iter().flatten().flatten() {
            if !entry.file_name().to_str().is_some_and(|name| named.contains(name)) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}
