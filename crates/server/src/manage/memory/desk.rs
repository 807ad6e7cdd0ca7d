//! What all sessions share: the memories of folders, and bounds on the work for them.

use super::MemoryOptions;
use super::place::{Place, folder_of};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use throughline_ledger::Home;
use throughline_memory::store::LazyStore;
use throughline_model::CancelToken;
use tokio::sync::Semaphore;

/// Folders whose memories are held at the same time.
const MOST_PLACES: usize = 64;
/// Lookups that may be under way: a file system that hangs takes no more threads than these.
const MOST_LOOKUPS: usize = 16;
/// Work in the background that may wait for its turn.
const MOST_WAITING: usize = 512;
/// Work in the background that is done at the same time.
const MOST_JOBS: usize = 2;

/// What all sessions share.
pub(crate) struct Desk {
    pub(super) options: MemoryOptions,
    pub(super) home: Home,
    pub(super) store: LazyStore,
    places: Mutex<HashMap<Option<PathBuf>, Arc<Place>>>,
    lookups: Arc<Semaphore>,
    pub(super) queue: Arc<Semaphore>,
    pub(super) jobs: Arc<Semaphore>,
    /// Work on handbooks.
    pub(super) starts: Semaphore,
    pub(super) cancel: CancelToken,
}

impl Desk {
    /// Nothing is read before a session asks.
    pub(crate) fn new(options: MemoryOptions, home: Home) -> Self {
        Self {
            store: options.settings.handbook.lazy_store(&home),
            options,
            home,
            places: Mutex::default(),
            lookups: Arc::new(Semaphore::new(MOST_LOOKUPS)),
            queue: Arc::new(Semaphore::new(MOST_WAITING)),
            jobs: Arc::new(Semaphore::new(MOST_JOBS)),
            starts: Semaphore::new(1),
            cancel: CancelToken::new(),
        }
    }

    /// What runs for long is told to stop.
    pub(crate) fn stop(&self) {
        self.cancel.cancel();
    }

    /// The memories of the folder that a client says it runs in. Files are read.
    pub(super) fn place(&self, cwd: Option<&str>) -> Arc<Place> {
        let folder = folder_of(cwd);
        if let Some(place) = self.places().get(&folder) {
            return place.clone();
        }
        // Nobody waits meanwhile; who was quicker is heard.
        let found = Arc::new(Place::find(&self.home, &self.options, folder.clone()));
        let mut places = self.places();
        if places.len() >= MOST_PLACES {
            places.clear();
        }
        places.entry(folder).or_insert(found).clone()
    }

    fn places(&self) -> std::sync::MutexGuard<'_, HashMap<Option<PathBuf>, Arc<Place>>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins something that a request waits for. `None` if too much of it hangs already, or the process is about to end.
    pub(super) fn begin<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<Awaited<T>> {
        let permit = self.lookups.clone().try_acquire_owned().ok()?;
        let runtime = tokio::runtime::Handle::try_current().ok()?;
        let (sender, receiver) = sync_channel(1);
        runtime.spawn_blocking(move || {
            // Who waited may have gone.
            let _ = sender.send(work());
            drop(permit);
        });
        Some(Awaited(Mutex::new(receiver)))
    }
}

/// Something that a request waits for, but not for long.
pub(super) struct Awaited<T>(Mutex<Receiver<T>>);

/// Why it is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    /// It is not done yet.
    Late,
    /// It never will be.
    Broken,
}

impl<T> Awaited<T> {
    /// What came of it, if that is there in time.
    pub(super) fn until(&self, deadline: Instant) -> Result<T, Missing> {
        let left = deadline.saturating_duration_since(Instant::now());
        let receiver = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        receiver.recv_timeout(left.max(Duration::ZERO)).map_err(|error| match error {
            RecvTimeoutError::Timeout => Missing::Late,
            RecvTimeoutError::Disconnected => Missing::Broken,
        })
    }
}
