//! Which conversation a request belongs to.

use super::{Asked, ManageError, Recognised, Thread, ThreadKey, World};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The conversations that are known.
pub(crate) struct Hub {
    world: Arc<World>,
    threads: Mutex<HashMap<ThreadKey, Arc<Thread>>>,
}

impl Hub {
    pub(super) fn new(world: Arc<World>) -> Self {
        Self { world, threads: Mutex::default() }
    }

    /// The conversation of a request, new or known.
    pub(super) fn thread(&self, recognised: &Recognised, asked: &Asked) -> Result<Arc<Thread>, ManageError> {
        let key = ThreadKey::of(recognised, asked);
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Arc::new(Thread::new(self.world.clone(), key.clone(), recognised, asked));
        Ok(threads.entry(key.clone()).or_insert_with(new).clone())
    }

    /// All that are known.
    pub(crate) fn threads(&self) -> Vec<Arc<Thread>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    pub(super) fn rest_all(&self) {
        self.threads().iter().for_each(|thread| thread.rest());
    }
}
