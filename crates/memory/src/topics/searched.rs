//! What recall needs of a folder.

use super::Topic;
use super::document::Document;
use super::folder::Entry;
use super::store::{SEARCHED_BYTES, TopicStore, topic};
use super::writing::modified_at;
use std::path::PathBuf;

impl TopicStore {
    /// A memory as it is searched: as much as can be read of it, whatever it is. `None` if nothing can.
    pub(crate) fn searched(&self, file: &str) -> Option<Topic> {
        let (text, _) = self.folder.read_head(file, SEARCHED_BYTES).ok()??;
        let modified = modified_at(&self.folder.0.join(file));
        Some(topic(&Entry { file: file.to_owned(), modified, stamp: None }, &Document::parse(&text)))
    }

    /// The folder of our own files, made if it is not there; `None` if there are no memories, or it can't be made.
    pub(crate) fn make_ours(&self) -> Option<PathBuf> {
        self.folder.0.is_dir().then(|| self.folder.make_ours().ok()).flatten()
    }
}
