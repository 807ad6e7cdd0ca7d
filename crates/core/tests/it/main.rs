//! One test binary: each file below reads like the part of the specification it guards.

mod arbitrary;
mod archive;
mod citation;
mod compaction;
mod cost;
mod entity;
mod invariants;
mod recall;
mod records;
mod stages;
mod tokens;
mod view;
