//! Answers on their way to the client, to the byte, and what is learnt from them.

use super::begun::Begun;
use super::refusal::Refusal;
use super::{Body, headers};
use crate::manage::{Ended, Seen, Turn};
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
    B: http_body::Body<Data = Bytes, Error = hyper::Error> + Send + 'static,
{
    let (mut head, body) = response.into_parts();
    headers::drop_hop(&mut head.headers);
    Response::from_parts(head, body.map_err(|error| Box::from(error.to_string())).boxed_unsync())
}

/// A refusal that nothing can be done about.
pub(super) fn refused(mut head: response::Parts, refusal: Refusal) -> Response<Body> {
    headers::drop_hop(&mut head.headers);
    Response::from_parts(head, refusal.into_body())
}

/// An answer of which a copy goes to the turn, if that records it. The client gets every piece as soon as it is there.
pub(super) fn observed(response: Response<Begun>, turn: Turn, most: usize) -> Response<Body> {
    if !turn.is_recorded() {
        return untouched(response);
    }
    let (mut head, body) = response.into_parts();
    let watched = Watched {
        body,
        most,
        seen: Some(Copy { turn, headers: head.headers.clone(), pieces: Vec::new(), size: 0 }),
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
}

impl Watched {
    fn hand_over(&mut self, ended: Ended) {
        let Some(Copy { turn, headers, pieces, size }) = self.seen.take() else { return };
        turn.counters().answered.add(size as u64);
        let is_whole = size <= self.most;
        turn.finish(Seen { headers, pieces, is_whole, ended, earlier: Vec::new(), as_told: true });
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
                    if copy.size <= this.most {
                        copy.pieces.push(data.clone());
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
                Some(Err(Box::from(error.to_string())))
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
