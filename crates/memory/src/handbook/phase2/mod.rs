//! Phase 2: the findings of many sessions become one book, in a folder of its own (H3), and notes by hand (H6).
//!
//! [`consolidate_handbook`] is one run, as numbered steps; [`Workspace`] is the folder; [`undo_handbook`] takes an edition back, and
//! [`sync_handbook`] takes one in.
//!
//! **The book in force is whole.** A model works on a copy that is nowhere on the disk; what it comes to is checked, published, recorded, and only then
//! put in place. Whatever fails before leaves the folder as it was. Whoever is killed while files are put in place left a record of
//! what they are to be, and the next run finishes that.
//!
//! **Nothing is lost.** Every edition is a commit of `.throughline/history.git`, and what people changed by hand is one before it is
//! overwritten. Bullets that people add without evidence become notes by hand, which are evidence. Notes are never changed by us.
//!
//! **What was taken back stays back** until there is something new to consolidate.
//!
//! **No link is followed**, by name or by a second name of a file: it could lead anywhere.

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
