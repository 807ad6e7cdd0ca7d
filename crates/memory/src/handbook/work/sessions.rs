//! Phase 1 for the queue.

use super::{ExtractSession, PhaseError};
use crate::handbook::HandbookLimits;
use crate::handbook::phase1::{Phase1, Phase1Error, SessionReader, extract_session};
use crate::store::{Extracted, Failure, JobKey, Lease};
use jiff::Timestamp;
use std::sync::Arc;
use throughline_core::cost::Price;
use throughline_ledger::Home;
use throughline_model::{BoxFuture, CancelToken, Model};
use tokio::runtime::Handle;

/// A model that reads sessions.
#[derive(Clone)]
pub struct ModelReader {
    /// Who is asked.
    pub model: Arc<dyn Model>,
    /// Its window, if that is known.
    pub window: Option<u64>,
    /// What it costs.
    pub price: Price,
}

/// Reads sessions of a home: by the offline scribe, or by a model.
#[derive(Clone)]
pub struct SessionExtractor {
    /// The home that has the ledgers.
    pub home: Home,
    /// Who reads; `None`: the offline scribe.
    pub model: Option<ModelReader>,
    /// Bounds.
    pub limits: HandbookLimits,
    /// The time, for sessions that do not tell their own.
    pub now: fn() -> Timestamp,
}

impl ExtractSession for SessionExtractor {
    fn extract<'a>(
        &'a self,
        lease: &'a Lease,
        cancel: CancelToken,
    ) -> BoxFuture<'a, Result<Extracted, PhaseError>> {
        let (this, lease) = (self.clone(), lease.clone());
        Box::pin(async move {
            // Whoever drops this future stops the thread as well.
            let stop = cancel.child_token();
            let _guard = stop.clone().drop_guard();
            let runtime = Handle::current();
            super::on_a_thread(move || runtime.block_on(this.read(&lease, stop))).await
        })
    }
}

impl SessionExtractor {
    async fn read(&self, lease: &Lease, cancel: CancelToken) -> Result<Extracted, PhaseError> {
        let (JobKey::Extract(session), Some(place)) = (&lease.job, &lease.at) else {
            let why =
                "the store does not say where the session is; run `throughline memory build`".to_owned();
            return Err(PhaseError::Failed(Failure { why, is_passing: false }));
        };
        let reader = self.model.as_ref().map(|reader| SessionReader {
            model: reader.model.as_ref(),
            window: reader.window,
            caps: SessionReader::caps(&self.limits),
            price: &reader.price,
            cancel: cancel.clone(),
        });
        let job = Phase1 {
            home: &self.home,
            session,
            place,
            model: reader,
            or_offline: false,
            limits: &self.limits,
            now: (self.now)(),
        };
        tokio::select! {
            read = extract_session(job) => read.map_err(|error| sorted(&error)),
            () = cancel.cancelled() => {
                let why = format!("the extraction of session {session} was cancelled");
                Err(PhaseError::Disturbed(Failure { why, is_passing: true }))
            }
        }
    }
}

fn sorted(error: &Phase1Error) -> PhaseError {
    let failure = error.failure();
    match error {
        Phase1Error::Gone { .. } => PhaseError::Gone(failure),
        Phase1Error::NotAllowed { mode, .. } => PhaseError::NotAllowed(*mode, failure),
        Phase1Error::Cancelled { .. } => PhaseError::Disturbed(failure),
        error if error.is_everyones() => PhaseError::Everyones(failure),
        Phase1Error::NotItsLedger { .. }
        | Phase1Error::Ledger(_)
        | Phase1Error::Model { .. }
        | Phase1Error::NotUnderstood { .. }
        | Phase1Error::Capped { .. } => PhaseError::Failed(failure),
    }
}
