//! Import of the sessions that people already have from Claude Code and Codex (B10).
//!
//! Two state machines, [`ClaudeImporter`] and [`CodexImporter`], turn lines into records. [`import`] feeds them files,
//! gives them room for what they must remember, and writes what they make to ledgers; [`discover`] finds the files.
//! Transcripts are only ever read.
//!
//! - **Once.** A message is in its ledger once, however often and in however many pieces its file is imported, and
//!   whatever cut an import off.
//! - **All.** What can't be read is reported and its text kept; what is left out is counted, with the reason.
//! - **Not beside itself.** A session that came by way of the proxy is here already; its transcript is imported only if it says more.
//! - **In constant memory.** One line, a few batches, and what is recent; what must be remembered of older messages
//!   lies in scratch files. Never what was said.

mod claude;
mod codex;
mod discover;
mod fork;
mod lanes;
mod lenient;
mod mend;
mod node;
mod outcome;
mod peek;
mod proxied;
mod pump;
mod read;
mod report;
mod run;
mod scratch;
mod session;
mod shadow;
mod source;
mod takeover;
mod target;

pub use claude::{ClaudeImporter, Options as ClaudeOptions};
pub use codex::{CodexImporter, Options as CodexOptions};
pub use discover::{Discovery, PassedOver, Places, discover, discover_in};
pub use outcome::{Facts, ForkRef, Importer, Lane, LineOutcome, Output};
pub use read::read;
pub use report::{BadLine, FileReport, ImportReport, Outcome, Progress};
pub use run::{ImportOptions, import};
pub use source::Format;
