//! Answers, streamed and whole, on each wire.

use crate::support::{DELIVERIES, WIRES, bytes, nothing, provider, quick, request};
use serde_json::{Value, json};
use std::sync::Mutex;
use throughline_core::Body;
use throughline_model::{Call, Delivery, Delta, Environment, Http, Model, Provider, Usage, Wire, body};
use throughline_testkit::{Answer, Server};
use throughline_wire::Stop;

fn words(response: &throughline_wire::Response) -> String {
    let blocks = response.messages.iter().flat_map(|message| &message.blocks);
    blocks
        .filter_map(|block| if let Body::Text(text) = &block.body { Some(text.as_str()) } else { None })
        .collect()
}

#[tokio::test]
async fn each_wire_answers_streamed_and_whole() {
    let usage = Usage { input: 90, cache_read: 10, output: 7, ..Usage::default() };
    for wire in WIRES {
        for delivery in DELIVERIES {
            let server =
                Server::start(Answer::text("All of them.").call("Read", json!({"path": "a"})).usage(usage))
                    .unwrap();
            let (model, _) = quick(&provider(wire, &server));
            let sent = bytes(wire, delivery);
            let answer = model.send(Call::new(sent.clone())).await.unwrap();
            assert_eq!(words(&answer.response), "All of them.", "{wire:?} {delivery:?}");
            assert_eq!(answer.response.usage, usage, "{wire:?} {delivery:?}");
            assert_eq!(answer.response.stop, Stop::ToolUse);
            assert_eq!((answer.attempts, answer.estimated, answer.wasted), (1, false, Usage::default()));
            assert!(answer.request_id.is_some());
            let seen = server.requests();
            assert_eq!(seen.len(), 1);
            assert_eq!(seen[0].body, sent, "the body goes out as it is");
            assert_eq!(seen[0].header("content-type"), Some("application/json"));
            assert_eq!(seen[0].header("anthropic-version").is_some(), wire == Wire::Anthropic);
        }
    }
}

#[tokio::test]
async fn a_listener_hears_the_answer_once_and_in_order() {
    for wire in WIRES {
        for delivery in DELIVERIES {
            let server =
                Server::start(Answer::text("One two three four.").thinking("Hm.").in_pieces(7)).unwrap();
            let (model, _) = quick(&provider(wire, &server));
            let mut text = String::new();
            let mut reasoning = String::new();
            let mut listener = |delta| match delta {
                Delta::Text(more) => text.push_str(&more),
                Delta::Reasoning(more) => reasoning.push_str(&more),
                Delta::Other => panic!("nothing to hear"),
            };
            model.send(Call::new(bytes(wire, delivery)).listen(&mut listener)).await.unwrap();
            assert_eq!(
                (text.as_str(), reasoning.as_str()),
                ("One two three four.", "Hm."),
                "{wire:?} {delivery:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_model_is_a_trait_object() {
    let server = Server::start(Answer::text("Yes.")).unwrap();
    let model: Box<dyn Model> = Box::new(Http::new(&provider(Wire::Chat, &server), &nothing).unwrap());
    let task = tokio::spawn(async move {
        model.send(Call::new(bytes(Wire::Chat, Delivery::Whole))).await.map(|a| a.attempts)
    });
    assert_eq!(task.await.unwrap().unwrap(), 1);
}

#[tokio::test]
async fn settings_from_the_environment_reach_the_server() {
    let server = Server::start(Answer::text("Yes.")).unwrap();
    let url = server.url();
    let variables = move |name: &str| match name {
        "ANTHROPIC_BASE_URL" => Some(url.clone()),
        "ANTHROPIC_AUTH_TOKEN" => Some("token-1".to_owned()),
        "ANTHROPIC_MODEL" => Some("m".to_owned()),
        _ => None,
    };
    let environment: Environment<'_> = &variables;
    let mut provider = Provider::from_environment(environment, None).unwrap().unwrap();
    provider.betas = vec!["one".to_owned(), "two".to_owned()];
    let model = Http::new(&provider, environment).unwrap();
    model.send(Call::new(bytes(Wire::Anthropic, Delivery::Streamed))).await.unwrap();
    let seen = server.last().unwrap();
    assert_eq!(seen.path, "/v1/messages");
    assert_eq!(seen.header("authorization"), Some("Bearer token-1"));
    assert_eq!(seen.header("x-api-key"), None);
    assert_eq!(seen.header("anthropic-beta"), Some("one,two"));
}

#[test]
fn bodies_ask_for_what_each_wire_needs() {
    let read = |wire, delivery| -> Value { serde_json::from_slice(&body(&request(wire), delivery)).unwrap() };
    assert_eq!(read(Wire::Anthropic, Delivery::Streamed)["stream"], true);
    let chat = read(Wire::Chat, Delivery::Streamed);
    assert_eq!((&chat["stream"], &chat["stream_options"]["include_usage"]), (&json!(true), &json!(true)));
    let responses = read(Wire::Responses, Delivery::Streamed);
    assert_eq!((&responses["stream"], &responses["store"]), (&json!(true), &json!(false)));
    let whole = read(Wire::Chat, Delivery::Whole);
    assert!(whole.get("stream").is_none() && whole.get("stream_options").is_none());
    let mut stored = request(Wire::Responses);
    stored.envelope.insert("store".to_owned(), true.into());
    let stored: Value = serde_json::from_slice(&body(&stored, Delivery::Whole)).unwrap();
    assert_eq!(stored["store"], true);
}

#[tokio::test]
async fn connections_are_used_again() {
    let server = Server::start(Answer::text("Yes.")).unwrap();
    let (model, _) = quick(&provider(Wire::Anthropic, &server));
    let lengths = Mutex::new(Vec::new());
    for _ in 0..3 {
        let answer = model.send(Call::new(bytes(Wire::Anthropic, Delivery::Streamed))).await.unwrap();
        lengths.lock().unwrap().push(answer.response.messages.len());
    }
    assert_eq!(*lengths.lock().unwrap(), [1, 1, 1]);
    assert_eq!(server.departures(), 0, "no reply was left before its end");
}
