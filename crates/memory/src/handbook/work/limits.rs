//! How a worker goes about it.

use crate::handbook::HandbookLimits;
use crate::store::{JobKind, Tries};
use jiff::SignedDuration;
use std::time::Duration;

/// How much at once, how often, how patiently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkLimits {
    /// Sessions that are extracted at the same time.
    pub extract: usize,
    /// Handbooks that are consolidated at the same time.
    pub consolidate: usize,
    /// How long a lease is.
    pub lease: SignedDuration,
    /// Between signs of life.
    pub heartbeat: Duration,
    /// How often a job is tried, and how soon again.
    pub tries: Tries,
    /// Between looks at a queue in which nothing was due.
    pub poll: Duration,
    /// Between looks while something was.
    pub poll_busy: Duration,
    /// The longest that handbooks wait while sessions keep coming.
    pub consolidate_at_least: Duration,
    /// How long nothing is claimed after a job that nobody could do.
    pub pause: Duration,
    /// Calls of the store that are made for one answer, the first included.
    pub store_attempts: u32,
    /// How long a job that was told to stop may take to do so.
    pub grace: Duration,
}

/// Signs of life that fit into a lease at least: one may be late, and one may be lost.
const BEATS: u32 = 3;

impl WorkLimits {
    /// By the handbook's settings.
    pub fn of(limits: &HandbookLimits) -> Self {
        let (lease, heartbeat) = timing(limits.lease_seconds, limits.heartbeat_seconds);
        Self {
            extract: limits.concurrency.max(1),
            consolidate: 1,
            lease,
            heartbeat,
            tries: limits.tries(),
            poll: Duration::from_secs(15),
            poll_busy: Duration::from_millis(500),
            consolidate_at_least: Duration::from_secs(300),
            pause: Duration::from_secs(120),
            store_attempts: 8,
            grace: Duration::from_secs(10),
        }
    }

    /// How many jobs of a kind run at the same time.
    pub fn at_once(&self, kind: JobKind) -> usize {
        match kind {
            JobKind::Extract => self.extract,
            JobKind::Consolidate => self.consolidate,
        }
    }

    /// The same with leases of so many seconds.
    #[must_use]
    pub fn with_lease(self, seconds: u32) -> Self {
        let beat = u32::try_from(self.heartbeat.as_secs()).unwrap_or(u32::MAX);
        let (lease, heartbeat) = timing(seconds, beat);
        Self { lease, heartbeat, ..self }
    }
}

fn timing(lease_seconds: u32, heartbeat_seconds: u32) -> (SignedDuration, Duration) {
    let lease = Duration::from_secs(u64::from(lease_seconds.max(1)));
    let heartbeat = Duration::from_secs(u64::from(heartbeat_seconds.max(1))).min(lease / BEATS);
    (SignedDuration::from_secs(i64::from(lease_seconds.max(1))), heartbeat)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_signs_of_life_fit_into_a_lease() {
        let limits = WorkLimits::of(&HandbookLimits::default());
        assert_eq!((limits.lease.as_secs(), limits.heartbeat.as_secs()), (3_600, 90));
        let short = limits.with_lease(6);
        assert_eq!((short.lease.as_secs(), short.heartbeat.as_secs()), (6, 2));
        assert!(limits.with_lease(0).heartbeat < Duration::from_secs(1));
        assert_eq!(short.extract, limits.extract);
    }
}
