//! Requests that a client makes in the name of a session without being part of its conversation.

use crate::kit::{Asking, World};
use serde_json::{Value, json};
use throughline_core::{Op, Record};
use throughline_ledger::session;

fn ask(body: &Value) -> Asking {
    Asking::post("/v1/messages", body.to_string())
        .header("x-claude-code-session-id", "5b0c2a2e-0000-4000-8000-000000000001")
        .header("user-agent", "claude-cli/2.1.325 (external, cli)")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_to_a_small_model_in_the_name_of_a_session_does_not_begin_it_anew() {
    let world = World::new("Done.").await;
    let mut messages = vec![json!({"role": "user", "content": "fix the login"})];
    for turn in 0..3 {
        let main = json!({"model": "claude-opus-5-5", "max_tokens": 32_000, "messages": messages,
            "tools": [{"name": "Bash", "input_schema": {"type": "object"}}]});
        world.ask(ask(&main)).await;
        let other = json!({"model": "claude-haiku-5-5", "max_tokens": 8_000,
            "messages": [{"role": "user", "content": format!("Summarise this page: {turn}")}]});
        world.ask(ask(&other)).await;
        messages.push(json!({"role": "assistant", "content": "Done."}));
        messages.push(json!({"role": "user", "content": format!("go on {turn}")}));
    }
    world.proxy.stop().await;
    let ledgers = world.home.ledgers().unwrap();
    assert_eq!(ledgers.len(), 1);
    let (mut said, mut rewinds) = (Vec::new(), 0);
    session::each_record(&world.home, &ledgers[0], &mut |_, record| {
        match record {
            Record::Message(message) => said.push(message.to_text()),
            Record::Edit(edit) => {
                rewinds += edit.ops.iter().filter(|op| matches!(op, Op::Rewind { .. })).count();
            }
            _ => {}
        }
        Ok::<_, throughline_ledger::LedgerError>(())
    })
    .unwrap();
    assert_eq!(said, ["fix the login", "Done.", "go on 0", "Done.", "go on 1", "Done."]);
    assert_eq!(rewinds, 0);
}
