//! W1: an answer that was streamed equals the one that was not.

use crate::arbitrary::{any_response, more, value, wire};
use proptest::prelude::*;
use serde_json::{Value, json};
use throughline_core::{Body, ToolInput, Wire};
use throughline_wire::sse::{Event, Parser};
use throughline_wire::stream::{Delta, StreamDecoder, StreamError, events};
use throughline_wire::{Response, Stop};

fn decode(wire: Wire, events: &[Event]) -> Response {
    let mut decoder = StreamDecoder::new(wire);
    for event in events {
        let _ = decoder.push(event);
    }
    decoder.finish()
}

fn event(data: Value) -> Event {
    Event { name: data["type"].as_str().map(str::to_owned), data: data.to_string() }
}

fn bytes(events: &[Event]) -> Vec<u8> {
    let mut out = Vec::new();
    events.iter().for_each(|event| event.write(&mut out));
    out
}

proptest! {
    #![proptest_config(more(2))]

    #[test]
    fn w1_the_events_of_a_response_give_it_back((wire, body) in any_response()) {
        let response = Response::from_value(wire, body.clone()).unwrap();
        let streamed = decode(wire, &events(&response));
        prop_assert_eq!(streamed.encode().to_string(), body.to_string());
        prop_assert_eq!(streamed, response);
    }

    #[test]
    fn w1_a_stream_that_is_cut_off_gives_what_had_come((wire, body) in any_response(), at in 0.0..1.0f64) {
        let response = Response::from_value(wire, body).unwrap();
        let events = events(&response);
        let cut = &events[..(events.len() as f64 * at) as usize];
        let mut decoder = StreamDecoder::new(wire);
        for event in cut {
            decoder.push(event).unwrap();
        }
        let complete = decoder.is_complete();
        let partial = decoder.finish();
        prop_assert_eq!(partial.stop == Stop::CutOff, !complete);
        let whole: String = response.messages.iter().map(|m| m.to_text()).collect();
        for block in partial.messages.iter().flat_map(|m| &m.blocks) {
            if let Body::Text(text) = &block.body {
                prop_assert!(whole.contains(text.as_str()));
            }
        }
    }

    #[test]
    fn w1_any_events_are_read_without_a_panic(
        wire in wire(),
        events in proptest::collection::vec((prop::sample::select(NAMES.to_vec()), value(), 0..3u64), 0..8),
    ) {
        let mut decoder = StreamDecoder::new(wire);
        for (name, value, index) in events {
            let data = json!({
                "type": name, "index": index, "output_index": u64::MAX - index, "content_index": index, "message": value,
                "content_block": value, "delta": value, "response": value, "item": value,
                "choices": [{"index": u64::MAX, "delta": {"tool_calls": [value, {"index": u64::MAX, "function": value}]}}],
            });
            let _ = decoder.push(&event(data));
        }
        let _ = decoder.finish();
    }
}

const NAMES: &[&str] = &[
    "message_start",
    "content_block_start",
    "content_block_delta",
    "message_delta",
    "message_stop",
    "error",
    "response.created",
    "response.output_item.added",
    "response.output_text.delta",
    "response.output_item.done",
    "response.function_call_arguments.delta",
    "response.reasoning_summary_text.delta",
    "response.failed",
];

/// One answer per wire with everything in it.
fn rich(wire: Wire) -> Response {
    let body = match wire {
        Wire::Anthropic => json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
            "content": [
                {"type": "thinking", "thinking": "über 日本", "signature": "c2ln"},
                {"type": "text", "text": "Füße", "citations": [{"type": "page_location", "cited_text": "x"}]},
                {"type": "tool_use", "id": "t1", "name": "Edit", "input": {"path": "a b", "n": 0.1}},
                {"type": "zzz_unknown", "payload": [1]},
            ],
            "stop_reason": "tool_use", "stop_sequence": null, "usage": {"input_tokens": 3, "output_tokens": 4},
        }),
        Wire::Responses => json!({
            "id": "resp_1", "object": "response", "status": "completed", "model": "m",
            "output": [
                {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "über"}], "encrypted_content": "e"},
                {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant",
                 "content": [{"type": "output_text", "text": "日本", "annotations": []}]},
                {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{\"a\": 1}", "status": "completed"},
                {"type": "custom_tool_call", "id": "ct_1", "call_id": "c2", "name": "patch", "input": "*** Begin", "status": "completed"},
            ],
            "usage": {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7},
        }),
        Wire::Chat => json!({
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{
                "index": 0,
                "message": {
                    "role": "assistant", "reasoning_content": "über", "content": "日本",
                    "tool_calls": [
                        {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\"a\": 1}"}},
                        {"id": "c2", "type": "function", "function": {"name": "f", "arguments": "{}"}},
                    ],
                },
                "finish_reason": "tool_calls",
            }],
            "usage": {"prompt_tokens": 3, "completion_tokens": 4},
        }),
    };
    Response::from_value(wire, body).unwrap()
}

#[test]
fn w1_every_byte_boundary_gives_the_same_answer() {
    for wire in [Wire::Anthropic, Wire::Responses, Wire::Chat] {
        let response = rich(wire);
        let stream = bytes(&events(&response));
        for cut in 0..=stream.len() {
            let mut parser = Parser::default();
            let mut parsed = Vec::new();
            parser.push(&stream[..cut], &mut parsed).unwrap();
            parser.push(&stream[cut..], &mut parsed).unwrap();
            parsed.extend(parser.finish());
            assert_eq!(decode(wire, &parsed), response, "{wire:?} cut at byte {cut}");
        }
        let mut parser = Parser::default();
        let mut parsed = Vec::new();
        stream.iter().for_each(|byte| parser.push(&[*byte], &mut parsed).unwrap());
        assert_eq!(decode(wire, &parsed), response, "{wire:?} byte by byte");
    }
}

#[test]
fn w1_text_and_reasoning_are_shown_as_they_come() {
    for wire in [Wire::Anthropic, Wire::Responses, Wire::Chat] {
        let response = rich(wire);
        let mut decoder = StreamDecoder::new(wire);
        let (mut text, mut reasoning) = (String::new(), String::new());
        for event in events(&response) {
            match decoder.push(&event).unwrap() {
                Delta::Text(piece) => text.push_str(&piece),
                Delta::Reasoning(piece) => reasoning.push_str(&piece),
                Delta::Other => {}
            }
        }
        assert!(["Füße", "日本"].contains(&text.as_str()), "{wire:?}: {text}");
        assert!(["über 日本", "über"].contains(&reasoning.as_str()), "{wire:?}: {reasoning}");
    }
}

#[test]
fn w1_arguments_cut_in_the_middle_are_kept_as_text() {
    let events = [
        json!({"type": "message_start", "message": {"id": "m", "role": "assistant", "content": []}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t", "name": "B", "input": {}}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "{\"comm"}}),
    ];
    let response = decode(Wire::Anthropic, &events.map(event));
    assert_eq!(response.stop, Stop::CutOff);
    let call = response.messages[0].calls().next().unwrap();
    assert_eq!(call.input, ToolInput::Json("{\"comm".into()));
}

#[test]
fn w1_deltas_we_do_not_know_continue_their_block() {
    let events = [
        json!({"type": "message_start", "message": {"id": "m", "role": "assistant", "content": []}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "compaction", "content": null}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "compaction_delta", "content": "so "}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "compaction_delta", "content": "far"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2},
               "context_management": {"applied_edits": []}}),
        json!({"type": "message_stop"}),
    ];
    let response = decode(Wire::Anthropic, &events.map(event));
    assert_eq!(
        response.encode(),
        json!({
            "id": "m", "role": "assistant", "content": [{"type": "compaction", "content": "so far"}],
            "stop_reason": "end_turn", "usage": {"output_tokens": 2}, "context_management": {"applied_edits": []},
        })
    );
}

#[test]
fn w1_errors_in_a_stream_are_typed() {
    let cases = [
        (
            Wire::Anthropic,
            json!({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}),
            "overloaded_error",
        ),
        (
            Wire::Responses,
            json!({"type": "error", "code": "rate_limit_exceeded", "message": "busy"}),
            "rate_limit_exceeded",
        ),
        (
            Wire::Responses,
            json!({"type": "response.failed", "response": {"status": "failed", "error": {"code": "context_length_exceeded", "message": "busy"}}}),
            "context_length_exceeded",
        ),
        (Wire::Chat, json!({"error": {"type": "server_error", "message": "busy"}}), "server_error"),
        (Wire::Chat, json!({"error": "busy"}), "error"),
    ];
    for (wire, data, expected) in cases {
        let mut decoder = StreamDecoder::new(wire);
        match decoder.push(&event(data)) {
            Err(StreamError::Provider { kind, message, .. }) => {
                assert_eq!((kind.as_str(), message.as_str()), (expected, "busy"))
            }
            other => panic!("{wire:?}: {other:?}"),
        }
        assert_eq!(decoder.finish().stop, Stop::Failed);
    }
    let torn = Event { name: None, data: "{\"a\":".into() };
    assert!(matches!(StreamDecoder::new(Wire::Chat).push(&torn), Err(StreamError::NotJson { .. })));
}

#[test]
fn w1_items_are_collected_where_the_last_event_leaves_them_out() {
    let item =
        json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]});
    let events = [
        json!({"type": "response.created", "response": {"id": "r"}}),
        json!({"type": "response.output_item.done", "item": item}),
        json!({"type": "response.completed", "response": {"id": "r", "usage": {"input_tokens": 2, "output_tokens": 1}}}),
    ];
    let response = decode(Wire::Responses, &events.map(event));
    assert_eq!(response.messages[0].to_text(), "hi");
    assert_eq!(response.usage.output, 1);
}

#[test]
fn w1_chat_servers_may_repeat_names_and_leave_out_done() {
    let chunk = |delta: Value, why: Value| json!({"id": "x", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": why}]});
    let call = |arguments: &str| json!({"tool_calls": [{"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}]});
    let events = [
        chunk(json!({"role": "assistant", "content": null}), Value::Null),
        chunk(call("{\"a\""), Value::Null),
        chunk(call(": 1}"), Value::Null),
        chunk(json!({}), "tool_calls".into()),
    ];
    let response = decode(Wire::Chat, &events.map(event));
    assert_eq!(response.stop, Stop::ToolUse);
    let call = response.messages[0].calls().next().unwrap();
    assert_eq!((call.id.as_str(), call.name.as_str()), ("c", "f"));
    assert_eq!(call.input, ToolInput::JsonText("{\"a\": 1}".into()));
    assert_eq!(response.encode()["object"], "chat.completion");
}
