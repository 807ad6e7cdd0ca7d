//! Signs of life while a fork works.

use super::error::Phase2Error;
use crate::store::{Held, Lease, Store};
use jiff::SignedDuration;
use std::future::Future;
use std::time::Duration;
use throughline_model::CancelToken;
use tokio::time::{Instant, sleep};

/// Does something while a lease is held. Once it is lost, or nobody knows any more that it is held, what is done is cancelled, and what
/// came of it is not used.
pub(super) async fn while_held<T>(
    store: &dyn Store,
    lease: &Lease,
    every: SignedDuration,
    (work, cancel): (impl Future<Output = T>, &CancelToken),
) -> Result<T, Phase2Error> {
    let every = Duration::try_from(every).unwrap_or(Duration::from_secs(1));
    let length = Duration::try_from(lease.length).unwrap_or_default();
    let mut work = std::pin::pin!(work);
    let mut held = Instant::now();
    loop {
        tokio::select! {
            biased;
            done = &mut work => return Ok(done),
            () = sleep(every) => {}
        }
        let asked = Instant::now();
        let is_held = tokio::select! {
            biased;
            done = &mut work => return Ok(done),
            answer = store.renew(lease) => match answer {
                Ok(Held::Held) => {
                    held = asked;
                    true
                }
                Ok(Held::Lost) => false,
                // It may come back in time.
                Err(_) => held.elapsed() < length,
            },
        };
        if !is_held {
            cancel.cancel();
            // It ends by itself when it is told to.
            work.await;
            return Err(Phase2Error::Lost);
        }
    }
}
