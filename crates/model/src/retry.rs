//! When a request is sent again.

use crate::{Again, BoxFuture, ErrorKind};
use serde::{Deserialize, Serialize};
use std::time::{Duration, SystemTime};

/// How often and how patiently.
///
/// The wait before the n-th repetition is anything between nothing and `base · 2ⁿ⁻¹`, at most `cap` ("full jitter":
/// clients that failed together do not come back together); where the provider says when to come back, that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Retries {
    /// The most requests for one call, the first included.
    pub attempts: u32,
    /// The longest first wait, in milliseconds.
    pub base_ms: u64,
    /// The longest wait of our own, in milliseconds.
    pub cap_ms: u64,
    /// The longest wait that a provider can ask for, in milliseconds: above it the call fails and says when to come back.
    pub patience_ms: u64,
}

impl Default for Retries {
    fn default() -> Self {
        Self { attempts: 5, base_ms: 500, cap_ms: 16_000, patience_ms: 60_000 }
    }
}

/// An attempt that failed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failed {
    pub(crate) kind: ErrorKind,
    /// Counted from one.
    pub(crate) attempt: u32,
    /// When the provider wants to be asked again.
    pub(crate) retry_after: Option<Duration>,
    /// The provider's word on whether asking again makes sense (`x-should-retry`).
    pub(crate) advice: Option<bool>,
    /// Whether somebody has heard a part of the answer.
    pub(crate) heard: bool,
}

impl Retries {
    /// How long to wait before the next attempt; none if there is to be none. `jitter` is in 0..=1.
    pub(crate) fn wait(&self, failed: Failed, jitter: f64) -> Option<Duration> {
        let most = match failed.kind.again() {
            // The provider knows better than our reading of a rejection, but not what the caller must change.
            Again::Never if failed.kind == ErrorKind::Invalid && failed.advice == Some(true) => self.attempts,
            Again::Never => 1,
            Again::Once => self.attempts.min(2),
            Again::ByPolicy => self.attempts,
        };
        if failed.heard || failed.advice == Some(false) || failed.attempt >= most {
            return None;
        }
        match failed.retry_after {
            Some(wait) if wait > Duration::from_millis(self.patience_ms) => None,
            Some(wait) => Some(wait),
            None => {
                let doublings = failed.attempt.saturating_sub(1).min(32);
                let longest = self.base_ms.saturating_mul(1 << doublings).min(self.cap_ms);
                Some(Duration::from_millis(longest).mul_f64(jitter.clamp(0.0, 1.0)))
            }
        }
    }
}

/// A repetition that is about to happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Where.
    pub at: String,
    /// The attempt that failed, counted from one.
    pub attempt: u32,
    /// How it failed.
    pub kind: ErrorKind,
    /// In words.
    pub error: String,
    /// How long is waited before the next.
    pub wait: Duration,
}

/// Time and chance, so that tests need neither.
pub trait Clock: Send + Sync {
    /// Now, for dates in headers.
    fn now(&self) -> SystemTime;
    /// Waits before a repetition.
    fn sleep(&self, wait: Duration) -> BoxFuture<'static, ()>;
    /// A number in 0..=1, another one each time.
    fn jitter(&self) -> f64;
}

/// The clock on the wall.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn sleep(&self, wait: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(wait))
    }

    fn jitter(&self) -> f64 {
        let (bits, _) = uuid::Uuid::new_v4().as_u64_pair();
        // The upper bits of a version 4 id are random; 32 of them are plenty.
        f64::from((bits >> 32) as u32) / f64::from(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAILED: Failed =
        Failed { kind: ErrorKind::Overloaded, attempt: 1, retry_after: None, advice: None, heard: false };

    #[test]
    fn waits_double_up_to_the_cap() {
        let retries = Retries { attempts: 99, ..Retries::default() };
        let waits = |attempt| retries.wait(Failed { attempt, ..FAILED }, 1.0).map(|wait| wait.as_millis());
        assert_eq!([1, 2, 3, 6, 7, 98].map(waits), [500, 1_000, 2_000, 16_000, 16_000, 16_000].map(Some));
        assert_eq!(retries.wait(FAILED, 0.0), Some(Duration::ZERO));
        assert_eq!(retries.wait(FAILED, f64::INFINITY), Some(Duration::from_millis(500)));
    }

    #[test]
    fn the_provider_is_waited_for_but_not_for_ever() {
        let retries = Retries::default();
        let asked = |seconds| Failed { retry_after: Some(Duration::from_secs(seconds)), ..FAILED };
        assert_eq!(retries.wait(asked(7), 0.5), Some(Duration::from_secs(7)));
        assert_eq!(retries.wait(asked(61), 0.5), None);
    }

    #[test]
    fn what_would_fail_again_is_not_sent_again() {
        let retries = Retries::default();
        let goes_on = |failed| retries.wait(failed, 0.5).is_some();
        assert!(goes_on(FAILED));
        assert!(!goes_on(Failed { attempt: 5, ..FAILED }));
        assert!(!goes_on(Failed { heard: true, ..FAILED }));
        assert!(!goes_on(Failed { advice: Some(false), ..FAILED }));
        for kind in
            [ErrorKind::TooLong, ErrorKind::Auth, ErrorKind::Refused, ErrorKind::Invalid, ErrorKind::Quota]
        {
            assert!(!goes_on(Failed { kind, ..FAILED }), "{kind}");
        }
        assert!(goes_on(Failed { kind: ErrorKind::Invalid, advice: Some(true), ..FAILED }));
        assert!(!goes_on(Failed { kind: ErrorKind::TooLong, advice: Some(true), ..FAILED }));
        assert!(goes_on(Failed { kind: ErrorKind::Malformed, ..FAILED }));
        assert!(!goes_on(Failed { kind: ErrorKind::Malformed, attempt: 2, ..FAILED }));
    }

    #[test]
    fn jitter_stays_in_its_range() {
        for _ in 0..100 {
            assert!((0.0..=1.0).contains(&SystemClock.jitter()));
        }
    }
}
