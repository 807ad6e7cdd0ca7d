use super::discover::PassedOver;
use super::source::Format;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use throughline_core::SessionId;

/// What an import did.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ImportReport {
    /// File by file, in the order they were read.
    pub files: Vec<FileReport>,
    /// Messages added.
    pub messages: u64,
    /// Files that were left alone because their sessions are here by way of the proxy.
    pub proxied: u64,
    /// Bytes of transcripts that were read.
    pub bytes: u64,
    /// Lines that were left out, by reason.
    pub skipped: BTreeMap<String, u64>,
    /// What was not looked into.
    pub passed_over: Vec<PassedOver>,
}

/// What became of one file.
#[derive(Clone, Debug, Serialize)]
pub struct FileReport {
    /// The file.
    pub path: PathBuf,
    /// Whose it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<Format>,
    /// What was done.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// The session it holds, and those of its sub-agents.
    pub sessions: Vec<SessionId>,
    /// The session that holds all of it, or a part, by way of the proxy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxied: Option<SessionId>,
    /// Its lines.
    pub lines: u64,
    /// Messages added.
    pub messages: u64,
    /// Lines that were left out, by reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub skipped: BTreeMap<String, u64>,
    /// Lines that could not be read; the first hundred.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<BadLine>,
    /// What else a person should know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// What was done with a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "outcome", content = "detail")]
pub enum Outcome {
    /// Imported for the first time.
    Imported,
    /// It had grown: the rest was imported.
    Continued,
    /// Nothing new in it.
    Unchanged,
    /// All of it is here by way of the proxy: nothing was imported.
    Proxied,
    /// It is not the file that was imported before: what was new in it was added.
    Replaced,
    /// Nothing in it belongs in a ledger.
    Empty,
    /// Not a transcript of a client that is known here.
    Foreign,
    /// It could not be imported; the others were.
    Failed(String),
}

/// A line that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BadLine {
    /// Its number, from 1.
    pub line: u64,
    /// Why.
    pub reason: String,
}

/// How far an import is.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The file being read.
    pub file: &'a Path,
    /// Its number, from 0.
    pub index: usize,
    /// How many there are.
    pub files: usize,
    /// Bytes on disk that were dealt with, of all files.
    pub done: u64,
    /// Bytes on disk of all files.
    pub total: u64,
}

/// Reasons that are told apart. A file made to have more gets "other".
const MAX_REASONS: usize = 64;
const MAX_UNREADABLE: usize = 100;

impl FileReport {
    pub(super) fn new(path: &Path, outcome: Outcome) -> Self {
        Self {
            path: path.to_owned(),
            format: None,
            outcome,
            sessions: Vec::new(),
            proxied: None,
            lines: 0,
            messages: 0,
            skipped: BTreeMap::new(),
            unreadable: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Takes over what became of the lines.
    pub(super) fn tally(&mut self, lines: Self) {
        self.lines += lines.lines;
        self.unreadable.extend(lines.unreadable);
        self.notes.extend(lines.notes);
        for (reason, n) in lines.skipped {
            count(&mut self.skipped, &reason, n);
        }
    }

    pub(super) fn skip(&mut self, reason: &str) {
        count(&mut self.skipped, reason, 1);
    }

    pub(super) fn bad_line(&mut self, reason: String) {
        self.skip("unreadable line");
        if self.unreadable.len() < MAX_UNREADABLE {
            self.unreadable.push(BadLine { line: self.lines, reason });
        }
    }
}

impl ImportReport {
    pub(super) fn add(&mut self, file: FileReport) {
        self.messages += file.messages;
        for (reason, n) in &file.skipped {
            count(&mut self.skipped, reason, *n);
        }
        self.files.push(file);
    }
}

fn count(reasons: &mut BTreeMap<String, u64>, reason: &str, n: u64) {
    let known = reasons.len() < MAX_REASONS || reasons.contains_key(reason);
    let reason = if known { reason } else { "other" };
    *reasons.entry(reason.to_owned()).or_default() += n;
}
