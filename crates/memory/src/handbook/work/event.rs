//! What a worker tells while it works.

use crate::store::{Cost, JobKey, RunOutcome};
use serde::Serialize;
use std::time::Duration;

/// Something happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum WorkEvent {
    /// A job was claimed.
    Begun {
        /// Which.
        job: JobKey,
        /// Which attempt for its watermark, from 1.
        attempt: u32,
    },
    /// A job is over for this worker.
    Ended {
        /// Which.
        job: JobKey,
        /// How.
        #[serde(flatten)]
        end: JobEnd,
    },
    /// Nothing is due, but others do what is wanted.
    Waiting {
        /// How many jobs.
        jobs: usize,
    },
    /// The store did not answer; the call is made again.
    Store {
        /// Why not.
        why: String,
        /// After so long.
        #[serde(serialize_with = "seconds")]
        again_in: Duration,
    },
}

fn seconds<S: serde::Serializer>(wait: &Duration, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_f64(wait.as_secs_f64())
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum JobEnd {
    /// It is done, and the store has the receipt.
    Done {
        /// Whether something came of it.
        outcome: RunOutcome,
        /// Statements that were found; of a handbook: sessions it rests on.
        items: usize,
        /// What it took.
        cost: Cost,
    },
    /// It failed, and the store knows.
    Failed {
        /// Why.
        why: String,
        /// Whether it is tried again later.
        again: bool,
    },
    /// It was given back: the worker was told to stop, or others came between.
    Released,
    /// It was given back: no job of its kind could be done now.
    Deferred {
        /// Why not.
        why: String,
    },
    /// Somebody else has it, or may have it: the lease was over. What was made is thrown away.
    Lost,
    /// The store could not be told. It is due again when the lease is over, unless the last word arrived after all.
    Unsettled {
        /// Why not.
        why: String,
    },
}
