//! The handbook's bounds (H8): every figure is a setting.

use crate::store::Tries;
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

/// What the handbook may take, and for how long it keeps what nobody uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HandbookLimits {
    /// Sessions that are extracted when one starts.
    pub start_sessions: usize,
    /// Days after which a session is too old to begin with.
    pub age_days: u32,
    /// Hours that a session must have rested.
    pub idle_hours: u32,
    /// Sessions that are looked at to find them.
    pub candidates: usize,
    /// Sessions that a handbook rests on.
    pub outputs: usize,
    /// Days after which what was neither used nor updated is left out.
    pub unused_days: u32,
    /// Outputs that are taken out at once.
    pub prune: usize,
    /// Sessions that are extracted at the same time.
    pub concurrency: usize,
    /// Seconds of a lease.
    pub lease_seconds: u32,
    /// Seconds between signs of life.
    pub heartbeat_seconds: u32,
    /// Attempts for one state of a session.
    pub attempts: u32,
    /// Seconds before the second attempt; the wait doubles with each.
    pub retry_seconds: u32,
    /// Percent of a model's window that a part of a session may fill.
    pub window_percent: u32,
    /// Tokens of a part where the window is not known.
    pub part_tokens: u64,
    /// Parts of one session that a model reads at most.
    pub parts: usize,
    /// Tokens of a handbook that a new session is told.
    pub summary_tokens: u64,
    /// Bytes of the diff that a consolidation is shown.
    pub diff_bytes: usize,
    /// Bytes of the book, and of its summary.
    pub book_bytes: usize,
    /// Skills of a handbook.
    pub skills: usize,
    /// Bytes of a skill.
    pub skill_bytes: usize,
    /// Notes by hand of a handbook.
    pub notes: usize,
    /// Bytes of a note by hand.
    pub note_bytes: usize,
    /// Percent of the provider's rate limit that must be left for work in the background.
    pub rate_left_percent: u32,
}

impl Default for HandbookLimits {
    fn default() -> Self {
        Self {
            start_sessions: 2,
            age_days: 10,
            idle_hours: 6,
            candidates: 5_000,
            outputs: 256,
            unused_days: 30,
            prune: 200,
            concurrency: 8,
            lease_seconds: 3_600,
            heartbeat_seconds: 90,
            attempts: 3,
            retry_seconds: 3_600,
            window_percent: 70,
            part_tokens: 150_000,
            parts: 12,
            summary_tokens: 2_500,
            diff_bytes: 4 << 20,
            book_bytes: 256 << 10,
            skills: 32,
            skill_bytes: 32 << 10,
            notes: 1_000,
            note_bytes: 16 << 10,
            rate_left_percent: 25,
        }
    }
}

impl HandbookLimits {
    /// How long a lease is.
    pub fn lease(&self) -> SignedDuration {
        SignedDuration::from_secs(i64::from(self.lease_seconds))
    }

    /// How long it is from one sign of life to the next: within a lease there are at least three.
    pub fn heartbeat(&self) -> SignedDuration {
        SignedDuration::from_secs(i64::from(self.heartbeat_seconds.min(self.lease_seconds / 3).max(1)))
    }

    /// How often a job is tried, and how soon again.
    pub fn tries(&self) -> Tries {
        let wait = SignedDuration::from_secs(i64::from(self.retry_seconds));
        Tries { most: self.attempts, wait, longest: Tries::default().longest.max(wait) }
    }
}
