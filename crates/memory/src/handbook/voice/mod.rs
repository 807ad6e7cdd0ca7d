//! What reads like an instruction: nobody but the user may put one into a handbook.
//!
//! Command lines, error lines, names of tests and files, and what the agent concluded are data. Whoever writes a page, a log or a file
//! name that an agent reads may try to make them say "always …" or "ignore …" to the next one. So what is not the user's own words is
//! kept only if it states something; in doubt it is dropped: what is lost so is a line of a handbook.

mod command;
mod prose;

pub use command::is_harmful_command;
pub use prose::{is_order, is_order_in_subject};

use crate::extract::pattern::pattern_groups;

pattern_groups! {
    include_str!("../../../data/patterns/voice.tsv");
    MARKUP PROMPTS HARD PERSON PERSON_HARMLESS AGENTS MODAL MODAL_HARMLESS IMPERATIVE NOT_IMPERATIVE
    PROGRAM CHINESE OTHERS SPACED_LETTERS BLOB FETCHED SENT DESTROYS UNGUARDED SECRET
}
