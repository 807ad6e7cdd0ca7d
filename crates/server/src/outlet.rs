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
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Activity on a connection.
#[derive(Clone, Default)]
pub(crate) struct Pulse(Arc<State>);

#[derive(Default)]
struct State {
    /// Number of times that everything had gone out.
    flushes: AtomicU64,
    waiting: AtomicWaker,
    /// Number of times that bytes came or went.
    moves: AtomicU64,
    /// Requests that are not answered to the end.
    open: AtomicUsize,
    /// The client takes nothing.
    is_blocked: AtomicBool,
}

impl Pulse {
    fn flushes(&self) -> u64 {
        self.0.flushes.load(Ordering::Acquire)
    }

    fn flushed(&self) {
        self.0.flushes.fetch_add(1, Ordering::Release);
        self.0.waiting.wake();
    }

    fn moved(&self) {
        self.0.moves.fetch_add(1, Ordering::Release);
    }

    /// A request came; it is open until what is returned is dropped.
    pub(crate) fn request(&self) -> OpenRequest {
        self.0.open.fetch_add(1, Ordering::AcqRel);
        OpenRequest(self.clone())
    }

    /// Waits until nobody uses the connection: no request for `idle`, or a client that takes nothing for `blocked`.
    pub(crate) async fn stopped(&self, idle: Duration, blocked: Duration) {
        let mut still = Duration::ZERO;
        loop {
            let before = self.0.moves.load(Ordering::Acquire);
            tokio::time::sleep(idle).await;
            let is_open = self.0.open.load(Ordering::Acquire) > 0;
            let is_blocked = self.0.is_blocked.load(Ordering::Acquire);
            if self.0.moves.load(Ordering::Acquire) != before || (is_open && !is_blocked) {
                still = Duration::ZERO;
                continue;
            }
            still = still.saturating_add(idle);
            if !is_open || still >= blocked {
                return;
            }
        }
    }
}

/// A request that is not answered to the end.
pub(crate) struct OpenRequest(Pulse);

impl OpenRequest {
    /// A body whose break is told when all that came before it has gone out.
    pub(crate) fn hold(self, body: Body) -> Body {
        Held { body, open: self, broken: None }.boxed_unsync()
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        self.0.moved();
        self.0.0.open.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A client's connection.
pub(crate) struct Outlet {
    stream: TcpStream,
    pulse: Pulse,
}

impl Outlet {
    pub(crate) fn new(stream: TcpStream) -> (Self, Pulse) {
        let pulse = Pulse::default();
        (Self { stream, pulse: pulse.clone() }, pulse)
    }

    fn written(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        self.pulse.0.is_blocked.store(written.is_pending(), Ordering::Release);
        if written.is_ready() {
            self.pulse.moved();
        }
        written
    }
}

impl AsyncRead for Outlet {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = ready!(Pin::new(&mut self.stream).poll_read(context, buffer));
        self.pulse.moved();
        Poll::Ready(read)
    }
}

impl AsyncWrite for Outlet {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.written(written)
    }

    /// Only called when there is nothing left to be written.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = ready!(Pin::new(&mut self.stream).poll_flush(context));
        if flushed.is_ok() {
            self.pulse.flushed();
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
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.written(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

struct Held {
    body: Body,
    open: OpenRequest,
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
                Some(Err(error)) => this.broken = Some((error, this.open.0.flushes())),
                other => return Poll::Ready(other),
            }
        }
        // Registered first: it may be flushed in between.
        this.open.0.0.waiting.register(context.waker());
        match this.broken.take() {
            Some((error, before)) if this.open.0.flushes() > before => Poll::Ready(Some(Err(error))),
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
