//! Answers on their way to the client, to the byte, and what is learnt from them.

use super::begun::Begun;
use super::refusal::Refusal;
use super::{Body, headers};
use crate::budget::Hold;
use crate::manage::{Ended, Seen, Turn};
use crate::serve::Shared;
use bytes::Bytes;
use http::{HeaderMap, Response, response};
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt as _;
use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// An answer that nobody looks at.
pub(super) fn untouched<B>(response: Response<B>) -> Response<Body>
where
    B: http_body::Body<Data = Bytes, Error = Box<dyn Error + Send + Sync>> + Send + 'static,
{
    let (mut head, body) = response.into_parts();
    headers::drop_hop(&mut head.headers);
    Response::from_parts(head, body.boxed_unsync())
}

/// A refusal that nothing can be done about.
pub(super) fn refused(mut head: response::Parts, refusal: Refusal) -> Response<Body> {
    headers::drop_hop(&mut head.headers);
    Response::from_parts(head, refusal.into_body())
}

/// An answer of which a copy goes to the turn, if that records it. The client gets every piece as soon as it is there.
pub(super) fn observed(response: Response<Begun>, turn: Turn, shared: &Shared) -> Response<Body> {
    if !turn.is_recorded() {
        return untouched(response);
    }
    let (mut head, body) = response.into_parts();
    let watched = Watched {
        body,
        most: shared.settings.limits.answer_bytes,
        seen: Some(Copy {
            turn,
            headers: head.headers.clone(),
            pieces: Vec::new(),
            size: 0,
            hold: shared.budget.hold(),
        }),
    };
    headers::drop_hop(&mut head.headers);
    Response::from_parts(head, watched.boxed_unsync())
}

struct Watched {
    body: Begun,
    most: usize,
    /// Until it is handed over.
    seen: Option<Copy>,
}

struct Copy {
    turn: Turn,
    headers: HeaderMap,
    pieces: Vec<Bytes>,
    size: usize,
    hold: Hold,
}

/// Copies of an answer that is learnt from: as it came, in one piece, and as events.
pub(super) const COPIES: usize = 3;

impl Watched {
    fn hand_over(&mut self, ended: Ended) {
        let Some(Copy { turn, headers, pieces, size, hold }) = self.seen.take() else { return };
        turn.counters().answered.add(size as u64);
        let is_whole = size <= self.most;
        turn.finish(Seen {
            headers,
            pieces,
            is_whole,
            ended,
            earlier: Vec::new(),
            as_told: true,
            _hold: hold,
        });
    }
}

impl http_body::Body for Watched {
    type Data = Bytes;
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = &mut *self;
        Poll::Ready(match ready!(Pin::new(&mut this.body).poll_frame(context)) {
            Some(Ok(frame)) => {
                if let (Some(copy), Some(data)) = (&mut this.seen, frame.data_ref()) {
                    copy.size = copy.size.saturating_add(data.len());
                    if copy.size <= this.most && copy.hold.grow(data.len().saturating_mul(COPIES)) {
                        copy.pieces.push(data.clone());
                    } else {
                        // What comes behind a gap is of no use.
                        this.most = 0;
                    }
                }
                // A body of known length ends with its last piece: nobody asks again.
                if this.body.is_end_stream() {
                    this.hand_over(Ended::Well);
                }
                Some(Ok(frame))
            }
            Some(Err(error)) => {
                this.hand_over(Ended::Broken);
                Some(Err(error))
            }
            None => {
                this.hand_over(Ended::Well);
                None
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // The client left; the connection to the provider ends with the body.
        self.hand_over(Ended::ClientLeft);
    }
}
