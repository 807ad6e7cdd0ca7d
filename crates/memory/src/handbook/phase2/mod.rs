//! Phase 2: the findings of many sessions become one book, in a folder of its own (H3), and notes by hand (H6).

mod adopt;
mod borne;
mod by_model;
mod copies;
mod diff;
mod editions;
mod error;
mod folder;
mod heartbeat;
mod inputs;
mod notes;
mod open;
mod past;
mod paths;
mod run;
mod staging;
mod state;
mod undo;
mod validate;
mod workspace;

pub use by_model::{CONSOLIDATE_JOB, Consolidator};
pub use editions::{Synced, sync_handbook};
pub use error::Phase2Error;
pub use notes::HandNote;
pub use past::{Record, RecordKind};
pub use paths::{DIFF, EVIDENCE, INSTRUCTIONS, MEMORY, NOTES, RAW, SKILLS, SUMMARIES, SUMMARY};
pub use run::{Phase2, Phase2Done, Phase2Outcome, consolidate_handbook};
pub use undo::{PastEditions, Undone, undo_handbook};
pub use workspace::Workspace;
