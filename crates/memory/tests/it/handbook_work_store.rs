//! A queue in memory that does what a test tells it: answers, fails, takes leases away.

use jiff::{SignedDuration, Timestamp};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};
use throughline_core::{MemoryMode, SessionId};
use throughline_memory::handbook::Scope;
use throughline_memory::store::{
    Answer, Cited, Claim, Consolidated, Edition, Enqueued, Extracted, Failure, Held, Job, JobKey, JobKind,
    JobState, Lease, Output, OwnerToken, Pruned, Run, Store, StoreError, Wanted, Watermark, WorkerId,
};
use throughline_model::{BoxFuture, Clock};

/// Time that passes only when nobody has anything to do.
pub(crate) struct PausedClock {
    began: tokio::time::Instant,
}

impl PausedClock {
    pub(crate) fn new() -> Self {
        Self { began: tokio::time::Instant::now() }
    }
}

impl Clock for PausedClock {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + self.began.elapsed()
    }

    fn sleep(&self, wait: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(wait))
    }

    fn jitter(&self) -> f64 {
        0.5
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) state: JobState,
    pub(crate) attempts: u32,
    pub(crate) failure: Option<Failure>,
    token: Option<OwnerToken>,
    until: Option<tokio::time::Instant>,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) jobs: BTreeMap<JobKey, Kept>,
    /// What was called, in order.
    pub(crate) calls: Vec<&'static str>,
    /// What was finished, in order.
    pub(crate) finished: Vec<JobKey>,
    /// Calls by name that fail, and how many of them.
    pub(crate) trouble: BTreeMap<&'static str, u32>,
    /// Calls by name that do what they should, and whose answer is lost.
    pub(crate) mute: BTreeMap<&'static str, u32>,
}

#[derive(Clone, Default)]
pub(crate) struct Queue {
    state: Arc<Mutex<State>>,
}

impl Queue {
    pub(crate) fn with(keys: impl IntoIterator<Item = JobKey>) -> Self {
        let queue = Self::default();
        queue.add(keys);
        queue
    }

    pub(crate) fn add(&self, keys: impl IntoIterator<Item = JobKey>) {
        let fresh = Kept { state: JobState::Pending, attempts: 0, failure: None, token: None, until: None };
        let mut state = self.lock();
        keys.into_iter().for_each(|key| {
            state.jobs.entry(key).or_insert_with(|| fresh.clone());
        });
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub(crate) fn count(&self, call: &str) -> usize {
        self.lock().calls.iter().filter(|name| **name == call).count()
    }

    /// Somebody else has the job now, for so long.
    pub(crate) fn take_away(&self, key: &JobKey, lasts: Duration) {
        let mut state = self.lock();
        let job = state.jobs.get_mut(key).unwrap();
        job.state = JobState::Running;
        job.token = Some(OwnerToken(uuid::Uuid::new_v4()));
        job.until = Some(tokio::time::Instant::now() + lasts);
    }

    fn answer<'a, T: Send + 'a>(
        &self,
        call: &'static str,
        change: impl FnOnce(&mut State) -> T,
    ) -> Answer<'a, T> {
        let mut state = self.lock();
        state.calls.push(call);
        let mut strikes = |which: fn(&mut State) -> &mut BTreeMap<&'static str, u32>| {
            let left = which(&mut state).get_mut(call).filter(|left| **left > 0);
            left.map(|left| *left -= 1).is_some()
        };
        let away = || StoreError::Unreachable("it is away".to_owned());
        let answer = if strikes(|state| &mut state.trouble) {
            Err(away())
        } else if strikes(|state| &mut state.mute) {
            change(&mut state);
            Err(away())
        } else {
            Ok(change(&mut state))
        };
        Box::pin(std::future::ready(answer))
    }

    fn change<'a>(
        &self,
        call: &'static str,
        lease: &Lease,
        change: impl FnOnce(&mut State, &JobKey),
    ) -> Answer<'a, Held> {
        let (key, token) = (lease.job.clone(), lease.token.clone());
        self.answer(call, move |state| match state.jobs.get(&key) {
            Some(job) if job.token.as_ref() == Some(&token) => {
                change(state, &key);
                Held::Held
            }
            _ => Held::Lost,
        })
    }
}

fn end(state: &mut State, key: &JobKey, to: JobState) {
    let job = state.jobs.get_mut(key).unwrap();
    (job.state, job.token, job.until) = (to, None, None);
}

impl Store for Queue {
    fn enqueue<'a>(&'a self, wanted: &'a [Wanted]) -> Answer<'a, Enqueued> {
        let keys: Vec<JobKey> = wanted
            .iter()
            .map(|wanted| match wanted {
                Wanted::Extract { session, .. } => JobKey::Extract(session.clone()),
                Wanted::Consolidate(scope) => JobKey::Consolidate(scope.clone()),
            })
            .collect();
        let added = keys.len() as u64;
        self.add(keys);
        self.answer("enqueue", move |_| Enqueued { added, ..Enqueued::default() })
    }

    fn claim<'a>(&'a self, claim: &'a Claim) -> Answer<'a, Vec<Lease>> {
        self.answer("claim", |state| {
            let now = tokio::time::Instant::now();
            let running = |state: &State| {
                let of_kind = state.jobs.iter().filter(|(key, _)| key.kind() == claim.kind);
                of_kind.filter(|(_, job)| job.until.is_some_and(|until| until > now)).count()
            };
            let room = claim.running.map_or(usize::MAX, |most| most.saturating_sub(running(state)));
            let due = |(key, job): &(&JobKey, &mut Kept)| {
                let is_due = job.state == JobState::Pending || job.until.is_some_and(|until| until <= now);
                key.kind() == claim.kind
                    && is_due
                    && claim.only.as_ref().is_none_or(|only| only.contains(key))
            };
            let leased = |(key, job): (&JobKey, &mut Kept)| {
                let token = OwnerToken(uuid::Uuid::new_v4());
                job.state = JobState::Running;
                job.attempts += 1;
                job.token = Some(token.clone());
                job.until = Some(now + Duration::try_from(claim.lease).unwrap());
                Lease {
                    job: key.clone(),
                    watermark: Watermark(1),
                    at: None,
                    token,
                    attempt: job.attempts,
                    until: Timestamp::UNIX_EPOCH,
                    length: claim.lease,
                    tries: claim.tries,
                }
            };
            state.jobs.iter_mut().filter(due).take(claim.most.min(room)).map(leased).collect()
        })
    }

    fn renew<'a>(&'a self, lease: &'a Lease) -> Answer<'a, Held> {
        let until = tokio::time::Instant::now() + Duration::try_from(lease.length).unwrap();
        self.change("renew", lease, move |state, key| state.jobs.get_mut(key).unwrap().until = Some(until))
    }

    fn release<'a>(&'a self, lease: &'a Lease) -> Answer<'a, Held> {
        self.change("release", lease, |state, key| end(state, key, JobState::Pending))
    }

    fn fail<'a>(&'a self, lease: &'a Lease, failure: &'a Failure) -> Answer<'a, Held> {
        let failure = failure.clone();
        self.change("fail", lease, move |state, key| {
            end(state, key, if failure.is_passing { JobState::Waiting } else { JobState::Failed });
            state.jobs.get_mut(key).unwrap().failure = Some(failure);
        })
    }

    fn finish_extract<'a>(&'a self, lease: &'a Lease, _: &'a Extracted) -> Answer<'a, Held> {
        self.change("finish", lease, |state, key| {
            end(state, key, JobState::Done);
            state.finished.push(key.clone());
        })
    }

    fn finish_consolidate<'a>(&'a self, lease: &'a Lease, _: &'a Consolidated) -> Answer<'a, Held> {
        self.change("finish", lease, |state, key| {
            end(state, key, JobState::Done);
            state.finished.push(key.clone());
        })
    }

    fn outputs<'a>(&'a self, _: &'a Scope, _: Option<Timestamp>, _: usize) -> Answer<'a, Vec<Output>> {
        self.answer("outputs", |_| Vec::new())
    }

    fn output<'a>(&'a self, _: &'a SessionId) -> Answer<'a, Option<Output>> {
        self.answer("output", |_| None)
    }

    fn cite<'a>(&'a self, _: &'a Cited) -> Answer<'a, u64> {
        self.answer("cite", |_| 0)
    }

    fn set_mode<'a>(&'a self, _: &'a SessionId, _: MemoryMode) -> Answer<'a, ()> {
        self.answer("set_mode", |_| ())
    }

    fn forget<'a>(&'a self, _: &'a SessionId) -> Answer<'a, bool> {
        self.answer("forget", |_| false)
    }

    fn prune<'a>(&'a self, _: Timestamp, _: usize) -> Answer<'a, Pruned> {
        self.answer("prune", |_| Pruned::default())
    }

    fn reset<'a>(&'a self, _: Option<&'a Scope>) -> Answer<'a, ()> {
        self.answer("reset", |_| ())
    }

    fn edition<'a>(&'a self, _: &'a Scope) -> Answer<'a, Option<Edition>> {
        self.answer("edition", |_| None)
    }

    fn publish<'a>(&'a self, _: &'a Edition, _: u64) -> Answer<'a, Option<u64>> {
        self.answer("publish", |_| None)
    }

    fn jobs<'a>(&'a self, kind: Option<JobKind>, most: usize) -> Answer<'a, Vec<Job>> {
        self.answer("jobs", |state| {
            let job = |(key, job): (&JobKey, &Kept)| Job {
                job: key.clone(),
                state: job.state,
                watermark: Watermark(1),
                done: None,
                attempts: job.attempts,
                worker: job.token.as_ref().map(|_| WorkerId("somebody".to_owned())),
                until: None,
                failure: None,
            };
            let of_kind = state.jobs.iter().filter(|(key, _)| kind.is_none_or(|kind| key.kind() == kind));
            of_kind.map(job).take(most).collect()
        })
    }

    fn runs<'a>(&'a self, _: Option<Timestamp>, _: usize) -> Answer<'a, Vec<Run>> {
        self.answer("runs", |_| Vec::new())
    }

    fn scopes<'a>(&'a self) -> Answer<'a, Vec<Scope>> {
        self.answer("scopes", |_| Vec::new())
    }

    fn is_shared(&self) -> bool {
        false
    }
}

/// A lease of a minute.
pub(crate) const LEASE: SignedDuration = SignedDuration::from_secs(60);
