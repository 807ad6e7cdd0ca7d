//! What is known of a session, whatever the view shows.

use crate::Message;
use crate::archive::Archive;
use crate::facts::Facts;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

/// Everything derived from the messages of a session: it grows with what is said, and no edit of the view changes it.
#[derive(Debug, Default)]
pub struct Knowledge {
    /// What was asked, done, run and found.
    pub facts: Facts,
    /// The details of everything that was said, ranked.
    pub archive: Archive,
}

impl Knowledge {
    /// Takes in one more message.
    pub fn push(&mut self, message: &Message) {
        self.facts.push(message);
        self.archive.push(message);
    }
}

/// Knowledge that several views of one session share.
#[derive(Clone, Debug, Default)]
pub struct SharedKnowledge(Arc<RwLock<Knowledge>>);

impl SharedKnowledge {
    /// Takes in one more message.
    pub fn push(&self, message: &Message) {
        self.change(|known| known.push(message));
    }

    /// Changes what is known.
    pub fn change(&self, change: impl FnOnce(&mut Knowledge)) {
        // A panic elsewhere left at worst one message half taken in.
        change(&mut self.0.write().unwrap_or_else(PoisonError::into_inner));
    }

    /// Looks at what is known.
    pub fn read(&self) -> RwLockReadGuard<'_, Knowledge> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
}
