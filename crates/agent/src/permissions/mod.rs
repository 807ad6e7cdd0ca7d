//! What the agent may do, and who decides.

mod mode;

pub use mode::Mode;
