//! W1: whole answers in, whole answers out, nothing lost; usage and the reason of the end, typed.

use crate::arbitrary::{any_odd_response, any_response, more, value, wire};
use proptest::prelude::*;
use serde_json::json;
use throughline_core::{GroupId, Usage, Wire};
use throughline_wire::{Request, Response, Stop};

proptest! {
    #![proptest_config(more(4))]

    #[test]
    fn w1_decode_then_encode_gives_the_same_response((wire, body) in any_odd_response()) {
        let response = Response::from_value(wire, body.clone()).unwrap();
        prop_assert_eq!(response.encode().to_string(), body.to_string());
    }

    #[test]
    fn w1_any_json_is_a_response_or_an_error(wire in wire(), body in value()) {
        if let Ok(response) = Response::from_value(wire, body.clone()) {
            prop_assert_eq!(response.encode().to_string(), body.to_string());
        }
    }

    #[test]
    fn w1_an_answer_can_be_written_to_any_wire((from, body) in any_response(), to in wire()) {
        let answer = Response::from_value(from, body).unwrap();
        let mut foreign = Response::from_value(to, json!({"content": [], "output": [], "choices": [{"message": {}}]})).unwrap();
        foreign.messages = answer.messages;
        prop_assert!(foreign.encode().is_object());
    }
}

#[test]
fn w3_usage_means_the_same_on_every_wire() {
    let cases = [
        (
            Wire::Anthropic,
            json!({"input_tokens": 5, "cache_read_input_tokens": 70, "cache_creation_input_tokens": 20, "output_tokens": 9}),
        ),
        (
            Wire::Anthropic,
            json!({
                "input_tokens": 5, "cache_read_input_tokens": 70, "cache_creation_input_tokens": 0, "output_tokens": 9,
                "cache_creation": {"ephemeral_5m_input_tokens": 15, "ephemeral_1h_input_tokens": 5},
            }),
        ),
        (
            Wire::Responses,
            json!({
                "input_tokens": 95, "input_tokens_details": {"cached_tokens": 70}, "output_tokens": 9,
                "output_tokens_details": {"reasoning_tokens": 4}, "total_tokens": 104,
            }),
        ),
        (
            Wire::Chat,
            json!({
                "prompt_tokens": 95, "prompt_tokens_details": {"cached_tokens": 70}, "completion_tokens": 9,
                "completion_tokens_details": {"reasoning_tokens": 4},
            }),
        ),
    ];
    for (wire, usage) in cases {
        let response = Response::from_value(wire, json!({ "usage": usage })).unwrap();
        assert_eq!(response.usage.prompt(), 95, "{wire:?}");
        assert_eq!(response.usage.context(), 104, "{wire:?}");
        assert_eq!(response.usage.cache_read, 70, "{wire:?}");
    }
    let none = Response::from_value(Wire::Chat, json!({"usage": null})).unwrap();
    assert_eq!(none.usage, Usage::default());
    let more_cached_than_sent =
        json!({"usage": {"prompt_tokens": 1, "prompt_tokens_details": {"cached_tokens": 9}}});
    assert_eq!(Response::from_value(Wire::Chat, more_cached_than_sent).unwrap().usage.input, 0);
}

#[test]
fn w1_the_reason_of_the_end_is_typed() {
    let stop = |wire, body| Response::from_value(wire, body).unwrap().stop;
    assert_eq!(
        stop(Wire::Anthropic, json!({"stop_reason": "model_context_window_exceeded"})),
        Stop::ContextFull
    );
    assert_eq!(stop(Wire::Anthropic, json!({"stop_reason": "new_one"})), Stop::Other("new_one".into()));
    assert_eq!(stop(Wire::Anthropic, json!({})), Stop::Unsaid);
    assert_eq!(stop(Wire::Responses, json!({"status": "completed", "output": []})), Stop::EndTurn);
    let call = json!({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"});
    assert_eq!(stop(Wire::Responses, json!({"status": "completed", "output": [call]})), Stop::ToolUse);
    let cut = json!({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}});
    assert_eq!(stop(Wire::Responses, cut), Stop::MaxTokens);
    assert_eq!(stop(Wire::Chat, json!({"choices": [{"finish_reason": "tool_calls"}]})), Stop::ToolUse);
}

#[test]
fn w1_an_answer_gets_the_ids_it_will_have_in_the_next_request() {
    let question = json!({"role": "user", "content": "list the files"});
    let content = json!([
        {"type": "thinking", "thinking": "a listing will do", "signature": "c2lnbmVk"},
        {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}},
    ]);
    let first = Request::from_value(Wire::Anthropic, json!({"messages": [question]})).unwrap();
    let mut answer = Response::from_value(
        Wire::Anthropic,
        json!({"id": "msg_1", "role": "assistant", "content": content}),
    )
    .unwrap();
    answer.follow(first.messages.last().map(|m| &m.id));

    let again = json!({"messages": [question, {"role": "assistant", "content": content}]});
    let second = Request::from_value(Wire::Anthropic, again).unwrap();
    assert_eq!(second.messages[0].id, first.messages[0].id);
    assert_eq!(second.messages[1].id, answer.messages[0].id);
    assert_eq!(second.messages[1].parent.as_ref(), Some(&first.messages[0].id));
    assert_eq!(answer.messages[0].group, Some(GroupId::from("msg_1")));
}
