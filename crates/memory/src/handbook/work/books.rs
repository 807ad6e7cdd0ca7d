//! Phase 2 for the queue.

use super::{ConsolidateHandbook, ModelReader, PhaseError};
use crate::handbook::HandbookLimits;
use crate::handbook::phase2::{Consolidator, Phase2, Phase2Error, Workspace, consolidate_handbook};
use crate::store::{Consolidated, Failure, JobKey, Lease, Store};
use jiff::Timestamp;
use std::sync::Arc;
use throughline_core::tokens::Counter;
use throughline_ledger::Home;
use throughline_model::{BoxFuture, CancelToken, Caps};
use tokio::runtime::Handle;

/// The model whose tokens are counted where none writes.
const COUNTED: &str = "claude-opus-4-5";

/// Consolidates handbooks of a home: by the offline scribe, or by a model.
#[derive(Clone)]
pub struct BookConsolidator {
    /// Where outputs come from and editions go.
    pub store: Arc<dyn Store>,
    /// The home that has the handbooks' folders.
    pub home: Home,
    /// Who writes; `None`: the offline scribe.
    pub model: Option<ModelReader>,
    /// What one consolidation by a model may take.
    pub caps: Caps,
    /// Bounds.
    pub limits: HandbookLimits,
    /// The time.
    pub now: fn() -> Timestamp,
}

impl ConsolidateHandbook for BookConsolidator {
    fn consolidate<'a>(
        &'a self,
        lease: &'a Lease,
        cancel: CancelToken,
    ) -> BoxFuture<'a, Result<Consolidated, PhaseError>> {
        let (this, lease) = (self.clone(), lease.clone());
        Box::pin(async move {
            // Whoever drops this future stops the thread as well.
            let stop = cancel.child_token();
            let _guard = stop.clone().drop_guard();
            let runtime = Handle::current();
            super::on_a_thread(move || runtime.block_on(this.write(&lease, stop))).await
        })
    }
}

impl BookConsolidator {
    async fn write(&self, lease: &Lease, cancel: CancelToken) -> Result<Consolidated, PhaseError> {
        let JobKey::Consolidate(scope) = &lease.job else {
            let why = "this is no handbook".to_owned();
            return Err(PhaseError::Failed(Failure { why, is_passing: false }));
        };
        let model = self.model.as_ref().map(|writer| Consolidator {
            model: writer.model.as_ref(),
            caps: &self.caps,
            price: &writer.price,
            or_offline: false,
        });
        let mut counter = Counter::for_model(self.model.as_ref().map_or(COUNTED, |writer| writer.model.id()));
        let job = Phase2 {
            store: self.store.as_ref(),
            workspace: &Workspace::new(&self.home, scope, &self.limits),
            lease,
            model,
            counter: &mut counter,
            cancel,
            now: (self.now)(),
        };
        let done = consolidate_handbook(job).await.map_err(|error| sorted(&error))?;
        Ok(done.consolidated)
    }
}

fn sorted(error: &Phase2Error) -> PhaseError {
    let failure = error.failure();
    match error {
        // Not the handbook's fault: it is given back, and the attempt does not count.
        Phase2Error::Lost
        | Phase2Error::Cancelled
        | Phase2Error::Busy { .. }
        | Phase2Error::Disturbed { .. } => PhaseError::Disturbed(failure),
        Phase2Error::Store(error) if error.is_passing() => PhaseError::Disturbed(failure),
        Phase2Error::Store(_)
        | Phase2Error::Link { .. }
        | Phase2Error::Linked { .. }
        | Phase2Error::Foreign { .. }
        | Phase2Error::TooLarge { .. }
        | Phase2Error::Io { .. }
        | Phase2Error::Ledger(_)
        | Phase2Error::History { .. }
        | Phase2Error::Model { .. }
        | Phase2Error::Invalid(_)
        | Phase2Error::NotUndone { .. }
        | Phase2Error::Note { .. } => PhaseError::Failed(failure),
    }
}
