//! What tests of the store share: a world with one store, on either backend, whose clock they move by hand.

use jiff::{SignedDuration, Timestamp};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use tempfile::TempDir;
use throughline_core::cost::Dollars;
use throughline_core::{MessageId, SessionId};
use throughline_memory::handbook::{
    Basis, Evidence, Extraction, Finding, FindingKind, HomeId, ProjectKey, Reach, Scope,
};
use throughline_memory::notes::Author;
use throughline_memory::store::{
    Claim, Consolidated, Cost, Edition, Extracted, Held, Job, JobKey, JobKind, Lease, SessionPlace, Source,
    Store, StoreClock, Tries, Wanted, Watermark, WorkerId, open,
};

/// A clock that stands still.
#[derive(Clone)]
pub(crate) struct Hands(Arc<AtomicI64>);

impl Hands {
    pub(crate) fn new() -> Self {
        Self(Arc::new(AtomicI64::new(1_750_000_000)))
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_second(self.0.load(Ordering::SeqCst)).unwrap()
    }

    pub(crate) fn pass(&self, seconds: i64) {
        self.0.fetch_add(seconds, Ordering::SeqCst);
    }

    pub(crate) fn clock(&self) -> StoreClock {
        let hands = self.clone();
        StoreClock::given(move || hands.now())
    }
}

/// Where a store is, or will be.
pub(crate) enum Place {
    File(TempDir),
    /// One that stays.
    Lasting(PathBuf),
    #[cfg(feature = "postgres")]
    Database(throughline_testkit::postgres::Database<'static>),
}

impl Place {
    pub(crate) fn file() -> Self {
        Self::File(tempfile::tempdir().unwrap())
    }

    /// A database of its own; none where there is no PostgreSQL, which is said.
    #[cfg(feature = "postgres")]
    pub(crate) async fn database() -> Option<Self> {
        let made = tokio::task::spawn_blocking(|| Some(throughline_testkit::postgres::cluster()?.database()));
        Some(Self::Database(made.await.unwrap()?))
    }

    pub(crate) fn address(&self) -> String {
        match self {
            Self::File(dir) => file_in(dir.path()),
            Self::Lasting(folder) => file_in(folder),
            #[cfg(feature = "postgres")]
            Self::Database(database) => database.address(),
        }
    }
}

fn file_in(folder: &Path) -> String {
    folder.join("store.db").to_str().unwrap().to_owned()
}

/// One store.
pub(crate) struct World {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) hands: Hands,
    pub(crate) place: Place,
}

impl World {
    pub(crate) async fn at(place: Place) -> Self {
        let hands = Hands::new();
        let store = open(&place.address().parse().unwrap(), hands.clock()).await.unwrap();
        Self { store, hands, place }
    }

    pub(crate) async fn sqlite() -> Option<Self> {
        Some(Self::at(Place::file()).await)
    }

    /// In a folder that other processes know.
    pub(crate) async fn in_folder(folder: &Path) -> Self {
        Self::at(Place::Lasting(folder.to_owned())).await
    }

    /// The same store, by connections of its own.
    pub(crate) async fn another(&self) -> Arc<dyn Store> {
        open(&self.place.address().parse().unwrap(), self.hands.clock()).await.unwrap()
    }

    pub(crate) async fn claim(&self, claim: Claim) -> Vec<Lease> {
        self.store.claim(&claim).await.unwrap()
    }

    /// The one job that is due.
    pub(crate) async fn claim_one(&self, claim: Claim) -> Lease {
        let mut leases = self.claim(claim).await;
        assert_eq!(leases.len(), 1, "{leases:?}");
        leases.remove(0)
    }

    /// A session that is to be extracted, of the project `app`.
    pub(crate) async fn want(&self, session: &str, watermark: i64) {
        self.store.enqueue(&[wanted(session, "app", watermark)]).await.unwrap();
    }

    pub(crate) async fn job(&self, job: &JobKey) -> Option<Job> {
        let jobs = self.store.jobs(Some(job.kind()), 10_000).await.unwrap();
        jobs.into_iter().find(|known| known.job == *job)
    }

    /// Extracts a session of a project.
    pub(crate) async fn extract(&self, session: &str, project: &str, watermark: i64) {
        self.store.enqueue(&[wanted(session, project, watermark)]).await.unwrap();
        let key = JobKey::Extract(session.into());
        let lease = self.claim_one(only(extracts("kit"), key)).await;
        let held = self.store.finish_extract(&lease, &extracted(session, project, watermark)).await;
        assert_eq!(held.unwrap(), Held::Held);
    }

    /// Consolidates a handbook of these sessions, as they are now.
    pub(crate) async fn consolidate(&self, scope: &Scope, sessions: &[&str]) {
        let lease = self.claim_one(only(consolidates("kit"), JobKey::Consolidate(scope.clone()))).await;
        let held = self.store.finish_consolidate(&lease, &self.resting_on(sessions).await).await;
        assert_eq!(held.unwrap(), Held::Held);
    }

    pub(crate) async fn resting_on(&self, sessions: &[&str]) -> Consolidated {
        let mut selected = Vec::new();
        for session in sessions {
            let output = self.store.output(&(*session).into()).await.unwrap().unwrap();
            selected.push((output.source.session, output.source.updated));
        }
        Consolidated { selected, edition: None, cost: cost() }
    }

    /// Handbooks that are due.
    pub(crate) async fn due(&self) -> Vec<Scope> {
        let claim = Claim { most: 100, ..consolidates("kit") };
        let leases = self.claim(claim).await;
        let mut scopes = Vec::new();
        for lease in leases {
            let JobKey::Consolidate(scope) = &lease.job else { panic!("{lease:?}") };
            scopes.push(scope.clone());
            assert_eq!(self.store.release(&lease).await.unwrap(), Held::Held);
        }
        scopes.sort();
        scopes
    }

    pub(crate) async fn sessions(&self, scope: &Scope, cutoff: Option<Timestamp>) -> Vec<String> {
        let outputs = self.store.outputs(scope, cutoff, 100).await.unwrap();
        outputs.into_iter().map(|output| output.source.session.to_string()).collect()
    }
}

pub(crate) const HOME: &str = "home-of-me";

pub(crate) fn app() -> Scope {
    scope("app")
}

pub(crate) fn scope(project: &str) -> Scope {
    Scope::Project(ProjectKey::new(project))
}

pub(crate) fn wanted(session: &str, project: &str, watermark: i64) -> Wanted {
    Wanted::Extract {
        instead_of: Vec::new(),
        session: session.into(),
        home: HomeId::new(HOME),
        project: ProjectKey::new(project),
        ledger: format!("{session}.jsonl"),
        watermark: Watermark(watermark),
    }
}

pub(crate) fn place(session: &str) -> SessionPlace {
    let (home, project) = (HomeId::new(HOME), ProjectKey::new("app"));
    SessionPlace { home, project, ledger: format!("{session}.jsonl") }
}

fn claim(kind: JobKind, worker: &str) -> Claim {
    Claim {
        kind,
        home: HomeId::new(HOME),
        only: None,
        worker: WorkerId(worker.to_owned()),
        most: 1,
        running: None,
        lease: SignedDuration::from_mins(10),
        tries: Tries::default(),
    }
}

pub(crate) fn extracts(worker: &str) -> Claim {
    claim(JobKind::Extract, worker)
}

pub(crate) fn consolidates(worker: &str) -> Claim {
    claim(JobKind::Consolidate, worker)
}

pub(crate) fn only(claim: Claim, job: JobKey) -> Claim {
    Claim { only: Some(vec![job]), ..claim }
}

pub(crate) fn cost() -> Cost {
    Cost {
        by: Author::Model,
        model: Some("small".to_owned()),
        tokens: 1_234,
        dollars: Dollars::new(0.012_345),
        seconds: 1.5,
    }
}

pub(crate) fn finding(session: &str, text: &str) -> Finding {
    let evidence = Evidence::Message { session: session.into(), message: MessageId::from("m1"), at: None };
    Finding {
        kind: FindingKind::Preference,
        basis: Basis::Said,
        text: text.to_owned(),
        quote: None,
        evidence: vec![evidence],
        keywords: vec!["login".to_owned()],
        reach: Reach::Project,
        outcome: None,
    }
}

/// What came of a session that last said something at `watermark` (milliseconds).
pub(crate) fn extracted(session: &str, project: &str, watermark: i64) -> Extracted {
    let source = Source {
        session: session.into(),
        project: ProjectKey::new(project),
        home: HomeId::new(HOME),
        ledger: format!("{session}.jsonl"),
        client: "claude".to_owned(),
        cwd: Some("/home/me/app".to_owned()),
        branch: None,
        created: Some(Timestamp::UNIX_EPOCH),
        updated: Timestamp::from_millisecond(watermark).unwrap(),
    };
    let text = format!("Prefers tabs, said at {watermark}.");
    let extraction = Extraction {
        findings: vec![finding(session, &text)],
        summary: "It was about the login.".to_owned(),
        slug: "login".to_owned(),
    };
    Extracted { source, extraction: Some(extraction), cost: cost() }
}

pub(crate) fn nothing(session: &str, project: &str, watermark: i64) -> Extracted {
    Extracted { extraction: None, ..extracted(session, project, watermark) }
}

pub(crate) fn edition(scope: &Scope, text: &str) -> Edition {
    let files =
        [("MEMORY.md".to_owned(), text.as_bytes().to_vec()), ("skills/x/SKILL.md".to_owned(), vec![0, 255])];
    Edition { scope: scope.clone(), number: 0, at: Timestamp::UNIX_EPOCH, files: files.into() }
}

pub(crate) fn session(id: &str) -> SessionId {
    id.into()
}

/// Each of the functions, as a test on either backend.
macro_rules! on_both {
    ($($name:ident),+ $(,)?) => {
        mod sqlite {
            use crate::store_kit::{Place, World};

            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(World::at(Place::file()).await).await;
            })+
        }
        #[cfg(feature = "postgres")]
        mod postgres {
            use crate::store_kit::{Place, World};

            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                if let Some(place) = Place::database().await {
                    super::$name(World::at(place).await).await;
                }
            })+
        }
    };
}
pub(crate) use on_both;
