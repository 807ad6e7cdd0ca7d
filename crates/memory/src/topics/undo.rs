//! The memories of a project: what was, and how to have it back or to be rid of it.

use super::Undone;
use super::error::TopicError;
use super::folder::FORGOTTEN;
use super::history::{History, Message};
use super::index::without;
use super::names::{INDEX, check, is_topic};
use super::recorded::{ChangeKind, Recorded};
use super::seen;
use super::store::TopicStore;
use super::writing::Writing;
use crate::history::Step;
use crate::usage::UsageLog;
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::fs;

/// Changes that are looked at for the last one that can be taken back.
const LOOKED_AT: usize = 1_000;
/// Characters that an abbreviated id has at least.
const SHORTEST: usize = 4;
/// The search index, which is built again from the files.
const CATALOGUE: [&str; 4] = ["catalogue.db", "catalogue.db-journal", "catalogue.db-wal", "catalogue.db-shm"];

impl TopicStore {
    /// The changes that were recorded, newest first: of one memory, or of all. What others changed since the last one is not among them.
    pub fn history(&self, file: Option<&str>, limit: usize) -> Result<Vec<Recorded>, TopicError> {
        let file = file.map(check).transpose()?;
        let history = self.kept_history()?;
        if !self.folder.check_ours()? {
            return Ok(Vec::new());
        }
        history.log(file, limit).map_err(|why| self.no_history(why))
    }

    /// Takes back a change by its id, or the last one that we made and that is not taken back. The files that it touched are as they were
    /// before it, and so is the index. This is a change too, and can be taken back.
    ///
    /// What others changed is taken back by its id alone.
    pub fn undo(&self, id: Option<&str>, now: Timestamp) -> Result<Undone, TopicError> {
        let history = self.kept_history()?;
        if !self.folder.check_ours()? {
            return Err(nothing());
        }
        let mut writing = Writing::begin(self)?;
        let changes = history.log(None, LOOKED_AT).map_err(|why| self.no_history(why))?;
        let change = match id {
            Some(id) => chosen(changes, id)?,
            None => changes.into_iter().find(is_last).ok_or_else(nothing)?,
        };
        let refuse = |why| Err(TopicError::NotUndone { what: change.what.clone(), why });
        if change.is_first && change.kind == Some(ChangeKind::Found) {
            return refuse("the history begins with it");
        }
        if change.undone {
            return refuse("it is undone already; undo that change instead");
        }
        let ids: Vec<String> = change
            .steps
            .iter()
            .flat_map(|step| [step.before.clone(), step.after.clone()])
            .flatten()
            .collect();
        let contents = history.contents(&ids).map_err(|why| self.no_history(why))?;
        let contents: BTreeMap<String, Vec<u8>> = ids.into_iter().zip(contents).collect();

        let mut done = Undone {
            change: change.clone(),
            restored: vec![],
            removed: vec![],
            over: vec![],
            unrecorded: None,
        };
        for step in change.steps.iter().filter(|step| is_topic(&step.file)) {
            self.take_back(&mut writing, step, &contents, (now, &mut done))?;
        }
        let index_step = change.steps.iter().find(|step| step.file == INDEX);
        let content =
            |id: &Option<String>| id.as_ref().and_then(|id| contents.get(id)).cloned().unwrap_or_default();
        match index_step {
            // Nobody changed it since: it is again as it was.
            Some(step) if content(&step.after) == writing.index.as_bytes() => {
                if step.before.is_some() {
                    writing.replace_index(&String::from_utf8_lossy(&content(&step.before)))?;
                } else {
                    writing.delete(INDEX)?;
                }
            }
            Some(_) | None => {
                for file in &done.removed {
                    let text = without(&writing.index, file);
                    writing.replace_index(&text)?;
                }
                for file in &done.restored {
                    writing.place(file)?;
                }
            }
        }
        let what = format!("Undo: {}", change.what);
        let message = Message { kind: ChangeKind::Undo, what, undoes: Some(change.id) };
        done.unrecorded = writing.commit(&message);
        Ok(done)
    }

    fn take_back(
        &self,
        writing: &mut Writing<'_>,
        step: &Step,
        contents: &BTreeMap<String, Vec<u8>>,
        (now, done): (Timestamp, &mut Undone),
    ) -> Result<(), TopicError> {
        let content = |id: &Option<String>| id.as_ref().and_then(|id| contents.get(id));
        let path = self.folder.resolve(&step.file)?;
        let present = match &path {
            Some(path) => Some(fs::read(path).map_err(TopicError::io("read", path))?),
            None => None,
        };
        if present.as_ref() == content(&step.before) {
            return Ok(());
        }
        if present.as_ref() != content(&step.after) {
            done.over.push(step.file.clone());
        }
        match content(&step.before) {
            Some(before) => {
                writing.replace(&step.file, before)?;
                done.restored.push(step.file.clone());
            }
            None => {
                writing.put_away(&step.file, now)?;
                done.removed.push(step.file.clone());
            }
        }
        Ok(())
    }

    /// Forgets a memory for good: its file, its line, what is put away of it, and every trace of its words in the history and in what we
    /// keep beside it. States of the index that the history had are gone with it. If the history can't be cleaned, nothing is removed.
    ///
    /// What other memories say of it stays: one that it was merged into has its sentences.
    pub fn purge(&self, file: &str) -> Result<Option<String>, TopicError> {
        let file = check(file)?;
        let missing = || TopicError::NoTopic { file: file.to_owned() };
        if !self.folder.0.is_dir() {
            return Err(missing());
        }
        let mut writing = Writing::hold(self)?;
        // Also where no history is kept now: an older one may be there.
        let history = History::of(&self.folder.ours());
        let recorded = history.log(Some(file), 1).map_err(|why| self.no_history(why))?;
        let put_away = self.put_away_of(file)?;
        let is_there = self.folder.0.join(file).symlink_metadata().is_ok();
        if !is_there && recorded.is_empty() && put_away.is_empty() {
            return Err(missing());
        }
        history.purge(file).map_err(|why| self.no_history(why))?;
        for path in put_away {
            seen::remove_file(&path)?;
        }
        let ours = self.folder.ours();
        UsageLog::of(&self.folder.0).forget(file)?;
        for name in CATALOGUE {
            seen::remove_file(&ours.join(name))?;
        }
        writing.forget_seen()?;
        writing.delete(file)?;
        let text = without(&writing.index, file);
        writing.replace_index(&text)?;
        writing.touch_index();
        Ok(writing.commit(&Message::of(ChangeKind::Purge, "Purge a memory".to_owned())))
    }

    /// The forgotten files that were a memory: `<time>-<file>`.
    fn put_away_of(&self, file: &str) -> Result<Vec<std::path::PathBuf>, TopicError> {
        let folder = self.folder.ours().join(FORGOTTEN);
        let listing = match fs::read_dir(&folder) {
            Ok(listing) => listing,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(TopicError::io("list", &folder)(error)),
        };
        let entries = listing.collect::<Result<Vec<_>, _>>().map_err(TopicError::io("list", &folder))?;
        let was = |entry: &fs::DirEntry| {
            let name = entry.file_name();
            name.to_str().and_then(|name| name.split_once('-')).is_some_and(|(_, name)| name == file)
        };
        Ok(entries.iter().filter(|entry| was(entry)).map(fs::DirEntry::path).collect())
    }

    fn kept_history(&self) -> Result<History, TopicError> {
        if self.keeps_history {
            Ok(History::of(&self.folder.ours()))
        } else {
            Err(self.no_history("it is switched off".to_owned()))
        }
    }

    fn no_history(&self, why: String) -> TopicError {
        TopicError::History { folder: self.folder.0.clone(), why }
    }
}

fn nothing() -> TopicError {
    TopicError::NotUndone { what: "the last change".to_owned(), why: "there is none" }
}

/// Whether it is a change of ours that can be taken back without being named.
fn is_last(change: &Recorded) -> bool {
    let is_ours = change.kind.is_some_and(|kind| match kind {
        ChangeKind::Add
        | ChangeKind::Update
        | ChangeKind::Confirm
        | ChangeKind::Supersede
        | ChangeKind::Merge
        | ChangeKind::Forget
        | ChangeKind::Repair => true,
        ChangeKind::Purge | ChangeKind::Undo | ChangeKind::Found => false,
    });
    is_ours && !change.undone
}

/// The one change whose id begins so.
fn chosen(changes: Vec<Recorded>, id: &str) -> Result<Recorded, TopicError> {
    let missing = || TopicError::NoChange { id: id.to_owned() };
    if id.len() < SHORTEST {
        return Err(missing());
    }
    let mut found = changes.into_iter().filter(|change| change.id.starts_with(id));
    let change = found.next().ok_or_else(missing)?;
    if found.next().is_some() { Err(missing()) } else { Ok(change) }
}
