//! What ends waiting: the caller, the deadline, silence.

use crate::{CancelToken, ModelError};
use std::future::pending;
use std::time::Duration;
use throughline_wire::Response;
use tokio::time::{Instant, sleep, sleep_until};

/// Why waiting ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupt {
    /// The caller said so.
    Cancelled,
    /// It took longer than this.
    Deadline(Duration),
    /// Nothing happened for this long.
    Idle(Duration),
}

impl Interrupt {
    pub(crate) fn into_error(self, at: &str, partial: Option<Response>) -> ModelError {
        let at = at.to_owned();
        let partial = partial.map(Box::new);
        match self {
            Self::Cancelled => ModelError::Cancelled { at, partial },
            Self::Deadline(after) => ModelError::Deadline { at, after, partial },
            Self::Idle(after) => ModelError::Idle { at, after, partial },
        }
    }
}

/// Watches over one call.
#[derive(Debug)]
pub struct Watch {
    cancel: CancelToken,
    allowed: Option<Duration>,
    deadline: Option<Instant>,
}

impl Watch {
    /// Begins now.
    pub fn new(cancel: CancelToken, allowed: Option<Duration>) -> Self {
        // A deadline beyond what the clock can hold is none.
        let deadline = allowed.and_then(|allowed| Instant::now().checked_add(allowed));
        Self { cancel, allowed, deadline }
    }

    /// Waits for a step, at most for `idle`.
    pub(crate) async fn step<T>(
        &self,
        idle: Option<Duration>,
        step: impl Future<Output = T>,
    ) -> Result<T, Interrupt> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(Interrupt::Cancelled),
            () = until(self.deadline) => Err(Interrupt::Deadline(self.allowed.unwrap_or_default())),
            done = step => Ok(done),
            () = after(idle) => Err(Interrupt::Idle(idle.unwrap_or_default())),
        }
    }

    /// Whether the deadline comes before such a wait is over.
    pub(crate) fn ends_within(&self, wait: Duration) -> bool {
        self.deadline.is_some_and(|deadline| deadline.saturating_duration_since(Instant::now()) <= wait)
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => pending().await,
    }
}

async fn after(idle: Option<Duration>) {
    match idle {
        Some(idle) => sleep(idle).await,
        None => pending().await,
    }
}
