//! What a handbook was: every edition a commit of `.throughline/history.git`, and what people changed by hand in between.
//!
//! Where git can't be used, the newest editions are copies beside it; once git is there they become commits.

use super::copies::Copies;
use super::error::Phase2Error;
use super::folder::{Files, Folder};
use crate::history::{Commit, Draft, Refusal, Repository, When};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

const HISTORY: &str = "history.git";
/// Records that are looked at for an edition.
const LOOKED_AT: usize = 1_000;

/// What made a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordKind {
    /// A consolidation.
    Consolidated,
    /// People changed files by hand.
    Found,
    /// An earlier change was taken back.
    Undone,
    /// Another machine's edition was taken in.
    Synced,
}

impl RecordKind {
    const ALL: [Self; 4] = [Self::Consolidated, Self::Found, Self::Undone, Self::Synced];

    /// The word in the history.
    pub fn name(self) -> &'static str {
        match self {
            Self::Consolidated => "consolidated",
            Self::Found => "found",
            Self::Undone => "undone",
            Self::Synced => "synced",
        }
    }

    /// Whether the handbook's files are as we made them.
    pub(super) fn is_edition(self) -> bool {
        match self {
            Self::Consolidated | Self::Undone | Self::Synced => true,
            Self::Found => false,
        }
    }
}

impl fmt::Display for RecordKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A state of the handbook that was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Record {
    /// Its id, for [`undo_handbook`](super::undo_handbook).
    pub id: String,
    /// When.
    pub at: Timestamp,
    /// What made it.
    pub kind: RecordKind,
    /// What happened, in a line.
    pub what: String,
    /// The record that it took back.
    pub undoes: Option<String>,
    /// Whether a later one took it back.
    pub undone: bool,
    /// Files that it changed.
    pub files: Vec<String>,
    /// What it was made of, as a hash.
    #[serde(skip)]
    pub(super) inputs: Option<String>,
    /// Whether nothing was before it.
    #[serde(skip)]
    pub(super) is_first: bool,
}

/// A record to be made.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) kind: RecordKind,
    pub(super) what: String,
    pub(super) inputs: Option<String>,
    pub(super) undoes: Option<String>,
    pub(super) at: Timestamp,
}

impl Entry {
    fn message(&self) -> String {
        let line = |key: &str, value: &Option<String>| {
            value.as_ref().map(|value| format!("\n{key}: {value}")).unwrap_or_default()
        };
        format!(
            "{}\n\nkind: {}{}{}\n",
            self.what.lines().next().unwrap_or_default(),
            self.kind,
            line("inputs", &self.inputs),
            line("undoes", &self.undoes)
        )
    }
}

/// All that is known of it. For who holds the folder.
pub(super) struct Past {
    git: Result<Repository, Refusal>,
    copies: Copies,
}

impl Past {
    pub(super) fn open(folder: &Folder, uses_git: bool) -> Result<Self, Phase2Error> {
        let ours = folder.ours();
        let git = if uses_git { usable(&ours.join(HISTORY)) } else { Err("git is not used".to_owned()) };
        let mut past = Self { git, copies: Copies::open(&ours) };
        if past.git.is_ok() && !past.copies.kept.is_empty() {
            past.move_to_git()?;
        }
        // A history that is damaged is left as it is, for people to look at: without git it goes on.
        if past.repository().is_some()
            && let Err(error) = past.edition().and_then(|_| past.newest())
        {
            past.git = Err(error.to_string());
        }
        Ok(past)
    }

    /// Without anything that was.
    pub(super) fn anew(folder: &Folder, uses_git: bool) -> Result<Self, Phase2Error> {
        let history = folder.ours().join(HISTORY);
        match std::fs::remove_dir_all(&history) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Phase2Error::io("remove", &history)(error));
            }
            Ok(()) | Err(_) => {}
        }
        Copies::open(&folder.ours()).clear();
        Self::open(folder, uses_git)
    }

    /// Why git does not keep it.
    pub(super) fn off(&self) -> Option<&str> {
        self.git.as_ref().err().map(String::as_str)
    }

    /// Records, newest first.
    pub(super) fn log(&self, limit: usize) -> Result<Vec<Record>, Phase2Error> {
        let mut records: Vec<Record> = match self.repository() {
            Some(git) => git.log(None, limit).map_err(refused)?.into_iter().map(Record::from).collect(),
            None => self.copied(limit),
        };
        let mut undone: BTreeSet<String> = BTreeSet::new();
        for record in &mut records {
            record.undone = undone.contains(&record.id);
            if !record.undone {
                undone.extend(record.undoes.clone());
            }
        }
        Ok(records)
    }

    /// The newest record that is an edition, with its files.
    pub(super) fn edition(&self) -> Result<Option<(Record, Files)>, Phase2Error> {
        let records = self.log(LOOKED_AT)?;
        let Some(record) = records.into_iter().find(|record| record.kind.is_edition()) else {
            return Ok(None);
        };
        let files = self.files(&record.id)?;
        Ok(Some((record, files)))
    }

    /// The files of a record.
    pub(super) fn files(&self, id: &str) -> Result<Files, Phase2Error> {
        let Some(git) = self.repository() else { return self.copies.files(id) };
        let tree = git.tree(id).map_err(refused)?;
        let (paths, ids): (Vec<String>, Vec<String>) = tree.into_iter().unzip();
        let contents = git.contents(&ids).map_err(refused)?;
        Ok(paths.into_iter().zip(contents).collect())
    }

    /// The files of the newest record.
    pub(super) fn newest(&self) -> Result<Files, Phase2Error> {
        match self.log(1)?.first() {
            Some(record) => self.files(&record.id),
            None => Ok(Files::new()),
        }
    }

    /// The files before a record; `None` if that is not kept.
    pub(super) fn before(&self, id: &str) -> Result<Option<Files>, Phase2Error> {
        let records = self.log(LOOKED_AT)?;
        let Some(at) = records.iter().position(|record| record.id == id) else { return Ok(None) };
        match records.get(at + 1) {
            Some(before) => self.files(&before.id).map(Some),
            None => Ok(records[at].is_first.then(Files::new)),
        }
    }

    /// Records the files as they are now, or are to be. Returns the id.
    pub(super) fn commit(&mut self, entry: &Entry, files: &Files) -> Result<String, Phase2Error> {
        if let Ok(git) = &self.git {
            match commit(git, entry, files) {
                Ok(id) => return Ok(id),
                // Without git it goes on: what is recorded there comes in again when it works.
                Err(why) => self.git = Err(why),
            }
        }
        self.copies.commit(entry, files)
    }

    fn repository(&self) -> Option<&Repository> {
        self.git.as_ref().ok().filter(|_| self.copies.kept.is_empty())
    }

    fn copied(&self, limit: usize) -> Vec<Record> {
        let kept = &self.copies.kept;
        let nothing = BTreeMap::new();
        let records = kept.iter().enumerate().map(|(at, copy)| {
            let before = kept.get(at + 1).map_or(&nothing, |before| &before.files);
            let is_changed = |path: &&String| before.get(*path) != copy.files.get(*path);
            let paths: BTreeSet<&String> =
                copy.files.keys().chain(before.keys()).filter(is_changed).collect();
            Record {
                id: copy.id.clone(),
                at: copy.at,
                kind: copy.kind,
                what: copy.what.clone(),
                undoes: copy.undoes.clone(),
                undone: false,
                files: paths.into_iter().cloned().collect(),
                inputs: copy.inputs.clone(),
                is_first: copy.is_first,
            }
        });
        records.take(limit).collect()
    }

    /// Git works again, or for the first time.
    fn move_to_git(&mut self) -> Result<(), Phase2Error> {
        let Ok(git) = &self.git else { return Ok(()) };
        let mut renamed: BTreeMap<String, String> = BTreeMap::new();
        for copy in self.copies.kept.iter().rev() {
            let entry = Entry {
                kind: copy.kind,
                what: copy.what.clone(),
                inputs: copy.inputs.clone(),
                undoes: copy.undoes.as_ref().map(|id| renamed.get(id).unwrap_or(id).clone()),
                at: copy.at,
            };
            match commit(git, &entry, &self.copies.files(&copy.id)?) {
                Ok(id) => renamed.insert(copy.id.clone(), id),
                Err(why) => {
                    self.git = Err(why);
                    return Ok(());
                }
            };
        }
        self.copies.clear();
        Ok(())
    }
}

impl From<Commit> for Record {
    fn from(commit: Commit) -> Self {
        let kind = commit
            .said("kind: ")
            .and_then(|word| RecordKind::ALL.into_iter().find(|kind| kind.name() == word));
        Self {
            at: commit.at,
            // Whoever else made a commit did so by hand.
            kind: kind.unwrap_or(RecordKind::Found),
            what: commit.message.lines().next().unwrap_or_default().to_owned(),
            undoes: commit.said("undoes: ").map(str::to_owned),
            undone: false,
            files: commit.steps.iter().map(|step| step.file.clone()).collect(),
            inputs: commit.said("inputs: ").map(str::to_owned),
            is_first: commit.is_first,
            id: commit.id,
        }
    }
}

/// The repository, if git can be run on it.
fn usable(path: &std::path::Path) -> Result<Repository, Refusal> {
    let repository = Repository::open(path)?;
    repository.ask(&["rev-parse", "--is-bare-repository"], &[])?;
    Ok(repository)
}

fn commit(git: &Repository, entry: &Entry, files: &Files) -> Result<String, Refusal> {
    let before = match git.head()? {
        Some(head) => git.tree(&head)?,
        None => BTreeMap::new(),
    };
    let (paths, ids): (Vec<String>, Vec<String>) = before.into_iter().unzip();
    let before: Files = paths.into_iter().zip(git.contents(&ids)?).collect();
    let mut changes: BTreeMap<String, Option<Vec<u8>>> = BTreeMap::new();
    for (path, content) in files.iter().filter(|(path, content)| before.get(*path) != Some(*content)) {
        changes.insert(path.clone(), Some(content.clone()));
    }
    for path in before.keys().filter(|path| !files.contains_key(*path)) {
        changes.insert(path.clone(), None);
    }
    git.commit(&Draft { message: &entry.message(), when: When::At(entry.at), files: &changes })
}

fn refused(why: Refusal) -> Phase2Error {
    Phase2Error::History { why }
}
