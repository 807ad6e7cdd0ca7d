//! Why something is not written to memory.

use serde::{Deserialize, Serialize};

/// Why a proposal or a wish is refused. Each is an outcome to be told, not a fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// The quote stands in nothing that the user typed.
    #[error("the user did not say this in their own words")]
    NotSaid,
    /// The user tells what a page, a tool or a file says.
    #[error("it is what a document or a tool says, not what the user says")]
    Reported,
    /// The user asks, and states nothing.
    #[error("it is a question")]
    Question,
    /// It stands in what was recalled into this session.
    #[error("it repeats what was recalled from memory")]
    Recalled,
    /// It is about the work at hand.
    #[error("it is about the current task only; memories are for later sessions")]
    CurrentTask,
    /// The code says it.
    #[error("the code says this already; memories are for what it does not say")]
    InCode,
    /// The history of the project says it.
    #[error("the project's history says this already")]
    InHistory,
    /// Project instructions say it.
    #[error("the project's instructions say this already")]
    InInstructions,
    /// It is a recipe for a fix.
    #[error("it is a recipe for a fix; the fix belongs in the code and its commit message")]
    FixRecipe,
    /// Nothing in it holds beyond this conversation.
    #[error("nothing in it is sure to hold beyond this conversation")]
    NotLasting,
    /// The user did not ask for a change of memory.
    #[error("the user did not ask to change or forget a memory")]
    NotAsked,
    /// What the user said names no memory, or another one.
    #[error("the user's words do not name this memory")]
    NotNamed,
    /// Several memories fit.
    #[error("several memories fit: {}", candidates.join(", "))]
    Ambiguous {
        /// Their files.
        candidates: Vec<String>,
    },
    /// It would take out everything.
    #[error("memories are forgotten one by one; to begin anew use `throughline memory reset`")]
    TooBroad,
    /// There is no such memory.
    #[error("there is no memory {file:?}")]
    NoMemory {
        /// The file that was named.
        file: String,
    },
    /// It holds a credential's value.
    #[error("{0}")]
    Credential(String),
    /// Enough was written for one turn.
    #[error("enough was written in one turn")]
    Cap,
    /// What was proposed can't be understood.
    #[error("the proposal can't be understood: {0}")]
    Malformed(String),
    /// The folder can't be read or written.
    #[error("{0}")]
    Folder(String),
}
