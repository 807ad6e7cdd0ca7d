//! The handbook: what old sessions taught, as a body of knowledge with evidence (H1–H8).
//!
//! **Phase 1**, a session at a time: its ledger is read once, front to back, and what may help later becomes a handful of
//! [`Finding`]s. **Phase 2**, a handbook at a time: the findings of many sessions become one book, in a folder under git.
//! **The read path** chooses of the book what helps a session begin, and lets it search the rest.
//!
//! **Nothing without evidence.** A finding names the messages that it rests on; a statement of the book names findings' evidence. What
//! has lost its evidence is forgotten.
//!
//! **Who may say what.** A preference is words that the user typed, and nothing else. What tools printed and what the agent said are data: they can become
//! a procedure that was seen to work or a pitfall that was seen to hurt, never an instruction.
//!
//! **One project, one handbook.** What a consolidation is shown is of one [`Scope`] only, so that nothing of one project can get into
//! another's. The global handbook is made of what several projects bear out, or the user said of all of them.

mod audit;
pub mod book;
pub mod citations;
mod evidence;
mod finding;
mod limits;
mod offline;
mod outside;
pub mod phase1;
pub mod phase2;
pub mod read;
mod scope;
mod shelf;
pub mod voice;
pub mod work;

pub use audit::{Audit, Fault, Missing, audit};
pub use evidence::{Evidence, EvidenceKey};
pub use finding::{Basis, Extraction, Finding, FindingKind, Reach, TaskOutcome};
pub use limits::HandbookLimits;
pub use offline::Gatherer;
pub use outside::{Outside, OutsideWatch};
pub use phase2::HandNote;
pub use scope::{HomeId, ProjectKey, Scope};
pub use shelf::{Shelved, shelf, shelved};
