//! Sessions at work: requests prepared, sessions compacted, recorded sessions replayed.
//!
//! - [`Preparer`]: a provider's request in, the managed request out, for the three wires.
//! - [`compact`]: one compaction of a conversation.
//! - [`Recall`]: what was cut, read again.
//! - [`replay`]: a recorded session through the pipeline, request by request, under any profile.

mod compact;
pub mod config;
mod envelope;
mod folder;
pub mod hooks;
mod layout;
mod prepare;
mod recall;
pub mod replay;
pub mod session;
mod written;

pub use compact::{Order, compact};
pub use folder::{LedgerJournal, RequestFolder};
pub use prepare::{Options, PrepareError, Prepared, Preparer, Restored};
pub use recall::Recall;
