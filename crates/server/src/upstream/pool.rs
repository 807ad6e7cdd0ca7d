//! Connections to one provider, kept and used again.
//!
//! A kept connection may be gone by the time it is used: the provider closes it just as the next request is written. Whoever asks
//! by a connection of their own never sees that, so the request is sent once more then, by a new connection. It is not, if the
//! provider may have meant it: on a connection that nobody used before, or when a byte came back.

use super::connect::Connector;
use super::traffic::{Counted, Traffic};
use super::{Connections, RequestBody, SendError};
use crate::counters::Count;
use bytes::Bytes;
use http::uri::PathAndQuery;
use http::{Request, Response, Uri};
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::error::Error as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long an unused connection is kept.
const KEPT: Duration = Duration::from_secs(90);

/// The connections to one provider.
pub(super) struct Pool {
    connector: Connector,
    kept: Arc<Mutex<Kept>>,
}

/// What can be used again.
#[derive(Default)]
struct Kept {
    /// HTTP/1.1: one request at a time, those at the end used last.
    single: Vec<Resting<http1::SendRequest<RequestBody>>>,
    /// HTTP/2: all requests by one.
    shared: Option<Resting<http2::SendRequest<RequestBody>>>,
    /// HTTP/1.1: those by which an answer is coming.
    busy: usize,
    /// Whether somebody looks after them.
    is_tended: bool,
}

struct Resting<S> {
    sender: S,
    traffic: Arc<Traffic>,
    since: Instant,
}

/// A connection that a request goes by.
struct Line {
    sender: Sender,
    traffic: Arc<Traffic>,
    /// Whether a request was answered by it before.
    was_used: bool,
}

enum Sender {
    Single(http1::SendRequest<RequestBody>),
    Shared(http2::SendRequest<RequestBody>),
}

/// A request that was not answered.
enum Lost {
    /// Nothing of it was sent; here it is.
    Unsent(Box<Request<RequestBody>>, hyper::Error),
    /// It can be sent once more without being heard twice by a provider that answers.
    Unheard(hyper::Error),
    /// The provider may have meant it.
    Broken(hyper::Error),
}

impl Pool {
    pub(super) fn new(connector: Connector) -> Self {
        Self { connector, kept: Arc::default() }
    }

    /// Sends a request; the answer is there as soon as its head is. It is counted if that takes a second connection.
    pub(super) async fn send(
        &self,
        mut request: Request<RequestBody>,
        sent_again: &Count,
    ) -> Result<Response<Incoming>, SendError> {
        let mut copy = copied(&request);
        // What can't be sent again does not rely on a connection that may be gone.
        let mut by_a_new_one = copy.is_none();
        loop {
            let kept = if by_a_new_one { None } else { take(&self.kept) };
            let was_kept = kept.is_some();
            let line = match kept {
                Some(line) => line,
                None => self.connect().await?,
            };
            match self.ask(line, request).await {
                Ok(response) => return Ok(response),
                // There are only so many that were kept.
                Err(Lost::Unsent(back, _)) if was_kept => request = *back,
                Err(Lost::Unheard(error)) => match copy.take() {
                    Some(again) => {
                        tracing::debug!("a kept connection ended, the request is sent once more: {error}");
                        sent_again.add(1);
                        (request, by_a_new_one) = (again, true);
                    }
                    None => return Err(SendError::Broken(error)),
                },
                Err(Lost::Unsent(_, error) | Lost::Broken(error)) => return Err(SendError::Broken(error)),
            }
        }
    }

    /// How many connections bring an answer, and how many wait for the next request. One that many share waits always.
    pub(super) fn connections(&self) -> Connections {
        let mut kept = lock(&self.kept);
        kept.drop_old();
        Connections { busy: kept.busy, kept: kept.single.len() + usize::from(kept.shared.is_some()) }
    }

    async fn connect(&self) -> Result<Line, SendError> {
        let reached = self.connector.connect().await.map_err(SendError::Connect)?;
        let (io, traffic) = Counted::new(reached.io);
        let io = TokioIo::new(io);
        let ended = |error: hyper::Error| tracing::debug!("a connection to a provider ended: {error}");
        if reached.speaks_http2 {
            let (mut sender, connection) = http2::handshake(TokioExecutor::new(), io).await?;
            tokio::spawn(async move { connection.await.unwrap_or_else(ended) });
            sender.ready().await?;
            share(&self.kept, &sender, &traffic);
            return Ok(Line { sender: Sender::Shared(sender), traffic, was_used: false });
        }
        let (mut sender, connection) = http1::Builder::new().preserve_header_case(true).handshake(io).await?;
        tokio::spawn(async move { connection.await.unwrap_or_else(ended) });
        sender.ready().await?;
        Ok(Line { sender: Sender::Single(sender), traffic, was_used: false })
    }

    async fn ask(&self, line: Line, mut request: Request<RequestBody>) -> Result<Response<Incoming>, Lost> {
        let Line { sender, traffic, was_used } = line;
        let before = traffic.read();
        let address = request.uri().clone();
        let (asked, sender) = match sender {
            Sender::Single(mut sender) => {
                *request.uri_mut() = origin_form(&address);
                (sender.try_send_request(request).await, Some(sender))
            }
            Sender::Shared(mut sender) => (sender.try_send_request(request).await, None),
        };
        let mut failed = match asked {
            Ok(response) => {
                traffic.answered();
                if let Some(sender) = sender {
                    give_back(&self.kept, sender, traffic);
                }
                return Ok(response);
            }
            Err(failed) => failed,
        };
        forget(&self.kept, &traffic);
        if let Some(mut request) = failed.take_message() {
            *request.uri_mut() = address;
            return Err(Lost::Unsent(Box::new(request), failed.into_error()));
        }
        let error = failed.into_error();
        let is_stale = was_used && traffic.read() == before;
        Err(if is_stale || was_refused(&error) { Lost::Unheard(error) } else { Lost::Broken(error) })
    }
}

impl From<hyper::Error> for SendError {
    fn from(error: hyper::Error) -> Self {
        Self::Broken(error)
    }
}

/// The same request once more, if its body is whole.
fn copied(request: &Request<RequestBody>) -> Option<Request<RequestBody>> {
    let Either::Left(body) = request.body() else { return None };
    let body: Full<Bytes> = body.clone();
    let mut copy = Request::new(Either::Left(body));
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.headers_mut() = request.headers().clone();
    *copy.extensions_mut() = request.extensions().clone();
    Some(copy)
}

/// Whether an HTTP/2 provider says that it did not look at the request (RFC 9113, 8.7).
fn was_refused(error: &hyper::Error) -> bool {
    let Some(error) = error.source().and_then(|cause| cause.downcast_ref::<h2::Error>()) else {
        return false;
    };
    let is = |reason| error.is_remote() && error.reason() == Some(reason);
    (error.is_reset() && is(h2::Reason::REFUSED_STREAM)) || (error.is_go_away() && is(h2::Reason::NO_ERROR))
}

/// The address as HTTP/1.1 has it in the first line.
fn origin_form(address: &Uri) -> Uri {
    address.path_and_query().cloned().map_or_else(Uri::default, |path: PathAndQuery| path.into())
}

fn lock(kept: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    // What is in it is whole at any time.
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A connection that was kept, if there is one.
fn take(kept: &Mutex<Kept>) -> Option<Line> {
    let mut kept = lock(kept);
    kept.drop_old();
    if let Some(shared) = &mut kept.shared {
        shared.since = Instant::now();
        let (sender, traffic) = (Sender::Shared(shared.sender.clone()), shared.traffic.clone());
        return Some(Line { sender, was_used: traffic.has_answered(), traffic });
    }
    let resting = kept.single.pop()?;
    Some(Line { sender: Sender::Single(resting.sender), traffic: resting.traffic, was_used: true })
}

impl Kept {
    /// Lets go what is closed, or was not used for long.
    fn drop_old(&mut self) {
        self.single.retain(|resting| resting.sender.is_ready() && resting.since.elapsed() < KEPT);
        self.shared.take_if(|resting| !resting.sender.is_ready() || resting.since.elapsed() >= KEPT);
    }
}

/// Has everybody use a connection, unless there is one for that.
fn share(kept: &Arc<Mutex<Kept>>, sender: &http2::SendRequest<RequestBody>, traffic: &Arc<Traffic>) {
    let mut open = lock(kept);
    open.drop_old();
    if open.shared.is_none() {
        let resting = Resting { sender: sender.clone(), traffic: traffic.clone(), since: Instant::now() };
        open.shared = Some(resting);
        tend(kept, &mut open);
    }
}

/// Keeps a connection for the next request, once the answer has come to its end.
fn give_back(kept: &Arc<Mutex<Kept>>, mut sender: http1::SendRequest<RequestBody>, traffic: Arc<Traffic>) {
    let weak = Arc::downgrade(kept);
    lock(kept).busy += 1;
    tokio::spawn(async move {
        let is_open = sender.ready().await.is_ok();
        let Some(kept) = weak.upgrade() else { return };
        let mut open = lock(&kept);
        open.busy -= 1;
        if is_open {
            open.single.push(Resting { sender, traffic, since: Instant::now() });
            tend(&kept, &mut open);
        }
    });
}

/// Has nobody else use a connection that failed.
fn forget(kept: &Mutex<Kept>, traffic: &Arc<Traffic>) {
    lock(kept).shared.take_if(|shared| Arc::ptr_eq(&shared.traffic, traffic));
}

/// Sees to it that connections which nobody asks for are let go too.
fn tend(kept: &Arc<Mutex<Kept>>, open: &mut Kept) {
    if std::mem::replace(&mut open.is_tended, true) {
        return;
    }
    let kept = Arc::downgrade(kept);
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(KEPT).await;
            let Some(kept) = kept.upgrade() else { return };
            let mut open = lock(&kept);
            open.drop_old();
            if open.single.is_empty() && open.shared.is_none() {
                open.is_tended = false;
                return;
            }
        }
    });
}
