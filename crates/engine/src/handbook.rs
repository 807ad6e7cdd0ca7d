//! The work on handbooks that a session's first words set off (H1).

use crate::session::{DoneAtStart, StartWork};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use std::sync::Arc;
use throughline_core::SessionId;
use throughline_ledger::{Home, list};
use throughline_memory::handbook::phase1::{Eligibility, wanted};
use throughline_memory::handbook::phase2::{Workspace, sync_handbook};
use throughline_memory::handbook::work::{AtStart, Crew, JobEnd, Worker};
use throughline_memory::handbook::{HandbookLimits, HomeId, ProjectKey, Scope};
use throughline_memory::store::{JobKind, LazyStore, Store, Wanted};
use throughline_model::{BoxFuture, CancelToken};

/// Who works for a store, on the sessions of a home.
pub type Hire = Arc<dyn Fn(Arc<dyn Store>, HomeId) -> Crew + Send + Sync>;

/// Does at the start of a session what is due: what others published of the two handbooks is taken in, old outputs go, sessions that are eligible are
/// enqueued, a few are read, and the project's handbook and the global one are consolidated if they are due.
#[derive(Clone)]
pub struct CrewStart {
    /// Where ledgers and handbooks are.
    pub home: Home,
    /// The project that the session is in.
    pub project: ProjectKey,
    /// Where the queue is.
    pub store: LazyStore,
    /// Who works.
    pub hire: Hire,
    /// Bounds.
    pub limits: HandbookLimits,
    /// The time.
    pub now: fn() -> Timestamp,
}

impl StartWork for CrewStart {
    fn run(
        &self,
        session: SessionId,
        cancel: CancelToken,
    ) -> BoxFuture<'static, Result<DoneAtStart, String>> {
        let this = self.clone();
        Box::pin(async move { this.work(session, &cancel).await })
    }
}

impl CrewStart {
    async fn work(self, session: SessionId, cancel: &CancelToken) -> Result<DoneAtStart, String> {
        let store = self.store.get().await.map_err(|error| error.to_string())?;
        let home_id = HomeId::of(&self.home).map_err(|error| error.to_string())?;
        let now = (self.now)();
        let scope = Scope::Project(self.project.clone());
        let mut troubles = Vec::new();
        if store.is_shared() {
            for scope in [&scope, &Scope::Global] {
                let workspace = Workspace::new(&self.home, scope, &self.limits);
                // What is here serves until the next start.
                if let Err(error) = sync_handbook(store.as_ref(), &workspace, now).await {
                    troubles.push(error.to_string());
                }
            }
        }
        let wanted = self.eligible(&home_id, session, now).await?;
        let worker = Worker::new((self.hire)(store, home_id));
        let unused = SignedDuration::from_hours(24 * i64::from(self.limits.unused_days));
        let start = AtStart {
            wanted,
            scope,
            cutoff: now.checked_sub(unused).unwrap_or(Timestamp::MIN),
            prune: self.limits.prune,
            sessions: self.limits.start_sessions,
        };
        let drained = worker.at_start(&start, cancel).await.map_err(|error| error.to_string())?;
        let count = |kind: JobKind| drained.done().filter(|(job, ..)| job.kind() == kind).count();
        let costs: Vec<_> = drained.done().map(|(.., cost)| cost).collect();
        for (job, end) in &drained.ended {
            match end {
                JobEnd::Failed { why, .. } | JobEnd::Deferred { why } | JobEnd::Unsettled { why } => {
                    troubles.push(format!("{job:?}: {why}"));
                }
                JobEnd::Done { .. } | JobEnd::Released | JobEnd::Lost => {}
            }
        }
        troubles.extend(drained.halted.clone());
        let tokens = costs.iter().map(|cost| cost.tokens).sum();
        let dollars = costs.iter().map(|cost| cost.dollars.as_f64()).sum();
        let did = json!({
            "eligible": start.wanted.len(),
            "sessions": count(JobKind::Extract),
            "handbooks": count(JobKind::Consolidate),
            "tokens": tokens,
            "dollars": dollars,
            "stopped": drained.stopped,
            "troubles": troubles,
        });
        Ok(DoneAtStart { did, model: costs.iter().find_map(|cost| cost.model.clone()), tokens, dollars })
    }

    /// Sessions that may be read, but for the one that begins. Many files are looked at: not on a thread that others wait for.
    async fn eligible(
        &self,
        home: &HomeId,
        session: SessionId,
        now: Timestamp,
    ) -> Result<Vec<Wanted>, String> {
        let (this, id) = (self.clone(), home.clone());
        let look = move || {
            let listed = list(&this.home).map_err(|error| error.to_string())?;
            let by = Eligibility::at_start(&this.limits, now, Some(session));
            Ok(wanted(&this.home, &id, &listed, &by))
        };
        tokio::task::spawn_blocking(look).await.map_err(|error| error.to_string())?
    }
}
