//! One test binary: each file below reads like the part of the specification it guards.

// Helpers of tests may fail as tests do.
#![allow(clippy::unwrap_used, clippy::panic, clippy::wildcard_enum_match_arm)]

mod arbitrary;
mod captures;
mod crosswire;
mod fixtures;
mod render;
mod requests;
mod responses;
mod splice;
mod sse;
mod stitch;
mod streams;
