//! The loop that serves the queue: what runs at once, what keeps a lease, what happens when the store or the lease goes away.

use crate::handbook_work_store::{LEASE, PausedClock, Queue};
use jiff::Timestamp;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use throughline_core::SessionId;
use throughline_core::cost::Dollars;
use throughline_memory::handbook::work::{
    AtStart, ConsolidateHandbook, Crew, Drained, ExtractSession, JobEnd, Order, PhaseError, Phases, Which,
    WorkError, WorkEvent, WorkLimits, Worker,
};
use throughline_memory::handbook::{Extraction, HandbookLimits, HomeId, ProjectKey, Scope};
use throughline_memory::notes::Author;
use throughline_memory::store::{
    Consolidated, Cost, Extracted, Failure, JobKey, JobState, Lease, RunOutcome, Source, Wanted, Watermark,
    WorkerId,
};
use throughline_model::{BoxFuture, CancelToken, Clock};

/// What a phase does with a job.
#[derive(Clone)]
enum Does {
    /// Takes so long and succeeds.
    Takes(Duration),
    /// Takes so long and succeeds, whatever it is told.
    Insists(Duration),
    /// Fails.
    Fails {
        passing: bool,
    },
    /// Can't, and nobody can.
    Cannot,
    /// Finds nothing to work on.
    FindsNothing,
    Panics,
}

#[derive(Clone)]
struct Script {
    does: Arc<dyn Fn(&JobKey) -> Does + Send + Sync>,
    running: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    began: Arc<Mutex<Vec<JobKey>>>,
    cancelled: Arc<AtomicUsize>,
}

impl Script {
    fn new(does: impl Fn(&JobKey) -> Does + Send + Sync + 'static) -> Self {
        Self {
            does: Arc::new(does),
            running: Arc::default(),
            most: Arc::default(),
            began: Arc::default(),
            cancelled: Arc::default(),
        }
    }

    async fn act(&self, lease: &Lease, cancel: CancelToken) -> Result<(), PhaseError> {
        self.began.lock().unwrap().push(lease.job.clone());
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(running, Ordering::SeqCst);
        let result = match (self.does)(&lease.job) {
            Does::Takes(long) => tokio::select! {
                () = tokio::time::sleep(long) => Ok(()),
                () = cancel.cancelled() => {
                    self.cancelled.fetch_add(1, Ordering::SeqCst);
                    Err(PhaseError::Everyones(Failure { why: "told to stop".to_owned(), is_passing: true }))
                }
            },
            Does::Insists(long) => {
                tokio::time::sleep(long).await;
                Ok(())
            }
            Does::Fails { passing } => {
                Err(PhaseError::Failed(Failure { why: "no luck".to_owned(), is_passing: passing }))
            }
            Does::Cannot => {
                Err(PhaseError::Everyones(Failure { why: "no quota".to_owned(), is_passing: true }))
            }
            Does::FindsNothing => {
                Err(PhaseError::Gone(Failure { why: "gone".to_owned(), is_passing: false }))
            }
            Does::Panics => panic!("as the test wants it"),
        };
        self.running.fetch_sub(1, Ordering::SeqCst);
        result
    }
}

fn cost() -> Cost {
    Cost { by: Author::Offline, model: None, tokens: 0, dollars: Dollars::default(), seconds: 0.0 }
}

impl ExtractSession for Script {
    fn extract<'a>(
        &'a self,
        lease: &'a Lease,
        cancel: CancelToken,
    ) -> BoxFuture<'a, Result<Extracted, PhaseError>> {
        Box::pin(async move {
            self.act(lease, cancel).await?;
            let JobKey::Extract(session) = &lease.job else { panic!("{:?}", lease.job) };
            let source = Source {
                session: session.clone(),
                project: ProjectKey::new("p"),
                home: HomeId::new("h"),
                ledger: String::new(),
                client: String::new(),
                cwd: None,
                branch: None,
                created: None,
                updated: Timestamp::UNIX_EPOCH,
            };
            Ok(Extracted { source, extraction: Some(Extraction::default()), cost: cost() })
        })
    }
}

impl ConsolidateHandbook for Script {
    fn consolidate<'a>(
        &'a self,
        lease: &'a Lease,
        cancel: CancelToken,
    ) -> BoxFuture<'a, Result<Consolidated, PhaseError>> {
        Box::pin(async move {
            self.act(lease, cancel).await?;
            Ok(Consolidated { selected: Vec::new(), edition: None, cost: cost() })
        })
    }
}

struct Shop {
    queue: Queue,
    script: Script,
    worker: Worker,
    events: Arc<Mutex<Vec<WorkEvent>>>,
}

impl Shop {
    fn new(queue: Queue, script: Script) -> Self {
        Self::with(queue, script, |limits| limits)
    }

    fn with(queue: Queue, script: Script, limits: impl FnOnce(WorkLimits) -> WorkLimits) -> Self {
        let events: Arc<Mutex<Vec<WorkEvent>>> = Arc::default();
        let heard = Arc::clone(&events);
        let base = WorkLimits { lease: LEASE, heartbeat: BEAT, ..WorkLimits::of(&HandbookLimits::default()) };
        let worker = Worker::new(Crew {
            store: Arc::new(queue.clone()),
            phases: Phases { extract: Box::new(script.clone()), consolidate: Box::new(script.clone()) },
            home: HomeId::new("h"),
            worker: WorkerId("me".to_owned()),
            limits: limits(base),
            clock: Arc::new(PausedClock::new()),
            listen: Box::new(move |event| heard.lock().unwrap().push(event)),
        });
        Self { queue, script, worker, events }
    }

    async fn drain(&self, order: &Order) -> Drained {
        self.worker.drain(order, &CancelToken::new()).await.unwrap()
    }

    fn state(&self, key: &JobKey) -> JobState {
        self.queue.lock().jobs[key].state
    }
}

const BEAT: Duration = Duration::from_secs(20);
const MINUTE: Duration = Duration::from_secs(60);

fn session(n: usize) -> JobKey {
    JobKey::Extract(SessionId::new(format!("s{n:03}")))
}

fn sessions(n: usize) -> Vec<JobKey> {
    (0..n).map(session).collect()
}

fn book(name: &str) -> JobKey {
    JobKey::Consolidate(Scope::Project(ProjectKey::new(name)))
}

fn takes(seconds: u64) -> Script {
    Script::new(move |_| Does::Takes(Duration::from_secs(seconds)))
}

#[tokio::test(start_paused = true)]
async fn h2_everything_is_done_once_so_many_at_a_time_and_books_come_last() {
    let keys: Vec<JobKey> = sessions(50).into_iter().chain([book("a"), book("b")]).collect();
    let shop = Shop::with(Queue::with(keys.clone()), takes(7), |limits| WorkLimits { extract: 4, ..limits });
    let drained = shop.drain(&Order::all()).await;
    assert!(drained.ended.iter().all(|(_, end)| matches!(end, JobEnd::Done { .. })), "{drained:?}");
    let finished = shop.queue.lock().finished.clone();
    assert_eq!(finished.len(), 52);
    assert_eq!(finished.iter().cloned().collect::<BTreeSet<_>>(), keys.into_iter().collect());
    assert_eq!(finished[50..], [book("a"), book("b")]);
    assert_eq!(shop.script.most.load(Ordering::SeqCst), 4);
    assert_eq!(drained.done().filter(|(_, outcome, ..)| *outcome == RunOutcome::Done).count(), 50);
    assert!(!drained.stopped);
}

#[tokio::test(start_paused = true)]
async fn a_job_that_takes_many_leases_keeps_its_own() {
    let shop = Shop::new(Queue::with([session(0)]), takes(3_600));
    let drained = shop.drain(&Order::all()).await;
    assert!(matches!(drained.ended[..], [(_, JobEnd::Done { .. })]), "{drained:?}");
    assert_eq!(shop.queue.lock().jobs[&session(0)].attempts, 1);
    assert!(shop.queue.count("renew") >= 179);
}

#[tokio::test(start_paused = true)]
async fn a_lost_lease_stops_the_job_and_throws_its_result_away() {
    let queue = Queue::with([session(0), session(1)]);
    // One stops when it is told, the other goes on and hands in a result.
    let script = Script::new(|key| match *key == session(0) {
        true => Does::Takes(10 * MINUTE),
        false => Does::Insists(2 * MINUTE + BEAT),
    });
    let shop = Shop::new(queue.clone(), script);
    let thief = tokio::spawn(async move {
        tokio::time::sleep(2 * MINUTE).await;
        [session(0), session(1)].iter().for_each(|key| queue.take_away(key, 100 * MINUTE));
    });
    let drained = shop.drain(&Order::all()).await;
    thief.await.unwrap();
    let ends: Vec<&JobEnd> = drained.ended.iter().map(|(_, end)| end).collect();
    assert_eq!(ends, [&JobEnd::Lost, &JobEnd::Lost]);
    assert_eq!(shop.queue.lock().finished, []);
    assert_eq!(shop.script.cancelled.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_away_for_longer_than_the_lease_ends_the_job() {
    let shop = Shop::new(Queue::with([session(0)]), takes(3_600));
    shop.queue.lock().trouble.insert("renew", u32::MAX);
    let order = Order { most: 1, ..Order::all() };
    let drained = shop.drain(&order).await;
    assert_eq!(drained.ended, [(session(0), JobEnd::Lost)]);
    assert_eq!(shop.script.cancelled.load(Ordering::SeqCst), 1);
    // While it was away it was asked again and again, but not without pause.
    assert!((3..40).contains(&shop.queue.count("renew")), "{}", shop.queue.count("renew"));
}

#[tokio::test(start_paused = true)]
async fn a_store_that_comes_back_gets_the_result() {
    let shop = Shop::new(Queue::with([session(0)]), takes(50));
    shop.queue.lock().trouble.extend([("finish", 4), ("claim", 3), ("renew", 1)]);
    let drained = shop.drain(&Order::all()).await;
    assert!(matches!(drained.ended[..], [(_, JobEnd::Done { .. })]), "{drained:?}");
    assert_eq!(shop.queue.count("finish"), 5);
    assert_eq!(shop.queue.lock().finished, [session(0)]);
    let told = shop.events.lock().unwrap().iter().filter(|e| matches!(e, WorkEvent::Store { .. })).count();
    assert_eq!(told, 8);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_lost_on_the_way_is_not_taken_for_a_no() {
    let shop = Shop::new(Queue::with([session(0)]), takes(5));
    shop.queue.lock().mute.insert("finish", 1);
    let drained = shop.drain(&Order::all()).await;
    assert!(matches!(drained.ended[..], [(_, JobEnd::Unsettled { .. })]), "{drained:?}");
    assert_eq!(shop.queue.lock().finished, [session(0)], "once");
}

#[tokio::test(start_paused = true)]
async fn a_store_that_stays_away_is_an_error_after_a_while_and_the_lease_runs_out() {
    let shop = Shop::new(Queue::with(sessions(2)), takes(5));
    shop.queue.lock().trouble.insert("finish", u32::MAX);
    let order = Order { extract: Which::Only(vec![session(0)]), ..Order::all() };
    let drained = shop.drain(&order).await;
    assert!(matches!(drained.ended[..], [(_, JobEnd::Unsettled { .. })]), "{drained:?}");
    assert_eq!(shop.queue.count("finish"), 8);
    assert_eq!(shop.state(&session(0)), JobState::Running);
    shop.queue.lock().trouble = [("claim", u32::MAX)].into();
    let WorkError::Store(error) = shop.worker.drain(&order, &CancelToken::new()).await.unwrap_err();
    assert!(error.is_passing());
    // Once it is back, and the lease over, the job is done after all.
    shop.queue.lock().trouble.clear();
    tokio::time::sleep(2 * MINUTE).await;
    let drained = shop.drain(&order).await;
    assert!(matches!(drained.ended[..], [(_, JobEnd::Done { .. })]), "{drained:?}");
}

#[tokio::test(start_paused = true)]
async fn told_to_stop_it_gives_back_what_it_has() {
    let script = Script::new(|key| match *key == session(0) {
        true => Does::Insists(33 * MINUTE / 30),
        false => Does::Takes(10 * MINUTE),
    });
    let shop = Shop::with(Queue::with(sessions(9)), script, |limits| WorkLimits { extract: 3, ..limits });
    let stop = CancelToken::new();
    let later = stop.clone();
    tokio::spawn(async move {
        tokio::time::sleep(MINUTE).await;
        later.cancel();
    });
    let drained = shop.worker.drain(&Order::all(), &stop).await.unwrap();
    assert!(drained.stopped);
    // One was so near its end that it is kept; the others can be had at once.
    let of = |n: usize| drained.ended.iter().find(|(key, _)| *key == session(n)).map(|(_, end)| end.clone());
    assert!(matches!(of(0), Some(JobEnd::Done { .. })), "{drained:?}");
    assert_eq!([of(1), of(2), of(3)], [Some(JobEnd::Released), Some(JobEnd::Released), None]);
    assert_eq!(shop.state(&session(0)), JobState::Done);
    assert!((1..9).all(|n| shop.state(&session(n)) == JobState::Pending));
}

#[tokio::test(start_paused = true)]
async fn a_phase_that_hears_nothing_does_not_hold_up_the_end() {
    let shop = Shop::new(Queue::with([session(0)]), Script::new(|_| Does::Insists(600 * MINUTE)));
    let stop = CancelToken::new();
    stop.cancel();
    let drained = shop.worker.drain(&Order::all(), &stop).await.unwrap();
    assert_eq!(drained.ended, [], "nothing is begun any more");
    let stop = CancelToken::new();
    let later = stop.clone();
    tokio::spawn(async move {
        tokio::time::sleep(MINUTE).await;
        later.cancel();
    });
    let drained = shop.worker.drain(&Order::all(), &stop).await.unwrap();
    assert_eq!(drained.ended, [(session(0), JobEnd::Released)]);
}

#[tokio::test(start_paused = true)]
async fn failures_and_panics_are_the_jobs_own() {
    let script = Script::new(|key| match key {
        key if *key == session(0) => Does::Fails { passing: true },
        key if *key == session(1) => Does::Fails { passing: false },
        key if *key == session(2) => Does::Panics,
        _ => Does::Takes(BEAT),
    });
    let shop = Shop::new(Queue::with(sessions(6)), script);
    let drained = shop.drain(&Order::all()).await;
    assert_eq!(drained.ended.len(), 6);
    let states: Vec<JobState> = (0..6).map(|n| shop.state(&session(n))).collect();
    use JobState::{Done, Failed, Waiting};
    assert_eq!(states, [Waiting, Failed, Failed, Done, Done, Done]);
    let of = |n: usize| drained.ended.iter().find(|(key, _)| *key == session(n)).map(|(_, end)| end.clone());
    assert_eq!(of(0), Some(JobEnd::Failed { why: "no luck".to_owned(), again: true }));
    assert_eq!(of(1), Some(JobEnd::Failed { why: "no luck".to_owned(), again: false }));
    let Some(JobEnd::Failed { why, again: false }) = of(2) else { panic!("{drained:?}") };
    assert!(why.contains("mistake in throughline"), "{why}");
    let ended = |event: &&WorkEvent| matches!(event, WorkEvent::Ended { .. });
    assert_eq!(shop.events.lock().unwrap().iter().filter(ended).count(), 6);
}

#[tokio::test(start_paused = true)]
async fn what_nobody_can_do_is_given_back_and_not_tried_on_every_session() {
    let cannot = || Script::new(|_| Does::Cannot);
    let few = |limits| WorkLimits { extract: 2, ..limits };
    let shop = Shop::with(Queue::with(sessions(9).into_iter().chain([book("a")])), cannot(), few);
    let drained = shop.drain(&Order { wait: true, ..Order::all() }).await;
    assert_eq!(drained.halted.as_deref(), Some("no quota"));
    assert!(drained.ended.len() <= 3, "{drained:?}");
    assert!((0..9).all(|n| shop.state(&session(n)) == JobState::Pending));
    assert_eq!(shop.state(&book("a")), JobState::Pending);
    // Who serves looks again after a while.
    let shop = Shop::with(Queue::with(sessions(9)), cannot(), few);
    let stop = CancelToken::new();
    let later = stop.clone();
    tokio::spawn(async move {
        tokio::time::sleep(60 * MINUTE).await;
        later.cancel();
    });
    shop.worker.serve(&stop).await.unwrap();
    let began = shop.script.began.lock().unwrap().len();
    assert!((20..130).contains(&began), "{began}");
}

#[tokio::test(start_paused = true)]
async fn what_is_gone_is_forgotten() {
    let shop = Shop::new(Queue::with([session(0)]), Script::new(|_| Does::FindsNothing));
    let drained = shop.drain(&Order::all()).await;
    assert_eq!(drained.ended, [(session(0), JobEnd::Failed { why: "gone".to_owned(), again: false })]);
    assert_eq!(shop.queue.count("forget"), 1);
}

#[tokio::test(start_paused = true)]
async fn what_others_do_is_waited_for_where_that_is_wanted() {
    let queue = Queue::with(sessions(2));
    // A process that was killed holds the one for another half an hour.
    queue.take_away(&session(0), 30 * MINUTE);
    let shop = Shop::new(queue, takes(5));
    assert_eq!(shop.drain(&Order::all()).await.ended.len(), 1);
    let drained = shop.drain(&Order { wait: true, ..Order::all() }).await;
    assert!(matches!(drained.ended[..], [(_, JobEnd::Done { .. })]), "{drained:?}");
    assert!(shop.events.lock().unwrap().contains(&WorkEvent::Waiting { jobs: 1 }));
}

#[tokio::test(start_paused = true)]
async fn serving_takes_up_what_comes_and_asks_no_oftener_than_it_must() {
    let shop = Shop::new(Queue::default(), takes(5));
    let stop = CancelToken::new();
    let (queue, later) = (shop.queue.clone(), stop.clone());
    let comes = tokio::spawn(async move {
        tokio::time::sleep(60 * MINUTE).await;
        let asked = queue.count("claim");
        queue.add(sessions(20).into_iter().chain([book("a")]));
        tokio::time::sleep(5 * MINUTE).await;
        later.cancel();
        asked
    });
    shop.worker.serve(&stop).await.unwrap();
    // In an hour with nothing to do: once in 15 seconds, for sessions and for handbooks.
    let asked = comes.await.unwrap();
    assert!((200..600).contains(&asked), "{asked}");
    let finished = shop.queue.lock().finished.clone();
    assert_eq!(finished.len(), 21);
    assert_eq!(finished.last(), Some(&book("a")), "a handbook waits until no session is left");
}

#[tokio::test(start_paused = true)]
async fn serving_outlasts_a_store_that_is_away_and_gives_back_at_the_end() {
    let shop = Shop::new(Queue::with([session(0)]), takes(3_600));
    shop.queue.lock().trouble.insert("claim", 100);
    let stop = CancelToken::new();
    let later = stop.clone();
    tokio::spawn(async move {
        tokio::time::sleep(40 * MINUTE).await;
        later.cancel();
    });
    shop.worker.serve(&stop).await.unwrap();
    assert_eq!(shop.script.began.lock().unwrap().len(), 1);
    assert_eq!(shop.state(&session(0)), JobState::Pending);
}

#[tokio::test(start_paused = true)]
async fn handbooks_do_not_wait_for_ever_while_sessions_keep_coming() {
    let keys = sessions(300).into_iter().chain([book("a")]);
    let shop = Shop::with(Queue::with(keys), takes(30), |limits| WorkLimits { extract: 1, ..limits });
    let stop = CancelToken::new();
    let later = stop.clone();
    tokio::spawn(async move {
        tokio::time::sleep(20 * MINUTE).await;
        later.cancel();
    });
    shop.worker.serve(&stop).await.unwrap();
    assert_eq!(shop.state(&book("a")), JobState::Done);
    assert_eq!(shop.state(&session(299)), JobState::Pending);
}

#[tokio::test(start_paused = true)]
async fn h1_a_start_reads_a_few_sessions_and_no_more_at_once_than_that() {
    let shop = Shop::new(Queue::with([book("mine"), book("other")]), takes(5));
    let wanted = |n: usize| Wanted::Extract {
        instead_of: Vec::new(),
        session: SessionId::new(format!("s{n:03}")),
        home: HomeId::new("h"),
        project: ProjectKey::new("mine"),
        ledger: String::new(),
        watermark: Watermark(1),
    };
    let start = AtStart {
        wanted: (0..5).map(wanted).collect(),
        scope: Scope::Project(ProjectKey::new("mine")),
        cutoff: Timestamp::UNIX_EPOCH,
        prune: 200,
        sessions: 2,
    };
    let drained = shop.worker.at_start(&start, &CancelToken::new()).await.unwrap();
    assert_eq!(shop.queue.lock().calls[..2], ["prune", "enqueue"]);
    assert_eq!(drained.ended.len(), 3, "{drained:?}");
    assert_eq!(shop.state(&book("mine")), JobState::Done);
    assert_eq!(shop.state(&book("other")), JobState::Pending);
    // Another start at the same time has to leave it at that.
    (2..4).for_each(|n| shop.queue.take_away(&session(n), 30 * MINUTE));
    let drained = shop.worker.at_start(&start, &CancelToken::new()).await.unwrap();
    assert!(drained.ended.iter().all(|(key, _)| *key == book("mine")), "{drained:?}");
}

#[test]
fn the_clock_of_these_tests_is_not_the_walls() {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let clock = PausedClock::new();
        clock.sleep(1_000 * MINUTE).await;
        assert_eq!(clock.now().duration_since(std::time::UNIX_EPOCH).unwrap(), 1_000 * MINUTE);
    });
}
