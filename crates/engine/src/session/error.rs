//! Why a session can't go on.

use throughline_ledger::LedgerError;
use throughline_model::ModelError;

/// Why a session can't go on. What was said so far is in the ledger, whatever it is.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The ledger can't be read or written.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The model could not be asked.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The request does not fit the model's window, and nothing more can be freed.
    #[error(
        "the request has about {tokens} tokens and the model takes {limit}: nothing more can be freed. {fix}",
        fix = "Drop what is not needed (Snip, rewind), take a model with a larger window, or begin a new session"
    )]
    DoesNotFit {
        /// Tokens of the request.
        tokens: u64,
        /// What the model takes.
        limit: u64,
    },
    /// What a person asked for can't be done.
    #[error("{0}")]
    Refused(String),
    /// A hook of the user's stopped it.
    #[error("a hook stopped this: {0}")]
    Blocked(String),
}
