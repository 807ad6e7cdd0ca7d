//! How a connection to a provider comes about.

use super::Upstream;
use super::traffic::Io;
use super::via::{Kind, Via};
use crate::serve::StartError;
use http::Uri;
use hyper::rt::{Read, Write};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::legacy::connect::{Connection, HttpConnector};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use std::error::Error;
use std::future::poll_fn;
use std::time::Duration;
use tower_service::Service;

/// Why there is no connection.
pub(super) type Reason = Box<dyn Error + Send + Sync>;

/// A connection was not there in time.
#[derive(Debug, thiserror::Error)]
#[error("no connection within {} s", .0.as_secs_f32())]
struct TooLate(Duration);

/// The network's proxy did not let us through.
#[derive(Debug, thiserror::Error)]
#[error("by way of the proxy {proxy}")]
struct NotLetThrough {
    proxy: Via,
    #[source]
    why: Reason,
}

type Tls<C> = HttpsConnector<C>;

/// The way to a provider.
enum Way {
    Direct(Tls<HttpConnector>),
    /// The proxy itself may be reached by TLS too.
    Tunnel(Tls<Tunnel<Tls<HttpConnector>>>, Via),
    Socks(Tls<SocksV5<HttpConnector>>, Via),
}

/// Makes connections to one provider.
pub(super) struct Connector {
    to: Uri,
    limit: Duration,
    way: Way,
}

/// A connection that nobody has used.
pub(super) struct Reached {
    pub(super) io: Box<dyn Io>,
    pub(super) speaks_http2: bool,
}

impl Connector {
    pub(super) fn new(upstream: &Upstream, limit: Duration) -> Result<Self, StartError> {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(limit));
        let trust = trust(upstream)?;
        let tls = HttpsConnectorBuilder::new().with_tls_config(trust.clone());
        let tls = if upstream.is_encrypted() { tls.https_only() } else { tls.https_or_http() };
        let tls = tls.enable_all_versions();
        let way = match &upstream.via {
            None => Way::Direct(tls.wrap_connector(tcp)),
            Some(via) => match via.kind().clone() {
                Kind::Tunnel { authorization } => {
                    let there = HttpsConnectorBuilder::new().with_tls_config(trust).https_or_http();
                    let there = there.enable_http1().wrap_connector(tcp);
                    let tunnel = Tunnel::new(via.address().clone(), there);
                    let tunnel = match authorization {
                        Some(authorization) => tunnel.with_auth(authorization),
                        None => tunnel,
                    };
                    Way::Tunnel(tls.wrap_connector(tunnel), via.clone())
                }
                Kind::Socks { user, looks_up_here } => {
                    let socks = SocksV5::new(via.address().clone(), tcp).local_dns(looks_up_here);
                    let socks = match user {
                        Some((name, password)) => socks.with_auth(name, password),
                        None => socks,
                    };
                    Way::Socks(tls.wrap_connector(socks), via.clone())
                }
            },
        };
        Ok(Self { to: upstream.root(), limit, way })
    }

    /// A new connection.
    pub(super) async fn connect(&self) -> Result<Reached, Reason> {
        let to = self.to.clone();
        let connecting = async {
            let (reached, proxy) = match &self.way {
                Way::Direct(way) => return reach(way.clone(), to).await,
                Way::Tunnel(way, via) => (reach(way.clone(), to).await, via),
                Way::Socks(way, via) => (reach(way.clone(), to).await, via),
            };
            reached.map_err(|why| NotLetThrough { proxy: proxy.clone(), why }.into())
        };
        tokio::time::timeout(self.limit, connecting).await.map_err(|_| TooLate(self.limit))?
    }
}

async fn reach<C>(mut connector: C, to: Uri) -> Result<Reached, Reason>
where
    C: Service<Uri>,
    C::Response: Connection + Read + Write + Send + Unpin + 'static,
    C::Error: Into<Reason>,
{
    poll_fn(|context| connector.poll_ready(context)).await.map_err(Into::into)?;
    let io = connector.call(to).await.map_err(Into::into)?;
    let speaks_http2 = io.connected().is_negotiated_h2();
    Ok(Reached { io: Box::new(io), speaks_http2 })
}

/// Whom to trust: the system's certificates, and those of the settings.
fn trust(upstream: &Upstream) -> Result<rustls::ClientConfig, StartError> {
    let mut roots = rustls::RootCertStore::empty();
    // Plain HTTP needs no certificates, and a machine without any can still talk to a local server.
    if upstream.is_encrypted() {
        let found = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(found.certs);
    }
    if let Some(file) = &upstream.ca_file {
        let failed = |why: String| StartError::Certificates { file: file.clone(), why };
        for certificate in CertificateDer::pem_file_iter(file).map_err(|error| failed(error.to_string()))? {
            let certificate = certificate.map_err(|error| failed(error.to_string()))?;
            roots.add(certificate).map_err(|error| failed(error.to_string()))?;
        }
    }
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| StartError::Tls(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(config)
}
