//! What of a turn is worth keeping, and the gate before the folders of memories (M2–M5, A5).
//!
//! After a turn, [`extract`] looks at what the user said since a cursor. A model proposes in a fork on the conversation's exact prefix, or
//! the offline scribe does by the words alone; either way each [`Proposal`] passes one gate, and nothing else writes. [`wishes`] tells
//! "remember …" and "forget …"; [`grant_now`] does at once what they ask for.
//!
//! **Only the user's own words are ever saved.** A proposal quotes them. The quote must stand in what the user typed: not in a
//! tool's result, a fragment, a summary or a recalled memory, and not in what they pasted or quoted. What is written is made of
//! the sentences that it stands in; of what a model words itself, only runs of these words pass. So the worst that a model which
//! obeys an attacker can do is to save a lasting sentence of the user's.
//!
//! **Nothing is altered or forgotten unless the user asks**, in words that name the memory. What people wrote by hand is never overwritten.
//!
//! **What is not for memory is refused, even on request** ([`Refusal`]): what code, git or instructions say, recipes for fixes, the state of
//! the task.

mod anchors;
pub(crate) mod borne;
mod dates;
mod gate;
mod heard;
mod job;
mod judge;
mod limits;
mod now;
mod offline;
mod parse;
pub(crate) mod pattern;
mod prompt;
mod proposal;
mod record;
pub(crate) mod refusal;
pub(crate) mod said;
pub(crate) mod shape;
pub(crate) mod signal;
mod target;
pub(crate) mod terms;
mod toolbox;
mod trigger;
pub(crate) mod wish;
mod written;

pub(crate) use heard::OwnWords;

pub use anchors::anchors;
pub use job::{EXTRACT_JOB, ExtractJob, Extracted, extract};
pub use limits::ExtractLimits;
pub use now::{Granted, Wished, forget_now, grant_now, remember_now};
pub use proposal::{Action, Applied, Did, Proposal, Refused};
pub use record::{EXTRACTED, ExtractRecord, NOT_EXTRACTED};
pub use refusal::Refusal;
pub use trigger::{ExtractTrigger, Skip, TurnEnd, wrote_memory};
pub use wish::{Wish, wishes};
pub use written::{Written, written};
