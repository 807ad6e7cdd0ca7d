//! One test binary: each file below reads like the part of the specification it guards.

// Helpers of tests may fail as tests do.
#![allow(clippy::unwrap_used, clippy::panic, clippy::wildcard_enum_match_arm)]

mod common;
mod crash;
mod hardening;
mod import_again;
mod import_anything;
mod import_branches;
mod import_claude;
mod import_codex;
mod import_common;
mod import_files;
mod import_proxied;
mod lines;
mod list;
mod recovery;
mod resume;
mod sessions;
