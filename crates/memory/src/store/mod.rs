//! The handbook's store: what is to be done, by whom, and what came of it.
//!
//! One interface, two backends: SQLite in the home folder, for one machine, and PostgreSQL, for teams and many workers. Ledgers and
//! handbooks are files, and the truth; a store that is lost costs the work of making it again, and the counts of use.
//!
//! **A job is one thing to be done** ([`JobKey`]): to extract a session, or to consolidate a handbook. It is wanted up to a
//! [`Watermark`]; who claims it gets a [`Lease`], and does it while that is held. Every change of a job is conditional on the lease's
//! token: whoever lost it changes nothing, and is told so ([`Held::Lost`]).
//!
//! **Exactly once per watermark.** What came of a job, and that it is done, are one transaction. Attempts are limited for each watermark, and
//! the time between them doubles; a session that went on is a new watermark, with new attempts.
//!
//! **The store's clock decides** when a lease is over: the database server's where many machines share one.

mod address;
mod clock;
mod job;
mod lazy;
mod open;
mod output;
#[cfg(feature = "postgres")]
mod postgres;
mod sql;
mod sqlite;

pub use address::{StoreAddress, StoreAddressError};
pub use clock::StoreClock;
pub use job::{
    Claim, Enqueued, Failure, Held, Job, JobKey, JobKind, JobState, Lease, OwnerToken, SessionPlace, Tries,
    Wanted, Watermark, WorkerId,
};
pub use lazy::{LazyStore, OpenStore};
pub use open::open;
pub use output::{Cited, Consolidated, Cost, Edition, Extracted, Output, Pruned, Run, RunOutcome, Source};
#[cfg(feature = "postgres")]
pub use postgres::PostgresStore;
pub use sqlite::SqliteStore;

use crate::handbook::Scope;
use jiff::Timestamp;
use throughline_core::{MemoryMode, SessionId};
use throughline_model::BoxFuture;

/// What a store answers.
pub type Answer<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// Where the handbook's work is kept. Calls may be made from any thread; each is one transaction.
pub trait Store: Send + Sync {
    /// Says what is to be done. What is wanted already stays as it is; a higher watermark makes a job that was done, or failed for good,
    /// due again, and refills its attempts. A job that runs keeps its lease, and is due again when that is over. What it is wanted
    /// [instead of](Wanted::Extract) is [forgotten](Self::forget).
    fn enqueue<'a>(&'a self, wanted: &'a [Wanted]) -> Answer<'a, Enqueued>;

    /// Takes up to [`Claim::most`] jobs that are due, the newest watermark first: pending, or failed and waited long enough, or
    /// running under a lease that is over. Two who claim at once never get the same.
    fn claim<'a>(&'a self, claim: &'a Claim) -> Answer<'a, Vec<Lease>>;

    /// Prolongs a lease.
    fn renew<'a>(&'a self, lease: &'a Lease) -> Answer<'a, Held>;

    /// Gives a job back that was neither done nor failed: it is due at once, and the attempt does not count.
    fn release<'a>(&'a self, lease: &'a Lease) -> Answer<'a, Held>;

    /// A job failed: it is due again after a while, unless its attempts are used up.
    fn fail<'a>(&'a self, lease: &'a Lease, failure: &'a Failure) -> Answer<'a, Held>;

    /// A session was extracted: the output (or that there is none, which takes away an older one), the receipt, that the job is done, and that the
    /// handbooks it belongs in are to be consolidated, at once or not at all. Use counts of an older output stay.
    fn finish_extract<'a>(&'a self, lease: &'a Lease, extracted: &'a Extracted) -> Answer<'a, Held>;

    /// A handbook was consolidated, and its edition published: which outputs it rests on, the receipt, that the job is done.
    fn finish_consolidate<'a>(&'a self, lease: &'a Lease, consolidated: &'a Consolidated)
    -> Answer<'a, Held>;

    /// Outputs of a scope whose session's mode is enabled and that were used, updated or made since `cutoff`: by use count, then by the newest of
    /// use and update, then by session. For [`Scope::Global`]: those of all projects. (Made counts, since a session of last year that is read
    /// today was never there to be used.)
    fn outputs<'a>(
        &'a self,
        scope: &'a Scope,
        cutoff: Option<Timestamp>,
        most: usize,
    ) -> Answer<'a, Vec<Output>>;

    /// One session's output, whatever the session's mode.
    fn output<'a>(&'a self, session: &'a SessionId) -> Answer<'a, Option<Output>>;

    /// An answer made use of sessions' memories. It counts once for each session, however often it is told.
    fn cite<'a>(&'a self, cited: &'a Cited) -> Answer<'a, u64>;

    /// Whether memory may be made of a session, and be used. A change that touches a consolidated output makes its handbooks due.
    fn set_mode<'a>(&'a self, session: &'a SessionId, mode: MemoryMode) -> Answer<'a, ()>;

    /// Takes out all that is known of a session; its handbooks become due if they rest on it.
    fn forget<'a>(&'a self, session: &'a SessionId) -> Answer<'a, bool>;

    /// Takes out outputs that no handbook rests on and that were neither used nor updated nor made since `cutoff`; at most `most`. Watermarks stay: they are
    /// not extracted again unless they change.
    fn prune<'a>(&'a self, cutoff: Timestamp, most: usize) -> Answer<'a, Pruned>;

    /// Takes out everything of one scope, or everything; handbooks of other scopes that rest on it become due. Sessions' modes stay: what
    /// nobody may remember stays so.
    fn reset<'a>(&'a self, scope: Option<&'a Scope>) -> Answer<'a, ()>;

    /// The newest edition of a handbook.
    fn edition<'a>(&'a self, scope: &'a Scope) -> Answer<'a, Option<Edition>>;

    /// Puts an edition in place of the newest, if that is still the one with number `after` (0: none). `None` if it is not.
    fn publish<'a>(&'a self, edition: &'a Edition, after: u64) -> Answer<'a, Option<u64>>;

    /// Jobs, for people: those of a kind, the newest first; handbooks before sessions.
    fn jobs<'a>(&'a self, kind: Option<JobKind>, most: usize) -> Answer<'a, Vec<Job>>;

    /// What was done and what it cost, the newest first.
    fn runs<'a>(&'a self, since: Option<Timestamp>, most: usize) -> Answer<'a, Vec<Run>>;

    /// All scopes with outputs: the global one, if there are any, then projects.
    fn scopes<'a>(&'a self) -> Answer<'a, Vec<Scope>>;

    /// Whether other machines see the same.
    fn is_shared(&self) -> bool;
}

/// Why a store did not answer.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It can't be reached, or the connection broke: trying again may help. Nothing was changed, or all of it.
    #[error("the store cannot be reached: {0}")]
    Unreachable(String),
    /// Others held it for too long: trying again helps.
    #[error("the store is busy: {0}")]
    Busy(String),
    /// It holds what this version can't read.
    #[error(
        "the store {place} was made by a newer version (schema {found}, known up to {known}); update throughline"
    )]
    Newer {
        /// Which.
        place: String,
        /// Its schema.
        found: u32,
        /// The newest known.
        known: u32,
    },
    /// Its address is none.
    #[error(transparent)]
    Address(#[from] StoreAddressError),
    /// It is damaged, or refuses.
    #[error("the store {place} cannot {what}: {why}")]
    Broken {
        /// Which; without passwords.
        place: String,
        /// What was attempted.
        what: &'static str,
        /// Why not.
        why: String,
    },
}

impl StoreError {
    /// Whether trying again may help.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::Busy(_) => true,
            Self::Newer { .. } | Self::Address(_) | Self::Broken { .. } => false,
        }
    }
}
