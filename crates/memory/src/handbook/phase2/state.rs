//! What a handbook's folder knows of itself, beside its files.

use super::error::Phase2Error;
use super::folder::Folder;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use throughline_ledger::write_private;

const STATE: &str = "state.json";

/// Kept in `.throughline/state.json`. A state that is lost costs a look at all files, and skills of ours are then people's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct State {
    /// The record whose files are in the folder.
    pub(super) installed: Option<String>,
    /// The number of the edition, as the store has it.
    pub(super) edition: u64,
    /// What an edition says beside its files.
    #[serde(flatten)]
    pub(super) about: About,
}

/// What an edition says beside its files; it goes where the files go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct About {
    /// What was consolidated and taken back, as hashes: it does not come back by itself.
    pub(super) undone: Vec<String>,
    /// Skills that we wrote, with the hashes of their files. Others are people's.
    pub(super) skills: BTreeMap<String, String>,
}

impl State {
    /// A file that can't be read is as none.
    pub(super) fn read(folder: &Folder) -> Self {
        let text = std::fs::read(folder.ours().join(STATE)).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    pub(super) fn write(&self, folder: &Folder) -> Result<(), Phase2Error> {
        let text = serde_json::to_vec_pretty(self).unwrap_or_default();
        Ok(write_private(&folder.ours(), STATE, &text)?)
    }
}
