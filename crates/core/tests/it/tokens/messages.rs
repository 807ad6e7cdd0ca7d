//! Messages to tokens: kinds, structure, reasoning, the cache.

use super::{CLAUDE, GPT};
use crate::arbitrary;
use proptest::prelude::*;
use serde_json::json;
use std::sync::Arc;
use throughline_core::tokens::{Breakdown, Counter, Profile, Tokenizer};
use throughline_core::{
    Block, Body, CallKind, Flags, Media, Message, ResultContent, Role, Source, ToolCall, ToolInput,
    ToolResult,
};

fn reasoning(seal: Option<usize>) -> Block {
    Body::Reasoning { text: "let me think about this".into(), seal: seal.map(|n| "x".repeat(n)) }.into()
}

fn call(input: ToolInput) -> Block {
    let kind = if matches!(input, ToolInput::Text(_)) { CallKind::Custom } else { CallKind::Function };
    Body::ToolCall(ToolCall { id: "c".into(), name: "Bash".into(), input, kind }).into()
}

fn result(text: &str) -> Block {
    Body::ToolResult(ToolResult::text("c".into(), text)).into()
}

#[test]
fn w3_a_message_is_broken_down_by_kind() {
    let mut counter = Counter::for_model(GPT);
    let message = Message::new(
        Role::Assistant,
        vec![
            reasoning(None),
            Block::text("hello world"),
            call(ToolInput::JsonText(r#"{"command":"ls"}"#.into())),
            Body::Unknown(json!({"type": "web_search_call"})).into(),
        ],
    );
    let count = counter.message(&message);
    let text = |text| Tokenizer::O200k.count(text);
    assert_eq!(
        count,
        Breakdown {
            text: 2,
            reasoning: text("let me think about this"),
            calls: text("Bash") + text(r#"{"command":"ls"}"#),
            other: text(r#"{"type":"web_search_call"}"#),
            structure: 7 + 2 + 11,
            ..Breakdown::default()
        }
    );
    assert_eq!(count.total(), message.blocks.iter().map(|b| counter.block(b).total()).sum::<u64>() + 7);
}

#[test]
fn w3_a_picture_in_a_result_is_a_picture() {
    let picture = Body::Image(Media { source: Source::Url("https://example.com/x.png".into()) });
    let block = Body::ToolResult(ToolResult {
        call: "c".into(),
        kind: CallKind::Function,
        content: ResultContent::Parts(vec![Block::text("hello world"), picture.into()]),
        is_error: None,
    });
    let count = Counter::for_model(GPT).block(&block.into());
    assert_eq!((count.results, count.text, count.images, count.structure), (2, 0, 630, 11));
}

#[test]
fn w3_claude_is_shown_arguments_unescaped() {
    let mut counter = Counter::for_model(CLAUDE);
    let script = "printf 'a\\n'\n\techo \"$HOME\"\n";
    let plain = counter.text(script) + counter.text("command") + counter.text("Bash") + 13;
    let as_json = counter.block(&call(ToolInput::Json(json!({"command": script}))));
    assert_eq!(as_json.calls, plain);
    let as_text = counter.block(&call(ToolInput::JsonText(json!({"command": script}).to_string())));
    assert_eq!(as_text, as_json);
    // Text that is no JSON is counted as it stands.
    let broken = counter.block(&call(ToolInput::JsonText("{".into())));
    assert!(broken.calls > 0);
}

#[test]
fn w3_sealed_reasoning_is_weighed_by_its_seal() {
    let mut counter = Counter::for_model(CLAUDE);
    let short = counter.block(&reasoning(Some(240))).reasoning;
    let long = counter.block(&reasoning(Some(1_240))).reasoning;
    assert_eq!((short, long), (0, 196));
    assert!(counter.block(&reasoning(None)).reasoning > 0);
}

#[test]
fn w3_reasoning_that_the_provider_drops_counts_nothing() {
    let user = |text| Message::text(Role::User, text);
    let thought = || Message::new(Role::Assistant, vec![reasoning(None)]);
    let called = || Message::new(Role::Assistant, vec![call(ToolInput::Json(json!({"command": "ls"})))]);
    let answered = || Message::new(Role::Tool, vec![result("done")]);
    let words = || Message::text(Role::Assistant, "all done");
    let dropped = |model: &str, view: &[Message]| -> Vec<usize> {
        let mut counter = Counter::for_model(model);
        let counts = counter.view(view).messages;
        let alone: Vec<Breakdown> = view.iter().map(|m| counter.message(m)).collect();
        (0..view.len()).filter(|&at| counts[at] != alone[at]).collect()
    };

    let turns =
        [user("a"), thought(), called(), answered(), words(), user("b"), thought(), called(), answered()];
    assert_eq!(dropped(GPT, &turns), [1]);
    assert_eq!(dropped("gpt-5.6", &turns), [] as [usize; 0]);
    assert_eq!(dropped("claude-sonnet-4-5", &turns), [1]);
    assert_eq!(dropped(CLAUDE, &turns), [] as [usize; 0]);

    // Words put in between tool calls do not end the turn.
    let steered = [user("a"), thought(), words(), called(), answered(), user("quick!"), thought(), words()];
    assert_eq!(dropped(GPT, &steered), [] as [usize; 0]);

    // A message for people only is in nobody's turn.
    let mut note = user("c");
    note.flags = Flags { display_only: true, ..Flags::default() };
    let noted = [user("a"), thought(), words(), note];
    assert_eq!(dropped(GPT, &noted), [] as [usize; 0]);
    assert_eq!(Counter::for_model(GPT).view(&noted).messages[3], Breakdown::default());
}

#[test]
fn w3_a_message_is_counted_once() {
    let mut counter = Counter::for_model(CLAUDE);
    let message = |n: usize| Arc::new(Message::text(Role::User, format!("message {n} ").repeat(20)));
    let mut view: Vec<Arc<Message>> = (0..10).map(message).collect();
    let first = counter.view(view.iter().cloned()).total();
    assert_eq!(counter.texts_counted(), 10);
    assert_eq!(counter.view(view.iter().cloned()).total(), first);
    assert_eq!(counter.texts_counted(), 10);
    view.push(message(10));
    assert!(counter.view(view.iter().cloned()).total() > first);
    assert_eq!(counter.texts_counted(), 11);
}

#[test]
fn w3_the_cache_forgets_what_is_not_asked_for() {
    let mut counter = Counter::new(Profile::for_model(CLAUDE), 8);
    let text = |n: usize| format!("text {n} ").repeat(20);
    for n in 0..100 {
        // The first one stays in use, so it stays.
        counter.text(&text(0));
        counter.text(&text(n));
    }
    assert_eq!(counter.texts_counted(), 100);
    counter.text(&text(1));
    assert_eq!(counter.texts_counted(), 101);
}

proptest! {
    #[test]
    fn w3_caching_never_changes_a_count(conversation in arbitrary::conversation(), capacity in 0..4usize) {
        for model in [GPT, CLAUDE, "claude-fable-5", "qwen3"] {
            let mut small = Counter::new(Profile::for_model(model), capacity);
            let mut long_lived = Counter::for_model(model);
            for message in &conversation {
                let fresh = Counter::for_model(model).message(message);
                prop_assert_eq!(small.message(message), fresh);
                prop_assert_eq!(long_lived.message(message), fresh);
                prop_assert_eq!(long_lived.message(message), fresh);
            }
            let fresh = Counter::for_model(model).view(&conversation);
            prop_assert_eq!(&small.view(&conversation), &fresh);
            prop_assert_eq!(&long_lived.view(&conversation), &fresh);
            prop_assert_eq!(fresh.total(), fresh.messages.iter().map(Breakdown::total).sum::<u64>());
        }
    }
}
