//! Session notes: the running summary of one session, kept while the conversation goes on (N1–N7).
//!
//! - [`NotesKeeper`] decides *when*: it is told what is to be seen behind each answer, says when an update is due, and hands out
//!   one [`Job`] at a time. [`Trigger`] is the rule.
//! - [`update()`] does the work, off the path: a fork of the conversation that may do one thing, edit the notes
//!   ([`NotesEditor`]), or the offline scribe, which needs no model.
//! - [`NotesFile`] is where; [`Wording`] is in which words; [`Document`] is the notes, taken apart; [`NotesLimits`] is how long.
//! - [`NotesRecord`] is what the ledger is told. How far notes reach stands there and not in the file, so that a file which
//!   somebody changed covers nothing.
//! - [`skillify()`] makes a skill of a session.
//!
//! **Old notes or new ones.** The file is replaced as a whole by notes that are within their limits and have the template's
//! headers and guides, or it is not touched.

mod document;
mod edit_tool;
mod error;
mod file;
mod fit;
mod job;
mod keeper;
mod limits;
mod mend;
mod offline;
mod prompt;
mod record;
mod skillify;
mod template;
mod trigger;
mod update;

pub use crate::skill::{Skill, SkillError, SkillLimits};
pub use document::{Breach, Document, Heading, Outline, Section, Sizes};
pub use edit_tool::{Edited, NotesEditor};
pub use error::NotesError;
pub use file::{NotesFile, text_hash};
pub use fit::{KEPT_LONGEST, Over, check_room, cut_to_fit};
pub use job::Job;
pub use keeper::{Keeping, NotesKeeper};
pub use limits::NotesLimits;
pub use mend::{Mended, mend};
pub use prompt::{Ask, Means};
pub use record::{Author, FAILED, NotesRecord, UPDATED};
pub use skillify::{Skillified, Skillify, skillify};
pub use template::{Template, TemplateError, Wording, fill};
pub use trigger::{Due, LastTurn, Observation, Thread, Trigger, boundary};
pub use update::{JOB, Kept, Outcome, Update, Updated, update};
