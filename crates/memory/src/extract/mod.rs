//! What of a turn is worth keeping, and the gate before the folder of memories.
mod anchors;
mod dates;
mod material;
mod pattern;
mod refusal;
mod said;
mod shape;
mod signal;
mod terms;
mod wish;
mod written;

pub use refusal::Refusal;
pub use wish::{Wish, wishes};
pub use written::{Written, disagree, written};
