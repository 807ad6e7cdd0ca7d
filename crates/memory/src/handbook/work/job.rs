//! One job, from its lease to its receipt.

use super::settle::wait;
use super::worker::Shared;
use super::{JobEnd, PhaseError, WorkEvent};
use crate::store::{Consolidated, Extracted, Failure, Held, JobKey, Lease, RunOutcome, StoreError};
use std::time::{Duration, SystemTime};
use throughline_model::CancelToken;

/// What a phase made.
enum Made {
    Session(Box<Extracted>),
    Handbook(Consolidated),
}

/// Why a job is not gone on with.
enum Cut {
    /// Told to stop.
    Stopped,
    /// The lease is somebody else's, or may be.
    Lost,
}

impl Shared {
    /// Does a job; tells when it begins and ends.
    pub(super) async fn run(&self, lease: &Lease, stop: &CancelToken) -> JobEnd {
        self.tell(WorkEvent::Begun { job: lease.job.clone(), attempt: lease.attempt });
        let end = self.work(lease, stop).await;
        self.tell(WorkEvent::Ended { job: lease.job.clone(), end: end.clone() });
        end
    }

    async fn work(&self, lease: &Lease, stop: &CancelToken) -> JobEnd {
        let cancel = CancelToken::new();
        let phase = self.phase(lease, cancel.clone());
        tokio::pin!(phase);
        let cut = tokio::select! {
            made = &mut phase => return self.settled(lease, made).await,
            () = stop.cancelled() => Cut::Stopped,
            () = self.beat(lease) => Cut::Lost,
        };
        cancel.cancel();
        // A phase ends by itself when it is told to, so that nothing is left half-way on the disk.
        let last = tokio::select! {
            made = &mut phase => Some(made),
            () = self.clock.sleep(self.limits.grace) => None,
        };
        match (cut, last) {
            // Finished just before it heard: that is worth keeping.
            (Cut::Stopped, Some(Ok(made))) => self.settled(lease, Ok(made)).await,
            (Cut::Stopped, Some(Err(_)) | None) => self.release(lease).await,
            (Cut::Lost, _) => JobEnd::Lost,
        }
    }

    async fn phase(&self, lease: &Lease, cancel: CancelToken) -> Result<Made, PhaseError> {
        match &lease.job {
            JobKey::Extract(_) => {
                let extracted = self.phases.extract.extract(lease, cancel).await?;
                Ok(Made::Session(Box::new(extracted)))
            }
            JobKey::Consolidate(_) => {
                Ok(Made::Handbook(self.phases.consolidate.consolidate(lease, cancel).await?))
            }
        }
    }

    /// Sends signs of life; returns when the lease is lost, or nobody knows any more that it is held.
    async fn beat(&self, lease: &Lease) {
        let length = Duration::try_from(lease.length).unwrap_or_default();
        let mut held_at = self.clock.now();
        let mut failures = 0;
        let mut pause = self.limits.heartbeat;
        loop {
            self.clock.sleep(pause).await;
            let asked_at = self.clock.now();
            match self.store.renew(lease).await {
                Ok(Held::Held) => {
                    (held_at, failures, pause) = (asked_at, 0, self.limits.heartbeat);
                }
                Ok(Held::Lost) => return,
                Err(error) => {
                    failures += 1;
                    pause = wait(failures, self.clock.jitter()).min(self.limits.heartbeat);
                    self.tell(WorkEvent::Store { why: error.to_string(), again_in: pause });
                }
            }
            if since(held_at, self.clock.now()) >= length {
                return;
            }
        }
    }

    async fn settled(&self, lease: &Lease, made: Result<Made, PhaseError>) -> JobEnd {
        match made {
            Ok(made) => self.finish(lease, &made).await,
            Err(PhaseError::Failed(failure)) => self.fail(lease, failure).await,
            Err(PhaseError::Everyones(failure)) => {
                let end = self.release(lease).await;
                if end == JobEnd::Released { JobEnd::Deferred { why: failure.why } } else { end }
            }
            Err(PhaseError::Disturbed(_)) => self.release(lease).await,
            Err(PhaseError::Gone(failure)) => self.forget(lease, failure).await,
            Err(PhaseError::NotAllowed(mode, failure)) => {
                if let JobKey::Extract(session) = &lease.job
                    && let Err(error) = self.settle(|| self.store.set_mode(session, mode)).await
                {
                    return unsettled(&error);
                }
                self.fail(lease, failure).await
            }
        }
    }

    /// A session whose ledger is gone bears nothing out any more. Only who still has the job may say so.
    async fn forget(&self, lease: &Lease, failure: Failure) -> JobEnd {
        let end = self.fail(lease, failure).await;
        let JobKey::Extract(session) = &lease.job else { return end };
        if !matches!(end, JobEnd::Failed { .. }) {
            return end;
        }
        match self.settle(|| self.store.forget(session)).await {
            Ok(_) => end,
            Err(error) => unsettled(&error),
        }
    }

    async fn finish(&self, lease: &Lease, made: &Made) -> JobEnd {
        let (answer, done) = match made {
            Made::Session(extracted) => {
                let items = extracted.extraction.as_ref().map_or(0, |extraction| extraction.findings.len());
                let outcome = outcome_of(extracted.extraction.is_some());
                let done = JobEnd::Done { outcome, items, cost: extracted.cost.clone() };
                (self.settle(|| self.store.finish_extract(lease, extracted)).await, done)
            }
            Made::Handbook(consolidated) => {
                let outcome = outcome_of(consolidated.edition.is_some());
                let items = consolidated.selected.len();
                let done = JobEnd::Done { outcome, items, cost: consolidated.cost.clone() };
                (self.settle(|| self.store.finish_consolidate(lease, consolidated)).await, done)
            }
        };
        match answer {
            Ok(settled) => match (settled.answer, settled.again) {
                (Held::Held, _) => done,
                (Held::Lost, false) => JobEnd::Lost,
                (Held::Lost, true) => {
                    JobEnd::Unsettled { why: "the store's answer was lost on the way".to_owned() }
                }
            },
            Err(error) => unsettled(&error),
        }
    }

    pub(super) async fn fail(&self, lease: &Lease, failure: Failure) -> JobEnd {
        match self.settle(|| self.store.fail(lease, &failure)).await {
            Ok(settled) => match settled.answer {
                Held::Held => {
                    let again = failure.is_passing && lease.attempt < lease.tries.most;
                    JobEnd::Failed { why: failure.why, again }
                }
                Held::Lost => JobEnd::Lost,
            },
            Err(error) => unsettled(&error),
        }
    }

    pub(super) async fn release(&self, lease: &Lease) -> JobEnd {
        match self.settle(|| self.store.release(lease)).await {
            Ok(settled) => match settled.answer {
                Held::Held => JobEnd::Released,
                Held::Lost => JobEnd::Lost,
            },
            Err(error) => unsettled(&error),
        }
    }
}

fn outcome_of(something: bool) -> RunOutcome {
    if something { RunOutcome::Done } else { RunOutcome::Nothing }
}

fn unsettled(error: &StoreError) -> JobEnd {
    JobEnd::Unsettled { why: error.to_string() }
}

/// A clock that was put back says nothing.
fn since(then: SystemTime, now: SystemTime) -> Duration {
    now.duration_since(then).unwrap_or_default()
}
