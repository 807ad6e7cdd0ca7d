//! The conversations that are at hand: each request finds its own, and those that nobody needs rest.

use super::lineage::Place;
use super::rest::Open;
use super::{Asked, ManageError, Recognised, Thread, ThreadKey, World};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use throughline_core::SessionId;

/// How many conversations are at hand; the others are made again from the index when they are needed.
const MOST: usize = 2_000;
/// One whose answer takes this many times as long as conversations may rest is put to rest all the same.
const PATIENCE: u32 = 10;

/// The conversations that are at hand.
pub(crate) struct Hub {
    world: Arc<World>,
    threads: Mutex<HashMap<ThreadKey, Arc<Thread>>>,
    making_room: Mutex<()>,
}

impl Hub {
    pub(super) fn new(world: Arc<World>) -> Self {
        Self { world, threads: Mutex::default(), making_room: Mutex::default() }
    }

    fn at_hand(&self) -> MutexGuard<'_, HashMap<ThreadKey, Arc<Thread>>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The conversation of a request that wants an answer, new or known. It counts as asked until the request is gone.
    pub(super) fn thread(&self, recognised: &Recognised, asked: &Asked) -> Result<Arc<Thread>, ManageError> {
        if let Some(thread) = self.known(recognised, asked) {
            asked.claim(Open::new(thread.clone()));
            return Ok(thread);
        }
        let (key, opening) = match recognised.key() {
            Some(key) => (key, 0),
            None => (ThreadKey::fresh(&recognised.client), asked.parsed().map_or(0, |body| body.len())),
        };
        let place = Place { key, created: asked.at, opening };
        let new = Arc::new(Thread::new(self.world.clone(), place.clone(), recognised, asked));
        let thread = self.at_hand().entry(place.key.clone()).or_insert(new).clone();
        asked.claim(Open::new(thread.clone()));
        // Without a line in the index it is found among the ledgers, once the index is made again.
        if let Err(error) = self.world.lineage.begin(recognised, &place, asked.parsed()) {
            self.world.report_unrecorded(&error);
        }
        Ok(thread)
    }

    /// The conversation that a request belongs to, if it was begun.
    pub(crate) fn known(&self, recognised: &Recognised, asked: &Asked) -> Option<Arc<Thread>> {
        let place = match recognised.key() {
            Some(key) => {
                if let Some(thread) = self.at_hand().get(&key) {
                    return Some(thread.clone());
                }
                self.world.lineage.named(&key)?
            }
            None => {
                let is_asked =
                    |key: &ThreadKey| self.at_hand().get(key).is_some_and(|thread| thread.activity.is_open());
                self.world.lineage.unnamed(recognised, asked.parsed()?, &is_asked)?
            }
        };
        let mut threads = self.at_hand();
        if let Some(thread) = threads.get(&place.key) {
            return Some(thread.clone());
        }
        let thread = Arc::new(Thread::new(self.world.clone(), place.clone(), recognised, asked));
        threads.insert(place.key, thread.clone());
        Some(thread)
    }

    /// All that are at hand.
    pub(crate) fn threads(&self) -> Vec<Arc<Thread>> {
        self.at_hand().values().cloned().collect()
    }

    /// Puts to rest what was idle for long, and of what is awake beyond the limits the longest idle.
    pub(super) fn sweep(&self) {
        let limits = &self.world.limits;
        let now = (self.world.now)();
        let (mut awake, resting): (Vec<_>, Vec<_>) =
            self.threads().into_iter().partition(|thread| thread.is_awake());
        resting.iter().for_each(|thread| thread.account().rest(now));
        // Looked at once each: requests come while this is sorted.
        awake.sort_by_cached_key(|thread| std::cmp::Reverse(thread.activity.idle()));
        let mut count = awake.len();
        for thread in &awake {
            let idle = thread.activity.idle();
            let is_open = thread.activity.is_open();
            let is_tired = idle >= limits.rest && (!is_open || idle >= limits.rest * PATIENCE);
            let too_many = count > limits.awake || self.world.awake.is_crowded();
            if is_tired || (too_many && !is_open) {
                thread.rest();
                count -= 1;
            }
        }
        drop((awake, resting));
        self.let_go();
    }

    /// While more is held than may be, others rest than the one that is at work: those first that were idle for long, then those
    /// whose answers are on their way. Mostly [`sweep`](Self::sweep) was there before.
    pub(super) fn make_room(&self, busy: &Arc<Thread>) {
        if !self.world.awake.is_over() {
            return;
        }
        // One after the other: what one finds idle another would put to rest for nothing.
        let _alone = self.making_room.lock().unwrap_or_else(PoisonError::into_inner);
        let mut awake = self.threads();
        awake.retain(|thread| !Arc::ptr_eq(thread, busy) && thread.is_awake());
        awake.sort_by_cached_key(|thread| {
            (thread.activity.is_open(), std::cmp::Reverse(thread.activity.idle()))
        });
        for thread in awake {
            if !self.world.awake.is_over() {
                break;
            }
            thread.rest();
        }
    }

    /// Where there are too many, those that rest longest are left to their ledgers.
    fn let_go(&self) {
        let mut threads = self.at_hand();
        let Some(over) = threads.len().checked_sub(MOST).filter(|over| *over > 0) else { return };
        // Nobody else has it: there must never be two of the same.
        let mut idle: Vec<_> = threads
            .iter()
            .filter(|(_, thread)| Arc::strong_count(thread) == 1 && !thread.is_awake())
            .map(|(key, thread)| (std::cmp::Reverse(thread.activity.idle()), key.clone()))
            .collect();
        idle.sort_by_key(|(idle, _)| *idle);
        for (_, key) in idle.into_iter().take(over) {
            threads.remove(&key);
        }
    }

    /// The one whose ledger is named so.
    pub(crate) fn find(&self, session: &SessionId) -> Option<Arc<Thread>> {
        self.at_hand().values().find(|thread| thread.session == *session).cloned()
    }

    /// Takes one out of the list; it comes back with its next request. What was learnt is in its ledger. One that is at work stays.
    pub(crate) fn forget(&self, session: &SessionId) -> bool {
        if let Some(thread) = self.find(session) {
            thread.rest();
        }
        let mut threads = self.at_hand();
        let key = threads.iter().find(|(_, thread)| {
            // Nobody else has it: there must never be two of the same.
            thread.session == *session && Arc::strong_count(thread) == 1 && !thread.is_awake()
        });
        let key = key.map(|(key, _)| key.clone());
        key.is_some_and(|key| threads.remove(&key).is_some())
    }

    pub(super) fn rest_all(&self) {
        self.threads().iter().for_each(|thread| thread.rest_at_last());
    }
}
