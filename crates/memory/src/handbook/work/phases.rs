//! Who does the two phases.

use crate::store::{Consolidated, Extracted, Failure, Lease};
use throughline_model::{BoxFuture, CancelToken};

/// Does phase 1 on a session.
pub trait ExtractSession: Send + Sync {
    /// Reads the session that the lease is for. What computes for long does so on a thread of its own: signs of life are sent from this one. Told to stop
    /// it may end in any way; nothing of it is kept.
    fn extract<'a>(
        &'a self,
        lease: &'a Lease,
        cancel: CancelToken,
    ) -> BoxFuture<'a, Result<Extracted, Failure>>;
}

/// Does phase 2 on a handbook.
pub trait ConsolidateHandbook: Send + Sync {
    /// Consolidates the handbook that the lease is for; as [`ExtractSession::extract`].
    fn consolidate<'a>(
        &'a self,
        lease: &'a Lease,
        cancel: CancelToken,
    ) -> BoxFuture<'a, Result<Consolidated, Failure>>;
}

/// Who does what.
pub struct Phases {
    /// Phase 1.
    pub extract: Box<dyn ExtractSession>,
    /// Phase 2.
    pub consolidate: Box<dyn ConsolidateHandbook>,
}
