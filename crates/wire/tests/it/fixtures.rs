//! W1 on requests as the clients send them: hand-written, with every kind of block in them.

use crate::render;
use throughline_core::{Wire, invariants};
use throughline_wire::{Request, encode_messages};

const REQUESTS: [(Wire, &str); 3] = [
    (Wire::Anthropic, include_str!("../fixtures/anthropic_request.json")),
    (Wire::Responses, include_str!("../fixtures/responses_request.json")),
    (Wire::Chat, include_str!("../fixtures/chat_request.json")),
];

fn request(wire: Wire) -> Request {
    let (_, body) = REQUESTS.into_iter().find(|(w, _)| *w == wire).unwrap();
    Request::decode(wire, body.as_bytes()).unwrap()
}

#[test]
fn w1_requests_come_back_to_the_letter() {
    for (wire, body) in REQUESTS {
        let compact = serde_json::from_str::<serde_json::Value>(body).unwrap().to_string();
        let request = Request::decode(wire, body.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(request.to_bytes()).unwrap(), compact);
        assert_eq!(Request::detect(&request.encode()), Some(wire));
        assert_eq!(invariants::check(&request.messages), [], "{wire:?}");
    }
}

#[test]
fn w1_the_neutral_form_of_an_anthropic_request() {
    insta::assert_snapshot!(render::messages(&request(Wire::Anthropic).messages));
}

#[test]
fn w1_the_neutral_form_of_a_responses_request() {
    insta::assert_snapshot!(render::messages(&request(Wire::Responses).messages));
}

#[test]
fn w1_the_neutral_form_of_a_chat_request() {
    insta::assert_snapshot!(render::messages(&request(Wire::Chat).messages));
}

#[test]
fn w2_an_anthropic_conversation_on_the_other_wires() {
    let messages = request(Wire::Anthropic).messages;
    insta::assert_snapshot!(
        "anthropic_as_responses",
        render::elements(&encode_messages(Wire::Responses, &messages))
    );
    insta::assert_snapshot!("anthropic_as_chat", render::elements(&encode_messages(Wire::Chat, &messages)));
}

#[test]
fn w2_a_responses_conversation_on_the_other_wires() {
    let messages = request(Wire::Responses).messages;
    insta::assert_snapshot!(
        "responses_as_anthropic",
        render::elements(&encode_messages(Wire::Anthropic, &messages))
    );
    insta::assert_snapshot!("responses_as_chat", render::elements(&encode_messages(Wire::Chat, &messages)));
}

#[test]
fn w2_a_chat_conversation_on_the_other_wires() {
    let messages = request(Wire::Chat).messages;
    insta::assert_snapshot!(
        "chat_as_anthropic",
        render::elements(&encode_messages(Wire::Anthropic, &messages))
    );
    insta::assert_snapshot!(
        "chat_as_responses",
        render::elements(&encode_messages(Wire::Responses, &messages))
    );
}

#[test]
fn w1_what_stands_beside_the_messages_is_read() {
    let anthropic = request(Wire::Anthropic);
    assert_eq!(anthropic.model(), Some("claude-opus-5-5"));
    assert_eq!(anthropic.system().as_deref(), Some("You are a careful engineer.\n\nAnswer briefly."));
    assert_eq!(anthropic.max_output(), Some(32000));
    assert!(anthropic.stream());
    assert_eq!(anthropic.tools().and_then(|tools| tools[0]["name"].as_str()), Some("Bash"));
    let chat = request(Wire::Chat);
    assert_eq!((chat.max_output(), chat.stream(), chat.system()), (Some(512), false, None));
    assert_eq!(request(Wire::Responses).system(), None);
}
