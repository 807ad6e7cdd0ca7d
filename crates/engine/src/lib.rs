//! Sessions at work: held, prepared, compacted, replayed.
//!
//! - [`session`]: a session for an agent, with a model: open → prepare → record → after the turn.
//! - [`config`], [`hooks`]: what the user sets, and runs.
//! - [`Preparer`]: a provider's request in, the managed request out, for the three wires.
//! - [`compact`]: one compaction of a conversation.
//! - [`Recall`]: what was cut, read again.
//! - [`remember`]: what one conversation keeps beyond itself, and what comes back in it.
//! - [`replay`]: a recorded session through the pipeline, request by request, under any profile.

mod compact;
pub mod config;
mod envelope;
mod folder;
mod handbook;
pub mod hooks;
mod layout;
mod marks;
mod prepare;
mod recall;
pub mod remember;
pub mod replay;
pub mod session;
mod summary;
pub mod telemetry;
mod written;

pub use compact::{CompactError, Order, WrittenDraft, compact, compact_by_model};
pub use folder::{LedgerJournal, RequestFolder};
pub use handbook::{CrewStart, Hire};
pub use prepare::{Options, PrepareError, Prepared, Preparer, Restored, Taken, WriteError};
pub use recall::Recall;

/// The example of the guide compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/sessions.md")]
struct SessionsPage;
