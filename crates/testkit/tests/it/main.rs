//! Issue 4, item 7: a scripted model server that fails in every way real ones do.

// Helpers of tests may fail as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::wildcard_enum_match_arm)]

mod answers;
mod client;
mod faults;
mod http;
mod lifetime;
mod matrix;
mod scripts;
mod too_long;
mod usage;
