//! Connections to providers that are kept: one that is gone by the time it is used costs nobody an answer.

use crate::kit::{Asking, Reply, proxy_before};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use throughline_server::Running;

/// What is done to a request.
#[derive(Clone, Copy)]
enum Deed {
    /// It is answered, and the connection stays.
    Answer,
    /// The connection is closed without a byte, once the request was read.
    Close,
    /// The connection is closed as soon as there is something to be read.
    CloseUnread,
    /// The connection is closed after so much of an answer.
    Begin(&'static str),
}

/// What came by one connection: the first line and the length of each request.
type Log = Arc<Mutex<Vec<Vec<(String, usize)>>>>;

/// A provider that does what is written for each request of each connection, then answers.
struct Provider {
    address: SocketAddr,
    log: Log,
}

impl Provider {
    fn start(script: &[&[Deed]]) -> Self {
        let script: Vec<Vec<Deed>> = script.iter().map(|deeds| deeds.to_vec()).collect();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let log = Log::default();
        let seen = log.clone();
        std::thread::spawn(move || {
            for (at, stream) in listener.incoming().enumerate() {
                let deeds = script.get(at).cloned().unwrap_or_default();
                seen.lock().unwrap().push(Vec::new());
                let seen = seen.clone();
                std::thread::spawn(move || {
                    serve(stream.unwrap(), &deeds, &|request| seen.lock().unwrap()[at].push(request))
                });
            }
        });
        Self { address, log }
    }

    /// How many requests each connection brought.
    fn requests(&self) -> Vec<usize> {
        self.log.lock().unwrap().iter().map(Vec::len).collect()
    }

    fn last(&self) -> (String, usize) {
        self.log.lock().unwrap().last().unwrap().last().unwrap().clone()
    }
}

const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 8\r\n\r\n{\"ok\":1}";

fn serve(mut stream: TcpStream, deeds: &[Deed], seen: &dyn Fn((String, usize))) {
    for at in 0.. {
        let deed = deeds.get(at).copied().unwrap_or(Deed::Answer);
        if let Deed::CloseUnread = deed {
            // What is left unread makes the kernel reset the connection, as one that was closed before.
            let mut first = [0];
            if stream.read(&mut first).is_ok_and(|read| read == 1) {
                seen(("unread".to_owned(), 0));
            }
            return;
        }
        let Some(request) = read_request(&mut stream) else { return };
        seen(request);
        match deed {
            Deed::Answer => stream.write_all(ANSWER).unwrap(),
            Deed::Begin(bytes) => return stream.write_all(bytes.as_bytes()).unwrap(),
            Deed::Close | Deed::CloseUnread => return,
        }
    }
}

/// The first line of a request and the length of its body, in either framing.
fn read_request(stream: &mut TcpStream) -> Option<(String, usize)> {
    let mut bytes = Vec::new();
    let mut piece = vec![0; 1 << 16];
    loop {
        let read = stream.read(&mut piece).ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&piece[..read]);
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let body = &bytes[end + 4..];
        let is_chunked = head.to_lowercase().contains("transfer-encoding: chunked");
        let length = head.to_lowercase();
        let length = length.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        if if is_chunked { body.ends_with(b"0\r\n\r\n") } else { body.len() >= length.unwrap_or(0) } {
            return Some((head.lines().next().unwrap().to_owned(), body.len()));
        }
    }
}

fn asking() -> Asking {
    Asking::post(
        "/v1/messages",
        r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hello"}]}"#,
    )
}

/// Asks, is answered, and waits until the connection that brought the answer is kept.
async fn answered(proxy: &Running, asking: Asking) {
    let reply = asking.of(proxy.address()).await;
    assert_eq!((reply.status, reply.text().as_str()), (200, "{\"ok\":1}"));
    while metric(proxy, "throughline_upstream_connections{state=\"busy\"}").await > 0 {
        tokio::task::yield_now().await;
    }
}

/// One figure of the proxy's.
async fn metric(proxy: &Running, name: &str) -> u64 {
    let token = format!("Bearer {}", proxy.settings().token.expose());
    let asking = Asking::get("/metrics").header("authorization", &token);
    let metrics = asking.of(proxy.address()).await.text();
    let figure = metrics.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    figure.unwrap_or_else(|| panic!("no {name} in {metrics}"))
}

fn is_broken(reply: &Reply) -> bool {
    reply.status == 0 && reply.body.is_empty()
}

/// How many requests the proxy says it sent once more.
async fn sent_again(proxy: &Running) -> u64 {
    metric(proxy, "throughline_upstream_resent_total").await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_a_kept_connection_lost_is_sent_once_more() {
    let provider = Provider::start(&[&[Deed::Answer, Deed::Close]]);
    let (proxy, _home) = proxy_before(provider.address, |_| {}).await;
    answered(&proxy, asking()).await;
    answered(&proxy, asking()).await;
    assert_eq!(provider.requests(), [2, 1], "two were written, one of them again");
    assert_eq!(sent_again(&proxy).await, 1);
    answered(&proxy, asking()).await;
    assert_eq!(provider.requests(), [2, 2], "the new connection is kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_request_that_a_kept_connection_does_not_even_take_is_sent_once_more() {
    let provider = Provider::start(&[&[Deed::Answer, Deed::CloseUnread]]);
    let (proxy, _home) = proxy_before(provider.address, |settings| settings.manage = None).await;
    answered(&proxy, asking()).await;
    let words = "word ".repeat(1 << 20);
    let body =
        format!(r#"{{"model":"m","max_tokens":9,"messages":[{{"role":"user","content":"{words}"}}]}}"#);
    let length = body.len();
    answered(&proxy, Asking::post("/v1/messages", body)).await;
    assert_eq!(provider.requests(), [2, 1]);
    assert_eq!(provider.last(), ("POST /v1/messages HTTP/1.1".to_owned(), length));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_nobody_used_before_breaks_for_the_client_too() {
    let provider = Provider::start(&[&[Deed::Close]]);
    let (proxy, _home) = proxy_before(provider.address, |_| {}).await;
    let reply = asking().of(proxy.address()).await;
    assert!(is_broken(&reply), "{reply:?}");
    assert_eq!(provider.requests(), [1]);
    assert_eq!(sent_again(&proxy).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_sent_at_most_once_more() {
    let provider = Provider::start(&[&[Deed::Answer, Deed::Close], &[Deed::Close]]);
    let (proxy, _home) = proxy_before(provider.address, |_| {}).await;
    answered(&proxy, asking()).await;
    let reply = asking().of(proxy.address()).await;
    assert!(is_broken(&reply), "{reply:?}");
    assert_eq!(provider.requests(), [2, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_attempt_does_not_go_by_another_kept_connection() {
    // Two are kept, both gone by the time they are used.
    let provider = Provider::start(&[&[Deed::Answer, Deed::Close], &[Deed::Answer, Deed::Close]]);
    let (proxy, _home) = proxy_before(provider.address, |_| {}).await;
    answered(&proxy, Asking::get("/v1/models")).await;
    answered(&proxy, Asking::post("/v1/files", vec![b'x'; (1 << 20) + 1])).await;
    assert_eq!(provider.requests(), [1, 1]);
    answered(&proxy, Asking::get("/v1/models")).await;
    assert_eq!(provider.requests(), [1, 2, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_sent_again_once_a_byte_came_back() {
    for begun in ["H", "HTTP/1.1 200 OK\r\ncontent-le", "HTTP/1.1 100 Continue\r\n\r\n"] {
        let provider = Provider::start(&[&[Deed::Answer, Deed::Begin(begun)]]);
        let (proxy, _home) = proxy_before(provider.address, |_| {}).await;
        answered(&proxy, asking()).await;
        let reply = asking().of(proxy.address()).await;
        assert!(is_broken(&reply), "{begun}: {reply:?}");
        assert_eq!(provider.requests(), [2], "{begun}");
        assert_eq!(sent_again(&proxy).await, 0, "{begun}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn small_bodies_that_nobody_looks_at_are_sent_once_more_too() {
    for asking in
        [Asking::post("/v1/embeddings", r#"{"model":"m","input":"hello"}"#), Asking::get("/v1/models")]
    {
        let provider = Provider::start(&[&[Deed::Answer, Deed::Close]]);
        let (proxy, _home) = proxy_before(provider.address, |_| {}).await;
        answered(&proxy, asking.clone()).await;
        answered(&proxy, asking).await;
        assert_eq!(provider.requests(), [2, 1]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_passed_on_as_it_comes_goes_by_a_new_connection() {
    let provider = Provider::start(&[&[Deed::Answer, Deed::Close]]);
    let (proxy, _home) = proxy_before(provider.address, |_| {}).await;
    let file = vec![b'x'; (1 << 20) + 1];
    answered(&proxy, Asking::get("/v1/models")).await;
    answered(&proxy, Asking::post("/v1/files", file.clone())).await;
    assert_eq!(provider.requests(), [1, 1], "it can't be sent twice, so it does not rely on a kept one");
    assert_eq!(provider.last().1, file.len());
    // The newest is taken first.
    answered(&proxy, Asking::get("/v1/models")).await;
    assert_eq!(provider.requests(), [1, 2], "both are kept");
}
