//! Search as a user meets it: ledgers on disk, the index beside them.
#![allow(clippy::unwrap_used, reason = "a test that can't go on should stop")]

mod common;
mod damage;
mod filters;
mod following;
mod processes;
mod ranking;
