//! What is decided about requests, and what is learnt from their answers.
//!
//! [`Manager::consider`] recognises whose request it is (`recognise/`), finds the conversation (`hub.rs`) and has its
//! [`Thread`] decide (`thread.rs`). What goes on is a [`Turn`]: it is asked for a retry when the provider rejects it, and told
//! the answer. The policy for what is sent and retried is in `relay/outgoing.rs`.

mod account;
mod asked;
mod awake;
mod figures;
mod guarded;
mod hub;
mod lineage;
mod memory;
mod own_tools;
mod people;
mod recognise;
mod reports;
mod rest;
mod shrink;
mod side_request;
mod snapshot;
mod takeover;
mod thread;
mod turn;
mod window;

pub(crate) use asked::Asked;
pub use figures::{Accounted, Figures};
pub use memory::MemoryOptions;
pub(crate) use own_tools::OwnTurn;
pub(crate) use people::{By, undo_at_rest};
pub(crate) use recognise::{Client, Purpose, Recognised};
pub(crate) use reports::{Report, Reports};
pub(crate) use snapshot::MARK;
pub use snapshot::{Context, Problem, SessionSnapshot, SessionStats, Snapshot, Stats, stats, stats_of};
pub(crate) use thread::{Thread, ThreadKey};
pub(crate) use turn::{Ended, Seen, Turn};
pub use window::claude_compacts_at;

use thread::Working;

use crate::counters::Counters;
use crate::inject::{Point, strike};
use crate::relay::{OriginalReason, Outgoing};
use crate::runtime::at_once;
use crate::{Limits, Managing, Settings};
use awake::Awake;
use bytes::Bytes;
use http::StatusCode;
use hub::Hub;
use jiff::Timestamp;
use lineage::Lineage;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use takeover::TakeOver;
use throughline_ledger::Home;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How often is looked for conversations that may rest.
const SHORTEST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// How long is waited for what is still learnt when the server stops.
const LEARNING: Duration = Duration::from_secs(5);

/// How a request is handled.
pub(crate) enum RoutingDecision {
    /// It is sent to the provider; the answer is not inspected, and nothing is retried.
    PassThrough(Outgoing),
    /// It is sent to the provider for a conversation, with retries.
    Forward(Box<Turn>),
    /// It is answered here.
    Respond(LocalAnswer),
}

/// What was decided.
enum Decision {
    Made(RoutingDecision),
    /// It is a compaction that is answered here.
    TakeOver(TakeOver),
}

/// An answer of ours.
pub(crate) struct LocalAnswer {
    pub(crate) status: StatusCode,
    pub(crate) content_type: &'static str,
    pub(crate) body: Bytes,
}

/// What every thread works with.
pub(crate) struct World {
    pub(crate) managing: Managing,
    pub(crate) limits: Limits,
    pub(crate) home: Home,
    pub(crate) reports: Reports,
    pub(crate) counters: Arc<Counters>,
    /// Summaries of ours that clients refer to.
    pub(crate) summaries: takeover::Summaries,
    /// What sessions remember; `None`: nothing.
    pub(crate) memory: Option<Arc<memory::Desk>>,
    /// Which conversations there are.
    lineage: Lineage,
    /// What all requests came to since the server runs.
    total: Mutex<Figures>,
    /// What is done off the path of requests, and waited for at the end.
    pub(crate) learning: TaskTracker,
    /// What the conversations hold that are awake.
    pub(crate) awake: Arc<Awake>,
    pub(crate) now: fn() -> Timestamp,
    /// Since when the server runs.
    pub(crate) since: Timestamp,
}

impl World {
    /// Something could not be written down.
    fn report_unrecorded(&self, error: &dyn std::error::Error) {
        self.reports.add((self.now)(), Report::Unrecorded(error.to_string()));
    }

    /// The client's request with the text of our summaries in place of their opaque items; `None` if it has none.
    fn resolve(&self, asked: &Asked) -> Option<Bytes> {
        let wire = asked.endpoint.wire()?;
        let expand = || takeover::expand(self, wire, &asked.body);
        catch_unwind(AssertUnwindSafe(expand)).ok()?.ok()?.map(Bytes::from)
    }

    /// The decision to send the client's own request.
    fn pass_through(&self, asked: &Asked, reason: OriginalReason) -> RoutingDecision {
        RoutingDecision::PassThrough(Outgoing::Original { reason, resolved: self.resolve(asked) })
    }

    /// One more request.
    fn count(&self, accounted: &Accounted) {
        self.total.lock().unwrap_or_else(PoisonError::into_inner).add(&accounted.figures());
    }
}

/// Decides about requests.
pub(crate) struct Manager {
    pub(crate) world: Arc<World>,
    pub(crate) hub: Hub,
    /// How many requests are decided about at the same time: the rest of the machine is the user's.
    at_once: Arc<Semaphore>,
}

impl Manager {
    pub(crate) fn new(settings: &Settings, managing: Managing, counters: Arc<Counters>) -> Self {
        let memory = managing.memory.clone().filter(|options| options.settings.enabled);
        let desk = |options| Arc::new(memory::Desk::new(options, settings.home.clone()));
        let world = Arc::new(World {
            memory: memory.map(desk),
            managing,
            limits: settings.limits,
            home: settings.home.clone(),
            reports: Reports::default(),
            counters,
            summaries: takeover::Summaries::default(),
            lineage: Lineage::new(&settings.home),
            total: Mutex::default(),
            learning: TaskTracker::new(),
            awake: Arc::new(Awake::new(settings.limits.awake_bytes)),
            now: settings.now,
            since: (settings.now)(),
        });
        Self { hub: Hub::new(world.clone()), world, at_once: Arc::new(Semaphore::new(at_once())) }
    }

    /// Decides about a request within our time limit. On an error, a panic or a timeout the client's own request is sent.
    pub(crate) async fn consider(self: &Arc<Self>, asked: Asked) -> RoutingDecision {
        let asked = Arc::new(asked);
        let decision = match self.guarded(&asked, Self::decide).await {
            Some(Decision::Made(decision)) => Some(decision),
            Some(Decision::TakeOver(take_over)) => match take_over.answer().await {
                Some(answer) => Some(RoutingDecision::Respond(answer)),
                None => self.guarded(&asked, Self::side_request).await,
            },
            None => None,
        };
        decision.unwrap_or_else(|| self.world.pass_through(&asked, OriginalReason::InternalError))
    }

    /// Runs work on a request within our time limit; a failure is reported.
    async fn guarded<T: Send + 'static>(
        self: &Arc<Self>,
        asked: &Arc<Asked>,
        work: fn(&Self, &Arc<Asked>) -> Result<T, ManageError>,
    ) -> Option<T> {
        let task = async {
            let permit = self.at_once.clone().acquire_owned().await;
            let (manager, asked) = (self.clone(), asked.clone());
            tokio::task::spawn_blocking(move || {
                let _permit = permit;
                work(&manager, &asked)
            })
            .await
        };
        let begun = Instant::now();
        let done = guarded::within(self.world.limits.our_time, task).await;
        self.world.counters.deciding.took(begun.elapsed());
        done.map_err(|error| self.world.reports.add(asked.at, Report::from(error))).ok()
    }

    fn decide(&self, asked: &Arc<Asked>) -> Result<Decision, ManageError> {
        strike(self.world.managing.inject, Point::First, &asked.headers)?;
        let unmanaged = || self.world.pass_through(asked, OriginalReason::Unmanaged);
        let Some(recognised) = recognise::recognise(asked) else { return Ok(Decision::Made(unmanaged())) };
        match recognised.purpose {
            Purpose::Turn => {
                let thread = self.hub.thread(&recognised, asked)?;
                let decision = thread.decide(asked)?;
                self.hub.make_room(&thread);
                strike(self.world.managing.inject, Point::Decided, &asked.headers)?;
                Ok(Decision::Made(decision))
            }
            Purpose::Compaction(native) if self.world.managing.take_over_compaction => {
                let thread = self.hub.thread(&recognised, asked)?;
                Ok(Decision::TakeOver(TakeOver { thread, asked: asked.clone(), native }))
            }
            Purpose::CountTokens | Purpose::Compaction(_) => self.side_request(asked).map(Decision::Made),
            Purpose::Memory | Purpose::Title => Ok(Decision::Made(unmanaged())),
        }
    }

    /// Decides about a request beside a conversation: what was decided about the conversation applies, and nothing is
    /// decided anew.
    fn side_request(&self, asked: &Arc<Asked>) -> Result<RoutingDecision, ManageError> {
        let recognised = recognise::recognise(asked);
        let thread = recognised.as_ref().and_then(|recognised| self.hub.known(recognised, asked));
        let (Some(recognised), Some(thread)) = (recognised, thread) else {
            return Ok(self.world.pass_through(asked, OriginalReason::Unmanaged));
        };
        let native = match recognised.purpose {
            Purpose::Compaction(native) => Some(native),
            Purpose::Turn | Purpose::CountTokens | Purpose::Memory | Purpose::Title => None,
        };
        let decision = thread.side_request(asked, native)?;
        self.hub.make_room(&thread);
        Ok(decision)
    }

    /// What there is to see now.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let mut sessions: Vec<_> = self.hub.threads().iter().map(|thread| thread.snapshot()).collect();
        sessions.sort_by_key(|session| std::cmp::Reverse(session.last));
        let total = self.world.total.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Snapshot {
            at: (self.world.now)(),
            since: self.world.since,
            sessions,
            total,
            held: self.world.awake.held() as u64,
            failures: self.world.reports.count(),
            problems: self
                .world
                .reports
                .newest()
                .into_iter()
                .map(|(at, report)| Problem { at, what: report.to_string() })
                .collect(),
        }
    }

    /// Has conversations rest that nobody needs, until the server stops.
    pub(crate) fn tend(self: &Arc<Self>, stop: CancellationToken) {
        let manager = self.clone();
        let pause = (self.world.limits.rest / 2).clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
        tokio::spawn(async move {
            // Not more often than this, however crowded it is.
            let waiting = || async {
                tokio::time::sleep(SHORTEST_PAUSE).await;
                let _ = tokio::time::timeout(pause, manager.world.awake.crowded()).await;
            };
            while stop.run_until_cancelled(waiting()).await.is_some() {
                let manager = manager.clone();
                let _ = tokio::task::spawn_blocking(move || manager.hub.sweep()).await;
            }
        });
    }

    /// All sessions rest: what was learnt is in their ledgers.
    pub(crate) async fn rest_all(self: &Arc<Self>) {
        if let Some(memory) = &self.world.memory {
            memory.stop();
        }
        self.world.learning.close();
        // What takes longer is not worth a program that does not end.
        let _ = tokio::time::timeout(LEARNING, self.world.learning.wait()).await;
        let manager = self.clone();
        let _ = tokio::task::spawn_blocking(move || manager.hub.rest_all()).await;
    }
}

/// Why a request could not be managed. It goes as it came then.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ManageError {
    /// It can't be prepared.
    #[error("cannot prepare the request: {0}")]
    Prepare(#[from] throughline_engine::PrepareError<throughline_ledger::LedgerError>),
    /// It can't be read.
    #[error("cannot read the request: {0}")]
    Wire(#[from] throughline_wire::WireError),
    /// Its ledger can't be used.
    #[error("cannot use the session's ledger: {0}")]
    Ledger(#[from] throughline_ledger::LedgerError),
    /// A test wants it to fail.
    #[error("a fault was injected at {0:?}")]
    Injected(Point),
    /// It can't be written anew.
    #[error("cannot write the request: {0}")]
    Write(#[from] throughline_engine::WriteError),
    /// Something is wrong in our code.
    #[error("our code panicked; please report it")]
    Panicked,
    /// It took longer than the time limit.
    #[error("it took longer than {} ms", .0.as_millis())]
    TooSlow(Duration),
}
