//! Who does the two phases.

use crate::store::{Consolidated, Extracted, Failure, Lease};
use throughline_core::MemoryMode;
use throughline_model::{BoxFuture, CancelToken};

/// Why nothing came of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PhaseError {
    /// It failed.
    Failed(Failure),
    /// Any other would fail now for the same reason: it is given back, and the worker pauses, or stops.
    Everyones(Failure),
    /// Somebody or something came between: it is given back, and may be done at once.
    Disturbed(Failure),
    /// What it is about is not there any more: the store forgets it.
    Gone(Failure),
    /// No memory may be made of it: the store is told its mode.
    NotAllowed(MemoryMode, Failure),
}

impl PhaseError {
    /// In words.
    pub fn failure(self) -> Failure {
        match self {
            Self::Failed(failure)
            | Self::Everyones(failure)
            | Self::Disturbed(failure)
            | Self::Gone(failure)
            | Self::NotAllowed(_, failure) => failure,
        }
    }
}

/// Does phase 1 on a session.
pub trait ExtractSession: Send + Sync {
    /// Reads the session that the lease is for. What computes for long does so on a thread of its own: signs of life are sent from this one. Told to stop
    /// it may end in any way; nothing of it is kept.
    fn extract<'a>(
        &'a self,
        lease: &'a Lease,
        cancel: CancelToken,
    ) -> BoxFuture<'a, Result<Extracted, PhaseError>>;
}

/// Does phase 2 on a handbook.
pub trait ConsolidateHandbook: Send + Sync {
    /// Consolidates the handbook that the lease is for; as [`ExtractSession::extract`].
    fn consolidate<'a>(
        &'a self,
        lease: &'a Lease,
        cancel: CancelToken,
    ) -> BoxFuture<'a, Result<Consolidated, PhaseError>>;
}

/// Who does what.
pub struct Phases {
    /// Phase 1.
    pub extract: Box<dyn ExtractSession>,
    /// Phase 2.
    pub consolidate: Box<dyn ConsolidateHandbook>,
}
