//! The ledger: one append-only JSONL file per session, from which nothing is ever lost.
//!
//! - [`Writer`] appends under a lock; what it acknowledged is there after any crash.
//! - [`resume`](fn@resume) scans *backwards* to the newest live checkpoint and replays only what came after it.
//! - [`blobs`] keep long payloads and all pictures once, by content hash, outside the ledger.
//! - [`list`](fn@list) reads only the last 16 KB of each file.
//! - [`session`] forks, rolls back, undoes, titles and tags; [`check`](fn@check) verifies a file line by line.
//! - [`import`] reads the sessions people already have from Claude Code and Codex.
//!
//! **Invariant:** no line is ever rewritten. Readers take no lock and are never blocked; what they can't read
//! they report, skip and keep.

pub mod blobs;
mod check;
mod copies;
mod error;
mod home;
pub mod import;
mod lines;
mod list;
mod reader;
mod resume;
pub mod session;
mod writer;

pub use check::{Check, check};
pub use copies::Copies;
pub use error::{LedgerError, Problem, ProblemKind};
pub use home::{Home, session_of, write_private};
pub use lines::{BackwardLines, Content, ForwardLines, Line, MAX_LINE};
pub use list::{Listed, TAIL, list, newest_card};
pub use reader::{Reader, is_ledger, read_record_at};
pub use resume::{Resumed, resume, resume_until};
pub use writer::{SyncPolicy, Writer};
