//! Who claims, and how long.

use super::running::Running;
use super::{JobEnd, Phases, WorkEvent, WorkLimits};
use crate::handbook::{HomeId, Scope};
use crate::store::{
    Claim, Cost, JobKey, JobKind, JobState, Lease, RunOutcome, Store, StoreError, Wanted, WorkerId,
};
use jiff::Timestamp;
use std::collections::HashSet;
use std::sync::Arc;
use throughline_model::{CancelToken, Clock};

/// What a worker is made of.
pub struct Crew {
    /// Where the queue is.
    pub store: Arc<dyn Store>,
    /// Who does the work.
    pub phases: Phases,
    /// Whose sessions can be read here.
    pub home: HomeId,
    /// Who it is, for people.
    pub worker: WorkerId,
    /// How much at once, how often, how patiently.
    pub limits: WorkLimits,
    /// Time and chance.
    pub clock: Arc<dyn Clock>,
    /// Hears what happens. It is called from any thread and should not take long.
    pub listen: Box<dyn Fn(WorkEvent) + Send + Sync>,
}

pub(super) struct Shared {
    pub(super) store: Arc<dyn Store>,
    pub(super) phases: Phases,
    pub(super) limits: WorkLimits,
    pub(super) clock: Arc<dyn Clock>,
    home: HomeId,
    worker: WorkerId,
    listen: Box<dyn Fn(WorkEvent) + Send + Sync>,
}

impl Shared {
    pub(super) fn tell(&self, event: WorkEvent) {
        (self.listen)(event);
    }
}

/// Serves the queue. To be used inside a tokio runtime with time enabled.
pub struct Worker {
    pub(super) shared: Arc<Shared>,
}

/// Which jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// None.
    None,
    /// Any.
    All,
    /// These.
    Only(Vec<JobKey>),
}

/// What is to be done before it is enough.
#[derive(Clone, Debug)]
pub struct Order {
    /// Of the sessions.
    pub extract: Which,
    /// Of the handbooks, once no session is left.
    pub consolidate: Which,
    /// Sessions that are extracted at most.
    pub most: usize,
    /// Sessions that may be read at once by all workers together.
    pub running: Option<usize>,
    /// Whether to wait for what others are doing.
    pub wait: bool,
}

impl Order {
    /// All that is due, and what others do is left to them.
    pub fn all() -> Self {
        Self { extract: Which::All, consolidate: Which::All, most: usize::MAX, running: None, wait: false }
    }
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drained {
    /// Jobs by this worker, in the order in which they ended.
    pub ended: Vec<(JobKey, JobEnd)>,
    /// Whether it was told to stop.
    pub stopped: bool,
    /// Why it stopped by itself: nothing could be done now.
    pub halted: Option<String>,
}

impl Drained {
    /// Jobs that are done, something having come of them or not.
    pub fn done(&self) -> impl Iterator<Item = (&JobKey, RunOutcome, usize, &Cost)> {
        self.ended.iter().filter_map(|(job, end)| match end {
            JobEnd::Done { outcome, items, cost } => Some((job, *outcome, *items, cost)),
            JobEnd::Failed { .. }
            | JobEnd::Released
            | JobEnd::Deferred { .. }
            | JobEnd::Lost
            | JobEnd::Unsettled { .. } => None,
        })
    }
}

/// What the start of a session brings with it (H1).
#[derive(Clone, Debug)]
pub struct AtStart {
    /// Sessions that are eligible.
    pub wanted: Vec<Wanted>,
    /// The project that is begun in.
    pub scope: Scope,
    /// Outputs that were neither used nor updated since then may go.
    pub cutoff: Timestamp,
    /// How many of them at most.
    pub prune: usize,
    /// Sessions that are extracted at most, and at once by all together.
    pub sessions: usize,
}

/// Why a worker gave up.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    /// The store can't be used, or was away for too long.
    #[error("{0}; what is done stays done: run it again")]
    Store(#[from] StoreError),
}

impl Worker {
    /// A worker that does nothing yet.
    pub fn new(crew: Crew) -> Self {
        let Crew { store, phases, home, worker, limits, clock, listen } = crew;
        Self { shared: Arc::new(Shared { store, phases, limits, clock, home, worker, listen }) }
    }

    /// Does what is due, until nothing is or it is told to stop: sessions first, then handbooks.
    pub async fn drain(&self, order: &Order, stop: &CancelToken) -> Result<Drained, WorkError> {
        let mut drained = Drained::default();
        let sessions = Kind { kind: JobKind::Extract, which: &order.extract, most: order.most, order };
        self.drain_kind(&sessions, stop, &mut drained).await?;
        let books = Kind { kind: JobKind::Consolidate, which: &order.consolidate, most: usize::MAX, order };
        self.drain_kind(&books, stop, &mut drained).await?;
        drained.stopped = stop.is_cancelled();
        Ok(drained)
    }

    /// What the start of a session brings with it: old outputs go, sessions that are eligible become due, a few are read, and the project's
    /// handbook and the global one are consolidated if they are due.
    pub async fn at_start(&self, start: &AtStart, stop: &CancelToken) -> Result<Drained, WorkError> {
        let shared = &self.shared;
        shared.settle(|| shared.store.prune(start.cutoff, start.prune)).await?;
        shared.settle(|| shared.store.enqueue(&start.wanted)).await?;
        let books = [start.scope.clone(), Scope::Global].map(JobKey::Consolidate);
        let order = Order {
            extract: Which::All,
            consolidate: Which::Only(books.to_vec()),
            most: start.sessions,
            running: Some(start.sessions),
            wait: false,
        };
        self.drain(&order, stop).await
    }

    async fn drain_kind(
        &self,
        kind: &Kind<'_>,
        stop: &CancelToken,
        drained: &mut Drained,
    ) -> Result<(), WorkError> {
        if *kind.which == Which::None {
            return Ok(());
        }
        let shared = &self.shared;
        let at_once = shared.limits.at_once(kind.kind);
        let mut left = kind.most;
        let mut running = Running::default();
        let mut trouble = None;
        loop {
            let room = at_once.saturating_sub(running.len()).min(left);
            if room > 0 && !stop.is_cancelled() && trouble.is_none() && drained.halted.is_none() {
                match self.claim(kind.kind, kind.which, room, kind.order.running).await {
                    Ok(leases) => {
                        left -= leases.len().min(left);
                        leases.into_iter().for_each(|lease| running.begin(shared, lease, stop));
                    }
                    Err(error) => trouble = Some(error),
                }
            }
            if let Some((job, end)) = running.next(shared).await {
                if let JobEnd::Deferred { why } = &end {
                    drained.halted.get_or_insert_with(|| why.clone());
                }
                drained.ended.push((job, end));
                continue;
            }
            if let Some(error) = trouble {
                return Err(error.into());
            }
            if stop.is_cancelled() || left == 0 || !kind.order.wait || drained.halted.is_some() {
                return Ok(());
            }
            match self.elsewhere(kind).await? {
                0 => return Ok(()),
                jobs => shared.tell(WorkEvent::Waiting { jobs }),
            }
            tokio::select! {
                () = shared.clock.sleep(shared.limits.poll_busy * 2) => {}
                () = stop.cancelled() => {}
            }
        }
    }

    pub(super) async fn claim(
        &self,
        kind: JobKind,
        which: &Which,
        most: usize,
        running: Option<usize>,
    ) -> Result<Vec<Lease>, StoreError> {
        let only = match which {
            Which::None => Some(Vec::new()),
            Which::All => None,
            Which::Only(keys) => Some(keys.clone()),
        };
        let shared = &self.shared;
        let claim = Claim {
            kind,
            home: shared.home.clone(),
            only,
            worker: shared.worker.clone(),
            most,
            running: running.filter(|_| kind == JobKind::Extract),
            lease: shared.limits.lease,
            tries: shared.limits.tries,
        };
        Ok(shared.settle(|| shared.store.claim(&claim)).await?.answer)
    }

    /// How many of these jobs somebody else does.
    async fn elsewhere(&self, kind: &Kind<'_>) -> Result<usize, StoreError> {
        let store = &self.shared.store;
        let jobs = self.shared.settle(|| store.jobs(Some(kind.kind), usize::MAX)).await?.answer;
        let wanted: Option<HashSet<&JobKey>> = match kind.which {
            Which::None => return Ok(0),
            Which::All => None,
            Which::Only(keys) => Some(keys.iter().collect()),
        };
        let is_wanted = |job: &JobKey| wanted.as_ref().is_none_or(|wanted| wanted.contains(job));
        Ok(jobs.iter().filter(|job| job.state == JobState::Running && is_wanted(&job.job)).count())
    }
}

/// Jobs of one kind in an order.
struct Kind<'a> {
    kind: JobKind,
    which: &'a Which,
    most: usize,
    order: &'a Order,
}
