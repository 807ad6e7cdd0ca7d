//! Where other clients keep their sessions. Links are not followed: nothing outside the given folders is read.

use super::source::stem;
use serde::Serialize;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Where to look. The caller knows the person's home and environment; this library does not.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// The person's home folder.
    pub home: Option<PathBuf>,
    /// `$CLAUDE_CONFIG_DIR`, which replaces `~/.claude`.
    pub claude_config_dir: Option<PathBuf>,
    /// `$CODEX_HOME`, which replaces `~/.codex`.
    pub codex_home: Option<PathBuf>,
}

/// What was found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Discovery {
    /// Files that may be transcripts, oldest names first.
    pub files: Vec<PathBuf>,
    /// What was passed over, and why.
    pub passed_over: Vec<PassedOver>,
}

/// Something that was not looked into.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PassedOver {
    /// What.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
}

/// Folders in folders that are followed.
const DEPTH: usize = 16;

/// The transcripts of the clients that are installed here.
pub fn discover(places: &Places) -> Discovery {
    let under_home = |name: &str| places.home.as_ref().map(|home| home.join(name));
    let mut roots = Vec::new();
    if let Some(claude) = places.claude_config_dir.clone().or_else(|| under_home(".claude")) {
        roots.push(claude.join("projects"));
    }
    if let Some(codex) = places.codex_home.clone().or_else(|| under_home(".codex")) {
        roots.push(codex.join("sessions"));
        roots.push(codex.join("archived_sessions"));
    }
    roots.retain(|root| root.is_dir());
    discover_in(&roots)
}

/// The transcripts in these files and folders. What does not exist is reported.
pub fn discover_in(paths: &[PathBuf]) -> Discovery {
    let mut found = Discovery::default();
    for path in paths {
        // What the person names may be a link; what lies in it may not.
        match fs::metadata(path) {
            Ok(meta) if meta.is_dir() => walk(path, DEPTH, &mut found),
            Ok(meta) if meta.is_file() => found.files.push(path.clone()),
            Ok(_) => found.pass_over(path, "not a file"),
            Err(error) => found.pass_over(path, &error.to_string()),
        }
    }
    found.drop_packed_copies();
    found.files.sort_by(|a, b| order(a).cmp(&order(b)));
    found.files.dedup();
    found
}

/// Main transcripts before those of sub-agents, so that parents are there first.
fn order(path: &Path) -> (bool, &Path) {
    (stem(path).starts_with("agent-"), path)
}

fn walk(dir: &Path, depth: usize, found: &mut Discovery) {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) => return found.pass_over(dir, &error.to_string()),
    };
    for entry in entries.flatten() {
        let path = entry.path();
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_symlink() {
            found.pass_over(&path, "a link");
        } else if kind.is_dir() {
            if depth == 0 {
                found.pass_over(&path, "too many folders deep");
            } else {
                walk(&path, depth - 1, found);
            }
        } else if kind.is_file() && is_transcript(&path) {
            found.files.push(path);
        }
    }
}

fn is_transcript(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".jsonl") || name.ends_with(".jsonl.zst")
}

impl Discovery {
    fn pass_over(&mut self, path: &Path, reason: &str) {
        self.passed_over.push(PassedOver { path: path.to_owned(), reason: reason.to_owned() });
    }

    /// Codex packs old files and unpacks them to write: where both are there, the plain one is newer.
    fn drop_packed_copies(&mut self) {
        let mut plain: HashMap<PathBuf, ()> = HashMap::new();
        for path in &self.files {
            if path.extension().is_some_and(|e| e == "jsonl") {
                plain.insert(path.clone(), ());
            }
        }
        let packed_copy = |path: &PathBuf| is_packed(path) && plain.contains_key(&path.with_extension(""));
        let copies: Vec<PathBuf> = self.files.iter().filter(|path| packed_copy(path)).cloned().collect();
        self.files.retain(|path| !packed_copy(path));
        for path in copies {
            self.pass_over(&path, "a packed copy of a plain file");
        }
    }
}

fn is_packed(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "zst")
}
