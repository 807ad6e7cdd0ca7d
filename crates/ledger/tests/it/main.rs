//! One test binary: each file below reads like the part of the specification it guards.

mod common;
mod crash;
mod lines;
mod list;
mod recovery;
mod resume;
mod sessions;
