//! W1: requests in, requests out, nothing lost.

use crate::arbitrary::{any_request, more, value, wire};
use proptest::prelude::*;
use serde_json::{Value, json};
use throughline_core::{Body, Message, Record, Role, Wire, invariants};
use throughline_wire::{Request, WireError, encode_messages};

proptest! {
    #![proptest_config(more(8))]

    #[test]
    fn w1_decode_then_encode_gives_the_same_request((wire, body) in any_request()) {
        let request = Request::from_value(wire, body.clone()).unwrap();
        prop_assert_eq!(request.encode().to_string(), body.to_string());
    }

    #[test]
    fn w1_messages_survive_the_ledger((wire, body) in any_request()) {
        let mut request = Request::from_value(wire, body.clone()).unwrap();
        for message in &mut request.messages {
            let mut line = Vec::new();
            Record::Message(Box::new(message.clone())).write(&mut line).unwrap();
            let Record::Message(read) = Record::parse(&line).unwrap() else { panic!("another kind") };
            prop_assert_eq!(&*read, &*message);
            *message = *read;
        }
        prop_assert_eq!(request.encode().to_string(), body.to_string());
    }

    #[test]
    fn w1_any_json_is_a_request_or_an_error(wire in wire(), body in value()) {
        if let Ok(request) = Request::from_value(wire, body.clone()) {
            prop_assert_eq!(request.encode().to_string(), body.to_string());
        }
        let _ = Request::detect(&body);
    }

    #[test]
    fn w1_any_messages_can_be_written_to_any_wire((from, body) in any_request(), to in wire()) {
        let request = Request::from_value(from, body).unwrap();
        let _ = encode_messages(to, &request.messages);
    }
}

#[test]
fn w2_a_system_message_that_only_carries_settings_is_kept() {
    let body = json!({"messages": [
        {"role": "user", "content": "hi"},
        {"role": "system", "content": [], "output_config": {"effort": "low"}},
    ]});
    let request = Request::from_value(Wire::Anthropic, body.clone()).unwrap();
    let (messages, repairs) = invariants::repair(request.messages.clone());
    assert_eq!(repairs, []);
    assert_eq!(Request { messages, ..request }.encode(), body);
}

#[test]
fn w1_ids_do_not_depend_on_wire_details() {
    let ids = |wire, messages: Value| {
        let key = if wire == Wire::Responses { "input" } else { "messages" };
        let request = Request::from_value(wire, json!({ key: messages })).unwrap();
        request.messages.into_iter().map(|m| m.id).collect::<Vec<_>>()
    };
    let result = |content: Value| json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": content}]});
    let call =
        json!({"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]});
    let plain = ids(Wire::Anthropic, json!([{"role": "user", "content": "hi"}, call, result("x".into())]));
    let marked = json!([{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}]);
    let listed = result(json!([{"text": "x", "type": "text"}]));
    assert_eq!(plain, ids(Wire::Anthropic, json!([{"content": marked, "role": "user"}, call, listed])));
    assert_ne!(
        plain,
        ids(Wire::Anthropic, json!([{"role": "user", "content": "ho"}, call, result("x".into())]))
    );

    let item = json!({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"});
    let with_id = json!({"type": "function_call", "id": "fc_1", "status": "completed", "call_id": "c", "name": "f", "arguments": "{}"});
    assert_eq!(ids(Wire::Responses, json!([item])), ids(Wire::Responses, json!([with_id])));
    assert_eq!(
        ids(Wire::Responses, "hi".into()),
        ids(Wire::Responses, json!([{"role": "user", "content": "hi"}]))
    );
}

#[test]
fn w1_the_wire_of_a_request_is_seen_in_its_body() {
    let says_hi = json!([{"role": "user", "content": "hi"}]);
    let cases = [
        (json!({"model": "x", "input": "hi"}), Some(Wire::Responses)),
        (json!({"model": "claude-x", "messages": says_hi, "max_tokens": 9}), Some(Wire::Anthropic)),
        (json!({"model": "claude-x", "messages": says_hi}), Some(Wire::Anthropic)),
        (json!({"model": "x", "messages": says_hi, "max_tokens": 9, "system": "s"}), Some(Wire::Anthropic)),
        (
            json!({"model": "x", "messages": says_hi, "max_tokens": 9, "tools": [{"name": "f", "input_schema": {}}]}),
            Some(Wire::Anthropic),
        ),
        (json!({"model": "x", "messages": says_hi}), Some(Wire::Chat)),
        (json!({"model": "x", "messages": says_hi, "max_tokens": 9, "stream_options": {}}), Some(Wire::Chat)),
        (
            json!({"model": "x", "messages": [{"role": "system", "content": "s"}], "max_tokens": 9}),
            Some(Wire::Chat),
        ),
        (json!({"model": "claude-x", "messages": [{"role": "tool", "content": "s"}]}), Some(Wire::Chat)),
        (json!({"model": "x"}), None),
        (json!([]), None),
    ];
    for (body, expected) in cases {
        assert_eq!(Request::detect(&body), expected, "{body}");
    }
}

#[test]
fn w1_what_is_no_object_is_an_error_that_says_what_to_do() {
    let error = Request::decode(Wire::Chat, b"{").unwrap_err();
    assert!(matches!(error, WireError::NotJson { .. }));
    let error = Request::decode(Wire::Chat, b"[]").unwrap_err();
    assert_eq!(error.to_string(), "the Chat request is JSON, but not an object; pass its bytes on unchanged");
}

#[test]
fn w1_a_request_can_be_built() {
    let mut request = Request::new(Wire::Responses, "m");
    request.messages.push(Message::text(Role::User, "hi"));
    request.envelope.insert("stream".into(), true.into());
    let expected = json!({
        "model": "m",
        "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}],
        "stream": true,
    });
    assert_eq!(request.encode(), expected);
}

#[test]
fn w1_an_edited_message_keeps_its_look() {
    let body = json!({"messages": [
        {"content": [{"cache_control": {"type": "ephemeral"}, "text": "long", "type": "text"}], "role": "user", "x": 1},
    ]});
    let mut request = Request::from_value(Wire::Anthropic, body).unwrap();
    request.messages[0].blocks[0].body = Body::Text("short".into());
    assert_eq!(
        request.encode().to_string(),
        r#"{"messages":[{"content":[{"cache_control":{"type":"ephemeral"},"text":"short","type":"text"}],"role":"user","x":1}]}"#
    );
}
