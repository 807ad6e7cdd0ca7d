//! The real clients by way of the proxy: Claude Code, Codex and the official SDKs, as their packages ship them, against the
//! scripted API. `.ci/clients FOLDER` installs them; tests look in `$THROUGHLINE_CLIENTS`, else in `clients` of the target
//! folder.
//!
//! Most scenes are played twice, directly and by way of `throughline serve`, and what the client printed, what it kept on
//! disk and what its provider saw must be the same.
// Helpers of tests may fail as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod claude;
mod codex;
mod kit;
mod promise;
mod recall;
mod run;
mod sdk;
