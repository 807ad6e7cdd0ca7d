//! The breaker (P5): after three failures in a row nothing is tried until something succeeds or the user asks. One counts
//! compactions that failed on every rung, another one models that failed to write a summary.

use serde::{Deserialize, Serialize};

/// Counts failures in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breaker {
    failures: u32,
}

impl Breaker {
    /// Whether another try is allowed.
    ///
    /// ```
    /// use throughline_core::compaction::Breaker;
    ///
    /// let mut breaker = Breaker::default();
    /// (0..3).for_each(|_| breaker.failed());
    /// assert!(!breaker.allows(3, false));
    /// assert!(breaker.allows(3, true), "the user may always ask");
    /// breaker.succeeded();
    /// assert!(breaker.allows(3, false));
    /// ```
    pub fn allows(&self, most: u32, asked: bool) -> bool {
        asked || self.failures < most
    }

    /// A try failed.
    pub fn failed(&mut self) {
        self.failures = self.failures.saturating_add(1);
    }

    /// A try succeeded.
    pub fn succeeded(&mut self) {
        self.failures = 0;
    }
}
