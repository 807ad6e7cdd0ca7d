//! What a session remembers of itself.
//!
//! [`notes`]: the running summary of one session, kept up to date in the background by a model or from facts alone, and skills
//! made of it. [`topics`]: what is remembered of a project beyond its sessions, a file each; [`Memories`]: those of a project, of a
//! team and of everywhere together; [`usage`]: when they were shown and used. [`Project`]: whose they are.
//! [`handbook`]: what old sessions taught, over a [`store`] of jobs. Credentials are kept out of all of it by [`throughline_redact`].
//!
//! ```
//! use throughline_core::tokens::Counter;
//! use throughline_core::{Message, Role, SessionId, SharedKnowledge};
//! use throughline_ledger::Home;
//! use throughline_memory::ProjectSlug;
//! use throughline_memory::notes::{Keeping, NotesFile, NotesKeeper, NotesLimits, Observation, Thread, Update, Wording, update};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path();
//! let file = NotesFile::new(&Home::new(folder), &ProjectSlug::of(folder), &SessionId::fresh());
//! let keeping = Keeping { file, wording: Wording::default(), limits: NotesLimits::default() };
//! let mut counter = Counter::for_model("claude-opus-4-5");
//! let (mut keeper, _) = NotesKeeper::open(keeping, [], &mut counter)?;
//!
//! // Behind each answer:
//! let said = [Message::text(Role::User, "Fix the login. Never touch the lockfile."), Message::text(Role::Assistant, "Done.")];
//! keeper.observe(Observation::of(12_000, &said, Thread::Main));
//! if keeper.due().is_some()
//!     && let Some(job) = keeper.begin(&said)?
//! {
//!     let knowledge = SharedKnowledge::default();
//!     knowledge.change(|known| said.iter().for_each(|message| known.push(message)));
//!     // In the background; with a model, by a fork.
//!     let updated = update(Update { job, model: None, knowledge: &knowledge, counter: &mut counter }).await;
//!     let event = keeper.finish(updated, None);
//!     assert_eq!(event.name, "notes.updated");
//! }
//! // When the context is full:
//! let notes = keeper.notes()?.ok_or("no notes")?;
//! assert!(notes.text.contains("Never touch the lockfile."));
//! assert_eq!(notes.covers.as_ref(), Some(&said[1].id));
//! # Ok(())
//! # }
//! ```

mod by_model;
pub mod exchange;
pub mod extract;
pub mod handbook;
mod history;
mod lock;
mod memories;
pub mod memory_tool;
pub mod notes;
mod project;
pub mod recall;
pub mod skill;
pub mod store;
pub mod topics;
pub mod usage;

pub use by_model::ByModel;
pub use memories::{
    Listed, Lookup, Memories, MemoriesError, MemoryId, MemoryPlaces, SaidElsewhere, SessionIndex, Tier,
    ToldIndex,
};
pub use project::{Checkout, Head, Project, ProjectError, ProjectSlug, Remote, Worktree};
