//! Providers behind a proxy of the network's: real ones on this machine, which lead wherever they are told to.

use crate::kit::{Asking, Reply, TestHome};
use crate::tls;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use throughline_server::{Running, Server, Settings, Upstream, Upstreams};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// A name that leads nowhere: only the proxy knows the way.
const NAME: &str = "provider.example";

/// A proxy of the network's, and what it was asked.
struct Proxy {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

#[derive(Clone, Copy)]
enum Kind {
    /// By `CONNECT`: it lets through who says this, or everybody.
    Connect(Option<&'static str>),
    /// It lets nobody through.
    Refusing,
    /// SOCKS 5, without a password.
    Socks,
}

impl Proxy {
    /// All that it lets through goes to one place.
    async fn start(kind: Kind, to: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = asked.clone();
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let log = log.clone();
                tokio::spawn(async move {
                    let is_let_through = match kind {
                        Kind::Connect(password) => connect(&mut stream, &log, password).await,
                        Kind::Refusing => {
                            head(&mut stream, &log).await;
                            stream
                                .write_all(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")
                                .await
                                .unwrap();
                            false
                        }
                        Kind::Socks => socks(&mut stream, &log).await,
                    };
                    if is_let_through {
                        let mut there = TcpStream::connect(to).await.unwrap();
                        let _ = tokio::io::copy_bidirectional(&mut stream, &mut there).await;
                    }
                });
            }
        });
        Self { address, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

/// The head of a request, to the byte.
async fn head(stream: &mut TcpStream, log: &Mutex<Vec<String>>) -> String {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        bytes.push(stream.read_u8().await.unwrap());
    }
    let head = String::from_utf8(bytes).unwrap();
    log.lock().unwrap().push(head.lines().next().unwrap().to_owned());
    head
}

async fn connect(stream: &mut TcpStream, log: &Mutex<Vec<String>>, password: Option<&str>) -> bool {
    let head = head(stream, log).await;
    let said = head.lines().find_map(|line| line.strip_prefix("Proxy-Authorization: "));
    let is_let_through = password.is_none_or(|password| said == Some(password));
    let answer: &[u8] = if is_let_through {
        b"HTTP/1.1 200 Connection established\r\n\r\n"
    } else {
        b"HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic\r\ncontent-length: 0\r\n\r\n"
    };
    stream.write_all(answer).await.unwrap();
    is_let_through
}

async fn socks(stream: &mut TcpStream, log: &Mutex<Vec<String>>) -> bool {
    let mut hello = [0; 2];
    stream.read_exact(&mut hello).await.unwrap();
    let mut methods = vec![0; usize::from(hello[1])];
    stream.read_exact(&mut methods).await.unwrap();
    stream.write_all(&[5, 0]).await.unwrap();
    let mut request = [0; 5];
    stream.read_exact(&mut request).await.unwrap();
    assert_eq!(request[..4], [5, 1, 0, 3], "a name is asked for");
    let mut name = vec![0; usize::from(request[4])];
    stream.read_exact(&mut name).await.unwrap();
    let port = stream.read_u16().await.unwrap();
    log.lock().unwrap().push(format!("{}:{port}", String::from_utf8(name).unwrap()));
    stream.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await.unwrap();
    true
}

/// A proxy of ours before a provider behind one of the network's.
async fn proxy_before(base: &str, certificate: &str, address: &str) -> (Running, TestHome) {
    let home = TestHome::new();
    let file = home.home.root().join("ca.pem");
    std::fs::write(&file, certificate).unwrap();
    let upstream = Upstream::anthropic(base).unwrap();
    let mut upstreams = Upstreams { anthropic: upstream.clone(), openai: upstream, chatgpt: None };
    upstreams.trust(&file);
    upstreams.heed_proxies(&|name| (name == "HTTPS_PROXY").then(|| address.to_owned())).unwrap();
    (Server::start(Settings::new(home.home.clone(), upstreams)).await.unwrap(), home)
}

async fn ask(proxy: &Running) -> Reply {
    Asking::post("/v1/messages", tls::HELLO).of(proxy.address()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_is_reached_by_way_of_the_networks_proxy() {
    for protocol in [b"h2".as_slice(), b"http/1.1"] {
        let mut provider = tls::provider(NAME, &[protocol]).await;
        // `me:secret`
        let there = Proxy::start(Kind::Connect(Some("Basic bWU6c2VjcmV0")), provider.known.address).await;
        let address = format!("http://me:secret@{}", there.address);
        let (proxy, _home) =
            proxy_before(&format!("https://{NAME}"), &provider.known.certificate, &address).await;
        for _ in 0..2 {
            let reply = ask(&proxy).await;
            assert_eq!((reply.status, reply.text().as_str()), (200, "{\"ok\":1}"));
            assert_eq!(provider.seen.recv().await.unwrap().1.as_ref(), tls::HELLO);
        }
        let asked = there.asked();
        assert!(asked.iter().all(|line| *line == format!("CONNECT {NAME}:443 HTTP/1.1")), "{asked:?}");
        let shown = format!("{:?}", proxy.settings());
        assert!(!shown.contains("me:secret") && !shown.contains("bWU6"), "{shown}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_that_lets_nobody_through_is_named() {
    let provider = tls::provider(NAME, &[b"h2"]).await;
    for (kind, why) in [
        (Kind::Refusing, "tunnel error: unsuccessful"),
        (Kind::Connect(Some("Basic other")), "proxy authorization required"),
    ] {
        let there = Proxy::start(kind, provider.known.address).await;
        let address = format!("http://me:secret@{}", there.address);
        let (proxy, _home) =
            proxy_before(&format!("https://{NAME}"), &provider.known.certificate, &address).await;
        let reply = ask(&proxy).await;
        assert_eq!(reply.status, 502);
        let said = reply.text();
        let expected = format!("can't reach https://{NAME}: by way of the proxy {}", there.address);
        assert!(said.contains(&expected) && said.contains(why), "{said}");
        assert!(!said.contains("secret"), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn socks_will_do_too() {
    let provider = tls::provider(NAME, &[b"http/1.1"]).await;
    let there = Proxy::start(Kind::Socks, provider.known.address).await;
    let address = format!("socks5h://{}", there.address);
    let (proxy, _home) =
        proxy_before(&format!("https://{NAME}:8443"), &provider.known.certificate, &address).await;
    assert_eq!(ask(&proxy).await.status, 200);
    assert_eq!(there.asked(), [format!("{NAME}:8443")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn to_this_machine_leads_no_proxy() {
    let provider = tls::provider("localhost", &[b"h2"]).await;
    let there = Proxy::start(Kind::Connect(None), provider.known.address).await;
    let base = format!("https://localhost:{}", provider.known.address.port());
    let (proxy, _home) =
        proxy_before(&base, &provider.known.certificate, &format!("http://{}", there.address)).await;
    assert_eq!(ask(&proxy).await.status, 200);
    assert!(there.asked().is_empty());
}
