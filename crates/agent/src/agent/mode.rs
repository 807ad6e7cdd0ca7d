//! The permission mode, which a person may change at any moment.

use crate::permissions::Mode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The permission mode of a session. Clones are the same.
#[derive(Clone, Debug)]
pub struct CurrentMode(Arc<AtomicUsize>);

impl CurrentMode {
    /// Begins with a mode.
    pub fn new(mode: Mode) -> Self {
        Self(Arc::new(AtomicUsize::new(place(mode))))
    }

    /// The mode now.
    pub fn get(&self) -> Mode {
        Mode::ALL.get(self.0.load(Ordering::Relaxed)).copied().unwrap_or_default()
    }

    /// Another mode from now on: calls that are permitted already are not judged again.
    pub fn set(&self, mode: Mode) {
        self.0.store(place(mode), Ordering::Relaxed);
    }

    /// The next mode for somebody who goes through them. `Full` is never come across by accident.
    pub fn cycle(&self) -> Mode {
        let next = match self.get() {
            Mode::Ask => Mode::AcceptEdits,
            Mode::AcceptEdits => Mode::Plan,
            Mode::Plan | Mode::Full => Mode::Ask,
        };
        self.set(next);
        next
    }
}

fn place(mode: Mode) -> usize {
    Mode::ALL.iter().position(|known| *known == mode).unwrap_or_default()
}
