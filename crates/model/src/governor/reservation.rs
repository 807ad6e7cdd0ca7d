//! What is kept for jobs that run.

use super::decide::Cost;
use crate::Caps;
use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use throughline_core::cost::Dollars;

/// What is kept for a job that runs: all that it may take, so that the day's limits hold even if every job goes to its
/// caps.
///
/// It is a lease. A job is over when its seconds are, so a reservation that is older belongs to a process that died. Whether the
/// process still lives is not asked: its number means nothing in another container or on another machine that shares the folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Reservation {
    pub(super) id: String,
    pub(super) job: String,
    /// For people.
    pub(super) pid: u32,
    /// The day that pays.
    pub(super) day: Date,
    pub(super) tokens: u64,
    pub(super) dollars: Dollars,
    pub(super) until: Timestamp,
}

/// Time to write the receipt.
const GRACE: i64 = 60;
/// No job is waited for longer, whatever its caps say.
const LONGEST: i64 = 24 * 60 * 60;

impl Reservation {
    pub(super) fn new(job: &str, caps: &Caps, now: Timestamp, day: Date) -> Self {
        let seconds = i64::try_from(caps.seconds).unwrap_or(LONGEST).min(LONGEST) + GRACE;
        Self {
            id: uuid::Uuid::now_v7().to_string(),
            job: job.to_owned(),
            pid: std::process::id(),
            day,
            tokens: caps.input_tokens.saturating_add(caps.output_tokens),
            dollars: Dollars::new(caps.dollars),
            until: now.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX),
        }
    }

    pub(super) fn cost(&self) -> Cost {
        Cost { tokens: self.tokens, dollars: self.dollars.max(Dollars::ZERO) }
    }
}
