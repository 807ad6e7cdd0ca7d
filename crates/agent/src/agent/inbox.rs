//! What the user says while the agent works.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use throughline_core::Block;

/// What the user says: words, and pictures beside them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Said {
    /// The words.
    pub text: String,
    /// What comes with them.
    pub beside: Vec<Block>,
}

impl From<&str> for Said {
    fn from(text: &str) -> Self {
        Self { text: text.to_owned(), beside: Vec::new() }
    }
}

impl From<String> for Said {
    fn from(text: String) -> Self {
        Self { text, beside: Vec::new() }
    }
}

/// Where the user's words wait while the agent works. Clones are the same inbox.
#[derive(Clone, Debug, Default)]
pub struct Inbox(Arc<Mutex<Waiting>>);

#[derive(Debug, Default)]
struct Waiting {
    steering: VecDeque<Said>,
    queued: VecDeque<Said>,
}

impl Inbox {
    /// Nothing waits.
    pub fn new() -> Self {
        Self::default()
    }

    /// The model is told this before its next step. A turn that is over by then goes on for it.
    pub fn steer(&self, said: impl Into<Said>) {
        self.lock().steering.push_back(said.into());
    }

    /// This is the next turn's.
    pub fn queue(&self, said: impl Into<Said>) {
        self.lock().queued.push_back(said.into());
    }

    /// What steers, in the order it was said.
    pub fn take_steering(&self) -> Vec<Said> {
        self.lock().steering.drain(..).collect()
    }

    /// The first that waits for the next turn. What steered a turn that was over comes before it.
    pub fn take_queued(&self) -> Option<Said> {
        let mut waiting = self.lock();
        waiting.steering.pop_front().or_else(|| waiting.queued.pop_front())
    }

    /// The words that wait, for people to see.
    pub fn waiting(&self) -> Vec<String> {
        let waiting = self.lock();
        waiting.steering.iter().chain(&waiting.queued).map(|said| said.text.clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
