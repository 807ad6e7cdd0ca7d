//! One test binary: each file below reads like the part of the specification it guards.

mod arbitrary;
mod compaction;
mod cost;
mod invariants;
mod records;
mod stages;
mod tokens;
mod view;
