//! What goes out begins with what the parent sent.

use super::{Editor, Setting, model, parent, prefix};
use crate::support::WIRES;
use proptest::prelude::*;
use serde_json::{Value, json};
use throughline_core::{Message, Role};
use throughline_model::{Call, Delivery, Model, Prefix, Tail, Wire};
use throughline_testkit::{Answer, Reply, Server};
use throughline_wire::Response;

/// The parent's bytes up to the end of its last message.
fn until_the_end_of_the_messages(parent: &[u8]) -> &[u8] {
    let last = b"Do the tests pass?\" }";
    let at = parent.windows(last.len()).position(|window| window == last).unwrap();
    &parent[..at + last.len()]
}

#[tokio::test]
async fn each_turn_begins_with_the_bytes_of_the_parent() {
    for wire in WIRES {
        let replies: Vec<Reply> = vec![
            Answer::text("They pass.").into(),
            Answer::text("I look.").call("Edit", json!({"path": "notes.md"})).into(),
            Answer::empty().call("Bash", json!({"path": "x"})).call("Edit", json!({"path": "y"})).into(),
            Answer::text("Written.").into(),
        ];
        let server = Server::start(replies).unwrap();
        let model = model(wire, &server);
        let first = model.send(Call::new(parent(wire))).await.unwrap();
        let mut tools = Editor::default();
        let setting = Setting { since: &first.response.messages, ..Setting::of(wire) };
        let forked = setting.run(&model, &mut tools).await;
        assert!(forked.end.is_done(), "{wire:?}: {:?}", forked.end);
        assert_eq!(forked.text, "Written.");
        assert_eq!(tools.calls, ["Edit", "Bash", "Edit"]);

        let seen = server.requests();
        assert_eq!(seen.len(), 4);
        assert_eq!(seen[0].body, parent(wire));
        let (whole, prefix) = (parent(wire), prefix(wire));
        let begins = until_the_end_of_the_messages(&whole);
        for turn in &seen[1..] {
            assert!(turn.body.starts_with(begins), "{wire:?}, turn {}", turn.number);
            assert_eq!(prefix.shared(&turn.body), prefix.len(), "{wire:?}, turn {}", turn.number);
            // The server finds it in its cache, too.
            assert!(
                turn.cached * 100 >= seen[0].tokens * 99,
                "{wire:?}: {} of {}",
                turn.cached,
                seen[0].tokens
            );
        }
        // Each turn goes on from the one before it.
        for pair in seen.windows(2) {
            let before = Prefix::new(wire, pair[0].body.clone()).unwrap();
            assert_eq!(before.shared(&pair[1].body), before.len(), "{wire:?}, turn {}", pair[1].number);
        }
        let sent: usize = seen[1..].iter().map(|turn| turn.body.len()).sum();
        assert_eq!(forked.receipt.sent_bytes, sent as u64);
        assert_eq!(forked.receipt.shared_bytes, 3 * prefix.len() as u64);
        assert!(forked.receipt.shared_bytes * 100 >= forked.receipt.sent_bytes * 80);
    }
}

#[tokio::test]
async fn the_parents_last_message_is_not_added_to() {
    let server = Server::start("Done.").unwrap();
    let forked =
        Setting::of(Wire::Anthropic).run(&model(Wire::Anthropic, &server), &mut Editor::default()).await;
    assert!(forked.end.is_done());
    let messages = server.requests()[0].json()["messages"].as_array().unwrap().clone();
    let [.., last, ask] = messages.as_slice() else { panic!("{messages:?}") };
    assert_eq!(last, &json!({"role": "user", "content": "Do the tests pass?"}));
    assert_eq!(ask, &json!({"role": "user", "content": [{"type": "text", "text": "Update the notes."}]}));
}

fn said(wire: Wire, body: Value) -> Vec<Message> {
    Response::from_value(wire, body).unwrap().messages
}

#[tokio::test]
async fn the_ask_stands_with_results_that_came_before_it() {
    let since = [
        said(
            Wire::Anthropic,
            json!({"content": [
                {"type": "tool_use", "id": "a", "name": "Edit", "input": {}},
                {"type": "tool_use", "id": "b", "name": "Bash", "input": {}},
            ]}),
        ),
        // The results as another wire has them: one message each.
        vec![throughline_wire::decode_message(
            Wire::Chat,
            json!({"role": "tool", "tool_call_id": "a", "content": "fine"}),
        )],
    ]
    .concat();
    for wire in WIRES {
        let server = Server::start("Done.").unwrap();
        let forked = Setting { since: &since, ..Setting::of(wire) }
            .run(&model(wire, &server), &mut Editor::default())
            .await;
        assert!(forked.end.is_done(), "{wire:?}: {:?}", forked.end);
        let body = server.requests()[0].json().clone();
        match wire {
            Wire::Anthropic => {
                let last = body["messages"].as_array().unwrap().last().unwrap();
                let kinds: Vec<_> =
                    last["content"].as_array().unwrap().iter().map(|block| &block["type"]).collect();
                assert_eq!(kinds, ["tool_result", "tool_result", "text"], "{last}");
                assert_eq!(last["content"][1]["tool_use_id"], "b");
                assert_eq!(last["content"][1]["is_error"], true);
            }
            Wire::Responses => {
                let items = body["input"].as_array().unwrap();
                let calls: Vec<_> = items[items.len() - 3..].iter().map(|item| &item["call_id"]).collect();
                assert_eq!(calls, [&json!("a"), &json!("b"), &Value::Null]);
            }
            Wire::Chat => {
                let messages = body["messages"].as_array().unwrap();
                let last = &messages[messages.len() - 3..];
                assert_eq!(last[0]["tool_call_id"], "a");
                assert_eq!(last[1]["tool_call_id"], "b");
                assert_eq!(last[2]["role"], "user");
            }
        }
    }
}

#[tokio::test]
async fn reasoning_that_nobody_kept_is_not_sent_back() {
    let replies: Vec<Reply> =
        vec![Answer::empty().thinking("Hm.").call("Edit", json!({})).into(), Answer::text("Done.").into()];
    let server = Server::start(replies).unwrap();
    let mut stored = String::from_utf8(parent(Wire::Responses)).unwrap();
    let reasons = |server: &Server| {
        let body = server.last().unwrap().json().clone();
        body["input"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|item| item["type"] == "reasoning")
            .cloned()
            .collect::<Vec<_>>()
    };
    let forked =
        Setting::of(Wire::Responses).run(&model(Wire::Responses, &server), &mut Editor::default()).await;
    assert!(forked.end.is_done());
    // What the scripted server sends is sealed or not; either way nothing unsealed goes back.
    assert!(reasons(&server).iter().all(|item| item["encrypted_content"].is_string()));

    stored = stored.replace(r#""store": false"#, r#""store": true"#);
    let loose = said(
        Wire::Responses,
        json!({"id": "r", "output": [
            {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Yes.", "annotations": []}]},
        ]}),
    );
    for (body, count) in [(stored.into_bytes(), 1), (parent(Wire::Responses), 0)] {
        let server = Server::start("Done.").unwrap();
        let prefix = Prefix::new(Wire::Responses, body).unwrap();
        let setting = Setting { since: &loose, prefix, ..Setting::of(Wire::Responses) };
        assert!(setting.run(&model(Wire::Responses, &server), &mut Editor::default()).await.end.is_done());
        assert_eq!(reasons(&server).len(), count);
    }
}

#[test]
fn keys_change_only_as_asked() {
    let ask = [Message::text(Role::User, "Go.")];
    let with = |body: Value, wire: Wire, tail: Tail| -> Value {
        let prefix = Prefix::new(wire, body.to_string()).unwrap();
        serde_json::from_slice(&prefix.then(&ask, &tail).unwrap()).unwrap()
    };
    let limit = |most| Tail { max_output: Some(most), ..Tail::default() };
    let thinking =
        json!({"max_tokens": 9, "messages": [], "thinking": {"type": "enabled", "budget_tokens": 2000}});
    assert_eq!(with(thinking.clone(), Wire::Anthropic, limit(3000))["max_tokens"], 3000);
    assert_eq!(with(thinking.clone(), Wire::Anthropic, limit(500))["max_tokens"], 2500);
    let without = with(thinking.clone(), Wire::Anthropic, Tail { without_thinking: true, ..limit(500) });
    assert_eq!((&without["max_tokens"], &without["thinking"]), (&json!(500), &Value::Null));

    let managed = json!({"messages": [], "thinking": {"type": "adaptive"}, "context_management": {"edits": [
        {"type": "clear_thinking_20251015"}, {"type": "clear_tool_uses_20250919"},
    ]}});
    let none = Tail { without_thinking: true, ..Tail::default() };
    let edits = with(managed, Wire::Anthropic, none.clone())["context_management"]["edits"].clone();
    assert_eq!(edits, json!([{"type": "clear_tool_uses_20250919"}]));
    assert_eq!(
        with(json!({"input": [], "reasoning": {"effort": "high", "summary": "auto"}}), Wire::Responses, none)
            ["reasoning"],
        json!({"effort": "low", "summary": "auto"})
    );

    assert_eq!(with(json!({"input": "hi"}), Wire::Responses, limit(5))["max_output_tokens"], 5);
    assert_eq!(with(json!({"messages": [], "max_tokens": 9}), Wire::Chat, limit(5))["max_tokens"], 5);
    assert_eq!(with(json!({"messages": []}), Wire::Chat, limit(5))["max_completion_tokens"], 5);

    let streamed = Tail { delivery: Some(Delivery::Streamed), ..Tail::default() };
    let chat = with(json!({"messages": [], "stream_options": {"x": 1}}), Wire::Chat, streamed);
    assert_eq!(
        (&chat["stream"], &chat["stream_options"]),
        (&json!(true), &json!({"x": 1, "include_usage": true}))
    );
    let whole = with(chat, Wire::Chat, Tail { delivery: Some(Delivery::Whole), ..Tail::default() });
    assert_eq!((&whole["stream"], whole.get("stream_options")), (&json!(false), None));
}

#[test]
fn a_bare_input_becomes_a_list_that_begins_with_it() {
    let prefix = Prefix::new(Wire::Responses, r#"{"model":"m","input":"caf\u00e9"}"#).unwrap();
    let body = prefix.then(&[Message::text(Role::User, "Go.")], &Tail::default()).unwrap();
    assert_eq!(prefix.shared(&body), prefix.len());
    assert_eq!(serde_json::from_slice::<Value>(&body).unwrap()["input"][0]["content"], "café");
}

#[test]
fn another_model_or_other_tools_share_nothing() {
    let prefix =
        Prefix::new(Wire::Chat, r#"{"model":"m","tools":[1,2],"messages":[{"role":"user"}]}"#).unwrap();
    let shared = |body: &str| prefix.shared(body.as_bytes());
    assert_eq!(prefix.len(), "[1,2]".len() + r#"[{"role":"user"}"#.len());
    assert_eq!(shared(r#"{"model":"m","tools":[1,2],"messages":[{"role":"user"},7]}"#), prefix.len());
    assert_eq!(shared(r#"{"model":"n","tools":[1,2],"messages":[{"role":"user"}]}"#), 0);
    assert_eq!(shared(r#"{"model":"m","tools":[1,3],"messages":[{"role":"user"}]}"#), 3);
    assert_eq!(shared(r#"{"model":"m","messages":[{"role":"user"}]}"#), 0);
    assert_eq!(shared("nonsense"), 0);
}

#[test]
fn a_request_without_messages_cannot_be_continued() {
    let prefix = Prefix::new(Wire::Chat, "{}").unwrap();
    assert!(prefix.then(&[Message::text(Role::User, "Go.")], &Tail::default()).is_err());
    assert!(Prefix::new(Wire::Chat, "[]").is_err());
    assert!(!format!("{:?}", super::prefix(Wire::Chat)).contains("careful"), "what was said is not for logs");
}

proptest! {
    #[test]
    fn nothing_before_the_new_messages_changes(
        texts in prop::collection::vec("\\PC{0,20}", 0..6),
        new in prop::collection::vec("\\PC{1,20}", 1..4),
        (wire, is_pretty, most) in (0_usize..3, any::<bool>(), prop::option::of(1_u64..9999)),
    ) {
        let wire = WIRES[wire];
        let talk: Vec<Value> = texts.iter().map(|text| json!({"role": "user", "content": text})).collect();
        let key = if wire == Wire::Responses { "input" } else { "messages" };
        let body = json!({"model": "m", "max_tokens": 7, "system": "s", key: talk, "tools": [{"name": "t"}], "stream": false});
        let body = if is_pretty { serde_json::to_string_pretty(&body).unwrap() } else { body.to_string() };
        let prefix = Prefix::new(wire, body).unwrap();
        let messages: Vec<Message> = new.iter().map(|text| Message::text(Role::User, text)).collect();
        let tail = Tail { max_output: most, delivery: Some(Delivery::Streamed), ..Tail::default() };
        let continued = prefix.then(&messages, &tail).unwrap();
        prop_assert_eq!(prefix.shared(&continued), prefix.len());
        let read: Value = serde_json::from_slice(&continued).unwrap();
        let elements = read[key].as_array().unwrap();
        prop_assert_eq!(&elements[..talk.len()], talk.as_slice());
        prop_assert_eq!(elements.len(), talk.len() + new.len());
    }
}
