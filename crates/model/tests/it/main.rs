//! The crate against a scripted server over real sockets, and against real commands.

// Helpers of tests may fail as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod answers;
mod cancel;
mod exec;
mod faults;
mod fork;
mod governor;
mod keys;
mod network;
mod retries;
mod support;
mod telemetry;
