//! A proxy before a scripted provider, and a client that sees every byte.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use tempfile::TempDir;
use throughline_ledger::Home;
use throughline_server::{Running, Server, Settings, Upstream, Upstreams};
use throughline_testkit as testkit;

/// A proxy before a scripted provider.
pub(crate) struct World {
    pub(crate) provider: testkit::Server,
    pub(crate) proxy: Running,
    pub(crate) home: Home,
    _folder: TempDir,
}

impl World {
    /// With everything as usual.
    pub(crate) async fn new(script: impl testkit::Script + 'static) -> Self {
        Self::with(script, |_| {}).await
    }

    /// With other settings.
    pub(crate) async fn with(
        script: impl testkit::Script + 'static,
        change: impl FnOnce(&mut Settings),
    ) -> Self {
        let provider = testkit::Server::start(script).unwrap();
        let (proxy, TestHome { home, _folder }) = proxy_before(provider.address(), change).await;
        Self { provider, proxy, home, _folder }
    }

    /// Another process in its place, with the same home and provider.
    pub(crate) async fn restarted(self, change: impl FnOnce(&mut Settings)) -> Self {
        let Self { provider, proxy, home, _folder } = self;
        proxy.stop().await;
        let mut settings = Settings::new(home.clone(), upstreams(provider.address()));
        change(&mut settings);
        Self { provider, proxy: Server::start(settings).await.unwrap(), home, _folder }
    }

    /// Asks by way of the proxy.
    pub(crate) async fn ask(&self, request: Asking) -> Reply {
        request.of(self.proxy.address()).await
    }
}

/// A home that is gone with the test.
pub(crate) struct TestHome {
    pub(crate) home: Home,
    _folder: TempDir,
}

impl TestHome {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { home: Home::new(folder.path()), _folder: folder }
    }
}

/// A user that owns nothing.
pub(crate) const NOBODY: u32 = 65_534;

/// Returns true if the test may act as another user; prints what is not tested if not.
pub(crate) fn is_root(what: &str) -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        let required = std::env::var("THROUGHLINE_REQUIRE").is_ok_and(|value| value == "all");
        assert!(!required, "{what} need root");
        eprintln!("skipped: {what} need root");
    }
    is_root
}

/// A proxy before any provider of this machine.
pub(crate) async fn proxy_before(
    provider: SocketAddr,
    change: impl FnOnce(&mut Settings),
) -> (Running, TestHome) {
    let home = TestHome::new();
    let mut settings = Settings::new(home.home.clone(), upstreams(provider));
    change(&mut settings);
    (Server::start(settings).await.unwrap(), home)
}

fn upstreams(provider: SocketAddr) -> Upstreams {
    let base = format!("http://{provider}");
    Upstreams {
        anthropic: Upstream::anthropic(&base).unwrap(),
        openai: Upstream::openai(&base).unwrap(),
        chatgpt: Some(Upstream::openai(&format!("{base}/backend-api/codex")).unwrap()),
    }
}

/// A request.
#[derive(Clone)]
pub(crate) struct Asking {
    head: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Asking {
    pub(crate) fn post(path: &str, body: impl Into<Vec<u8>>) -> Self {
        Self { head: format!("POST {path} HTTP/1.1"), headers: Vec::new(), body: body.into() }
    }

    pub(crate) fn get(path: &str) -> Self {
        Self { head: format!("GET {path} HTTP/1.1"), headers: Vec::new(), body: Vec::new() }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn body(&self) -> &[u8] {
        &self.body
    }

    /// Asks a server directly, over a connection of its own.
    pub(crate) async fn of(self, address: SocketAddr) -> Reply {
        tokio::task::spawn_blocking(move || self.blocking(address)).await.unwrap()
    }

    /// Asks a server as another user: a thread has a user of its own, and so have its sockets.
    pub(crate) async fn of_user(self, uid: u32, address: SocketAddr) -> Reply {
        let asking = move || {
            rustix::thread::set_thread_uid(rustix::process::Uid::from_raw(uid)).unwrap();
            self.blocking(address)
        };
        let thread = std::thread::spawn(asking);
        tokio::task::spawn_blocking(move || thread.join().unwrap()).await.unwrap()
    }

    /// Sends it; what comes back is the caller's to read.
    pub(crate) fn send(&self, address: SocketAddr) -> TcpStream {
        let mut stream = TcpStream::connect(address).unwrap();
        let mut sent = format!("{}\r\n", self.head);
        if !self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            sent += &format!("Host: {address}\r\n");
        }
        for (name, value) in &self.headers {
            sent += &format!("{name}: {value}\r\n");
        }
        sent += &format!("Connection: close\r\nContent-Length: {}\r\n\r\n", self.body.len());
        stream.write_all(sent.as_bytes()).unwrap();
        stream.write_all(&self.body).unwrap();
        stream
    }

    fn blocking(self, address: SocketAddr) -> Reply {
        let mut stream = self.send(address);
        let mut bytes = Vec::new();
        // A connection that breaks is an answer too: what came before it counts.
        let _ = stream.read_to_end(&mut bytes);
        Reply::read(&bytes)
    }
}

/// What came back, to the byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Whether it came to its end.
    pub(crate) is_whole: bool,
}

impl Reply {
    fn read(bytes: &[u8]) -> Self {
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
            return Self { status: 0, headers: Vec::new(), body: bytes.to_vec(), is_whole: false };
        };
        let head = String::from_utf8_lossy(&bytes[..end]);
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers: Vec<(String, String)> = lines
            .map(|line| line.split_once(": ").unwrap())
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let of =
            |name: &str| headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.clone());
        let rest = &bytes[end + 4..];
        let (body, is_whole) = match of("transfer-encoding") {
            Some(_) => unchunked(rest),
            None => {
                let length = of("content-length").and_then(|length| length.parse().ok());
                (rest.to_vec(), length.is_none_or(|length: usize| length == rest.len()))
            }
        };
        Self { status, headers, body, is_whole }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

fn unchunked(mut rest: &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    loop {
        let Some(end) = rest.windows(2).position(|two| two == b"\r\n") else { return (body, false) };
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        rest = &rest[end + 2..];
        if size == 0 {
            return (body, true);
        }
        if rest.len() < size {
            body.extend_from_slice(rest);
            return (body, false);
        }
        body.extend_from_slice(&rest[..size]);
        rest = rest.get(size + 2..).unwrap_or_default();
    }
}
