//! The same in HTTP/2, where all requests share a connection and the provider can say that it did not look at one.

use crate::kit::{Asking, Reply};
use crate::tls;
use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, server};
use http::Response;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;

/// What is done to a request.
#[derive(Clone, Copy)]
enum Deed {
    Answer,
    /// It is refused, which says that nobody looked at it.
    Refuse,
    /// It is ended with another reason.
    Reset,
    /// Its connection is ended in the middle.
    Drop,
}

/// How many requests each connection brought.
type Seen = Arc<Mutex<Vec<usize>>>;

async fn provider(script: &'static [&'static [Deed]]) -> (tls::Known, Seen) {
    let (acceptor, certificate) = tls::acceptor("localhost", &[b"h2"]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let seen = Seen::default();
    let known = tls::Known { address, certificate };
    let log = seen.clone();
    tokio::spawn(async move {
        for at in 0.. {
            let (stream, _) = listener.accept().await.unwrap();
            log.lock().unwrap().push(0);
            let (acceptor, log) = (acceptor.clone(), log.clone());
            tokio::spawn(async move {
                let mut connection = server::handshake(acceptor.accept(stream).await.unwrap()).await.unwrap();
                let deeds = script.get(at).copied().unwrap_or_default();
                for number in 0.. {
                    let Some(Ok((_request, respond))) = connection.accept().await else { return };
                    log.lock().unwrap()[at] += 1;
                    if !act(deeds.get(number).copied().unwrap_or(Deed::Answer), respond) {
                        return;
                    }
                }
            });
        }
    });
    (known, seen)
}

/// Whether the connection goes on.
fn act(deed: Deed, mut respond: SendResponse<Bytes>) -> bool {
    match deed {
        Deed::Answer => {
            let mut body = respond.send_response(Response::new(()), false).unwrap();
            body.send_data(Bytes::from_static(b"{\"ok\":1}"), true).unwrap();
        }
        Deed::Refuse => respond.send_reset(Reason::REFUSED_STREAM),
        Deed::Reset => respond.send_reset(Reason::INTERNAL_ERROR),
        Deed::Drop => return false,
    }
    true
}

/// Asks some times, one after the other: what came back, and how many requests each connection brought.
async fn ask(times: usize, script: &'static [&'static [Deed]]) -> (Vec<Reply>, Vec<usize>) {
    let (known, seen) = provider(script).await;
    let (proxy, _home) = tls::proxy_before(&known, true).await;
    let mut replies = Vec::new();
    for _ in 0..times {
        replies.push(Asking::post("/v1/messages", tls::HELLO).of(proxy.address()).await);
    }
    let seen = seen.lock().unwrap().clone();
    (replies, seen)
}

fn statuses(replies: &[Reply]) -> Vec<u16> {
    replies.iter().map(|reply| reply.status).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_provider_did_not_look_at_is_sent_once_more() {
    let (replies, seen) = ask(2, &[&[Deed::Answer, Deed::Refuse]]).await;
    assert_eq!((statuses(&replies), seen), (vec![200, 200], vec![2, 1]));
    let (replies, seen) = ask(1, &[&[Deed::Refuse]]).await;
    assert_eq!((statuses(&replies), seen), (vec![200], vec![1, 1]), "on a new connection too");
    let (replies, seen) = ask(1, &[&[Deed::Refuse], &[Deed::Refuse]]).await;
    assert_eq!((statuses(&replies), seen), (vec![0], vec![1, 1]), "but not twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_used_connection_lost_is_sent_once_more() {
    let (replies, seen) = ask(3, &[&[Deed::Answer, Deed::Drop]]).await;
    assert_eq!((statuses(&replies), seen), (vec![200, 200, 200], vec![2, 2]));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_provider_meant_is_not_sent_again() {
    let (replies, seen) = ask(1, &[&[Deed::Drop]]).await;
    assert_eq!((statuses(&replies), seen), (vec![0], vec![1]), "a connection that nobody used before");
    let (replies, seen) = ask(2, &[&[Deed::Answer, Deed::Reset]]).await;
    assert_eq!((statuses(&replies), seen), (vec![200, 0], vec![2]), "it was looked at");
}
