//! Phase 1: what one session taught (H2).

mod eligible;
mod policy;
mod projects;
mod read;
mod taken_back;

pub use eligible::{Candidate, Eligibility, Ineligible, candidates, eligible, wanted};
pub use policy::{ARGUMENT_BYTES, RESULT_BYTES, TEXT_BYTES};
pub use read::{About, KeptMessages, Tally};
