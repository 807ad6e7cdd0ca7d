//! What a provider says when it refuses: read whole, so that what can be cured is, unless it is long or slow to come. The client
//! gets it as it came, and its end as it ended.

use super::Body;
use crate::budget::Hold;
use crate::timed::Timed;
use bytes::Bytes;
use http_body::{Body as _, Frame};
use http_body_util::BodyExt as _;
use std::collections::VecDeque;
use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Reports are short; of longer ones nobody can say what is wrong.
const MOST: usize = 1 << 20;
/// Copies of an answer that is read whole: as it came, in one piece, and as it is looked at.
const COPIES: usize = 3;

/// What was said, as far as it was read, and what comes behind it.
pub(super) struct Refusal {
    frames: VecDeque<Frame<Bytes>>,
    rest: Rest,
    _hold: Hold,
}

enum Rest {
    Nothing,
    Unread(Timed),
    Broken(Box<dyn Error + Send + Sync>),
}

impl Refusal {
    /// Reads it, for at most so long.
    pub(super) async fn read(body: Timed, time: Duration, hold: Hold) -> Self {
        Self::read_within(body, MOST, Some(Instant::now() + time), hold).await
    }

    /// Reads a whole answer, whatever it says: models take their time.
    pub(super) async fn answer(body: Timed, most: usize, hold: Hold) -> Self {
        Self::read_within(body, most, None, hold).await
    }

    async fn read_within(mut body: Timed, most: usize, until: Option<Instant>, mut hold: Hold) -> Self {
        let mut frames = VecDeque::new();
        let mut size = 0;
        let rest = loop {
            if body.is_end_stream() {
                break Rest::Nothing;
            }
            let next = match until {
                Some(until) => timeout_at(until, body.frame()).await,
                None => Ok(body.frame().await),
            };
            match next {
                Ok(Some(Ok(frame))) => {
                    let bytes = frame.data_ref().map_or(0, Bytes::len);
                    size += bytes;
                    frames.push_back(frame);
                    if size > most || !hold.grow(bytes.saturating_mul(COPIES)) {
                        break Rest::Unread(body);
                    }
                }
                Ok(Some(Err(error))) => break Rest::Broken(Box::from(error.to_string())),
                Ok(None) => break Rest::Nothing,
                Err(_) => break Rest::Unread(body),
            }
        };
        Self { frames, rest, _hold: hold }
    }

    /// All of it, where it came whole.
    pub(super) fn whole(&self) -> Option<Vec<u8>> {
        match self.rest {
            Rest::Nothing => Some(
                self.frames
                    .iter()
                    .filter_map(Frame::data_ref)
                    .flat_map(|data| data.iter().copied())
                    .collect(),
            ),
            Rest::Unread(_) | Rest::Broken(_) => None,
        }
    }

    /// What the client gets.
    pub(super) fn into_body(self) -> Body {
        self.boxed_unsync()
    }
}

impl http_body::Body for Refusal {
    type Data = Bytes;
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if let Some(frame) = self.frames.pop_front() {
            return Poll::Ready(Some(Ok(frame)));
        }
        match &mut self.rest {
            Rest::Nothing => Poll::Ready(None),
            Rest::Unread(body) => Pin::new(body).poll_frame(context),
            Rest::Broken(_) => match std::mem::replace(&mut self.rest, Rest::Nothing) {
                Rest::Broken(error) => Poll::Ready(Some(Err(error))),
                Rest::Nothing | Rest::Unread(_) => Poll::Ready(None),
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        self.frames.is_empty()
            && match &self.rest {
                Rest::Nothing => true,
                Rest::Unread(body) => body.is_end_stream(),
                Rest::Broken(_) => false,
            }
    }
}
