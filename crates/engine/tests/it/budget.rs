//! The budget of a compaction: never exceeded, whatever is compacted and however.

use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::Arc;
use throughline_core::compaction::{Declined, Scaffold};
use throughline_core::profile::Strategy as How;
use throughline_core::stages::OwnTools;
use throughline_core::tokens::Counter;
use throughline_core::{Body, CallId, CallKind, Entry, Message, Role, ToolCall, ToolInput, ToolResult, Wire};
use throughline_engine::{Order, compact};
use throughline_wire::encode_messages;

/// What happens in a session, by its length in words.
#[derive(Clone, Debug)]
enum Step {
    Asked(usize),
    Planned(usize),
    Sealed(usize),
    Ran(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (1..300_usize).prop_map(Step::Asked),
        (1..2_000_usize).prop_map(Step::Planned),
        (1..2_000_usize).prop_map(Step::Sealed),
        (1..6_000_usize).prop_map(Step::Ran),
    ]
}

/// Words with names among them, none like another.
fn words(seed: usize, count: usize) -> String {
    let word = |i: usize| match i % 4 {
        0 => format!("src/part_{seed}/file_{i}.rs"),
        1 => "must never break whatever somebody else depends on".to_owned(),
        2 => format!("\"another passage about part {seed}, paragraph {i}\""),
        _ => "and everything around it stays where it was before".to_owned(),
    };
    (0..count).map(word).collect::<Vec<_>>().join(" ")
}

fn call(id: &CallId, name: &str, input: serde_json::Value) -> Body {
    let input = ToolInput::Json(input);
    Body::ToolCall(ToolCall { id: id.clone(), name: name.into(), input, kind: CallKind::Function })
}

fn messages(steps: &[Step]) -> Vec<Arc<Message>> {
    let mut all = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let id = CallId::new(format!("call_{at}"));
        let answered = |body: Vec<Body>, answer: &str| {
            let result = ToolResult::text(id.clone(), answer);
            [
                Message::new(Role::Assistant, body.into_iter().map(Into::into).collect()),
                Message::new(Role::User, vec![Body::ToolResult(result).into()]),
            ]
        };
        match *step {
            Step::Asked(count) => all.push(Message::text(Role::User, words(at, count))),
            Step::Planned(count) => {
                let plan = json!({ "plan": words(at, count) });
                all.extend(answered(vec![call(&id, "ExitPlanMode", plan)], "approved"));
            }
            Step::Sealed(count) => {
                let seal = Some("x".repeat(count * 4));
                let reasoning = Body::Reasoning { text: "Hm.".to_owned(), seal };
                let read = call(&id, "Read", json!({ "file_path": format!("src/{at}.rs") }));
                all.extend(answered(vec![reasoning, read], "fn main() {}"));
            }
            Step::Ran(count) => {
                let run = call(&id, "Bash", json!({ "command": format!("cargo test part_{at}") }));
                all.extend(answered(vec![run], &words(at, count)));
            }
        }
    }
    all.into_iter().map(Arc::new).collect()
}

/// Characters of all strings that are sent.
fn sent(value: &Value) -> usize {
    match value {
        Value::String(text) => text.chars().count(),
        Value::Array(all) => all.iter().map(sent).sum(),
        Value::Object(all) => all.values().map(sent).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn p5_a_result_never_exceeds_its_budget(
        steps in proptest::collection::vec(step(), 1..24),
        budget in 1_000..40_000_u64,
        how in prop_oneof![Just(How::Notes), Just(How::Summary), Just(How::Handoff)],
        // Characters of a token, by the usage that was reported for recorded sessions.
        (model, wire, density) in prop_oneof![
            Just(("claude-sonnet-4-5", Wire::Anthropic, 2.63)),
            Just(("gpt-5-codex", Wire::Responses, 3.29)),
        ],
    ) {
        let said = messages(&steps);
        let view: Vec<Entry> = said.iter().map(|message| Entry::of(message.clone(), Default::default())).collect();
        let order = Order {
            strategy: how,
            budget,
            instructions: None,
            model,
            cwd: Some("/w/app"),
            scaffold: Scaffold::LeaveOut,
            tools: OwnTools::default(),
            now: None,
        };
        let mut counter = Counter::for_model(model);
        match compact(&said, &view, &order) {
            Ok(draft) => {
                let tokens: u64 =
                    draft.entries.iter().map(|entry| counter.message(&entry.shown()).total()).sum();
                prop_assert_eq!(tokens, draft.tokens_after);
                prop_assert!(tokens <= budget, "{} tokens, budget {}", tokens, budget);
                let messages: Vec<Message> =
                    draft.entries.iter().map(|entry| (*entry.shown()).clone()).collect();
                let chars: usize = sent(&json!(encode_messages(wire, &messages)));
                let reported = chars as f64 / density;
                prop_assert!(reported <= budget as f64, "{} by density, budget {}", reported, budget);
            }
            Err(Declined::OverLimit { tokens, limit }) => prop_assert!(tokens > limit && limit == budget),
            Err(Declined::NotSmaller { before, after }) => prop_assert!(after >= before),
            Err(other) => prop_assert_eq!(other, Declined::Nothing),
        }
    }
}
