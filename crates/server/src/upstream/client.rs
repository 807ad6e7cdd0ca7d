//! Connections to providers, kept and used again.

use super::{Upstream, Upstreams};
use crate::endpoint::Api;
use crate::serve::StartError;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client as Pool;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use std::time::Duration;

/// What is sent: a whole body that decisions were made about, or one that nobody looked at.
pub(crate) type RequestBody = Either<Full<Bytes>, Incoming>;

/// How long an unused connection is kept.
const KEPT: Duration = Duration::from_secs(90);

/// The connections to each upstream.
pub(crate) struct Client {
    anthropic: Connections,
    openai: Connections,
    chatgpt: Connections,
}

type Connections = Pool<HttpsConnector<HttpConnector>, RequestBody>;

impl Client {
    pub(crate) fn new(upstreams: &Upstreams, connect: Duration) -> Result<Self, StartError> {
        Ok(Self {
            anthropic: pool(upstreams.of(Api::Anthropic), connect)?,
            openai: pool(upstreams.of(Api::OpenAi), connect)?,
            chatgpt: pool(upstreams.of(Api::ChatGpt), connect)?,
        })
    }

    /// Sends a request; the answer is there as soon as its head is.
    pub(crate) async fn send(
        &self,
        api: Api,
        request: Request<RequestBody>,
    ) -> Result<Response<Incoming>, hyper_util::client::legacy::Error> {
        match api {
            Api::Anthropic => self.anthropic.request(request).await,
            Api::OpenAi => self.openai.request(request).await,
            Api::ChatGpt => self.chatgpt.request(request).await,
        }
    }
}

fn pool(upstream: &Upstream, connect: Duration) -> Result<Connections, StartError> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(connect));
    let tls = HttpsConnectorBuilder::new().with_tls_config(trust(upstream)?);
    let tls = if upstream.is_encrypted() { tls.https_only() } else { tls.https_or_http() };
    Ok(Pool::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(KEPT)
        .http1_preserve_header_case(true)
        // A kept connection that turns out to be closed: nothing was sent yet.
        .retry_canceled_requests(true)
        .build(tls.enable_all_versions().wrap_connector(tcp)))
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
