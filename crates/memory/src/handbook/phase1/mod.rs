//! Phase 1: what one session taught (H2).
//!
//! [`eligible`](eligible()) says which sessions may be extracted, [`wanted`] of which project they are. [`extract_session`] reads one:
//! its ledger is streamed once ([`KeptMessages`]): what may not be remembered is dropped by kind, the rest is redacted before anything else sees
//! it. Then the offline scribe gathers what it shows, message by message, or a model reads it in [`Sections`] and answers in strict JSON, every statement
//! with its evidence, and what the record does not bear out is dropped.
//!
//! **Memory is flat** in the session's size, offline and with a model. **Content is data**: what a session holds can at worst make a model choose badly
//! among true statements. **Nothing worth keeping is a normal result**; a model that can't be asked is an error that passes, and is never
//! replaced by something else in silence.

mod answer;
mod by_model;
mod eligible;
mod error;
mod judge;
mod policy;
mod projects;
mod read;
mod run;
mod sections;
mod taken_back;
mod transcript;

pub use by_model::{PHASE1_JOB, SessionReader};
pub use eligible::{Candidate, Eligibility, Ineligible, candidates, eligible, wanted};
pub use error::Phase1Error;
pub use judge::Dropped;
pub use policy::{ARGUMENT_BYTES, RESULT_BYTES, TEXT_BYTES};
pub use read::{About, KeptMessages, Tally};
pub use run::{Phase1, Read, extract_session, read_session};
pub use sections::{Section, Sectioner, Sections};
