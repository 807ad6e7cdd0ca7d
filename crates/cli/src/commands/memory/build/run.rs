//! Reads what is due, and writes the handbooks.

use super::estimate::Reading;
use super::find::{Found, Session};
use super::progress::{Shown, counted};
use super::{Begun, How, may_spend};
use crate::handbook::{Hands, crew_of, stop_on_signals};
use std::collections::{BTreeSet, HashMap};
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::{Duration, Instant};
use throughline_core::SessionId;
use throughline_memory::handbook::work::{Crew, Drained, Order, Which, WorkLimits, Worker};
use throughline_memory::handbook::{ProjectKey, Scope};
use throughline_memory::store::{Job, JobKey, JobKind, JobState, Source, Store, Wanted};

/// Which handbooks are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Books {
    /// Those of the projects whose sessions were found, where something changed, and the global one.
    Touched,
    /// All that are known, also where nothing but a note is new.
    All,
}

/// What is to be done.
pub(super) struct Task<'a> {
    pub(super) begun: &'a Begun<'a>,
    pub(super) how: &'a How,
    pub(super) found: Found,
    pub(super) books: Books,
}

/// What was done.
pub(super) struct Done {
    pub(super) found: Found,
    pub(super) unchanged: usize,
    /// Sessions whose ledgers are gone, and what they taught with them.
    pub(super) forgotten: usize,
    pub(super) drained: Drained,
    /// Jobs that failed, now or before, and why.
    pub(super) failed: Vec<Failed>,
    pub(super) took: Duration,
    pub(super) model: Option<String>,
    pub(super) scopes: BTreeSet<Scope>,
    pub(super) store: String,
    /// Whether the user did not want to spend anything.
    pub(super) declined: bool,
}

/// A job that failed.
pub(super) struct Failed {
    pub(super) job: Job,
    pub(super) why: String,
}

impl Failed {
    /// Whether it is tried again at some time.
    pub(super) fn again(&self) -> bool {
        self.job.state == JobState::Waiting
    }
}

impl Done {
    pub(super) fn is_success(&self) -> bool {
        self.failed.is_empty()
            && self.found.not_imported.is_empty()
            && !self.drained.stopped
            && self.drained.halted.is_none()
            && !self.declined
    }
}

/// Leases are short where nobody else waits for them: after a kill, the next run soon finds what was being read.
const LEASE_SECONDS: u32 = 60;

impl Task<'_> {
    pub(super) fn run(self) -> anyhow::Result<Done> {
        self.begun.context.block_on(self.work())?
    }

    async fn work(self) -> anyhow::Result<Done> {
        let Self { begun, how, found, books } = self;
        let began = Instant::now();
        let hands = Hands::new(begun.context, &begun.settings, how.scribe)?;
        let model = hands.model_id().map(str::to_owned);
        let store = begun.place.open().await?;
        let wanted: Vec<Wanted> = found.sessions.iter().map(|session| session.wanted.clone()).collect();
        let keys: Vec<JobKey> = found.sessions.iter().map(Session::key).collect();
        let (due, unchanged) = due(store.as_ref(), found.sessions.clone()).await?;
        let gone = gone(store.as_ref(), begun, &found).await?;
        let mut scopes = scopes(store.as_ref(), begun, &found, books).await?;
        scopes.extend(gone.iter().map(|(_, project)| Scope::Project(project.clone())));
        let mut done = Done {
            found,
            unchanged,
            forgotten: gone.len(),
            drained: Drained::default(),
            failed: Vec::new(),
            took: Duration::ZERO,
            model,
            scopes,
            store: begun.place.to_string(),
            declined: false,
        };
        if !asked(begun, &hands, &due, how.yes)? {
            done.declined = true;
            return Ok(done);
        }
        for (session, _) in &gone {
            store.forget(session).await?;
        }
        store.enqueue(&wanted).await?;
        if books == Books::All {
            let wanted: Vec<Wanted> = done.scopes.iter().cloned().map(Wanted::Consolidate).collect();
            store.enqueue(&wanted).await?;
        }
        let stop = stop_on_signals("giving back what is being read; run it again to go on");
        let shown = Arc::new(Shown::new(begun.context.json, due.len() as u64));
        let heard = Arc::clone(&shown);
        let crew =
            crew_of(&begun.context.home, &begun.settings, hands, (Arc::clone(&store), begun.id.clone()));
        let limits = crew.limits.with_lease(LEASE_SECONDS.min(begun.settings.limits.lease_seconds));
        let extract = how.jobs.map_or(limits.extract, usize::from);
        let worker = Worker::new(Crew {
            limits: WorkLimits { extract, ..limits },
            listen: Box::new(move |event| heard.hear(&event)),
            ..crew
        });
        let order = Order {
            extract: Which::Only(keys.clone()),
            consolidate: Which::Only(done.scopes.iter().cloned().map(JobKey::Consolidate).collect()),
            wait: true,
            ..Order::all()
        };
        let drained = worker.drain(&order, &stop).await;
        shown.end();
        done.drained = drained?;
        done.failed = failed(store.as_ref(), &keys, &done.scopes).await?;
        done.took = began.elapsed();
        Ok(done)
    }
}

/// Those of the sessions that are to be read, and how many are not: they are done up to where they are now, or failed for good.
pub(super) async fn due(store: &dyn Store, sessions: Vec<Session>) -> anyhow::Result<(Vec<Session>, usize)> {
    let jobs = store.jobs(Some(JobKind::Extract), usize::MAX).await?;
    let jobs: HashMap<&JobKey, &Job> = jobs.iter().map(|job| (&job.job, job)).collect();
    let all = sessions.len();
    let is_due = |session: &Session| match jobs.get(&session.key()) {
        None => true,
        Some(job) => {
            session.watermark > job.watermark
                || match job.state {
                    JobState::Pending | JobState::Running | JobState::Waiting => true,
                    JobState::Done | JobState::Failed => false,
                }
        }
    };
    let due: Vec<Session> = sessions.into_iter().filter(is_due).collect();
    let unchanged = all - due.len();
    Ok((due, unchanged))
}

/// Sessions of this home that taught something and whose ledgers are no longer there. Where no session is there at all, nothing can be said: the folder
/// may be elsewhere today.
async fn gone(
    store: &dyn Store,
    begun: &Begun<'_>,
    found: &Found,
) -> anyhow::Result<Vec<(SessionId, ProjectKey)>> {
    if found.sessions.is_empty() {
        return Ok(Vec::new());
    }
    let outputs = store.outputs(&Scope::Global, None, usize::MAX).await?;
    let is_gone = |source: &Source| {
        let path = begun.context.home.resolve(&source.ledger);
        let looked = path.map(|path| path.symlink_metadata());
        source.home == begun.id
            && looked.is_some_and(|looked| looked.is_err_and(|error| error.kind() == ErrorKind::NotFound))
    };
    let gone = outputs.into_iter().map(|output| output.source).filter(is_gone);
    Ok(gone.map(|source| (source.session, source.project)).collect())
}

async fn scopes(
    store: &dyn Store,
    begun: &Begun<'_>,
    found: &Found,
    books: Books,
) -> anyhow::Result<BTreeSet<Scope>> {
    let touched = found.sessions.iter().map(|session| session.project.clone());
    let mut projects: BTreeSet<ProjectKey> = touched.collect();
    if books == Books::All {
        let known = store.scopes().await?.into_iter().filter_map(|scope| match scope {
            Scope::Global => None,
            Scope::Project(key) => Some(key),
        });
        projects.extend(known);
        if let Some(only) = begun.project.key(projects.iter())? {
            projects.retain(|key| *key == only);
        }
    }
    Ok(projects.into_iter().map(Scope::Project).chain([Scope::Global]).collect())
}

fn asked(begun: &Begun<'_>, hands: &Hands, due: &[Session], yes: bool) -> anyhow::Result<bool> {
    let Some(model) = hands.model_id().filter(|_| !yes) else { return Ok(true) };
    let context = begun.context;
    let projects: BTreeSet<&ProjectKey> = due.iter().map(|session| &session.project).collect();
    let bar = counted(context.json, due.len() as u64, "counting");
    let reading = Reading { model: Some(model), limits: &begun.settings.limits, books: projects.len() + 1 };
    let estimate = reading.estimate(due, |_| &context.home, || bar.inc(1));
    bar.finish_and_clear();
    may_spend(context, &estimate, yes)
}

/// What failed of what was wanted, now or before, and is not done since.
async fn failed(store: &dyn Store, keys: &[JobKey], scopes: &BTreeSet<Scope>) -> anyhow::Result<Vec<Failed>> {
    let keys: BTreeSet<&JobKey> = keys.iter().collect();
    let is_wanted = |job: &JobKey| match job {
        JobKey::Extract(_) => keys.contains(job),
        JobKey::Consolidate(scope) => scopes.contains(scope),
    };
    let jobs = store.jobs(None, usize::MAX).await?.into_iter().filter(|job| is_wanted(&job.job));
    let failed = jobs.filter_map(|job| match job.state {
        JobState::Waiting | JobState::Failed => {
            Some(Failed { why: job.failure.clone().unwrap_or_default(), job })
        }
        JobState::Pending | JobState::Running | JobState::Done => None,
    });
    Ok(failed.collect())
}
