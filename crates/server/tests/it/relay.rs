//! How bytes get there and back: names of headers, compression, pressure, who leaves when.

use crate::kit::{Asking, proxy_before};
use crate::raw::Raw;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};

const HELLO: &[u8] = br#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hello"}]}"#;

#[tokio::test(flavor = "multi_thread")]
async fn headers_keep_their_names_as_they_were_written_both_ways() {
    let provider = Raw::answering(b"HTTP/1.1 200 OK\r\nX-ReQuest-ID: 7\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}");
    let (proxy, _home) = proxy_before(provider.address, |_| {}).await;
    let ask =
        Asking::post("/v1/messages", HELLO).header("X-Stainless-Lang", "js").header("anthropic-BETA", "b");
    let reply = ask.of(proxy.address()).await;
    assert!(reply.headers.contains(&("X-ReQuest-ID".to_owned(), "7".to_owned())), "{:?}", reply.headers);
    let (_provider, seen) = provider.request().await;
    assert!(
        seen.contains("\r\nX-Stainless-Lang: js\r\n") && seen.contains("\r\nanthropic-BETA: b\r\n"),
        "{seen}"
    );
    assert!(seen.starts_with("POST /v1/messages HTTP/1.1\r\n"), "{seen}");
    assert!(seen.ends_with(std::str::from_utf8(HELLO).unwrap()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compressed_request_goes_on_as_it_came() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(HELLO).unwrap();
    let packed = packed.finish().unwrap();
    let provider = throughline_testkit::Server::start("Hi.").unwrap();
    let (proxy, home) = proxy_before(provider.address(), |_| {}).await;
    let ask = Asking::post("/v1/messages", packed.clone()).header("content-encoding", "gzip");
    ask.of(proxy.address()).await;
    proxy.stop().await;
    let seen = &provider.requests()[0];
    assert_eq!(seen.body, packed);
    assert_eq!(seen.header("content-encoding"), Some("gzip"));
    assert_eq!(home.home.ledgers().unwrap().len(), 1, "it was read all the same");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_proxy_does_not_know_passes_through() {
    let provider =
        Raw::answering(b"HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\nConnection: close\r\n\r\nno\n");
    let (proxy, _home) = proxy_before(provider.address, |_| {}).await;
    let reply =
        Asking::get("/v1/files?limit=2").header("authorization", "Bearer k").of(proxy.address()).await;
    assert_eq!((reply.status, reply.text().as_str()), (404, "no\n"));
    let (_provider, seen) = provider.request().await;
    assert!(seen.starts_with("GET /v1/files?limit=2 HTTP/1.1\r\n"), "{seen}");
    assert!(seen.contains("authorization: Bearer k\r\n"), "{seen}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_is_not_there_is_named() {
    let nowhere = throughline_testkit::Nowhere::new().unwrap();
    let url = nowhere.url().unwrap();
    let address: std::net::SocketAddr =
        url.trim_start_matches("http://").trim_end_matches('/').parse().unwrap();
    let (proxy, _home) = proxy_before(address, |_| {}).await;
    let reply = Asking::post("/v1/messages", HELLO).of(proxy.address()).await;
    assert_eq!(reply.status, 502);
    assert!(reply.text().contains(&format!("can't reach http://{address}")), "{}", reply.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_breaks_there_breaks_here() {
    // Before a word, and in the middle of an answer.
    let beginnings: [&[u8]; 2] =
        [b"", b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n5\r\nevent\r\n"];
    for beginning in beginnings {
        let provider = Raw::start(move |stream| {
            let _ = stream.write_all(beginning);
        });
        let (proxy, _home) = proxy_before(provider.address, |_| {}).await;
        let ask = Asking::post("/v1/messages", HELLO);
        let (through, direct) = (ask.clone().of(proxy.address()).await, ask.of(provider.address).await);
        assert_eq!((through.status, &through.body, through.is_whole), (direct.status, &direct.body, false));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_client_leaves_the_provider_notices() {
    let (noticed, notice) = mpsc::channel();
    let provider = Raw::start(move |stream| {
        let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n5\r\nevent\r\n";
        stream.write_all(head).unwrap();
        // Ends when the other side does.
        let _ = stream.read(&mut [0; 1]);
        noticed.send(()).unwrap();
    });
    let (proxy, _home) = proxy_before(provider.address, |_| {}).await;
    let address = proxy.address();
    let left = tokio::task::spawn_blocking(move || {
        let mut client = TcpStream::connect(address).unwrap();
        let head = format!(
            "POST /v1/messages HTTP/1.1\r\nhost: {address}\r\ncontent-length: {}\r\n\r\n",
            HELLO.len()
        );
        client.write_all(head.as_bytes()).unwrap();
        client.write_all(HELLO).unwrap();
        let mut seen = Vec::new();
        while !seen.ends_with(b"event\r\n") {
            let mut byte = [0; 1];
            assert_eq!(client.read(&mut byte).unwrap(), 1);
            seen.push(byte[0]);
        }
        drop(client);
        notice.recv()
    });
    left.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_reads_slowly_slows_the_provider_down() {
    const MEGABYTE: usize = 1 << 20;
    const ALL: usize = 256;
    let written = Arc::new(AtomicU64::new(0));
    let count = written.clone();
    let provider = Raw::start(move |stream| {
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {}\r\n\r\n",
            ALL * MEGABYTE
        );
        stream.write_all(head.as_bytes()).unwrap();
        let piece = vec![b'x'; MEGABYTE];
        for _ in 0..ALL {
            if stream.write_all(&piece).is_err() {
                return;
            }
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    let (proxy, _home) = proxy_before(provider.address, |settings| settings.limits.answer_bytes = 1000).await;
    let address = proxy.address();
    tokio::task::spawn_blocking(move || {
        let mut client = TcpStream::connect(address).unwrap();
        let head = format!(
            "POST /v1/messages HTTP/1.1\r\nhost: {address}\r\ncontent-length: {}\r\n\r\n",
            HELLO.len()
        );
        client.write_all(head.as_bytes()).unwrap();
        client.write_all(HELLO).unwrap();
        client.read_exact(&mut [0; 100]).unwrap();
        // Nobody reads: what is written comes to rest long before the end, in the buffers on the way.
        let mut before = u64::MAX;
        while written.load(Ordering::SeqCst) != before {
            before = written.load(Ordering::SeqCst);
            std::thread::sleep(std::time::Duration::from_millis(300));
        }
        assert!(before < ALL as u64 / 2, "{before} MB were taken from the provider");
        let mut rest = 100;
        let mut piece = vec![0; MEGABYTE];
        while rest < ALL * MEGABYTE {
            let read = client.read(&mut piece).unwrap();
            assert!(read > 0, "it ended after {rest} bytes");
            rest += read;
        }
    })
    .await
    .unwrap();
}
