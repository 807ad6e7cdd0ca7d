//! The loop that serves the queue: claims what is due, does it, and says what came of it.
//!
//! **A job is done under a lease, and only so.** While one runs, a sign of life goes to the store every
//! [`heartbeat`](WorkLimits::heartbeat). Whoever loses the lease is told to stop, and what it made is thrown away: only the store's
//! answer to `finish_…` makes a result one.
//!
//! **Trouble with the store costs a delay, never a result twice.** Each call is made again a bounded number of times; if the store stays away,
//! the lease runs out and the job is due again.
//!
//! **Told to stop, it stops:** what runs is cancelled and given back, so that the next worker finds it at once.
//!
//! Three ways to run: [`Worker::drain`] until nothing is due, [`Worker::serve`] until told to stop, and [`Worker::at_start`], which does as much as the start
//! of a session may bring with it (H1).

mod books;
mod event;
mod job;
mod limits;
mod phases;
mod running;
mod serve;
mod sessions;
mod settle;
mod worker;

pub use books::BookConsolidator;
pub use event::{JobEnd, WorkEvent};
pub use limits::WorkLimits;
pub use phases::{ConsolidateHandbook, ExtractSession, PhaseError, Phases};
pub use sessions::{ModelReader, SessionExtractor};
pub use worker::{AtStart, Crew, Drained, Order, Which, WorkError, Worker};

/// Computes on a thread of its own, so that signs of life go on. A panic is passed on: the worker sees to it.
async fn on_a_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is ending, and with it whoever waits.
            Err(_) => std::future::pending().await,
        },
    }
}
