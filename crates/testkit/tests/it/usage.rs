//! What answers say they cost.

use crate::client::{Client, WIRES, ask, request, send};
use serde_json::{Value, json};
use throughline_core::{Usage, Wire};
use throughline_testkit::{Answer, Fault, Figures, Playlist, Server};

/// A conversation of `turns` turns.
fn conversation(wire: Wire, turns: usize) -> Value {
    let mut body = request(wire, "", false);
    let messages: Vec<Value> = (0..turns)
        .flat_map(|turn| {
            let words = format!("Turn {turn}: please look at the parser in src/part_{turn}.rs once more. ")
                .repeat(20);
            [json!({ "role": "user", "content": words }), json!({ "role": "assistant", "content": "I did." })]
        })
        .collect();
    match wire {
        Wire::Anthropic | Wire::Chat => body["messages"] = messages.into(),
        Wire::Responses => body["input"] = messages.into(),
    }
    body
}

#[test]
fn figures_are_counted_from_the_request() {
    for wire in WIRES {
        let server =
            Server::start(Answer::text("Some words of an answer.").thinking("Some thought.")).unwrap();
        let small = send(&server, wire, &conversation(wire, 1)).unwrap().response(wire).usage;
        let large = send(&server, wire, &conversation(wire, 9)).unwrap().response(wire).usage;
        assert!(small.prompt() > 100, "{small:?}");
        assert!(large.prompt() > small.prompt() * 8, "{small:?} {large:?}");
        assert_eq!(large.prompt(), server.requests()[1].tokens);
        assert!(small.output > small.reasoning && small.reasoning > 0, "{small:?}");
    }
}

#[test]
fn what_an_earlier_request_began_with_was_cached() {
    for wire in WIRES {
        let server = Server::start(Answer::text("Fine.")).unwrap();
        let first = send(&server, wire, &conversation(wire, 10)).unwrap().response(wire).usage;
        let next = send(&server, wire, &conversation(wire, 11)).unwrap().response(wire).usage;
        assert_eq!(first.cache_read, 0);
        assert!(next.cache_read * 100 >= first.prompt() * 99, "{wire:?} {first:?} {next:?}");
        assert!(next.cache_read < next.prompt());

        let mut other = conversation(wire, 11);
        other["tools"] = json!([{ "name": "Edit" }]);
        let other = send(&server, wire, &other).unwrap().response(wire).usage;
        assert!(other.cache_read * 100 < other.prompt(), "tools stand before the messages: {other:?}");
    }
}

#[test]
fn marks_for_the_cache_are_no_part_of_the_prompt_and_make_it_written() {
    let server = Server::start(Answer::text("Fine.")).unwrap();
    let wire = Wire::Anthropic;
    let mut body = conversation(wire, 3);
    let words = body["messages"][4]["content"].take();
    body["messages"][4]["content"] =
        json!([{ "type": "text", "text": words, "cache_control": { "type": "ephemeral" } }]);
    let first = send(&server, wire, &body).unwrap().response(wire).usage;
    assert_eq!((first.input, first.cache_read), (0, 0));
    assert!(first.cache_write > 0);
    let next = send(&server, wire, &conversation(wire, 3)).unwrap().response(wire).usage;
    assert_eq!((next.cache_read, next.cache_write), (first.cache_write, 0), "{next:?}");
}

#[test]
fn a_request_that_failed_is_not_cached() {
    let script = Playlist::new().then(Fault::Overloaded).times(2, "Fine.");
    let server = Server::start(script).unwrap();
    let wire = Wire::Anthropic;
    let each: Vec<u64> = (0..3)
        .map(|_| {
            let got = send(&server, wire, &conversation(wire, 5)).unwrap();
            if got.status == 200 { got.response(wire).usage.cache_read } else { 0 }
        })
        .collect();
    assert_eq!((each[0], each[1]), (0, 0));
    assert!(each[2] > 0);
}

#[test]
fn count_tokens_agrees_with_usage() {
    let server = Server::start(Answer::text("Fine.")).unwrap();
    let body = conversation(Wire::Anthropic, 4);
    let counted =
        Client::connect(&server).post("/v1/messages/count_tokens?beta=true", body.to_string().as_bytes());
    let usage = send(&server, Wire::Anthropic, &body).unwrap().response(Wire::Anthropic).usage;
    assert_eq!(counted.unwrap().json(), json!({ "input_tokens": usage.prompt() }));
}

#[test]
fn figures_can_be_given() {
    let given = Usage { input: 7, cache_read: 5, cache_write: 0, output: 3, reasoning: 2 };
    for wire in WIRES {
        let server = Server::start(Answer::text("Fine.").usage(given)).unwrap();
        assert_eq!(ask(&server, wire, "hello", false).response(wire).usage, given);
        assert_eq!(ask(&server, wire, "hello", true).response(wire).usage, given);
    }
}

#[test]
fn figures_can_be_wrong_in_every_way() {
    let input = |wire: Wire, usage: &Value| match wire {
        Wire::Anthropic | Wire::Responses => usage["input_tokens"].clone(),
        Wire::Chat => usage["prompt_tokens"].clone(),
    };
    for wire in WIRES {
        let usage = |figures: Figures| {
            let server = Server::start(Fault::WrongUsage(figures)).unwrap();
            let whole = ask(&server, wire, "hello", false).json();
            // The client's decoder is given the stream too, and must not fall over it.
            let _ = ask(&server, wire, "hello", true).response(wire);
            whole.get("usage").cloned()
        };
        let figure = |figures| input(wire, &usage(figures).unwrap());
        assert_eq!(figure(Figures::Zero), 0);
        assert_eq!(figure(Figures::Absurd), u64::MAX);
        assert_eq!(figure(Figures::Negative), -7);
        assert_eq!(figure(Figures::Fractions), 0.5);
        assert!(figure(Figures::Strings).as_str().unwrap().parse::<u64>().unwrap() > 0);
        assert_eq!(usage(Figures::Null), Some(Value::Null));
        assert_eq!(usage(Figures::Missing), None);
        assert_eq!(usage(Figures::Raw(json!(["?"]))), Some(json!(["?"])));
    }
}

#[test]
fn models_are_listed() {
    let server = Server::start(Answer::text("Fine.")).unwrap();
    let get = |headers: &str| {
        let mut client = Client::connect(&server);
        client.write(format!("GET /v1/models HTTP/1.1\r\n{headers}\r\n").as_bytes());
        client.read(false).unwrap().json()
    };
    assert_eq!(get("")["object"], "list");
    assert_eq!(get("")["data"][0]["object"], "model");
    assert_eq!(get("anthropic-version: 2023-06-01\r\n")["data"][0]["type"], "model");
    assert_eq!(server.count(), 3);
}
