//! Scripts.

use crate::client::{Client, LONG, WIRES, ask, path, request, send};
use serde_json::json;
use throughline_core::Wire;
use throughline_testkit::playbook::{body, header, last_user, model, offers, system};
use throughline_testkit::{
    Answer, Fault, Http, Playbook, Playlist, Reply, Script, Seen, Server, Window, Wording,
};

fn says(server: &Server, wire: Wire, text: &str) -> String {
    ask(server, wire, text, true).response(wire).messages[0].to_text()
}

#[test]
fn a_list_is_played_in_order_and_then_is_over() {
    for wire in WIRES {
        let replies: Vec<Reply> = vec!["one".into(), Fault::Overloaded.into(), Answer::text("three").into()];
        let server = Server::start(replies).unwrap();
        assert_eq!(says(&server, wire, "?"), "one");
        assert_ne!(ask(&server, wire, "?", true).status, 200);
        assert_eq!(says(&server, wire, "?"), "three");
        let over = ask(&server, wire, "?", true);
        assert_eq!(over.status, 500);
        let message = over.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains("the script is over") && message.contains("number 3"), "{message}");
        assert_eq!(server.unscripted(), [3]);
        assert_eq!(server.requests().len(), 4);
    }
}

#[test]
fn a_playlist_repeats() {
    let server = Server::start(Playlist::new().times(2, "a").then("b").forever("c")).unwrap();
    let said: Vec<String> = (0..5).map(|_| says(&server, Wire::Chat, "?")).collect();
    assert_eq!(said, ["a", "a", "b", "c", "c"]);
    assert!(server.unscripted().is_empty());
}

#[test]
fn a_single_reply_is_given_every_time() {
    let server = Server::start(Fault::ServerError).unwrap();
    assert_eq!([0, 1].map(|_| ask(&server, Wire::Chat, "?", false).status), [500, 500]);
    let http = Reply::from(Http::text(418, "text/plain", "short and stout").header("x-pot", "1"));
    let server = Server::start(http).unwrap();
    let got = ask(&server, Wire::Chat, "?", true);
    assert_eq!((got.status, got.text().as_str(), got.header("x-pot")), (418, "short and stout", Some("1")));
}

#[test]
fn a_closure_sees_the_request() {
    let script = |seen: &Seen| {
        let text = format!("{} {} {}", seen.number, seen.last_user_text(), seen.json()["model"]);
        Reply::from(Answer::text(text))
    };
    let server = Server::start(script).unwrap();
    assert_eq!(says(&server, Wire::Anthropic, "first"), "0 first \"claude-sonnet-4-5\"");
    assert_eq!(says(&server, Wire::Responses, "second"), "1 second \"gpt-5\"");
    let seen = server.requests();
    assert_eq!(seen[1].request().unwrap().messages.len(), 1);
    assert_eq!(seen[1].header("HOST"), Some("x"));
    assert_eq!(seen[0].body, request(Wire::Anthropic, "first", true).to_string().into_bytes());
}

#[test]
fn a_script_that_panics_is_a_500_with_its_words() {
    let server = Server::start(|seen: &Seen| -> Reply {
        assert!(seen.number > 0, "the first request is unwelcome");
        "welcome".into()
    })
    .unwrap();
    let got = ask(&server, Wire::Anthropic, "?", true);
    assert_eq!(got.status, 500);
    assert!(got.text().contains("the script panicked: the first request is unwelcome"), "{}", got.text());
    assert_eq!(server.unscripted(), [0]);
    assert_eq!(says(&server, Wire::Anthropic, "?"), "welcome");
}

#[test]
fn a_playbook_goes_by_the_request() {
    let script = Playbook::new()
        .when(header("x-who", "me"), "you")
        .when(model("gpt-0"), "old")
        .when(offers("Edit"), "edits")
        .when(system("pirate"), "arr")
        .when(body("\"max_tokens\":7"), "short")
        .once(last_user("go"), Fault::ServerError)
        .when(last_user("go"), vec![Reply::from("gone"), "going".into()])
        .otherwise("what?");
    let server = Server::start(script).unwrap();
    for (wire, expected) in [(Wire::Anthropic, ["gone", "going", "what?"]), (Wire::Chat, ["what?"; 3])] {
        if wire == Wire::Anthropic {
            assert_eq!(ask(&server, wire, "go!", true).status, 500);
        }
        assert_eq!(expected.map(|_| says(&server, wire, "go!")), expected);
    }
    let with = |wire: Wire, key: &str, value: serde_json::Value| {
        let mut body = request(wire, "go", false);
        body[key] = value;
        send(&server, wire, &body).unwrap().response(wire).messages[0].to_text()
    };
    assert_eq!(with(Wire::Chat, "model", json!("gpt-0")), "old");
    assert_eq!(with(Wire::Anthropic, "tools", json!([{ "name": "Edit" }])), "edits");
    assert_eq!(
        with(Wire::Chat, "tools", json!([{ "type": "function", "function": { "name": "Edit" } }])),
        "edits"
    );
    assert_eq!(with(Wire::Anthropic, "system", json!([{ "type": "text", "text": "Be a pirate." }])), "arr");
    assert_eq!(with(Wire::Responses, "instructions", json!("Be a pirate.")), "arr");
    let messages =
        json!([{ "role": "system", "content": "Be a pirate." }, { "role": "user", "content": "hi" }]);
    assert_eq!(with(Wire::Chat, "messages", messages), "arr");
    assert_eq!(with(Wire::Anthropic, "max_tokens", json!(7)), "short");

    let body = request(Wire::Chat, "hello", false).to_string();
    let mut client = Client::connect(&server);
    let head =
        format!("POST {} HTTP/1.1\r\nX-Who: me\r\ncontent-length: {}\r\n\r\n", path(Wire::Chat), body.len());
    client.write(format!("{head}{body}").as_bytes());
    assert_eq!(client.read(false).unwrap().response(Wire::Chat).messages[0].to_text(), "you");
}

#[test]
fn a_playbook_without_a_rule_is_over() {
    let server = Server::start(Playbook::new().when(last_user("x"), "y")).unwrap();
    assert_eq!(ask(&server, Wire::Chat, "z", false).status, 500);
    assert_eq!(server.unscripted(), [0]);
}

#[test]
fn other_requests_can_be_scripted() {
    let script = Playbook::new().otherwise("fine").when_other(
        |seen: &Seen| seen.path.ends_with("count_tokens"),
        Fault::RateLimited(throughline_testkit::RetryAfter::Seconds(2)),
    );
    let server = Server::start(script).unwrap();
    let body = request(Wire::Anthropic, "hello", false).to_string();
    let got = Client::connect(&server).post("/v1/messages/count_tokens", body.as_bytes()).unwrap();
    assert_eq!((got.status, got.header("retry-after")), (429, Some("2")));
    assert_eq!(says(&server, Wire::Anthropic, "hello"), "fine");
}

#[test]
fn a_window_refuses_what_does_not_fit_with_the_true_figures() {
    let script = Window { limit: 100, wording: Wording::Anthropic, script: Answer::text("fits") };
    let server = Server::start(script).unwrap();
    assert_eq!(says(&server, Wire::Anthropic, "short"), "fits");
    let got = ask(&server, Wire::Anthropic, &"long words ".repeat(200), true);
    assert_eq!(got.status, 400);
    let tokens = server.last().unwrap().tokens;
    assert!(tokens > 100);
    assert_eq!(got.json()["error"]["message"], format!("prompt is too long: {tokens} tokens > 100 maximum"));
}

#[test]
fn scripts_can_be_boxed() {
    let script: Box<dyn Script> = Box::new(Answer::text("boxed"));
    let server = Server::start(script).unwrap();
    assert_eq!(says(&server, Wire::Chat, "?"), "boxed");
    assert_eq!(server.wait_for(1, LONG).len(), 1);
}
