//! Phase 2: the findings of many sessions become one book, in a folder of its own (H3), and notes by hand (H6).

mod error;
mod folder;
mod notes;
mod paths;
mod workspace;

pub use error::Phase2Error;
pub use notes::HandNote;
pub use paths::{DIFF, EVIDENCE, INSTRUCTIONS, MEMORY, NOTES, RAW, SKILLS, SUMMARIES, SUMMARY};
pub use workspace::Workspace;
