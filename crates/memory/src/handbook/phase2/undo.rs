//! A handbook's past: what was, and how to have it back.

use super::diff::statuses;
use super::editions::edition;
use super::error::Phase2Error;
use super::open::{Open, hash_of};
use super::past::{Entry, Past, Record, RecordKind};
use super::paths::{Part, part, skill_of};
use super::state::{About, State};
use super::workspace::Workspace;
use crate::store::Store;
use jiff::Timestamp;
use serde::Serialize;

/// Records that are looked at.
const LOOKED_AT: usize = 1_000;
/// Characters that an abbreviated id has at least.
const SHORTEST: usize = 4;
/// Consolidations that were taken back and are remembered.
const MOST_UNDONE: usize = 16;
/// How often another machine may be faster.
const TRIES: u32 = 3;

/// A handbook's past.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PastEditions {
    /// The newest first.
    pub records: Vec<Record>,
    /// Why git does not keep it: then only the newest are there.
    pub off: Option<String>,
}

/// What an undo did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Undone {
    /// What was taken back.
    pub record: Record,
    /// Files that are as they were before it.
    pub changed: Vec<String>,
    /// Files that people had changed by hand since: they are in the history as they had them.
    pub edits: Vec<String>,
}

impl Workspace {
    /// What was recorded, the newest first.
    pub fn history(&self, limit: usize) -> Result<PastEditions, Phase2Error> {
        if !self.folder.is_there()? {
            return Ok(PastEditions { records: Vec::new(), off: None });
        }
        let past = Past::open(&self.folder, self.uses_git)?;
        Ok(PastEditions { records: past.log(limit)?, off: past.off().map(str::to_owned) })
    }

    /// Forgets all that was: the handbook stays as it is, and its history begins with that. What was taken out of it is then nowhere in the
    /// folder.
    pub fn forget_past(&self, now: Timestamp) -> Result<(), Phase2Error> {
        if !self.folder.is_there()? {
            return Ok(());
        }
        let open = Open::new(self, now)?;
        let (files, state) = (open.files.clone(), open.state.clone());
        let mut open = open.with_past(Past::anew(&self.folder, self.uses_git)?);
        let what = "Begin a new history".to_owned();
        let entry = Entry { kind: RecordKind::Consolidated, what, inputs: None, undoes: None, at: now };
        open.put(&entry, files, state).map(|_| ())
    }

    /// Removes the book. What people wrote by hand stays, and so does the past: it can be taken back as any edition can. What was taken back
    /// before may come back from now on. Returns the files that are gone.
    pub fn clear(&self, now: Timestamp) -> Result<Vec<String>, Phase2Error> {
        if !self.folder.is_there()? {
            return Ok(Vec::new());
        }
        let mut open = Open::new(self, now)?;
        let what = "Remove the handbook".to_owned();
        let entry = Entry { kind: RecordKind::Consolidated, what, inputs: None, undoes: None, at: now };
        let hand = open.hand();
        open.put(&entry, hand, State::default())
    }

    /// Removes all of it: the book, the notes, the past.
    pub fn erase(&self) -> Result<(), Phase2Error> {
        if !self.folder.is_there()? {
            return Ok(());
        }
        let held = self.folder.hold()?;
        // Whoever waits for the lock finds an empty folder, or none.
        let erased =
            std::fs::remove_dir_all(&self.folder.0).map_err(Phase2Error::io("remove", &self.folder.0));
        drop(held);
        erased
    }
}

/// Takes back a record by its id, or the last edition that is not taken back: the handbook's files are as they were before it. That is a record,
/// too, and can be taken back by its id. What people changed by hand since is recorded first; their notes stay as they are.
///
/// A consolidation that was taken back does not come back by itself: not before there is something new to consolidate. Where a store is given,
/// those who share it get what was before, too.
///
/// # Errors
/// If there is nothing to take back, somebody else works in the folder, or the store does not answer. Then nothing is changed.
pub async fn undo_handbook(
    store: Option<&dyn Store>,
    workspace: &Workspace,
    (id, now): (Option<&str>, Timestamp),
) -> Result<Undone, Phase2Error> {
    if !workspace.folder.is_there()? {
        return Err(nothing());
    }
    for _ in 0..TRIES {
        let mut open = Open::new(workspace, now)?;
        let newest = match store {
            Some(store) => store.edition(workspace.scope()).await?,
            None => None,
        };
        let after = newest.as_ref().map_or(0, |newest| newest.number);
        if let Some(newest) = newest {
            open.take_in(newest, now)?;
        }
        let back = Back::find(&open, id)?;
        let number = match store {
            Some(store) => {
                let edition = edition(workspace.scope(), now, (&back.files, None, &back.about));
                store.publish(&edition, after).await?
            }
            None => Some(open.state.edition),
        };
        if let Some(number) = number {
            return back.put(open, number, now);
        }
    }
    Err(Phase2Error::Disturbed { times: TRIES })
}

/// What is to be as it was.
struct Back {
    record: Record,
    files: super::folder::Files,
    about: About,
}

impl Back {
    fn find(open: &Open<'_>, id: Option<&str>) -> Result<Self, Phase2Error> {
        let refuse = |why: &str| Phase2Error::NotUndone { why: why.to_owned() };
        let records = open.past.log(LOOKED_AT)?;
        let record = match id {
            Some(id) => chosen(&records, id)?,
            None => records.iter().find(|record| is_last(record)).ok_or_else(nothing)?,
        };
        if record.undone {
            return Err(refuse("it is taken back already; take that back instead"));
        }
        if record.kind == RecordKind::Found {
            return Err(refuse("it is a change by hand; change the files by hand"));
        }
        let before = open.past.before(&record.id)?.ok_or_else(|| refuse("what was before it is not kept"))?;
        let mut files = open.of(|path| part(path) == Some(Part::Hand));
        let mut about = open.state.about.clone();
        about.skills.clear();
        for (path, content) in before {
            if part(&path).is_none_or(|part| part == Part::Hand) {
                continue;
            }
            // Skills of ours: those that we have now, and those that only we can have removed.
            if let Some(name) = skill_of(&path)
                && (open.state.about.skills.contains_key(name) || !open.files.contains_key(&path))
            {
                about.skills.insert(name.to_owned(), hash_of(&content));
            }
            files.insert(path, content);
        }
        let inputs = |id: &str| records.iter().find(|record| record.id == id)?.inputs.clone();
        match &record.undoes {
            // The other one is in force again.
            Some(other) => {
                let other = inputs(other);
                about.undone.retain(|undone| Some(undone) != other.as_ref());
            }
            None => about.undone.extend(record.inputs.clone()),
        }
        let most = about.undone.len().saturating_sub(MOST_UNDONE);
        about.undone.drain(..most);
        Ok(Self { record: record.clone(), files, about })
    }

    fn put(self, mut open: Open<'_>, edition: u64, now: Timestamp) -> Result<Undone, Phase2Error> {
        let edits = open.edits.clone();
        let entry = Entry {
            kind: RecordKind::Undone,
            what: format!("Undo: {}", self.record.what),
            inputs: None,
            undoes: Some(self.record.id.clone()),
            at: now,
        };
        let changed = statuses(&open.files, &self.files);
        let changed = changed.into_iter().map(|(_, path)| path.to_owned()).collect();
        let state = open.state_with(edition, self.about);
        open.put(&entry, self.files, state)?;
        Ok(Undone { record: self.record, changed, edits })
    }
}

fn nothing() -> Phase2Error {
    Phase2Error::NotUndone { why: "there is no edition to take back".to_owned() }
}

/// Whether it is an edition that can be taken back without being named.
fn is_last(record: &Record) -> bool {
    let is_ours = match record.kind {
        RecordKind::Consolidated | RecordKind::Synced => true,
        RecordKind::Found | RecordKind::Undone => false,
    };
    is_ours && !record.undone
}

/// The one record whose id begins so.
fn chosen<'r>(records: &'r [Record], id: &str) -> Result<&'r Record, Phase2Error> {
    let missing = || Phase2Error::NotUndone { why: format!("no record, or more than one, has the id {id}") };
    if id.len() < SHORTEST {
        return Err(missing());
    }
    let mut found = records.iter().filter(|record| record.id.starts_with(id));
    let record = found.next().ok_or_else(missing)?;
    if found.next().is_some() { Err(missing()) } else { Ok(record) }
}
