//! How much memory the conversations hold that are awake.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Notify;

/// What all of them hold together, and when that becomes too much.
#[derive(Debug)]
pub(crate) struct Awake {
    /// Bytes that they may hold.
    most: usize,
    held: AtomicUsize,
    /// Told when there is little room left.
    crowded: Notify,
}

impl Awake {
    pub(super) fn new(most: usize) -> Self {
        Self { most, held: AtomicUsize::new(0), crowded: Notify::new() }
    }

    /// Bytes that are held, about.
    pub(crate) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// Whether more is held than may be.
    pub(super) fn is_over(&self) -> bool {
        self.held() > self.most
    }

    /// Whether so much is held that some should rest, before a request has to wait for it.
    pub(super) fn is_crowded(&self) -> bool {
        self.held() > self.most / 4 * 3
    }

    /// Waits until it is crowded.
    pub(super) async fn crowded(&self) {
        self.crowded.notified().await;
    }
}

/// What one of them holds. It counts as long as it is there.
#[derive(Debug)]
pub(super) struct Share {
    all: Arc<Awake>,
    bytes: usize,
}

impl Share {
    pub(super) fn new(all: Arc<Awake>) -> Self {
        Self { all, bytes: 0 }
    }

    /// It holds so much now.
    pub(super) fn set(&mut self, bytes: usize) {
        self.all.held.fetch_add(bytes, Ordering::Relaxed);
        self.all.held.fetch_sub(self.bytes, Ordering::Relaxed);
        self.bytes = bytes;
        if self.all.is_crowded() {
            self.all.crowded.notify_one();
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.all.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
