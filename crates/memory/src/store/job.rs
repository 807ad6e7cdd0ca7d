//! Jobs: what is to be done, and who does it.

use crate::handbook::{HomeId, ProjectKey, Scope};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use std::fmt;
use throughline_core::SessionId;

/// What kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobKind {
    /// Phase 1 on a session.
    Extract,
    /// Phase 2 on a handbook.
    Consolidate,
}

/// One thing to be done.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobKey {
    /// Phase 1 on a session.
    Extract(SessionId),
    /// Phase 2 on a handbook.
    Consolidate(Scope),
}

impl JobKey {
    /// Its kind.
    pub fn kind(&self) -> JobKind {
        match self {
            Self::Extract(_) => JobKind::Extract,
            Self::Consolidate(_) => JobKind::Consolidate,
        }
    }
}

/// How far something is: it only grows. Of a session: when something was last said in it, in milliseconds since 1970. Of a handbook: a number that
/// the store raises whenever something it rests on changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Watermark(pub i64);

/// Something that should be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Extract a session up to here.
    Extract {
        /// Which.
        session: SessionId,
        /// The home that has its ledger.
        home: HomeId,
        /// Its project.
        project: ProjectKey,
        /// Its ledger, relative to the home's sessions folder.
        ledger: String,
        /// How far it is.
        watermark: Watermark,
        /// Other ledgers of the same conversation: what is known of them is taken out, so that nothing is learnt twice.
        instead_of: Vec<SessionId>,
    },
    /// Consolidate a handbook again.
    Consolidate(Scope),
}

/// What became of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Enqueued {
    /// Jobs that were not known.
    pub added: u64,
    /// Jobs that are due again.
    pub raised: u64,
    /// Jobs that stay as they are.
    pub unchanged: u64,
}

/// Who works; for people.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WorkerId(pub String);

/// A wish for work.
#[derive(Clone, Debug)]
pub struct Claim {
    /// What kind.
    pub kind: JobKind,
    /// Whose sessions can be read; handbooks are anybody's.
    pub home: HomeId,
    /// Only these jobs; `None`: any.
    pub only: Option<Vec<JobKey>>,
    /// Who asks.
    pub worker: WorkerId,
    /// How many at most.
    pub most: usize,
    /// How many of the kind may run at once, over all workers; `None`: any number.
    pub running: Option<usize>,
    /// How long the lease is.
    pub lease: SignedDuration,
    /// How often, and how soon again.
    pub tries: Tries,
}

/// How often a job is tried for one watermark, and how soon again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tries {
    /// Attempts for one watermark.
    pub most: u32,
    /// The wait after the first failure; it doubles with each.
    pub wait: SignedDuration,
    /// The longest wait.
    pub longest: SignedDuration,
}

impl Default for Tries {
    fn default() -> Self {
        Self { most: 3, wait: SignedDuration::from_hours(1), longest: SignedDuration::from_hours(24) }
    }
}

/// Proves that a job is one's own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OwnerToken(pub uuid::Uuid);

/// A job that somebody does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Which job.
    pub job: JobKey,
    /// Up to where it is done.
    pub watermark: Watermark,
    /// Where the session is; of handbooks nothing.
    pub at: Option<SessionPlace>,
    /// Proves it.
    pub token: OwnerToken,
    /// Which attempt for this watermark, from 1.
    pub attempt: u32,
    /// When it is over, by the store's clock.
    pub until: Timestamp,
    /// How long it was asked for.
    pub length: SignedDuration,
    /// What happens after a failure.
    pub tries: Tries,
}

/// Where a session is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionPlace {
    /// The home that has its ledger.
    pub home: HomeId,
    /// Its project.
    pub project: ProjectKey,
    /// Its ledger, relative to the home's sessions folder.
    pub ledger: String,
}

/// Whether a job was still one's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "work on a lost job must stop"]
pub enum Held {
    /// It was: the change was made.
    Held,
    /// It was not: nothing was changed.
    Lost,
}

/// Why a job failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// In words for people, without secrets.
    pub why: String,
    /// Whether trying again may help.
    pub is_passing: bool,
}

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// Nobody does it.
    Pending,
    /// Somebody does it, or did until the lease was over.
    Running,
    /// It is done up to its watermark.
    Done,
    /// It failed, and is tried again.
    Waiting,
    /// It failed, and is not tried again at this watermark.
    Failed,
}

/// A job, for people.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Job {
    /// Which.
    pub job: JobKey,
    /// Where it stands.
    pub state: JobState,
    /// Up to where it is wanted.
    pub watermark: Watermark,
    /// Up to where it was done.
    pub done: Option<Watermark>,
    /// Attempts at this watermark.
    pub attempts: u32,
    /// Who does it, or did it last.
    pub worker: Option<WorkerId>,
    /// When the lease is over, or the wait.
    pub until: Option<Timestamp>,
    /// Why it failed last.
    pub failure: Option<String>,
}

impl fmt::Display for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
