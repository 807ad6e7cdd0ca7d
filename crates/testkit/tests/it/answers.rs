//! Answers: streamed equals whole, on every wire, in any pieces.

use crate::client::{Client, WIRES, ask, path, request, send};
use proptest::prelude::*;
use serde_json::json;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use throughline_core::{Body, ToolInput, Usage, Wire};
use throughline_testkit::{Answer, Figures, Reply, Seen, Server};
use throughline_wire::{Response, Stop};

fn rich() -> Answer {
    Answer::text("Ich öffne 日本.txt und ändere es — gleich.")
        .thinking("Erst lesen, dann schreiben.")
        .call("Read", json!({ "file_path": "日本.txt", "n": 1.5 }))
        .call("Bash", json!({}))
        .header("x-extra", "yes")
}

/// The ids of two answers differ by the number of their request.
fn unnumbered(response: &Response) -> String {
    response.encode().to_string().replace("000000", "N").replace("000001", "N")
}

#[test]
fn streamed_equals_whole_on_every_wire() {
    for wire in WIRES {
        let server = Server::start(rich().usage(Usage { input: 3, output: 4, ..Usage::default() })).unwrap();
        let whole = ask(&server, wire, "hello", false);
        let streamed = ask(&server, wire, "hello", true);
        assert_eq!(whole.header("content-type"), Some("application/json"));
        assert_eq!(whole.header("x-extra"), Some("yes"));
        assert_eq!(streamed.header("transfer-encoding"), Some("chunked"));
        assert_eq!(streamed.header("x-extra"), Some("yes"));
        let (whole, streamed) = (whole.response(wire), streamed.response(wire));
        assert_eq!(unnumbered(&streamed), unnumbered(&whole), "{wire:?}");
        assert_eq!(whole.stop, Stop::ToolUse);
        assert_eq!(whole.usage, Usage { input: 3, output: 4, ..Usage::default() });
        assert_eq!(streamed.usage, whole.usage);
    }
}

#[test]
fn the_parts_are_those_that_were_scripted() {
    for wire in WIRES {
        let server = Server::start(rich()).unwrap();
        let response = ask(&server, wire, "hello", true).response(wire);
        let blocks: Vec<_> = response.messages.iter().flat_map(|message| &message.blocks).collect();
        assert!(
            matches!(&blocks[0].body, Body::Reasoning { text, .. } if text == "Erst lesen, dann schreiben."),
            "{wire:?} {blocks:?}"
        );
        assert!(matches!(&blocks[1].body, Body::Text(text) if text.starts_with("Ich öffne 日本.txt")));
        let calls: Vec<_> = response.messages.iter().flat_map(|message| message.calls()).collect();
        assert_eq!(calls.iter().map(|call| call.name.as_str()).collect::<Vec<_>>(), ["Read", "Bash"]);
        assert_eq!(calls[0].input.to_json().unwrap(), json!({ "file_path": "日本.txt", "n": 1.5 }));
        assert_ne!(calls[0].id, calls[1].id);
    }
}

#[test]
fn a_text_comes_in_many_deltas() {
    let text = "word ".repeat(1000);
    for wire in WIRES {
        let server = Server::start(Answer::text(text.as_str())).unwrap();
        let got = ask(&server, wire, "hello", true);
        assert!((100..300).contains(&got.events().len()), "{wire:?}: {}", got.events().len());
        assert_eq!(got.response(wire).messages[0].to_text(), text);
    }
}

#[test]
fn an_anthropic_stream_has_pings_and_says_the_output_at_its_end() {
    let server = Server::start(Answer::text("Hello.")).unwrap();
    let got = ask(&server, Wire::Anthropic, "hello", true);
    let names: Vec<_> = got.events().iter().map(|event| event.name.clone().unwrap()).collect();
    assert_eq!(
        names,
        [
            "message_start",
            "ping",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop"
        ]
    );
    let start: serde_json::Value = serde_json::from_str(&got.events()[0].data).unwrap();
    assert_eq!(start["message"]["usage"]["output_tokens"], 1);
    assert!(got.response(Wire::Anthropic).usage.output > 1);
}

#[test]
fn events_of_the_responses_wire_are_numbered() {
    let server = Server::start(Answer::text("Some words, and some more.").deltas(3)).unwrap();
    let got = ask(&server, Wire::Responses, "hello", true);
    for (at, event) in got.events().iter().enumerate() {
        let data: serde_json::Value = serde_json::from_str(&event.data).unwrap();
        assert_eq!(data["sequence_number"], at);
    }
}

#[test]
fn a_chat_stream_says_its_cost_only_if_asked() {
    let server = Server::start(Answer::text("Hello.")).unwrap();
    let mut body = request(Wire::Chat, "hello", true);
    assert!(ask(&server, Wire::Chat, "hello", true).response(Wire::Chat).usage.output > 0);
    body.as_object_mut().unwrap().remove("stream_options");
    let got = send(&server, Wire::Chat, &body).unwrap();
    assert_eq!(got.response(Wire::Chat).usage, Usage::default());
    assert!(!got.text().contains("usage"));
}

#[test]
fn every_reason_to_stop_is_said() {
    let all = [
        Stop::EndTurn,
        Stop::ToolUse,
        Stop::MaxTokens,
        Stop::ContextFull,
        Stop::StopSequence,
        Stop::Refusal,
        Stop::Paused,
        Stop::Failed,
        Stop::CutOff,
        Stop::Other("eldritch".to_owned()),
        Stop::Unsaid,
    ];
    for stop in all {
        let server = Server::start(Answer::text("Hello.").stop(stop.clone())).unwrap();
        for wire in WIRES {
            let got = ask(&server, wire, "hello", false).response(wire).stop;
            let expected = match (wire, &stop) {
                (Wire::Anthropic, Stop::Failed | Stop::CutOff) => Stop::Unsaid,
                (Wire::Responses, Stop::ToolUse | Stop::StopSequence | Stop::Paused) => Stop::EndTurn,
                (Wire::Responses | Wire::Chat, Stop::ContextFull) => Stop::MaxTokens,
                (Wire::Responses | Wire::Chat, Stop::CutOff) => Stop::Unsaid,
                (Wire::Chat, Stop::StopSequence | Stop::Paused) => Stop::EndTurn,
                (Wire::Chat, Stop::Failed) => Stop::Other("error".to_owned()),
                _ => stop.clone(),
            };
            assert_eq!(got, expected, "{wire:?} {stop:?}");
        }
    }
}

#[test]
fn free_calls_raw_parts_and_refusals() {
    let server = Server::start(Answer::empty().free_call("apply_patch", "*** Begin")).unwrap();
    for wire in WIRES {
        let response = ask(&server, wire, "hello", true).response(wire);
        let call = response.messages[0].calls().next().unwrap().clone();
        match wire {
            Wire::Anthropic => assert_eq!(call.input.to_json(), Some(json!({ "input": "*** Begin" }))),
            Wire::Responses | Wire::Chat => assert_eq!(call.input, ToolInput::Text("*** Begin".to_owned())),
        }
    }
    let server =
        Server::start(Answer::empty().raw(json!({ "type": "compaction", "encrypted_content": "e" })))
            .unwrap();
    let got = ask(&server, Wire::Responses, "hello", true).response(Wire::Responses);
    assert_eq!(got.encode()["output"], json!([{ "type": "compaction", "encrypted_content": "e" }]));

    let server = Server::start(Answer::empty().refusal("No.")).unwrap();
    let got = |wire| ask(&server, wire, "hello", true).response(wire).encode();
    assert_eq!(got(Wire::Anthropic)["content"][0]["text"], "No.");
    assert_eq!(got(Wire::Responses)["output"][0]["content"][0]["refusal"], "No.");
    assert_eq!(got(Wire::Chat)["choices"][0]["message"]["refusal"], "No.");
}

#[test]
fn comments_and_pauses_change_nothing() {
    for wire in WIRES {
        let plain = Server::start(rich()).unwrap();
        let other = Server::start(rich().with_comments().slowly(Duration::from_millis(1))).unwrap();
        let got = ask(&other, wire, "hello", true);
        assert!(got.text().contains(": keep-alive\n\n"));
        assert_eq!(got.response(wire), ask(&plain, wire, "hello", true).response(wire));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_answer_is_the_same_in_any_pieces(
        text in "\\PC{0,60}", thinking in proptest::option::of("\\PC{1,20}"), calls in 0..3usize,
        pieces in proptest::option::of(1..40usize), delta in 1..20usize, wire in prop::sample::select(WIRES.to_vec()),
    ) {
        let mut answer = Answer::text(text.as_str()).figures(Figures::Exactly(Usage { output: 1, ..Usage::default() }));
        if let Some(thinking) = &thinking {
            answer = answer.thinking(thinking.as_str());
        }
        for call in 0..calls {
            answer = answer.call_with_id(&format!("c{call}"), "Edit", json!({ "text": text, "call": call }));
        }
        let plain = answer.clone();
        answer = answer.deltas(delta);
        if let Some(bytes) = pieces {
            answer = answer.in_pieces(bytes);
        }
        let script = Arc::new(Mutex::new(vec![answer, plain]));
        let server = Server::start(move |_: &Seen| Reply::from(script.lock().unwrap().pop().unwrap())).unwrap();
        let mut client = Client::connect(&server);
        let mut ask = |stream| {
            let body = request(wire, "hello", stream).to_string();
            client.post(path(wire), body.as_bytes()).unwrap().response(wire)
        };
        let (whole, streamed) = (ask(false), ask(true));
        prop_assert_eq!(unnumbered(&streamed), unnumbered(&whole));
        let said: String = whole.messages.iter().flat_map(|m| &m.blocks).filter_map(|block| match &block.body {
            Body::Text(text) => Some(text.as_str()),
            _ => None,
        }).collect();
        prop_assert_eq!(said, text);
    }
}
