//! One test binary: each file below reads like the part of the specification it guards.

mod arbitrary;
mod invariants;
mod records;
mod tokens;
mod view;
