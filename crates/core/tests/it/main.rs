//! One test binary: each file below reads like the part of the specification it guards.

mod arbitrary;
mod archive;
mod citation;
mod compaction;
mod cost;
mod entity;
mod guarantee;
mod invariants;
mod recall;
mod records;
mod stages;
mod state;
mod tokens;
mod view;
