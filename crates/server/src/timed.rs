//! Bodies that may not stall.

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep};

/// Nothing came for too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("nothing came for {} s", .0.as_secs_f32())]
pub(crate) struct Stalled(pub(crate) Duration);

/// A body that breaks if somebody waits for its next piece for too long.
pub(crate) struct Timed {
    body: Incoming,
    limit: Duration,
    /// While somebody waits.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl Timed {
    pub(crate) fn new(body: Incoming, limit: Duration) -> Self {
        Self { body, limit, waiting: None }
    }
}

impl Body for Timed {
    type Data = Bytes;
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = &mut *self;
        if let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(context) {
            this.waiting = None;
            return Poll::Ready(frame.map(|frame| frame.map_err(Box::from)));
        }
        let limit = this.limit;
        let waiting = this.waiting.get_or_insert_with(|| {
            // A limit that no clock can hold is none.
            let far = Instant::now() + Duration::from_secs(86_400 * 365);
            Box::pin(tokio::time::sleep_until(Instant::now().checked_add(limit).unwrap_or(far)))
        });
        waiting.as_mut().poll(context).map(|()| Some(Err(Box::from(Stalled(limit)))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
