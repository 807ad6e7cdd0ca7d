//! Jobs that run at the same time.

use super::JobEnd;
use super::worker::Shared;
use crate::store::{Failure, JobKey, JobKind, Lease};
use std::collections::HashMap;
use std::sync::Arc;
use throughline_model::CancelToken;
use tokio::task::{Id, JoinSet};

/// Jobs that run, each in a task of its own. Dropped, they stop where they are and their leases run out.
#[derive(Default)]
pub(super) struct Running {
    tasks: JoinSet<JobEnd>,
    leases: HashMap<Id, Lease>,
}

impl Running {
    pub(super) fn begin(&mut self, shared: &Arc<Shared>, lease: Lease, stop: &CancelToken) {
        let (shared, stop, own) = (Arc::clone(shared), stop.clone(), lease.clone());
        let task = self.tasks.spawn(async move { shared.run(&own, &stop).await });
        self.leases.insert(task.id(), lease);
    }

    pub(super) fn len(&self) -> usize {
        self.leases.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.leases.is_empty()
    }

    pub(super) fn of(&self, kind: JobKind) -> usize {
        self.leases.values().filter(|lease| lease.job.kind() == kind).count()
    }

    /// Waits for the next that ends; `None` if none runs. Dropped before it answers, nothing is lost.
    pub(super) async fn next(&mut self, shared: &Arc<Shared>) -> Option<(JobKey, JobEnd)> {
        loop {
            match self.tasks.join_next_with_id().await? {
                Ok((id, end)) => {
                    if let Some(lease) = self.leases.remove(&id) {
                        return Some((lease.job, end));
                    }
                }
                Err(error) => {
                    let Some(lease) = self.leases.remove(&error.id()) else { continue };
                    let (shared, own) = (Arc::clone(shared), lease.clone());
                    let task = self.tasks.spawn(async move { shared.broke_off(&own).await });
                    self.leases.insert(task.id(), lease);
                }
            }
        }
    }
}

impl Shared {
    /// A phase panicked: a mistake of ours, which the next attempt would most likely meet again.
    async fn broke_off(&self, lease: &Lease) -> JobEnd {
        let why = "it broke off by a mistake in throughline; please report it".to_owned();
        let end = self.fail(lease, Failure { why, is_passing: false }).await;
        self.tell(super::WorkEvent::Ended { job: lease.job.clone(), end: end.clone() });
        end
    }
}
