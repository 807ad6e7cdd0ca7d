//! B9: cost-aware edits, with the prices known.

mod cache;
mod monitor;
mod pays;
mod policies;
mod prices;
