//! Calls of the store that are made again.

use super::WorkEvent;
use super::worker::Shared;
use crate::store::{Answer, StoreError};
use std::time::Duration;

const FIRST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(15);

/// What the store answered, in the end.
pub(super) struct Settled<T> {
    pub(super) answer: T,
    /// Whether it was asked more than once. A change may then have been made by a call whose answer was lost.
    pub(super) again: bool,
}

impl Shared {
    /// Calls the store until it answers, a bounded number of times.
    pub(super) async fn settle<'a, T>(
        &self,
        call: impl Fn() -> Answer<'a, T>,
    ) -> Result<Settled<T>, StoreError> {
        let mut attempt = 1;
        loop {
            match call().await {
                Ok(answer) => return Ok(Settled { answer, again: attempt > 1 }),
                Err(error) if error.is_passing() && attempt < self.limits.store_attempts => {
                    let again_in = wait(attempt, self.clock.jitter());
                    self.tell(WorkEvent::Store { why: error.to_string(), again_in });
                    self.clock.sleep(again_in).await;
                    attempt += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Between half and all of a span that doubles: those who failed together do not come back together.
pub(super) fn wait(attempt: u32, jitter: f64) -> Duration {
    let span = FIRST.saturating_mul(1 << attempt.saturating_sub(1).min(16)).min(LONGEST);
    span.mul_f64(0.5 + 0.5 * jitter.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_and_end_somewhere() {
        let waits = |jitter| [1, 2, 3, 99].map(|attempt| wait(attempt, jitter).as_millis());
        assert_eq!(waits(1.0), [250, 500, 1_000, 15_000]);
        assert_eq!(waits(0.0), [125, 250, 500, 7_500]);
    }
}
