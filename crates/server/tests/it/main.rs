//! The proxy over real sockets.

// Helpers of tests may fail as tests do.
#![allow(clippy::unwrap_used, clippy::panic, clippy::wildcard_enum_match_arm)]

mod beside;
mod bounds;
mod callers;
mod faults;
mod held;
mod kept;
mod kept_http2;
mod kit;
mod local;
mod memory;
mod own_tools;
mod passing;
mod provider_edits;
mod raw;
mod refusals;
mod relay;
mod results;
mod routing;
mod sessions;
mod sessions_apart;
mod takeover;
mod talk;
mod tls;
mod too_long;
mod via;
