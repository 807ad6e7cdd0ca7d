//! A client's connection that says when everything meant for it has gone out.
//!
//! A server that is told that a body broke ends the connection at once, and what it still holds is lost. Directly, a client
//! would have had every byte that came before the break: so a break is told only when these have gone out.

use crate::relay::Body;
use bytes::Bytes;
use futures_util::task::AtomicWaker;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt as _;
use std::error::Error;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// How often everything had gone out.
#[derive(Clone, Default)]
pub(crate) struct Flushed(Arc<Count>);

#[derive(Default)]
struct Count {
    times: AtomicU64,
    waiting: AtomicWaker,
}

impl Flushed {
    fn times(&self) -> u64 {
        self.0.times.load(Ordering::Acquire)
    }

    fn once_more(&self) {
        self.0.times.fetch_add(1, Ordering::Release);
        self.0.waiting.wake();
    }

    /// A body whose break is told when all that came before it has gone out.
    pub(crate) fn hold(&self, body: Body) -> Body {
        Held { body, flushed: self.clone(), broken: None }.boxed_unsync()
    }
}

/// A client's connection.
pub(crate) struct Outlet {
    stream: TcpStream,
    flushed: Flushed,
}

impl Outlet {
    pub(crate) fn new(stream: TcpStream) -> (Self, Flushed) {
        let flushed = Flushed::default();
        (Self { stream, flushed: flushed.clone() }, flushed)
    }
}

impl AsyncRead for Outlet {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Outlet {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    /// Only called when there is nothing left to be written.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = ready!(Pin::new(&mut self.stream).poll_flush(context));
        if flushed.is_ok() {
            self.flushed.once_more();
        }
        Poll::Ready(flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

struct Held {
    body: Body,
    flushed: Flushed,
    /// Why it broke, and how often everything had gone out by then.
    broken: Option<(Box<dyn Error + Send + Sync>, u64)>,
}

impl http_body::Body for Held {
    type Data = Bytes;
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = &mut *self;
        if this.broken.is_none() {
            match ready!(Pin::new(&mut this.body).poll_frame(context)) {
                Some(Err(error)) => this.broken = Some((error, this.flushed.times())),
                other => return Poll::Ready(other),
            }
        }
        // Registered first: it may be flushed in between.
        this.flushed.0.waiting.register(context.waker());
        match this.broken.take() {
            Some((error, before)) if this.flushed.times() > before => Poll::Ready(Some(Err(error))),
            waiting => {
                this.broken = waiting;
                Poll::Pending
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.broken.is_none() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
