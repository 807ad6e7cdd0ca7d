//! A connection that knows how much came by it.

use hyper::rt::{Read, Write};
use hyper_util::rt::TokioIo;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// What came by one connection.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    read: AtomicU64,
    has_answered: AtomicBool,
}

impl Traffic {
    /// How many bytes came so far.
    pub(super) fn read(&self) -> u64 {
        self.read.load(Ordering::Acquire)
    }

    /// Whether a request was answered by it before.
    pub(super) fn has_answered(&self) -> bool {
        self.has_answered.load(Ordering::Acquire)
    }

    /// A request was answered.
    pub(super) fn answered(&self) {
        self.has_answered.store(true, Ordering::Release);
    }
}

/// Anything that bytes go through.
pub(super) trait Io: Read + Write + Send + Unpin {}

impl<T: Read + Write + Send + Unpin> Io for T {}

/// A connection whose incoming bytes are counted.
pub(super) struct Counted {
    io: TokioIo<Box<dyn Io>>,
    traffic: Arc<Traffic>,
}

impl Counted {
    pub(super) fn new(io: Box<dyn Io>) -> (Self, Arc<Traffic>) {
        let traffic = Arc::new(Traffic::default());
        (Self { io: TokioIo::new(io), traffic: traffic.clone() }, traffic)
    }
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = ready!(Pin::new(&mut self.io).poll_read(context, buffer));
        self.traffic.read.fetch_add((buffer.filled().len() - before) as u64, Ordering::Release);
        Poll::Ready(read)
    }
}

impl AsyncWrite for Counted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }
}
