//! Every buffer has a bound and every wait a timeout (P2, P4); what a provider sends is shown on no page of ours (P3).

use crate::kit::{Asking, World, proxy_before};
use crate::local::world_with;
use crate::raw::Raw;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use throughline_testkit::Answer;

const HELLO: &str = r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hello"}]}"#;
const SOON: Duration = Duration::from_millis(300);

#[tokio::test(flavor = "multi_thread")]
async fn p3_html_of_a_provider_is_text_to_be_saved() {
    let html = b"HTTP/1.1 200 OK\r\ncontent-type: Text/HTML; charset=utf-8\r\nset-cookie: throughline_1=x\r\n\
                 content-security-policy: default-src *\r\nconnection: close\r\ncontent-length: 23\r\n\r\n<script>alert()</script";
    let provider = Raw::answering(html);
    let (proxy, _home) = proxy_before(provider.address, |_| {}).await;
    for ask in [
        Asking::get("/v1/files/f/content"),
        Asking::post("/v1/messages", HELLO),
        Asking::post("/v1/responses", HELLO),
    ] {
        let reply = ask.of(proxy.address()).await;
        assert_eq!(reply.header("content-type"), Some("text/plain; charset=utf-8"));
        assert_eq!(reply.header("content-disposition"), Some("attachment"));
        assert_eq!(reply.header("set-cookie"), None);
        assert!(reply.text().starts_with("<script>"), "the bytes are the provider's");
        is_isolated(
            &reply.header("content-security-policy").map(str::to_owned),
            reply.header("x-content-type-options"),
        );
    }
}

fn is_isolated(policy: &Option<String>, sniffing: Option<&str>) {
    assert!(policy.as_ref().is_some_and(|policy| policy.starts_with("default-src 'none'")), "{policy:?}");
    assert_eq!(sniffing, Some("nosniff"));
}

#[tokio::test(flavor = "multi_thread")]
async fn p3_everything_that_is_served_has_a_policy() {
    let world = World::new(Answer::text("Good day.")).await;
    for (ask, status) in [
        (Asking::post("/v1/messages", HELLO), 200),
        (Asking::get("/v1/models"), 404),
        (Asking::get("/nowhere"), 404),
        (Asking::get("/v1/responses").header("Upgrade", "websocket"), 426),
        (Asking::get("/"), 401),
        (Asking::get("/t/x/"), 401),
        (Asking::get("/health"), 200),
        (Asking::get("/health").header("Host", "evil.example"), 403),
    ] {
        let reply = world.ask(ask).await;
        assert!(reply.status == status || reply.status == 200, "{}: {}", reply.status, reply.text());
        is_isolated(
            &reply.header("content-security-policy").map(str::to_owned),
            reply.header("x-content-type-options"),
        );
    }
}

/// Sends the head of a request and some of its body.
fn begin(address: SocketAddr, length: usize, sent: usize) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "POST /v1/messages HTTP/1.1\r\nhost: {address}\r\ncontent-length: {length}\r\n\r\n")
        .unwrap();
    stream.write_all(&vec![b' '; sent]).unwrap();
    stream
}

fn rest(mut stream: TcpStream) -> String {
    let mut read = Vec::new();
    let _ = stream.read_to_end(&mut read);
    String::from_utf8_lossy(&read).into_owned()
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn p2_a_body_that_stalls_is_refused_with_408() {
    let world = World::with(Answer::text("Good day."), |settings| settings.limits.stall = SOON).await;
    let address = world.proxy.address();
    let answer = blocking(move || rest(begin(address, 100, 10))).await;
    assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains("proxy.stall_seconds"), "{answer}");
    assert!(world.provider.requests().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn p2_silent_connections_are_closed() {
    let world = World::with(Answer::text("Good day."), |settings| {
        settings.limits.idle = SOON;
        settings.limits.stall = SOON;
    })
    .await;
    let address = world.proxy.address();
    // Nothing, half a head, half of what HTTP/2 begins with, and a request with nothing behind it.
    let whole = format!("GET /health HTTP/1.1\r\nhost: {address}\r\n\r\n");
    for sent in ["", "GET / HT", "PRI * HT", &whole] {
        let sent = sent.to_owned();
        let answer = blocking(move || {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(sent.as_bytes()).unwrap();
            rest(stream)
        })
        .await;
        assert!(answer.is_empty() || answer.contains("ok\n") || answer.starts_with("HTTP/1.1 4"), "{answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p2_bodies_of_all_connections_share_one_bound() {
    const MOST: usize = 1 << 20;
    let world = world_with(Answer::text("Good day."), |settings| settings.limits.buffered_bytes = MOST).await;
    let address = world.proxy.address();
    let held = blocking(move || begin(address, MOST, MOST - 1)).await;
    buffered(&world, MOST - 1).await;
    let refused = world.ask(Asking::post("/v1/messages", HELLO)).await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    assert!(refused.text().contains("proxy.buffered_bytes"), "{}", refused.text());
    drop(held);
    buffered(&world, 0).await;
    assert_eq!(world.ask(Asking::post("/v1/messages", HELLO)).await.status, 200);
}

/// Waits until so many bytes are held.
async fn buffered(world: &World, bytes: usize) {
    let wanted = format!("\nthroughline_buffered_bytes {bytes}\n");
    for _ in 0..2_000 {
        if world.look("/metrics").await.text().contains(&wanted) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never were {bytes} bytes held");
}

#[tokio::test(flavor = "multi_thread")]
async fn p2_a_request_that_is_said_to_be_too_large_is_refused_before_it_is_read() {
    let world = World::with(Answer::text("Good day."), |settings| settings.limits.request_bytes = 1000).await;
    let address = world.proxy.address();
    let answer = blocking(move || rest(begin(address, 1001, 1001))).await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn p2_a_provider_that_says_nothing_is_given_up() {
    let silent = Raw::start(|stream| {
        let _ = stream.read(&mut [0; 1]);
    });
    let (proxy, _home) = proxy_before(silent.address, |settings| settings.limits.upstream_idle = SOON).await;
    for path in ["/v1/messages", "/v1/embeddings"] {
        let reply = Asking::post(path, HELLO).of(proxy.address()).await;
        assert_eq!(reply.status, 504, "{}", reply.text());
        assert!(reply.text().contains("proxy.upstream_idle_seconds"), "{}", reply.text());
    }
    let begun = Raw::start(|stream| {
        let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n5\r\nevent\r\n";
        stream.write_all(head).unwrap();
        let _ = stream.read(&mut [0; 1]);
    });
    let (proxy, _home) = proxy_before(begun.address, |settings| settings.limits.upstream_idle = SOON).await;
    let reply = Asking::post("/v1/messages", HELLO).of(proxy.address()).await;
    assert_eq!((reply.status, reply.text().as_str(), reply.is_whole), (200, "event", false));
}

#[tokio::test(flavor = "multi_thread")]
async fn p4_an_event_that_is_too_large_to_be_held_passes_unseen() {
    const LINE: usize = 1 << 20;
    let provider = Raw::start(|stream| {
        let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\ndata: ";
        stream.write_all(head).unwrap();
        stream.write_all(&vec![b'x'; LINE]).unwrap();
        stream.write_all(b"\n\ndata: {}\n\n").unwrap();
    });
    let (proxy, _home) = proxy_before(provider.address, |settings| settings.limits.event_bytes = 1000).await;
    let tools = r#""tools":[{"name":"Bash","input_schema":{"type":"object"}}]"#;
    let body = HELLO.replacen('{', &format!("{{\"stream\":true,{tools},"), 1);
    let reply = Asking::post("/v1/messages", body).of(proxy.address()).await;
    let (_, sent) = provider.request().await;
    assert!(sent.contains("\"Recall\""), "answers are looked at: {sent}");
    assert_eq!(reply.body.len(), "data: ".len() + LINE + "\n\ndata: {}\n\n".len());
}
