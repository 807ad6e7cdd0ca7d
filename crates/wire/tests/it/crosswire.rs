//! W2: messages of one wire, written to another, are valid there and say the same.

use crate::arbitrary::{any_request, more, wire};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};
use throughline_core::{
    Block, Body, CallKind, Media, Message, ResultContent, Role, Source, ToolCall, ToolInput, ToolResult,
    Wire, invariants,
};
use throughline_wire::{Request, chain, decode_message, encode_messages, split_instructions};

const WIRES: [Wire; 3] = [Wire::Anthropic, Wire::Responses, Wire::Chat];

fn across(to: Wire, messages: &[Message]) -> Vec<Message> {
    let mut read: Vec<_> =
        encode_messages(to, messages).into_iter().map(|raw| decode_message(to, raw)).collect();
    chain(None, &mut read);
    read
}

proptest! {
    #![proptest_config(more(8))]

    #[test]
    fn w2_what_keeps_the_rules_on_one_wire_keeps_them_on_another((from, body) in any_request(), to in wire()) {
        let request = Request::from_value(from, body).unwrap();
        let (messages, _) = invariants::repair(request.messages);
        let read = across(to, &messages);
        let broken = invariants::check(&read);
        prop_assert!(broken.is_empty(), "{broken:?}\n{messages:#?}\n{read:#?}");
    }
}

/// What must be the same on every wire: words by role, calls, results, pictures.
#[derive(Debug, Default, PartialEq)]
struct Essence {
    said: Vec<String>,
    answered: Vec<String>,
    instructed: Vec<String>,
    calls: Vec<(String, String, Value)>,
    results: Vec<(String, String)>,
    pictures: Vec<String>,
}

fn essence(messages: &[Message]) -> Essence {
    let mut it = Essence::default();
    for message in messages {
        for block in &message.blocks {
            match &block.body {
                Body::Text(text) => match message.role {
                    Role::User | Role::Tool => it.said.push(text.clone()),
                    Role::Assistant => it.answered.push(text.clone()),
                    Role::System | Role::Developer => it.instructed.push(text.clone()),
                },
                Body::ToolCall(call) => {
                    let input = match &call.input {
                        ToolInput::Text(text) => json!({ "input": text }),
                        input => input.to_json().unwrap(),
                    };
                    it.calls.push((call.id.to_string(), call.name.clone(), input));
                }
                Body::ToolResult(result) => {
                    let text = result.content.to_text().replace("[shown in a later message]", "");
                    it.results.push((result.call.to_string(), text));
                    if let ResultContent::Parts(parts) = &result.content {
                        it.pictures.extend(parts.iter().filter_map(picture));
                    }
                }
                Body::Image(_) | Body::Document(_) => it.pictures.extend(picture(block)),
                Body::Reasoning { .. } => {}
                Body::Unknown(raw) => panic!("unknown: {raw}"),
            }
        }
    }
    it.results.sort();
    it
}

fn picture(block: &Block) -> Option<String> {
    match &block.body {
        Body::Image(Media { source: Source::Base64 { data, .. } }) => Some(data.clone()),
        _ => None,
    }
}

fn word() -> impl Strategy<Value = String> {
    "[a-z]{1,6}"
}

fn image() -> impl Strategy<Value = Block> {
    "[A-Za-z0-9+/]{4}".prop_map(|data| {
        Body::Image(Media { source: Source::Base64 { media_type: "image/png".into(), data } }).into()
    })
}

/// A turn as an agent records it: a question, an answer in one or several records, results in one or several.
fn turn(n: usize) -> impl Strategy<Value = Vec<Message>> {
    let question = vec(prop_oneof![3 => word().prop_map(Block::text), 1 => image()], 1..3);
    let input = prop_oneof![
        word().prop_map(|w| ToolInput::Json(json!({ "w": w }))),
        word().prop_map(|w| ToolInput::JsonText(json!({ "w": w }).to_string())),
        word().prop_map(ToolInput::Text),
    ];
    let output = prop_oneof![
        word().prop_map(ResultContent::Text),
        vec(prop_oneof![2 => word().prop_map(Block::text), 1 => image()], 1..3)
            .prop_map(ResultContent::Parts),
    ];
    let calls = vec((input, output), 0..4);
    (question, word(), calls, any::<[bool; 5]>(), word()).prop_map(
        move |(question, said, calls, how, aside)| {
            let [split_answer, split_results, words_beside, user_results, instruct] = how;
            let mut blocks = vec![Block::text(said)];
            let mut results: Vec<Block> = Vec::new();
            for (at, (input, content)) in calls.into_iter().enumerate() {
                let kind =
                    if matches!(input, ToolInput::Text(_)) { CallKind::Custom } else { CallKind::Function };
                let id = format!("call_{n}_{at}");
                blocks.push(
                    Body::ToolCall(ToolCall { id: id.clone().into(), name: "f".into(), input, kind }).into(),
                );
                results.push(
                    Body::ToolResult(ToolResult { call: id.into(), kind, content, is_error: None }).into(),
                );
            }
            let pieces = |role: Role, blocks: Vec<Block>, split: bool| match split {
                true => blocks.into_iter().map(|block| Message::new(role, vec![block])).collect(),
                false => vec![Message::new(role, blocks)],
            };
            let mut out = vec![Message::new(Role::User, question)];
            let mut answer: Vec<Message> = pieces(Role::Assistant, blocks, split_answer);
            answer.iter_mut().for_each(|record| record.group = Some(format!("answer_{n}").into()));
            out.extend(answer);
            if results.is_empty() {
                return out;
            }
            if instruct {
                out.push(Message::text(Role::Developer, format!("note {n}")));
            }
            let role = if user_results { Role::User } else { Role::Tool };
            if words_beside {
                results.push(Block::text(aside));
            }
            out.extend(pieces(role, results, split_results && !words_beside));
            out
        },
    )
}

fn conversation() -> impl Strategy<Value = Vec<Message>> {
    (turn(0), turn(1), turn(2)).prop_map(|(a, b, c)| [a, b, c].concat())
}

proptest! {
    #![proptest_config(more(8))]

    #[test]
    fn w2_a_conversation_says_the_same_on_every_wire(messages in conversation(), to in wire(), then in wire()) {
        prop_assert_eq!(invariants::check(&messages), []);
        let before = essence(&messages);
        let there = across(to, &messages);
        prop_assert_eq!(invariants::check(&there), []);
        prop_assert_eq!(&essence(&there), &before);
        let further = across(then, &there);
        prop_assert_eq!(invariants::check(&further), []);
        prop_assert_eq!(&essence(&further), &before);
    }

    #[test]
    fn w2_chat_has_each_answer_whole_and_its_results_right_behind(messages in conversation(), responses: bool) {
        let from = if responses { Wire::Responses } else { Wire::Anthropic };
        let list = encode_messages(Wire::Chat, &across(from, &messages));
        let mut open: Vec<Value> = Vec::new();
        for message in &list {
            if message["role"] == "tool" {
                let at = open.iter().position(|id| *id == message["tool_call_id"]);
                prop_assert!(at.is_some(), "{list:#?}");
                open.remove(at.unwrap());
            } else {
                prop_assert!(open.is_empty(), "{list:#?}");
            }
            open.extend(message["tool_calls"].as_array().into_iter().flatten().map(|call| call["id"].clone()));
        }
        prop_assert!(open.is_empty());
    }
}

fn decode(wire: Wire, list: Value) -> Vec<Message> {
    let Value::Array(list) = list else { panic!("not a list") };
    list.into_iter().map(|raw| decode_message(wire, raw)).collect()
}

#[test]
fn w1_nothing_is_joined_on_the_wire_it_came_from() {
    let lists = [
        (
            Wire::Anthropic,
            json!([
                {"role": "user", "content": "a"}, {"role": "user", "content": "b"},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "f", "input": {}}]},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "2", "name": "f", "input": {}}]},
                {"role": "system", "content": "between"},
                {"role": "user", "content": [{"tool_use_id": "1", "type": "tool_result", "content": "x"}]},
                {"role": "user", "content": [{"tool_use_id": "2", "type": "tool_result", "content": "x"}, {"type": "text", "text": "y"}]},
                {"role": "assistant", "content": "c"}, {"role": "assistant", "content": "d"},
            ]),
        ),
        (
            Wire::Chat,
            json!([
                {"role": "user", "content": "a"},
                {"role": "assistant", "content": null, "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
                {"role": "assistant", "content": null, "tool_calls": [{"id": "2", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
                {"role": "developer", "content": "between"},
                {"role": "tool", "tool_call_id": "1", "content": [{"type": "image_url", "image_url": {"url": "https://example.org"}}]},
                {"role": "tool", "tool_call_id": "2", "content": "x"},
                {"role": "assistant", "content": "c"}, {"role": "assistant", "content": "d"},
            ]),
        ),
    ];
    for (wire, list) in lists {
        let messages = decode(wire, list.clone());
        assert_eq!(Value::Array(encode_messages(wire, &messages)).to_string(), list.to_string());
    }
}

#[test]
fn w1_records_of_one_group_are_joined_everywhere() {
    let mut records = decode(
        Wire::Anthropic,
        json!([
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "a"}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "f", "input": {}}]},
            {"role": "assistant", "content": [{"type": "text", "text": "another answer"}]},
        ]),
    );
    records[..3].iter_mut().for_each(|record| record.group = Some("msg_1".into()));
    let list = encode_messages(Wire::Anthropic, &records);
    assert_eq!(list.len(), 2);
    assert_eq!(
        list[0],
        json!({"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "a"},
            {"type": "tool_use", "id": "1", "name": "f", "input": {}},
        ]})
    );
}

#[test]
fn w2_reasoning_stays_with_its_provider() {
    let cases = [
        (
            Wire::Anthropic,
            json!([{"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}]}]),
        ),
        (Wire::Responses, json!([{"type": "reasoning", "summary": [], "encrypted_content": "e"}])),
        (Wire::Chat, json!([{"role": "assistant", "reasoning_content": "hm"}])),
    ];
    for (from, list) in cases {
        let messages = decode(from, list.clone());
        for to in WIRES {
            let expected = if to == from { list.clone() } else { json!([]) };
            assert_eq!(Value::Array(encode_messages(to, &messages)), expected, "{from:?} to {to:?}");
        }
    }
    let unsigned = Message::new(
        Role::Assistant,
        vec![Body::Reasoning { text: "x".into(), seal: Some("?".into()) }.into()],
    );
    for to in WIRES {
        assert!(encode_messages(to, &[&unsigned]).is_empty(), "a seal of unknown origin is never sent");
    }
}

#[test]
fn w2_messages_for_people_are_never_written() {
    let mut message = Message::text(Role::User, "for display");
    message.flags.display_only = true;
    for to in WIRES {
        assert!(encode_messages(to, &[&message]).is_empty());
    }
}

#[test]
fn w2_instructions_at_the_start_can_be_split_off() {
    let messages = [
        Message::text(Role::System, "be kind"),
        Message::text(Role::Developer, "be brief"),
        Message::text(Role::User, "hi"),
        Message::text(Role::System, "it is late"),
    ];
    let (text, rest) = split_instructions(&messages);
    assert_eq!((text.as_str(), rest), ("be kind\n\nbe brief", &messages[2..]));
}
