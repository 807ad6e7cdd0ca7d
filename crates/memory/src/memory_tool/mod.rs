//! Anthropic's memory tool (`memory_20250818`), served from a folder of memories.
//!
//! A model that knows the tool calls `view`, `create`, `str_replace`, `insert`, `delete` and `rename` on paths below `/memories`. Here
//! `/memories` is a [folder of memories](crate::topics): what is created as `/memories/NAME.md` is a memory like any other, with a
//! line in the index, provenance (`by: agent`) and a history. Other files and folders may be made as well; they are kept, and not recalled.
//!
//! **What is seen is what was written.** The provenance in the frontmatter is ours: it is neither shown nor taken from a model, so that
//! nothing can be passed off as the user's words. A frontmatter that was made for a file which came without one is not shown either.
//!
//! **Confined.** Paths are taken apart and checked by name; hidden files, ours among them, are not there; nothing is read, listed
//! or written through a link. Sizes and numbers are bounded, credentials are [refused](throughline_redact) on write, what is deleted is put away.
//!
//! ```
//! use serde_json::json;
//! use throughline_memory::memory_tool::MemoryFiles;
//! use throughline_memory::topics::TopicStore;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let now = jiff::Timestamp::UNIX_EPOCH;
//! let store = TopicStore::open(folder.path().join("memory")).without_history();
//! let memory = MemoryFiles::new(store.clone());
//! let path = "/memories/user_editor.md";
//! let answer = memory.call(&json!({"command": "create", "path": path, "file_text": "The user works in Helix.\n"}), now)?;
//! assert_eq!(answer, "File created successfully at: /memories/user_editor.md");
//! let answer = memory.call(&json!({"command": "view", "path": path}), now)?;
//! assert!(answer.ends_with("\n     1\tThe user works in Helix."));
//! assert_eq!(store.read("user_editor.md")?.description, "The user works in Helix.");
//! # Ok(())
//! # }
//! ```

mod commands;
mod edit;
mod listing;
mod loose;
mod path;
mod visible;

use crate::topics::TopicStore;
use jiff::Timestamp;
use serde_json::Value;

/// The type of the tool in a request.
pub const TYPE: &str = "memory_20250818";
/// Its name.
pub const NAME: &str = "memory";

/// How much there may be, and how much is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryFilesLimits {
    /// Bytes that a file may have.
    pub file_bytes: usize,
    /// Bytes of a file that are shown at once.
    pub shown_bytes: usize,
    /// Entries of a folder that are listed.
    pub listed: usize,
    /// Files that are no memories, in all folders.
    pub loose_files: usize,
}

impl Default for MemoryFilesLimits {
    fn default() -> Self {
        Self { file_bytes: 100_000, shown_bytes: 50_000, listed: 500, loose_files: 500 }
    }
}

/// A folder of memories as the memory tool sees it. See [the module](self) for what it guarantees.
#[derive(Clone, Debug)]
pub struct MemoryFiles {
    store: TopicStore,
    session: Option<String>,
    limits: MemoryFilesLimits,
}

impl MemoryFiles {
    /// Serves a folder of memories.
    pub fn new(store: TopicStore) -> Self {
        Self { store, session: None, limits: MemoryFilesLimits::default() }
    }

    /// Notes with what is written in which session it was.
    pub fn in_session(mut self, session: &str) -> Self {
        self.session = Some(session.to_owned());
        self
    }

    /// Within other limits.
    pub fn with_limits(mut self, limits: MemoryFilesLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Runs a call of the tool: its `input` as the model gave it. The answer, or what the model is told went wrong; an error has changed
    /// nothing.
    pub fn call(&self, input: &Value, now: Timestamp) -> Result<String, String> {
        commands::run(self, input, now)
    }
}
