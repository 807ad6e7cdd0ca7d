//! The memories of a project: all of them put away, or gone.

use super::error::TopicError;
use super::folder::MOST_BYTES;
use super::history::Message;
use super::index::without;
use super::names::INDEX;
use super::recorded::ChangeKind;
use super::store::TopicStore;
use super::writing::Writing;
use jiff::Timestamp;
use std::fs;

/// What of our own stays when everything goes: what holds the folder, and what keeps it out of repositories.
const STAYS: [&str; 3] = ["lock", "usage.lock", ".gitignore"];

/// What [`TopicStore::forget_all`] and [`TopicStore::purge_all`] did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleared {
    /// The files that were memories.
    pub files: Vec<String>,
    /// Why the history does not have it; `None` if it has, or nothing was done.
    pub unrecorded: Option<String>,
}

impl TopicStore {
    /// Forgets every memory in one change, which one undo takes back. Lines of the index that people wrote stay.
    pub fn forget_all(&self, now: Timestamp) -> Result<Cleared, TopicError> {
        if self.folder.entries()?.is_empty() {
            return Ok(Cleared::default());
        }
        let mut writing = Writing::begin(self)?;
        let files: Vec<String> = writing.entries.iter().map(|entry| entry.file.clone()).collect();
        let mut index = writing.index.clone();
        for file in &files {
            index = without(&index, file);
        }
        for file in &files {
            writing.put_away(file, now)?;
        }
        writing.replace_index(&index)?;
        let what = format!("Forget all {} memories", files.len());
        let unrecorded = writing.commit(&Message::of(ChangeKind::Forget, what));
        Ok(Cleared { files, unrecorded })
    }

    /// Removes every memory for good: files, lines of the index, what was put away, the history, and what we know of their use. Lines of the
    /// index that people wrote stay. Nothing of it can be had back.
    pub fn purge_all(&self) -> Result<Cleared, TopicError> {
        if !self.folder.0.is_dir() {
            return Ok(Cleared::default());
        }
        let mut writing = Writing::hold(self)?;
        let files: Vec<String> = writing.entries.iter().map(|entry| entry.file.clone()).collect();
        let ours = self.folder.ours();
        // The words go first from where nobody looks: whoever is killed here sees that there is more to do.
        for entry in fs::read_dir(&ours).map_err(TopicError::io("list", &ours))? {
            let path = entry.map_err(TopicError::io("list", &ours))?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if STAYS.contains(&name) {
                continue;
            }
            let is_folder = path.symlink_metadata().is_ok_and(|meta| meta.is_dir());
            let removed = if is_folder { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            removed.map_err(TopicError::io("remove", &path))?;
        }
        let mut index = writing.index.clone();
        for file in &files {
            index = without(&index, file);
            writing.delete(file)?;
        }
        if index.trim().is_empty() {
            writing.delete(INDEX)?;
        } else if index.len() as u64 <= MOST_BYTES {
            writing.replace_index(&index)?;
        }
        Ok(Cleared { files, unrecorded: None })
    }
}
