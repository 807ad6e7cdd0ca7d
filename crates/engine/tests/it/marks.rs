//! A client's marks for Anthropic's cache.

use crate::common::{conversation, no_exemptions, tiny, valid};
use proptest::prelude::*;
use serde_json::{Value, json};
use throughline_core::Wire;
use throughline_core::pipeline::{Moment, Unrecorded};
use throughline_core::stages::OwnTools;
use throughline_engine::{Options, Preparer};

const MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;

fn compacting() -> Preparer {
    Preparer::new(Wire::Anthropic, Options { window: Some(6_000), ..Options::new(tiny("throughline")) })
}

/// Marks the last block of a message, as Claude Code does.
fn mark(message: &mut Value) {
    if let Some(text) = message["content"].as_str() {
        message["content"] = json!([{"type": "text", "text": text}]);
    }
    if let Some(block) = message["content"].as_array_mut().and_then(|blocks| blocks.last_mut()) {
        block["cache_control"] = json!({"type": "ephemeral"});
    }
}

fn send(preparer: &mut Preparer, body: &Value) -> (Vec<Value>, bool) {
    let bytes = body.to_string().into_bytes();
    let out = preparer.prepare(bytes, &Moment::default(), &mut Unrecorded).unwrap();
    valid(Wire::Anthropic, &out.bytes);
    let sent: Value = serde_json::from_slice(&out.bytes).unwrap();
    (sent["messages"].as_array().unwrap().clone(), out.pass.changed())
}

/// Which block of which message is marked.
fn marked(messages: &[Value]) -> Vec<(usize, usize)> {
    let blocks = |message: &Value| message["content"].as_array().cloned().unwrap_or_default();
    let all = messages.iter().enumerate().flat_map(|(at, message)| {
        blocks(message).into_iter().enumerate().map(move |(block, value)| (at, block, value))
    });
    all.filter(|(_, _, value)| value.get("cache_control").is_some())
        .map(|(at, block, _)| (at, block))
        .collect()
}

#[test]
fn the_mark_of_a_message_that_was_condensed_goes_to_what_stands_in_its_place() {
    let mut body = conversation(Wire::Anthropic, 30, &"something was found here ".repeat(12));
    let messages = body["messages"].as_array_mut().unwrap();
    // More than is ever kept as it is.
    messages.push(json!({"role": "user", "content": "the log says that it is late. ".repeat(2_000)}));
    mark(messages.last_mut().unwrap());
    let (sent, changed) = send(&mut compacting(), &body);
    assert!(changed && !sent.iter().any(|message| body["messages"].as_array().unwrap().contains(message)));
    let last = sent.len() - 1;
    let blocks = sent[last]["content"].as_array().unwrap().len();
    assert_eq!(marked(&sent), [(last, blocks - 1)], "{sent:?}");
}

#[test]
fn marks_stay_on_their_blocks_where_results_were_put_aside() {
    let long = "long line\n".repeat(8_000);
    let mut body = conversation(Wire::Anthropic, 1, &long);
    let messages = body["messages"].as_array_mut().unwrap();
    messages[2]["content"].as_array_mut().unwrap().push(json!({"type": "text", "text": "Go on."}));
    messages[2]["content"][0]["cache_control"] = json!({"type": "ephemeral", "ttl": "1h"});
    let tools = OwnTools { snip: false, recall: true };
    let mut preparer = Preparer::new(Wire::Anthropic, Options { tools, ..Options::new(no_exemptions()) });
    let (sent, changed) = send(&mut preparer, &body);
    assert!(changed && sent[2].to_string().contains("<persisted-output>"));
    assert_eq!(marked(&sent), [(2, 0)]);
    assert_eq!(sent[2]["content"][0]["cache_control"], json!({"type": "ephemeral", "ttl": "1h"}));
    // The client moves its mark within the message: the element is as long as it was.
    let mark =
        body["messages"][2]["content"][0].as_object_mut().unwrap().shift_remove("cache_control").unwrap();
    body["messages"][2]["content"][1]["cache_control"] = mark;
    assert_eq!(marked(&send(&mut preparer, &body).0), [(2, 1)]);
    // And takes it away.
    body["messages"][2]["content"][1].as_object_mut().unwrap().shift_remove("cache_control");
    assert_eq!(marked(&send(&mut preparer, &body).0), []);
}

#[test]
fn a_mark_inside_a_result_that_was_put_aside_is_not_lost() {
    let mut body = conversation(Wire::Anthropic, 1, "short");
    let long = "long line\n".repeat(8_000);
    body["messages"][2]["content"][0]["content"] =
        json!([{"type": "text", "text": long, "cache_control": {"type": "ephemeral"}}]);
    let options = Options { tools: OwnTools { snip: false, recall: true }, ..Options::new(no_exemptions()) };
    let mut preparer = Preparer::new(Wire::Anthropic, options);
    let (sent, changed) = send(&mut preparer, &body);
    assert!(changed);
    assert_eq!(marked(&sent), [(2, 0)]);
    assert_eq!(json!(sent).to_string().matches("cache_control").count(), 1);
}

/// What a turn of a made-up conversation looks like.
#[derive(Clone, Copy, Debug)]
struct Turn {
    words: usize,
    result: usize,
    thinks: bool,
    is_silent: bool,
}

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let turn = (1..400_usize, 1..600_usize, any::<bool>(), any::<bool>())
        .prop_map(|(words, result, thinks, is_silent)| Turn { words, result, thinks, is_silent });
    prop::collection::vec(turn, 4..24)
}

fn said(turns: &[Turn]) -> Vec<Value> {
    let mut messages = Vec::new();
    for (at, turn) in turns.iter().enumerate() {
        let id = format!("call_{at}");
        let ask = format!("Turn {at}: {}", "look at this again, ".repeat(turn.words));
        let mut answer = vec![
            json!({"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": format!("src/{at}.rs")}}),
        ];
        if turn.thinks {
            answer.insert(0, json!({"type": "thinking", "thinking": "hm", "signature": "abc"}));
        }
        let text = format!("{at}: {}", "it was found here ".repeat(turn.result));
        let mut end = vec![json!({"type": "text", "text": format!("Part {at} is fine.")})];
        if turn.is_silent {
            end.push(json!({"type": "thinking", "thinking": "so be it", "signature": "def"}));
        }
        messages.extend([
            json!({"role": "user", "content": [{"type": "text", "text": ask}]}),
            json!({"role": "assistant", "content": answer}),
            json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": text}]}),
            json!({"role": "assistant", "content": end}),
        ]);
    }
    messages
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_request_leaves_with_the_clients_marks_and_no_others(turns in turns(), second in 0..12_usize) {
        let all = said(&turns);
        let mut preparer = compacting();
        let mut before: Option<String> = None;
        // The client asks behind its own words and behind each result.
        for upto in (1..=all.len()).filter(|upto| upto % 2 == 1) {
            let mut messages = all[..upto].to_vec();
            if let Some(other) = upto.checked_sub(1 + 2 * second).and_then(|at| messages.get_mut(at)) {
                mark(other);
            }
            mark(messages.last_mut().unwrap());
            let had = marked(&messages).len();
            let body = json!({"model": "claude-sonnet-4-5", "max_tokens": 1000, "system": "Be brief.", "messages": messages});
            let (sent, changed) = send(&mut preparer, &body);
            let places = marked(&sent);
            prop_assert!((1..=had).contains(&places.len()), "{places:?}");
            prop_assert_eq!(places.last().unwrap().0, sent.len() - 1, "the client marks the end");
            for (at, block) in places {
                let block = &sent[at]["content"][block];
                prop_assert!(block["type"] != "thinking" && block["text"] != "", "{block}");
            }
            // Marks are no part of the prompt: it goes on as it was.
            let plain: String = sent.iter().map(|message| message.to_string().replace(MARK, "")).collect();
            if let Some(before) = before.filter(|_| !changed) {
                prop_assert!(plain.starts_with(&before));
            }
            before = Some(plain);
        }
    }
}
