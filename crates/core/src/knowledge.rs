//! What is known of a session, whatever the view shows.

use crate::Message;
use crate::archive::Archive;
use crate::facts::Facts;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

/// Everything derived from the messages of a session: it grows with what is said, and no edit of the view changes it.
#[derive(Debug, Default)]
pub struct Knowledge {
    /// What was asked, done, run and found.
    pub facts: Facts,
    /// The details of everything that was said, ranked.
    pub archive: Archive,
}

impl Knowledge {
    /// Says where the session runs: paths below it are told relative to it.
    pub fn set_cwd(&mut self, cwd: &str) {
        self.facts.set_cwd(cwd);
        self.archive.set_cwd(cwd);
    }

    /// Takes in one more message.
    pub fn push(&mut self, message: &Message) {
        self.facts.push(message);
        self.archive.push(message);
    }
}

/// Knowledge that several views of one session share. What it is told is taken in when somebody looks, or has time to
/// spare: most requests need none of it.
#[derive(Clone, Debug, Default)]
pub struct SharedKnowledge(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    known: RwLock<Knowledge>,
    untold: Mutex<Vec<Arc<Message>>>,
}

impl SharedKnowledge {
    /// Tells one more message.
    pub fn push(&self, message: Arc<Message>) {
        self.untold().push(message);
    }

    /// Takes in what was told.
    pub fn catch_up(&self) {
        // Held to the end, so that nobody looks in between.
        let mut untold = self.untold();
        if !untold.is_empty() {
            let mut known = self.0.known.write().unwrap_or_else(PoisonError::into_inner);
            untold.drain(..).for_each(|message| known.push(&message));
        }
    }

    /// Changes what is known.
    pub fn change(&self, change: impl FnOnce(&mut Knowledge)) {
        self.catch_up();
        change(&mut self.0.known.write().unwrap_or_else(PoisonError::into_inner));
    }

    /// Looks at what is known, of all that was told so far.
    pub fn read(&self) -> RwLockReadGuard<'_, Knowledge> {
        self.catch_up();
        self.0.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// A panic elsewhere left at worst one message half taken in.
    fn untold(&self) -> MutexGuard<'_, Vec<Arc<Message>>> {
        self.0.untold.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
