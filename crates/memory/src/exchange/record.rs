//! What was sent and taken, by hash: `.throughline/exchange.json` in our folder.
//!
//! Should it be lost, nothing is: what we sent then counts as somebody else's, and is left alone.

use super::error::ExchangeError;
use crate::topics::TopicStore;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use throughline_ledger::write_private;

const FILE: &str = "exchange.json";

/// What went between us and all others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    #[serde(default)]
    places: BTreeMap<String, Place>,
}

/// What went between us and one place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Place {
    /// Our files.
    #[serde(default)]
    pub(super) sent: BTreeMap<String, Sent>,
    /// Their memories, by file or section.
    #[serde(default)]
    pub(super) taken: BTreeMap<String, Taken>,
}

/// A memory of ours that is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sent {
    /// What it is called there.
    pub(super) theirs: String,
    /// What was written.
    pub(super) hash: String,
}

/// A memory of theirs that was looked at, and settled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Taken {
    /// What it said.
    pub(super) hash: String,
    /// Our file for it.
    pub(super) file: String,
}

impl Record {
    /// The record of a folder; an empty one if there is none, or none that can be read.
    pub(super) fn of(store: &TopicStore) -> Self {
        let text = std::fs::read(store.ours().join(FILE)).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// What went between us and a place.
    pub(super) fn place(&self, key: &str) -> Place {
        self.places.get(key).cloned().unwrap_or_default()
    }

    /// Writes what a place became. Others may have written meanwhile: only what changed is changed.
    pub(super) fn keep(
        store: &TopicStore,
        key: &str,
        (before, after): (&Place, &Place),
    ) -> Result<(), ExchangeError> {
        if before == after {
            return Ok(());
        }
        let _held = store.files()?;
        let mut record = Self::of(store);
        let place = record.places.entry(key.to_owned()).or_default();
        merge(&mut place.sent, &before.sent, &after.sent);
        merge(&mut place.taken, &before.taken, &after.taken);
        let text = serde_json::to_vec_pretty(&record).unwrap_or_default();
        Ok(write_private(&store.ours(), FILE, &text)?)
    }
}

fn merge<T: Clone + PartialEq>(
    now: &mut BTreeMap<String, T>,
    before: &BTreeMap<String, T>,
    after: &BTreeMap<String, T>,
) {
    for (key, value) in after {
        if before.get(key) != Some(value) {
            now.insert(key.clone(), value.clone());
        }
    }
    now.retain(|key, _| after.contains_key(key) || !before.contains_key(key));
}
