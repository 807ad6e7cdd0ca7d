//! Editions: a handbook's files, for those who share a store.

use super::error::Phase2Error;
use super::folder::Files;
use super::open::Open;
use super::past::{Entry, RecordKind};
use super::paths::part;
use super::state::{About, State};
use super::workspace::Workspace;
use crate::handbook::Scope;
use crate::store::{Edition, Store};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What an edition says beside its files.
const ABOUT: &str = ".throughline/edition.json";
/// Bytes of all files of an edition that is taken in.
const MOST_BYTES: usize = 128 << 20;
const MOST_FILES: usize = 20_000;

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Told {
    inputs: Option<String>,
    #[serde(flatten)]
    about: About,
}

/// What came of looking for a newer edition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Synced {
    /// The number of the edition that was taken in; `None`: there was no newer one.
    pub edition: Option<u64>,
    /// Files that changed.
    pub changed: Vec<String>,
    /// Files that people changed here and that differ in the edition: they stay as they are.
    pub kept: Vec<String>,
}

/// Brings a handbook up to the newest edition that was published, by whomever. What people changed by hand here is recorded, and stays.
///
/// # Errors
/// If the store does not answer, somebody else works in the folder, or the edition holds what no handbook does.
pub async fn sync_handbook(
    store: &dyn Store,
    workspace: &Workspace,
    now: Timestamp,
) -> Result<Synced, Phase2Error> {
    let Some(edition) = store.edition(workspace.scope()).await? else { return Ok(Synced::default()) };
    Open::new(workspace, now)?.take_in(edition, now)
}

impl Open<'_> {
    /// Takes an edition in, if it is newer than the one that is here.
    pub(super) fn take_in(&mut self, edition: Edition, now: Timestamp) -> Result<Synced, Phase2Error> {
        if edition.number <= self.state.edition {
            return Ok(Synced::default());
        }
        let number = edition.number;
        let (theirs, told) = read(edition)?;
        if theirs == self.baseline {
            // Ours: whoever published it was killed before the state said so.
            self.state =
                State { installed: self.state.installed.take(), ..self.state_with(number, told.about) };
            self.state.write(&self.workspace.folder)?;
            return Ok(Synced::default());
        }
        // Three ways: what nobody changed here becomes theirs.
        let mut after = self.files.clone();
        let mut kept = Vec::new();
        let paths: BTreeSet<&String> =
            theirs.keys().chain(self.baseline.keys()).chain(self.files.keys()).collect();
        for path in paths {
            let (base, here, there) = (self.baseline.get(path), self.files.get(path), theirs.get(path));
            if here == base {
                match there {
                    Some(content) => after.insert(path.clone(), content.clone()),
                    None => after.remove(path),
                };
            } else if here != there && there != base {
                kept.push(path.clone());
            }
        }
        let entry = Entry {
            kind: RecordKind::Synced,
            what: format!("Take in edition {number}"),
            inputs: told.inputs,
            undoes: None,
            at: now,
        };
        // The record is theirs to the byte; what differs here is a change by hand.
        let state = self.state_with(number, told.about);
        let id = self.past.commit(&entry, &theirs)?;
        let changed = self.workspace.folder.replace(&self.files, &after)?;
        self.state = State { installed: Some(id), ..state };
        self.state.write(&self.workspace.folder)?;
        (self.baseline, self.files) = (theirs, after);
        Ok(Synced { edition: Some(number), changed, kept })
    }
}

/// An edition to be published.
pub(super) fn edition(
    scope: &Scope,
    at: Timestamp,
    (files, inputs, about): (&Files, Option<&str>, &About),
) -> Edition {
    let told = Told { inputs: inputs.map(str::to_owned), about: about.clone() };
    let mut files = files.clone();
    files.insert(ABOUT.to_owned(), serde_json::to_vec(&told).unwrap_or_default());
    Edition { scope: scope.clone(), number: 0, at, files }
}

/// The files of an edition that others made. A path that is no file of a handbook is refused.
fn read(edition: Edition) -> Result<(Files, Told), Phase2Error> {
    let mut files = edition.files;
    let told = files.remove(ABOUT).and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
    if let Some(path) = files.keys().find(|path| part(path).is_none()) {
        return Err(Phase2Error::Foreign { path: path.clone() });
    }
    let bytes: usize = files.values().map(Vec::len).sum();
    if bytes > MOST_BYTES || files.len() > MOST_FILES {
        let path = format!("edition {} with {bytes} bytes in {} files", edition.number, files.len());
        return Err(Phase2Error::Foreign { path });
    }
    Ok((files, told))
}
