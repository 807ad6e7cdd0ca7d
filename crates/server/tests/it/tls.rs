//! Providers behind TLS, in HTTP/2 and HTTP/1.1.

use crate::kit::{Asking, TestHome};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use throughline_server::{Running, Server, Settings, Upstream, Upstreams};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

/// A provider that says which version it was asked by, and what it was sent.
pub(crate) struct Provider {
    pub(crate) known: Known,
    pub(crate) seen: UnboundedReceiver<(Version, Bytes)>,
}

/// A provider's address, and what to know it by.
pub(crate) struct Known {
    pub(crate) address: SocketAddr,
    pub(crate) certificate: String,
}

/// What takes connections for a name, and its certificate.
pub(crate) fn acceptor(name: &str, protocols: &[&[u8]]) -> (TlsAcceptor, String) {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed([name.to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
    let ring = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(ring)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    (TlsAcceptor::from(Arc::new(config)), cert.pem())
}

pub(crate) async fn provider(name: &str, protocols: &[&[u8]]) -> Provider {
    let (acceptor, certificate) = acceptor(name, protocols);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (told, seen) = unbounded_channel();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let (acceptor, told) = (acceptor.clone(), told.clone());
            tokio::spawn(async move {
                // Whoever does not trust us ends the handshake.
                let Ok(stream) = acceptor.accept(stream).await else { return };
                let service = service_fn(move |request: Request<Incoming>| {
                    let told = told.clone();
                    async move {
                        let version = request.version();
                        let body = request.into_body().collect().await.unwrap().to_bytes();
                        // Who asked may have seen enough.
                        let _ = told.send((version, body));
                        let body = Full::new(Bytes::from_static(b"{\"ok\":1}"));
                        let answer =
                            Response::builder().header("content-type", "application/json").body(body);
                        Ok::<_, Infallible>(answer.unwrap())
                    }
                });
                let _ = auto::Builder::new(TokioExecutor::new())
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    });
    Provider { known: Known { address, certificate }, seen }
}

/// A proxy before it, which may trust it.
pub(crate) async fn proxy_before(provider: &Known, trusts: bool) -> (Running, TestHome) {
    let home = TestHome::new();
    let file = home.home.root().join("ca.pem");
    std::fs::write(&file, &provider.certificate).unwrap();
    let mut upstream =
        Upstream::anthropic(&format!("https://localhost:{}", provider.address.port())).unwrap();
    upstream.ca_file = trusts.then_some(file);
    let upstreams = Upstreams { anthropic: upstream.clone(), openai: upstream, chatgpt: None };
    (Server::start(Settings::new(home.home.clone(), upstreams)).await.unwrap(), home)
}

pub(crate) const HELLO: &[u8] =
    br#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hello"}]}"#;

#[tokio::test(flavor = "multi_thread")]
async fn the_best_protocol_that_the_provider_has_is_spoken() {
    for (protocols, expected) in [
        (&[b"h2".as_slice(), b"http/1.1"][..], Version::HTTP_2),
        (&[b"http/1.1".as_slice()][..], Version::HTTP_11),
    ] {
        let mut provider = provider("localhost", protocols).await;
        let (proxy, _home) = proxy_before(&provider.known, true).await;
        for _ in 0..2 {
            let reply = Asking::post("/v1/messages", HELLO).of(proxy.address()).await;
            assert_eq!((reply.status, reply.text().as_str()), (200, "{\"ok\":1}"), "{expected:?}");
            let (version, body) = provider.seen.recv().await.unwrap();
            assert_eq!((version, body.as_ref()), (expected, HELLO));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_whose_certificate_nobody_vouches_for_is_sent_nothing() {
    let mut provider = provider("localhost", &[b"h2"]).await;
    let (proxy, _home) = proxy_before(&provider.known, false).await;
    let reply = Asking::post("/v1/messages", HELLO).of(proxy.address()).await;
    assert_eq!(reply.status, 502);
    assert!(reply.text().contains("certificate"), "{}", reply.text());
    assert!(provider.seen.try_recv().is_err());
}
