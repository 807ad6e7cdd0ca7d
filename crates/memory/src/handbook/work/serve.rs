//! Serving the queue until told to stop.

use super::running::Running;
use super::worker::{Which, Worker};
use super::{JobEnd, WorkError, WorkEvent};
use crate::store::{JobKind, StoreError};
use std::time::SystemTime;
use throughline_model::CancelToken;

/// A worker that serves, between two looks at the queue.
struct Serving<'a> {
    worker: &'a Worker,
    stop: &'a CancelToken,
    running: Running,
    /// When handbooks were last looked at.
    books_at: SystemTime,
    /// Nothing is claimed before: what was tried last could not be done by anybody.
    resume_at: Option<SystemTime>,
}

impl Worker {
    /// Serves until told to stop. A store that is away is waited for; one that can't be used ends it.
    pub async fn serve(&self, stop: &CancelToken) -> Result<(), WorkError> {
        let books_at = self.shared.clock.now();
        let mut serving =
            Serving { worker: self, stop, running: Running::default(), books_at, resume_at: None };
        let served = serving.go_on().await;
        // They hear for themselves that it is over.
        while serving.running.next(&self.shared).await.is_some() {}
        Ok(served?)
    }
}

impl Serving<'_> {
    async fn go_on(&mut self) -> Result<(), StoreError> {
        let shared = &self.worker.shared;
        while !self.stop.is_cancelled() {
            let claimed = match self.fill().await {
                Ok(claimed) => claimed,
                Err(error) if error.is_passing() => {
                    let again_in = shared.limits.poll;
                    shared.tell(WorkEvent::Store { why: error.to_string(), again_in });
                    0
                }
                // Leases that are held are given back before the error is told.
                Err(error) => {
                    self.stop.cancel();
                    return Err(error);
                }
            };
            let is_busy = claimed > 0 || !self.running.is_empty();
            let pause = if is_busy { shared.limits.poll_busy } else { shared.limits.poll };
            // Half of it to one and a half: many workers do not ask in step.
            let pause = pause.mul_f64(0.5 + shared.clock.jitter().clamp(0.0, 1.0));
            tokio::select! {
                ended = self.running.next(shared), if !self.running.is_empty() => {
                    if let Some((_, JobEnd::Deferred { .. })) = ended {
                        self.resume_at = Some(shared.clock.now() + shared.limits.pause);
                    }
                }
                () = shared.clock.sleep(pause) => {}
                () = self.stop.cancelled() => {}
            }
        }
        Ok(())
    }

    /// Claims sessions, and handbooks when no session is left: each session would change them again. They do not wait for ever.
    async fn fill(&mut self) -> Result<usize, StoreError> {
        let shared = &self.worker.shared;
        if self.resume_at.is_some_and(|at| shared.clock.now() < at) {
            return Ok(0);
        }
        let sessions = self.top_up(JobKind::Extract).await?;
        let now = shared.clock.now();
        let waited = now.duration_since(self.books_at).unwrap_or_default();
        let none_left = sessions == 0 && self.running.of(JobKind::Extract) == 0;
        if !none_left && waited < shared.limits.consolidate_at_least {
            return Ok(sessions);
        }
        self.books_at = now;
        Ok(sessions + self.top_up(JobKind::Consolidate).await?)
    }

    async fn top_up(&mut self, kind: JobKind) -> Result<usize, StoreError> {
        let shared = &self.worker.shared;
        let room = shared.limits.at_once(kind).saturating_sub(self.running.of(kind));
        if room == 0 || self.stop.is_cancelled() {
            return Ok(0);
        }
        let leases = self.worker.claim(kind, &Which::All, room, None).await?;
        let claimed = leases.len();
        leases.into_iter().for_each(|lease| self.running.begin(shared, lease, self.stop));
        Ok(claimed)
    }
}
