//! Waiting, leaving, and the end of it all.

use crate::client::{Client, LONG, WIRES, ask, path, request};
use std::io::ErrorKind;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;
use throughline_core::Wire;
use throughline_testkit::{Answer, Fault, Gate, Http, Nowhere, Reply, Seen, Server, Stall};

/// A script that a test can see the end of.
fn counted(token: &Arc<()>, reply: impl Into<Reply>) -> impl FnMut(&Seen) -> Reply + Send + 'static {
    let (token, reply) = (Arc::clone(token), reply.into());
    move |_: &Seen| {
        let _ = &token;
        reply.clone()
    }
}

#[test]
fn dropping_the_server_ends_every_thread_whatever_it_waits_for() {
    let waits: Vec<Reply> = vec![
        Fault::Stall(Stall::BeforeHead).into(),
        Fault::Stall(Stall::AfterEvents(2)).into(),
        Fault::Late(Duration::from_secs(3600)).into(),
        Answer::text("one two three four five").slowly(Duration::from_secs(3600)).into(),
        Answer::text("gated").at(&Gate::new()).into(),
        // Larger than the socket's buffers, and nobody reads.
        Http::text(200, "application/json", &"x".repeat(32 << 20)).into(),
        // The connection is idle behind its reply.
        Answer::text("done").into(),
    ];
    for reply in waits {
        let token = Arc::new(());
        let server = Server::start(counted(&token, reply.clone())).unwrap();
        let address = server.address();
        let mut client = Client::connect(&server);
        let body = request(Wire::Chat, "hello", true).to_string();
        client.write(
            format!("POST /chat/completions HTTP/1.1\r\ncontent-length: {}\r\n\r\n{body}", body.len())
                .as_bytes(),
        );
        assert_eq!(server.wait_for(1, LONG).len(), 1);
        drop(server);
        // Each thread holds what holds the script.
        assert_eq!(Arc::strong_count(&token), 1, "{reply:?}");
        assert_eq!(TcpStream::connect(address).unwrap_err().kind(), ErrorKind::ConnectionRefused);
        // What had been sent may still be read; then comes the end.
        while client.read(false).is_ok() {}
    }
}

#[test]
fn a_reply_waits_at_its_gate() {
    let gate = Gate::new();
    let server = Server::start(Answer::text("through").at(&gate)).unwrap();
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| ask(&server, Wire::Anthropic, "hello", true).response(Wire::Anthropic));
        assert_eq!(server.wait_for(1, LONG).len(), 1);
        assert!(!asking.is_finished());
        gate.open();
        assert_eq!(asking.join().unwrap().messages[0].to_text(), "through");
    });
    assert_eq!(server.departures(), 0);
}

#[test]
fn a_client_that_leaves_is_noticed() {
    for stall in [Stall::BeforeHead, Stall::BeforeBody, Stall::AfterEvents(3)] {
        let server = Server::start(Fault::Stall(stall)).unwrap();
        for wire in WIRES {
            let mut client = Client::connect(&server).expect(Some(stall));
            let body = request(wire, "hello", true).to_string();
            let got = client.post(path(wire), body.as_bytes());
            match stall {
                Stall::BeforeHead => assert_eq!(got.unwrap_err().kind(), ErrorKind::WouldBlock),
                Stall::BeforeBody | Stall::AfterEvents(_) => {
                    let got = got.unwrap();
                    assert_eq!((got.status, got.broken), (200, Some(ErrorKind::WouldBlock)));
                    let events = got.body.windows(2).filter(|end| end == b"\n\n").count();
                    assert_eq!(events, if stall == Stall::BeforeBody { 0 } else { 3 });
                }
            }
        }
        assert_eq!(server.wait_for_departures(3, LONG), 3);
    }
}

#[test]
fn waiting_for_more_than_comes_ends_at_the_limit() {
    let server = Server::start(Answer::text("fine")).unwrap();
    ask(&server, Wire::Chat, "hello", false);
    assert_eq!(server.wait_for(2, Duration::from_millis(10)).len(), 1);
    assert_eq!(server.wait_for_departures(1, Duration::from_millis(10)), 0);
}

#[test]
fn long_runs_can_forget() {
    let server = Server::start(Answer::text("fine")).unwrap();
    server.keep(2);
    for turn in 0..5 {
        ask(&server, Wire::Chat, &format!("turn {turn}"), false);
    }
    assert_eq!(server.count(), 5);
    let kept: Vec<_> = server.requests().iter().map(|seen| (seen.number, seen.last_user_text())).collect();
    assert_eq!(kept, [(3, "turn 3".to_owned()), (4, "turn 4".to_owned())]);
}

#[test]
fn nowhere_refuses() {
    let nowhere = Nowhere::new().unwrap();
    let url = nowhere.url().unwrap();
    let address = url.strip_prefix("http://").unwrap();
    for _ in 0..3 {
        assert_eq!(TcpStream::connect(address).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    }
}

#[test]
fn the_url_has_no_version_in_it() {
    let server = Server::start(Answer::text("fine")).unwrap();
    assert_eq!(server.url(), format!("http://127.0.0.1:{}", server.address().port()));
}
