//! Listening.

use crate::budget::Budget;
use crate::counters::Counters;
use crate::local::respond;
use crate::manage::Manager;
use crate::outlet::Outlet;
use crate::peer::{Caller, Ends};
use crate::upstream::Client;
use crate::{Settings, Snapshot, guard, local, relay};
use http::{Request, StatusCode};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Once};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// How long open answers may go on once the server is told to stop.
const GRACE: Duration = Duration::from_secs(5);

/// Why a server can't start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address is taken, or not of this machine.
    #[error("cannot listen on {address}: {error}; choose another with --port")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        error: std::io::Error,
    },
    /// The certificates to trust can't be read.
    #[error("cannot read certificates from {}: {why}; it must be PEM", file.display())]
    Certificates {
        /// The file.
        file: PathBuf,
        /// Why.
        why: String,
    },
    /// No encryption.
    #[error("cannot set up TLS: {0}")]
    Tls(String),
}

/// What every connection works with.
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    pub(crate) client: Client,
    pub(crate) manager: Option<Arc<Manager>>,
    pub(crate) address: SocketAddr,
    pub(crate) local: local::State,
    pub(crate) counters: Arc<Counters>,
    pub(crate) budget: Arc<Budget>,
    strangers: Once,
}

impl Shared {
    /// Tells once that somebody else's requests pass unmanaged: it may be the user's own program behind a namespace.
    pub(crate) fn tell_of_strangers(&self) {
        self.strangers.call_once(|| {
            tracing::warn!(
                "a request came from another user of this machine, or from a container: such requests are forwarded without memory, \
                 changes or records; docs/proxy.md says how a program of yours shows who it is"
            );
        });
    }
}

/// A proxy on loopback.
pub struct Server;

/// A server at work. Dropping it stops it at once.
pub struct Running {
    shared: Arc<Shared>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Server {
    /// Starts to listen.
    pub async fn start(settings: Settings) -> Result<Running, StartError> {
        let failed = |error| StartError::Listen { address: settings.listen, error };
        let listener = TcpListener::bind(settings.listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let counters = Arc::new(Counters::default());
        let budget = Budget::new(settings.limits.buffered_bytes);
        let client = Client::new(&settings.upstreams, &settings.limits, counters.clone())?;
        let manage = |managing| Arc::new(Manager::new(&settings, managing, counters.clone()));
        let manager = settings.manage.clone().map(manage);
        let shared = Arc::new(Shared {
            settings,
            client,
            manager,
            address,
            local: local::State::default(),
            counters,
            budget,
            strangers: Once::new(),
        });
        let stop = CancellationToken::new();
        if let Some(manager) = &shared.manager {
            manager.tend(stop.clone());
        }
        let task = tokio::spawn(listen(listener, shared.clone(), stop.clone()));
        Ok(Running { shared, stop, task })
    }
}

impl Running {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.shared.address
    }

    /// What it was told.
    pub fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    /// What there is to see of its conversations; `None` if it only passes requests on.
    pub fn snapshot(&self) -> Option<Snapshot> {
        self.shared.manager.as_ref().map(|manager| manager.snapshot())
    }

    /// Takes no more requests, and lets the open ones end for a while. What was learnt is in the ledgers then, and what there is
    /// to see is told for the last time.
    pub async fn stop(mut self) -> Option<Snapshot> {
        self.stop.cancel();
        // A task that was aborted has nothing to say.
        let _ = (&mut self.task).await;
        let manager = self.shared.manager.as_ref()?;
        manager.rest_all().await;
        Some(manager.snapshot())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.cancel();
        self.task.abort();
    }
}

async fn listen(listener: TcpListener, shared: Arc<Shared>, stop: CancellationToken) {
    let limits = shared.settings.limits;
    let mut http = auto::Builder::new(TokioExecutor::new());
    http.http1().preserve_header_case(true).timer(TokioTimer::new()).header_read_timeout(limits.stall);
    // What a provider does not say is not said for it.
    http.http1().auto_date_header(false);
    http.http2().timer(TokioTimer::new()).auto_date_header(false);
    let open = GracefulShutdown::new();
    loop {
        let (stream, client) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of file descriptors, as a rule: others may be closed by then.
                    tracing::warn!("cannot accept a connection: {error}");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
            () = stop.cancelled() => break,
        };
        let _ = stream.set_nodelay(true);
        let Ok(server) = stream.local_addr() else { continue };
        let (http, watcher, shared) = (http.clone(), open.watcher(), shared.clone());
        tokio::spawn(async move {
            // While the connection is open: later its port may be somebody else's.
            let peer = tokio::task::spawn_blocking(move || Caller::find(Ends { client, server })).await;
            let peer = peer.unwrap_or(Caller::Stranger);
            let (outlet, pulse) = Outlet::new(stream);
            let service = service_fn({
                let pulse = pulse.clone();
                move |request| {
                    let (shared, open) = (shared.clone(), pulse.request());
                    async move {
                        Ok::<_, relay::Broken>(
                            answer(shared, request, peer).await?.map(|body| open.hold(body)),
                        )
                    }
                }
            });
            let connection = http.serve_connection(TokioIo::new(outlet), service).into_owned();
            tokio::select! {
                ended = watcher.watch(connection) => {
                    if let Err(error) = ended {
                        tracing::debug!("a connection ended: {error}");
                    }
                }
                () = pulse.stopped(limits.idle, limits.upstream_idle) => {
                    tracing::debug!("a connection was closed: nothing came or went by it");
                }
            }
        });
    }
    let _ = tokio::time::timeout(GRACE, open.shutdown()).await;
}

async fn answer(
    shared: Arc<Shared>,
    mut request: Request<Incoming>,
    peer: Caller,
) -> Result<http::Response<relay::Body>, relay::Broken> {
    if let Err(refused) = guard::meant_for_us(request.headers(), request.uri(), shared.address) {
        return Ok(respond::refusal(StatusCode::FORBIDDEN, &refused));
    }
    let caller = match guard::authorise(&mut request, peer, &shared.settings.secret) {
        Ok(caller) => caller,
        Err(refused) => return Ok(respond::refusal(StatusCode::UNAUTHORIZED, &refused)),
    };
    if local::is_ours(request.uri().path()) {
        return Ok(local::answer(&shared, request).await);
    }
    let mut response = relay::pass_on(&shared, request, caller).await?;
    respond::isolate(response.headers_mut());
    Ok(response)
}
