//! The governor: whether background work may begin, and what it has cost.
//!
//! Who wants to do something in the background [asks](Governor::ask). The [`Permit`] says what the job may take, which is
//! never more than what is left of the day, and takes its [receipt](crate::Receipt) at the end. The [`Denied`] says why not, and when it is
//! worth asking again.
//!
//! **One truth.** What a day has cost is the sum of its receipts, lines of `receipts/YYYY-MM-DD.jsonl` that are only ever added. All
//! processes that share the folder read and add to them under a lock; what is kept for jobs that run stands
//! beside them in `running.jsonl`. A line that a crash cut off is skipped and reported, and spoils no other.
//!
//! **The limits hold.** A job that runs has all reserved that its caps allow, so jobs that keep to their caps never go
//! over a day's limit together, whatever their order. One that goes beyond its caps by its last answer takes the
//! day over by no more than that; then nothing begins until the next day.
//!
//! ```
//! use throughline_model::{Governor, GovernorLimits, Job, Receipt, Standing, Usage};
//!
//! # let folder = tempfile::tempdir()?;
//! let governor = Governor::open(folder.path(), GovernorLimits::default())?;
//! let estimate = Usage { cache_read: 50_000, output: 2_000, ..Usage::default() };
//! let job = Job { name: "notes", session: None, estimate, dollars: 0.07, standing: Standing::default() };
//! let now = "2026-03-01T12:00:00Z".parse()?;
//! match governor.ask(&job, now) {
//!     Ok(permit) => {
//!         let receipt = Receipt { dollars: 0.06, ..Receipt::begin("notes", "some-model") };
//!         permit.settle(receipt)?;
//!     }
//!     Err(denied) => println!("{denied}"),
//! }
//! assert_eq!(governor.today(now)?.dollars, 0.06);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod decide;
mod files;
mod limits;
mod reservation;
mod store;

pub use decide::{Denied, Job, Reason, Standing, When};
pub use limits::GovernorLimits;

use crate::{Caps, Receipt};
use decide::{Cost, day_of};
use jiff::Timestamp;
use jiff::civil::Date;
use reservation::Reservation;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::Store;

/// Decides which background work may begin, and keeps its receipts. Clones are the same governor.
#[derive(Clone, Debug)]
pub struct Governor {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    limits: GovernorLimits,
    store: Store,
}

/// The files of the governor can't be used.
#[derive(Debug, thiserror::Error)]
#[error("can't {action} {}: {source}; check the folder's owner, permissions and free space", .path.display())]
pub struct GovernorError {
    action: &'static str,
    path: PathBuf,
    source: io::Error,
}

impl GovernorError {
    fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self { action, path, source }
    }
}

/// What a day has cost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    /// Tokens of prompts and answers.
    pub tokens: u64,
    /// Dollars.
    pub dollars: f64,
    /// Jobs that left a receipt.
    pub jobs: u64,
    /// Jobs that run.
    pub running: usize,
    /// Lines that are no receipts, and count for nothing: see [`Governor::receipts`].
    pub skipped: u64,
}

/// Receipts, in the order in which their jobs began.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Receipts {
    /// Those that can be read.
    pub receipts: Vec<Receipt>,
    /// What else stands between them.
    pub skipped: Vec<Skipped>,
}

/// A line that is no receipt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The file.
    pub path: PathBuf,
    /// Where in it the line begins.
    pub offset: u64,
    /// What is wrong with it.
    pub why: String,
}

impl Governor {
    /// A governor that keeps its files in a folder, which is made if it is not there, for its owner alone.
    ///
    /// # Errors
    /// If the folder can't be made.
    pub fn open(folder: &Path, limits: GovernorLimits) -> Result<Self, GovernorError> {
        Ok(Self { inner: Arc::new(Inner { limits, store: Store::open(folder)? }) })
    }

    /// The limits.
    pub fn limits(&self) -> &GovernorLimits {
        &self.inner.limits
    }

    /// Whether a job may begin. What it may take is reserved until the permit is settled or dropped.
    ///
    /// # Errors
    /// The reason, and when it is worth asking again. Where the files can't be used nothing may begin: background work
    /// that nobody can account for is not done.
    pub fn ask(&self, job: &Job<'_>, now: Timestamp) -> Result<Permit, Denied> {
        let Inner { limits, store } = &*self.inner;
        limits.check_standing(job, now)?;
        let unavailable = |error: GovernorError| Denied {
            job: job.name.to_owned(),
            reason: Reason::Unavailable(error.to_string()),
            when: When::Later,
        };
        let day = day_of(now);
        let mut session = store.begin().map_err(unavailable)?;
        let spent: Cost = session.day(day).map_err(unavailable)?.cost;
        let running = session.running(now).map_err(unavailable)?;
        let caps = limits.grant(job, now, spent, &running)?;
        let reservation = Reservation::new(job.name, &caps, now, day);
        let id = reservation.id.clone();
        session.reserve(reservation, running).map_err(unavailable)?;
        drop(session);
        let session = job.session.map(str::to_owned);
        Ok(Permit { inner: Arc::clone(&self.inner), id, session, day, caps, is_open: true })
    }

    /// What the day of a time has cost, by all processes.
    ///
    /// # Errors
    /// If the files can't be read.
    pub fn today(&self, now: Timestamp) -> Result<Spent, GovernorError> {
        let mut session = self.inner.store.begin()?;
        let day = session.day(day_of(now))?;
        let running = session.running(now)?.len();
        let Cost { tokens, dollars } = day.cost;
        Ok(Spent { tokens, dollars: dollars.as_f64(), jobs: day.jobs, running, skipped: day.skipped })
    }

    /// The receipts of all jobs that began at or after a time.
    ///
    /// # Errors
    /// If the files can't be read. Lines that make no sense are no error: they are reported beside the receipts.
    pub fn receipts(&self, since: Timestamp) -> Result<Receipts, GovernorError> {
        self.inner.store.begin()?.receipts(since)
    }
}

/// Leave to do one job. Dropped without a receipt it gives back what was reserved, and the job counts for nothing.
#[derive(Debug)]
#[must_use = "the reservation ends when the permit is dropped"]
pub struct Permit {
    inner: Arc<Inner>,
    id: String,
    session: Option<String>,
    /// The day that pays: that of the ask, however late the job ends.
    day: Date,
    caps: Caps,
    is_open: bool,
}

impl Permit {
    /// What the job may take: its own caps, or what is left of the day if that is less.
    pub fn caps(&self) -> &Caps {
        &self.caps
    }

    /// Writes the receipt down and ends the reservation. A receipt without a session gets that of the job.
    ///
    /// # Errors
    /// If it can't be written. It is not lost: this governor lets nothing begin before it is.
    pub fn settle(mut self, mut receipt: Receipt) -> Result<(), GovernorError> {
        if receipt.session.is_none() {
            receipt.session = self.session.take();
        }
        for amount in [&mut receipt.dollars, &mut receipt.seconds] {
            // JSON has no word for it, and a line that can't be read again would not count.
            if !amount.is_finite() {
                *amount = 0.0;
                receipt.estimated = true;
            }
        }
        self.is_open = false;
        let store = &self.inner.store;
        let mut session = match store.begin() {
            Ok(session) => session,
            Err(error) => {
                store.forget(&self.id);
                store.remember(self.day, receipt);
                return Err(error);
            }
        };
        let written = session.append(self.day, &receipt);
        let released = session.release(&self.id);
        drop(session);
        if let Err(error) = written {
            store.remember(self.day, receipt);
            return Err(error);
        }
        // It runs out by itself.
        if let Err(error) = released {
            tracing::warn!("the reservation of a job that is over stays until it runs out: {error}");
        }
        Ok(())
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if !self.is_open {
            return;
        }
        let store = &self.inner.store;
        let released = store.begin().and_then(|mut session| session.release(&self.id));
        if let Err(error) = released {
            store.forget(&self.id);
            tracing::warn!("the reservation of a job that is over stays until it runs out: {error}");
        }
    }
}
