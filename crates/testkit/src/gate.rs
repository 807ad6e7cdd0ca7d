//! Replies that wait for the test.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// A gate that a reply waits at until the test opens it. Clones are the same gate.
///
/// With it, a test orders what happens without sleeping.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    inner: Arc<(Mutex<bool>, Condvar)>,
}

impl Gate {
    /// A closed gate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets everyone through, now and later.
    pub fn open(&self) {
        *self.inner.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.inner.1.notify_all();
    }

    /// Waits until the gate is open, at most this long; whether it is.
    pub(crate) fn wait(&self, limit: Duration) -> bool {
        let open = self.inner.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.inner.1.wait_timeout_while(open, limit, |open| !*open);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}
