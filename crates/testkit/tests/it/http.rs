//! The server as a server.

use crate::client::{Client, WIRES, ask, path, request};
use throughline_core::Wire;
use throughline_testkit::{Answer, Reply, Seen, Server};

fn server() -> Server {
    Server::start(|seen: &Seen| Reply::from(Answer::text(format!("number {}", seen.number)))).unwrap()
}

#[test]
fn a_connection_serves_many_requests() {
    let server = server();
    let mut client = Client::connect(&server);
    for (number, wire) in WIRES.into_iter().cycle().take(9).enumerate() {
        let body = request(wire, "hello", number % 2 == 0).to_string();
        let got = client.post(path(wire), body.as_bytes()).unwrap().response(wire);
        assert_eq!(got.messages[0].to_text(), format!("number {number}"));
    }
    assert_eq!(
        server.requests().iter().map(|seen| seen.number).collect::<Vec<_>>(),
        (0..9).collect::<Vec<_>>()
    );
}

#[test]
fn requests_may_come_in_a_row_before_the_first_reply() {
    let server = server();
    let mut client = Client::connect(&server);
    let body = request(Wire::Chat, "hello", false).to_string();
    let one = format!("POST /v1/chat/completions HTTP/1.1\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    client.write(one.repeat(3).as_bytes());
    for number in 0..3 {
        let got = client.read(false).unwrap().response(Wire::Chat);
        assert_eq!(got.messages[0].to_text(), format!("number {number}"));
    }
}

#[test]
fn a_request_may_come_byte_by_byte() {
    let server = server();
    let mut client = Client::connect(&server);
    let body = request(Wire::Anthropic, "hällo", false).to_string();
    let one = format!("POST /v1/messages HTTP/1.1\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    for byte in one.as_bytes() {
        client.write(&[*byte]);
    }
    client.read(false).unwrap().response(Wire::Anthropic);
    assert_eq!(server.requests()[0].last_user_text(), "hällo");
}

#[test]
fn a_request_may_be_chunked_and_wait_for_a_continue() {
    let server = server();
    let mut client = Client::connect(&server);
    let body = request(Wire::Responses, "hello", false).to_string();
    client
        .write(b"POST /v1/responses HTTP/1.1\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n");
    assert_eq!(client.read(true).unwrap().status, 100);
    let (one, two) = body.split_at(body.len() / 3);
    client.write(
        format!("{:x};x=1\r\n{one}\r\n{:X}\r\n{two}\r\n0\r\nX-Trailer: t\r\n\r\n", one.len(), two.len())
            .as_bytes(),
    );
    client.read(false).unwrap().response(Wire::Responses);
    assert_eq!(server.requests()[0].body, body.into_bytes());
    let body = request(Wire::Chat, "again", false).to_string();
    client.post(path(Wire::Chat), body.as_bytes()).unwrap().response(Wire::Chat);
}

#[test]
fn the_path_tells_the_wire_under_any_base() {
    let server = server();
    for (wire, paths) in [
        (Wire::Anthropic, ["/v1/messages", "/messages", "/anthropic/v1/messages?beta=true"]),
        (Wire::Responses, ["/v1/responses", "/responses", "/openai/v1/responses?api-version=1"]),
        (Wire::Chat, ["/v1/chat/completions", "/chat/completions", "/v1beta/openai/chat/completions/"]),
    ] {
        for path in paths {
            let body = request(wire, "hello", false).to_string();
            Client::connect(&server).post(path, body.as_bytes()).unwrap().response(wire);
            let seen = server.last().unwrap();
            assert_eq!(seen.wire, wire);
            assert_eq!((seen.path.as_str(), seen.query.as_str()), path.split_once('?').unwrap_or((path, "")));
        }
    }
}

#[test]
fn what_is_not_served_is_a_404_and_recorded() {
    let server = server();
    let got = Client::connect(&server).post("/v1/embeddings", b"{}").unwrap();
    assert_eq!(got.status, 404);
    let mut client = Client::connect(&server);
    client.write(b"GET /v1/messages HTTP/1.1\r\n\r\n");
    let got = client.read(false).unwrap();
    assert_eq!((got.status, &got.json()["error"]["type"]), (404, &"not_found_error".into()));
    client.write(b"HEAD / HTTP/1.1\r\n\r\n");
    assert_eq!(client.read(true).unwrap().status, 404);
    client.write(b"GET /v1/models HTTP/1.1\r\n\r\n");
    assert_eq!(client.read(false).unwrap().status, 200);
    let paths: Vec<_> =
        server.requests().into_iter().map(|seen| format!("{} {}", seen.method, seen.path)).collect();
    assert_eq!(paths, ["POST /v1/embeddings", "GET /v1/messages", "HEAD /", "GET /v1/models"]);
}

#[test]
fn a_body_that_is_not_json_is_turned_down_as_providers_do() {
    let server = server();
    for wire in WIRES {
        for body in ["", "{", "[]"] {
            let got = Client::connect(&server).post(path(wire), body.as_bytes()).unwrap();
            assert_eq!(got.status, 400);
            assert_eq!(got.json()["error"]["type"], "invalid_request_error");
        }
    }
    assert_eq!(server.count(), 9);
    assert!(server.unscripted().is_empty());
}

#[test]
fn what_is_not_http_is_a_400() {
    let server = server();
    for nonsense in [
        "nonsense\r\n\r\n",
        "POST / HTTP/1.1\r\nno colon\r\n\r\n",
        "POST / HTTP/1.1\r\ncontent-length: x\r\n\r\n",
    ] {
        let mut client = Client::connect(&server);
        client.write(nonsense.as_bytes());
        assert_eq!(client.read(false).unwrap().status, 400);
    }
    assert_eq!(server.count(), 0);
}

#[test]
fn a_client_may_ask_for_the_connection_to_be_closed() {
    let server = server();
    let mut client = Client::connect(&server);
    let body = request(Wire::Chat, "hello", true).to_string();
    let head = "POST /v1/chat/completions HTTP/1.1\r\nConnection: close\r\ncontent-length";
    client.write(format!("{head}: {}\r\n\r\n{body}", body.len()).as_bytes());
    let got = client.read(false).unwrap();
    assert_eq!(got.header("connection"), Some("close"));
    got.response(Wire::Chat);
    assert_eq!(client.read(false).unwrap_err().kind(), std::io::ErrorKind::UnexpectedEof);
}

#[test]
fn many_connections_are_served_at_once() {
    let server = server();
    let mut numbers: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..8)
            .map(|worker| {
                let server = &server;
                scope.spawn(move || {
                    let wire = WIRES[worker % 3];
                    (0..10)
                        .map(|_| ask(server, wire, "hello", true).response(wire).messages[0].to_text())
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    numbers.sort();
    let mut expected: Vec<String> = (0..80).map(|number| format!("number {number}")).collect();
    expected.sort();
    assert_eq!(numbers, expected);
    assert_eq!(server.requests().len(), 80);
}

#[test]
fn bodies_share_their_beginning() {
    let server = server();
    let long = "x".repeat(10_000);
    ask(&server, Wire::Chat, &format!("{long}a"), false);
    ask(&server, Wire::Chat, &format!("{long}b"), false);
    let [one, two] = &server.requests()[..] else { panic!("two requests") };
    let at = String::from_utf8_lossy(&two.body).find("xb").unwrap() + 1;
    assert_eq!(two.shares(one), at);
    assert_eq!(two.shares(two), two.body.len());
}

#[test]
fn keys_are_recorded_and_never_printed() {
    let server = server();
    let body = request(Wire::Anthropic, "hello", false).to_string();
    let mut client = Client::connect(&server);
    let head = "POST /v1/messages?key=sk-query HTTP/1.1\r\nX-Api-Key: sk-header\r\ncontent-length";
    client.write(format!("{head}: {}\r\n\r\n{body}", body.len()).as_bytes());
    client.read(false).unwrap().response(Wire::Anthropic);
    let seen = server.last().unwrap();
    assert_eq!((seen.header("x-api-key"), seen.query.as_str()), (Some("sk-header"), "key=sk-query"));
    for printed in [format!("{seen:?}"), format!("{server:?}")] {
        assert!(!printed.contains("sk-"), "{printed}");
    }
    assert!(format!("{seen:?}").contains("X-Api-Key"));
}
