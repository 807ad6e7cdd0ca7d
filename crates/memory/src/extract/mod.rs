//! What of a turn is worth keeping, and the gate before the folder of memories.
mod material;
mod pattern;
mod said;
mod terms;
mod wish;

pub use wish::{Wish, wishes};
