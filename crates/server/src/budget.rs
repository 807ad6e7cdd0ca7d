//! Budget for the bytes of requests and answers that are held at once, over all connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The bytes that all connections may hold together.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: usize,
    used: AtomicUsize,
}

/// Bytes of the budget that somebody holds. They are given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Hold {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Budget {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, used: AtomicUsize::new(0) })
    }

    /// A hold on nothing yet.
    pub(crate) fn hold(self: &Arc<Self>) -> Hold {
        Hold { budget: self.clone(), bytes: 0 }
    }

    /// Bytes that are held.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Acquire)
    }
}

impl Hold {
    /// Takes more of the budget; `false` if there is not so much left.
    #[must_use]
    pub(crate) fn grow(&mut self, bytes: usize) -> bool {
        let limit = self.budget.limit;
        let more = |used: usize| used.checked_add(bytes).filter(|sum| *sum <= limit);
        let grown = self.budget.used.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).is_ok();
        self.bytes += if grown { bytes } else { 0 };
        grown
    }

    /// Hands over what is held.
    pub(crate) fn take(&mut self) -> Self {
        Self { budget: self.budget.clone(), bytes: std::mem::take(&mut self.bytes) }
    }

    /// Gives back all of it.
    pub(crate) fn release(&mut self) {
        self.budget.used.fetch_sub(std::mem::take(&mut self.bytes), Ordering::AcqRel);
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_given_back_once() {
        let budget = Budget::new(10);
        let (mut one, mut two) = (budget.hold(), budget.hold());
        assert!(one.grow(6) && two.grow(4) && !two.grow(1) && !one.grow(usize::MAX));
        one.release();
        drop(one);
        assert_eq!(budget.used(), 4);
        assert!(two.grow(6));
        drop(two);
        assert_eq!(budget.used(), 0);
    }
}
