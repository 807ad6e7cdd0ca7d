//! Certificates, proxies, redirects.

use crate::support::{bytes, nothing, provider, quick};
use std::sync::Arc;
use throughline_model::{
    Call, Delivery, ErrorKind, Http, Model, ModelError, Provider, Retries, Secret, Wire,
};
use throughline_testkit::{Answer, Fault, Http as Plain, Reply, Seen, Server};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// Speaks TLS in front of a server, under a certificate that nobody knows. Its port, and the certificate.
async fn behind_tls(server: &Server) -> (u16, String) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let inner = server.address();
    tokio::spawn(async move {
        while let Ok((outside, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                if let Ok(mut outside) = acceptor.accept(outside).await {
                    let mut inside = TcpStream::connect(inner).await.unwrap();
                    let _ = tokio::io::copy_bidirectional(&mut outside, &mut inside).await;
                }
            });
        }
    });
    (port, made.cert.pem())
}

fn sent() -> Call<'static> {
    Call::new(bytes(Wire::Anthropic, Delivery::Streamed))
}

#[tokio::test]
async fn a_certificate_of_ones_own_is_trusted_when_named() {
    let server = Server::start(Answer::text("Yes.")).unwrap();
    let (port, pem) = behind_tls(&server).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem");
    std::fs::write(&file, pem).unwrap();
    let retries = Retries { attempts: 1, ..Retries::default() };
    let base_url = Some(format!("https://localhost:{port}"));
    let provider = Provider { base_url, retries, ca_file: Some(file), ..provider(Wire::Anthropic, &server) };
    let (model, _) = quick(&provider);
    model.send(sent()).await.unwrap();
    assert_eq!(server.count(), 1);

    // A machine without any certificates of its own can't even begin; that is an error too.
    match Http::new(&Provider { ca_file: None, ..provider }, &nothing) {
        Ok(model) => assert_eq!(model.send(sent()).await.unwrap_err().kind(), ErrorKind::Connection),
        Err(error) => assert_eq!(error.kind(), ErrorKind::Config),
    }
    assert_eq!(server.count(), 1, "nothing was sent to a stranger");
}

#[test]
fn a_file_that_holds_no_certificate_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem");
    let open = || {
        let provider = Provider {
            ca_file: Some(file.clone()),
            base_url: Some("https://x.test".to_owned()),
            ..Provider::new("p", Wire::Chat, "m")
        };
        Http::new(&provider, &nothing).map(|_| ()).unwrap_err().to_string()
    };
    assert!(open().contains("can't be read"), "{}", open());
    std::fs::write(&file, "hello").unwrap();
    assert!(open().contains("no certificate"), "{}", open());
    std::fs::write(&file, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").unwrap();
    assert!(!open().is_empty());
}

#[tokio::test]
async fn a_proxy_gets_the_whole_address() {
    let proxy = Server::start(Answer::text("Yes.")).unwrap();
    let base = Provider {
        base_url: Some("http://model.test".to_owned()),
        ..Provider::new("p", Wire::Anthropic, "m")
    };
    let url = proxy.url();

    let by_settings = Provider { proxy: Some(Secret::new(url.clone())), ..base.clone() };
    Http::new(&by_settings, &nothing).unwrap().send(sent()).await.unwrap();
    assert_eq!(proxy.last().unwrap().path, "http://model.test/v1/messages");

    let variables = |name: &str| (name == "HTTP_PROXY").then(|| url.clone());
    Http::new(&base, &variables).unwrap().send(sent()).await.unwrap();
    assert_eq!(proxy.count(), 2);

    // This machine's own servers are not behind it, unless the settings say so.
    let local = Server::start(Answer::text("Yes.")).unwrap();
    Http::new(&provider(Wire::Anthropic, &local), &variables).unwrap().send(sent()).await.unwrap();
    assert_eq!((proxy.count(), local.count()), (2, 1));
}

#[tokio::test]
async fn what_is_not_to_be_proxied_is_not() {
    let proxy = Server::start(Answer::text("Yes.")).unwrap();
    let direct = Server::start(Answer::text("Yes.")).unwrap();
    let url = proxy.url();
    // An address that leads to this machine and is not counted as its own.
    let base_url = Some(format!("http://0.0.0.0:{}", direct.address().port()));
    let provider = Provider { base_url, ..Provider::new("p", Wire::Anthropic, "m") };
    for (except, counts) in [("other.test", (1, 0)), ("other.test,0.0.0.0", (1, 1)), ("*", (1, 2))] {
        let variables = |name: &str| match name {
            "all_proxy" => Some(url.clone()),
            "NO_PROXY" => Some(except.to_owned()),
            _ => None,
        };
        Http::new(&provider, &variables).unwrap().send(sent()).await.unwrap();
        assert_eq!((proxy.count(), direct.count()), counts, "{except}");
    }
}

#[tokio::test]
async fn https_goes_through_a_tunnel() {
    let proxy = Server::start(Answer::text("Yes.")).unwrap();
    let url = proxy.url();
    let variables = |name: &str| (name == "https_proxy").then(|| url.clone());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem");
    std::fs::write(&file, rcgen::generate_simple_self_signed(vec!["x.test".to_owned()]).unwrap().cert.pem())
        .unwrap();
    let retries = Retries { attempts: 1, ..Retries::default() };
    let base_url = Some("https://model.test".to_owned());
    let provider =
        Provider { base_url, retries, ca_file: Some(file), ..Provider::new("p", Wire::Anthropic, "m") };
    // This proxy opens none.
    let error = Http::new(&provider, &variables).unwrap().send(sent()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connection);
    assert_eq!(proxy.last().unwrap().method, "CONNECT");
}

#[tokio::test]
async fn redirects_stay_with_the_host() {
    let elsewhere = Server::start(Answer::text("Stolen.")).unwrap();
    for status in [301, 302, 303, 307, 308] {
        let to = format!("{}/v1/messages", elsewhere.url());
        let server = Server::start(Fault::Redirect(status, to.clone())).unwrap();
        let (model, _) = quick(&provider(Wire::Anthropic, &server));
        let error = model.send(sent()).await.unwrap_err();
        assert!(
            matches!(&error, ModelError::Invalid { status: Some(said), .. } if *said == status),
            "{error}"
        );
        assert!(error.to_string().contains(&to), "{error}");
        assert_eq!(elsewhere.count(), 0);
    }
    // Within the host the body goes along.
    let script = |seen: &Seen| match seen.path.as_str() {
        "/v1/messages" => Reply::from(Plain::text(308, "text/plain", "").header("location", "/new/messages")),
        _ => Reply::from("Yes."),
    };
    let server = Server::start(script).unwrap();
    let (model, _) = quick(&provider(Wire::Anthropic, &server));
    model.send(sent()).await.unwrap();
    let seen = server.requests();
    assert_eq!(seen[0].body, seen[1].body);
}

#[tokio::test]
async fn a_redirect_to_itself_ends() {
    let server = Server::start(Fault::Redirect(307, "/v1/messages".to_owned())).unwrap();
    let (model, _) = quick(&provider(Wire::Anthropic, &server));
    let error = model.send(sent()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(server.count() <= 5, "{}", server.count());
}
