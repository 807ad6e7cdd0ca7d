//! Why a session was not extracted.

use crate::store::{Cost, Failure};
use throughline_core::{MemoryMode, SessionId};
use throughline_ledger::LedgerError;
use throughline_model::{Cap, ErrorKind};

/// Why a session was not extracted.
#[derive(Debug, thiserror::Error)]
pub enum Phase1Error {
    /// Its ledger is not there any more: what is known of the session may be forgotten.
    #[error("the ledger {ledger} of session {session} is gone; nothing can be extracted from it")]
    Gone {
        /// The session.
        session: SessionId,
        /// Its ledger, relative to the sessions folder.
        ledger: String,
    },
    /// Memory may not be made of it any more: the store should be told its mode.
    #[error("no memory may be made of session {session}: its mode is {mode:?}")]
    NotAllowed {
        /// The session.
        session: SessionId,
        /// Its mode now.
        mode: MemoryMode,
    },
    /// The place in the store leads out of the sessions folder, or to another session's ledger.
    #[error(
        "{ledger} is not the ledger of session {session} in this home; rebuild the queue with `throughline memory build`"
    )]
    NotItsLedger {
        /// The session.
        session: SessionId,
        /// What the store says is its ledger.
        ledger: String,
    },
    /// The ledger could not be read.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The model could not be asked.
    #[error("the model could not read session {session}: {why}")]
    Model {
        /// The session.
        session: SessionId,
        /// What kind of failure.
        kind: ErrorKind,
        /// In words, without secrets.
        why: String,
        /// What it took until then.
        cost: Box<Cost>,
    },
    /// The model gave nothing that can be used, for any section.
    #[error("the model's answers on session {session} cannot be used: {why}")]
    NotUnderstood {
        /// The session.
        session: SessionId,
        /// Why the last one can't.
        why: String,
        /// What it took.
        cost: Box<Cost>,
    },
    /// A limit was reached before any section was read.
    #[error(
        "session {session} was not read: the limit on {cap} was reached; raise it or use a cheaper model"
    )]
    Capped {
        /// The session.
        session: SessionId,
        /// Which limit.
        cap: Cap,
        /// What it took.
        cost: Box<Cost>,
    },
    /// Somebody stopped it.
    #[error("the extraction of session {session} was cancelled")]
    Cancelled {
        /// The session.
        session: SessionId,
        /// What it took.
        cost: Box<Cost>,
    },
}

impl Phase1Error {
    /// Whether trying again may help.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Gone { .. }
            | Self::NotAllowed { .. }
            | Self::NotItsLedger { .. }
            | Self::NotUnderstood { .. } => false,
            Self::Ledger(_) | Self::Cancelled { .. } => true,
            Self::Model { kind, .. } => match Meaning::of(*kind) {
                Meaning::Passing | Meaning::Stopped => true,
                Meaning::TooLong | Meaning::ForGood => false,
            },
            Self::Capped { cap, .. } => match cap {
                Cap::Seconds => true,
                Cap::Turns | Cap::Input | Cap::Output | Cap::Dollars => false,
            },
        }
    }

    /// Whether it says nothing about the session: any other would fail now for the same reason. A job that ended so is given back, and
    /// whoever works waits or stops.
    pub fn is_everyones(&self) -> bool {
        match self {
            Self::Model { kind, .. } => match kind {
                ErrorKind::RateLimited
                | ErrorKind::Overloaded
                | ErrorKind::Auth
                | ErrorKind::Quota
                | ErrorKind::Connection
                | ErrorKind::Key
                | ErrorKind::Config => true,
                ErrorKind::TooLong
                | ErrorKind::Refused
                | ErrorKind::CutOff
                | ErrorKind::Idle
                | ErrorKind::Deadline
                | ErrorKind::Server
                | ErrorKind::Invalid
                | ErrorKind::Malformed
                | ErrorKind::TooLarge
                | ErrorKind::Cancelled
                | ErrorKind::Exec => false,
            },
            Self::Cancelled { .. } => true,
            Self::Gone { .. }
            | Self::NotAllowed { .. }
            | Self::NotItsLedger { .. }
            | Self::Ledger(_)
            | Self::NotUnderstood { .. }
            | Self::Capped { .. } => false,
        }
    }

    /// What was paid for nothing.
    pub fn cost(&self) -> Option<&Cost> {
        match self {
            Self::Model { cost, .. }
            | Self::NotUnderstood { cost, .. }
            | Self::Capped { cost, .. }
            | Self::Cancelled { cost, .. } => Some(cost),
            Self::Gone { .. } | Self::NotAllowed { .. } | Self::NotItsLedger { .. } | Self::Ledger(_) => None,
        }
    }

    /// For the store.
    pub fn failure(&self) -> Failure {
        let why = throughline_redact::redact(&self.to_string()).into_text();
        Failure { why, is_passing: self.is_passing() }
    }
}

/// What a model's failure means for the section that it was asked about.
pub(super) enum Meaning {
    /// Half of it may do.
    TooLong,
    /// Another time it may be answered.
    Passing,
    /// Somebody stopped it.
    Stopped,
    /// It is never answered.
    ForGood,
}

impl Meaning {
    pub(super) fn of(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::TooLong => Self::TooLong,
            ErrorKind::Cancelled => Self::Stopped,
            ErrorKind::RateLimited
            | ErrorKind::Overloaded
            | ErrorKind::CutOff
            | ErrorKind::Idle
            | ErrorKind::Deadline
            | ErrorKind::Connection
            | ErrorKind::Server
            | ErrorKind::Malformed
            // These wait for a person.
            | ErrorKind::Auth
            | ErrorKind::Quota
            | ErrorKind::Key
            | ErrorKind::Config
            // A command may be missing, or killed.
            | ErrorKind::Exec => Self::Passing,
            ErrorKind::Refused | ErrorKind::Invalid | ErrorKind::TooLarge => Self::ForGood,
        }
    }
}
