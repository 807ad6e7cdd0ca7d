//! What the provider is asked to drop by itself: `cache_edits` (P3b) and `context_management` (W4).

use super::{Stage, result, runtime};
use crate::common::tiny;
use serde_json::{Value, json};
use throughline_core::profile::ServerLimits;
use throughline_core::stages::microcompact::SERVER_EDITS_BETA;
use throughline_core::{Message, Role, Wire};
use throughline_engine::session::Session;
use throughline_model::CancelToken;
use throughline_testkit::{Answer, Playbook, Seen};

/// Reads a file whenever it is asked, and says what it found.
fn reads(wire: Wire) -> Stage {
    let script = Playbook::new()
        .when(
            |seen: &Seen| seen.last_user_text().starts_with("read"),
            Answer::text("I look.").call("Read", json!({"file_path": "src/a.rs"})),
        )
        .otherwise("Done.");
    let mut stage = Stage::new(wire, script);
    stage.settings.profile = tiny("claude");
    stage.settings.window = Some(200_000);
    stage
}

async fn read_files(session: &mut Session, count: usize) {
    for n in 0..count {
        session.record(Message::text(Role::User, format!("read file {n}"))).unwrap();
        session.ask(None, CancelToken::new()).await.unwrap();
        let open = session.open_calls();
        if let Some(call) = open.first() {
            session.record(result(call.id.clone(), n)).unwrap();
            session.record(Message::text(Role::Assistant, "Done.")).unwrap();
        }
    }
}

async fn next_request(session: &mut Session) -> Value {
    session.record(Message::text(Role::User, "and now?")).unwrap();
    serde_json::from_slice(&session.prepare().await.unwrap().body).unwrap()
}

#[test]
fn p3b_our_agent_carries_the_deletions_where_the_provider_can_edit_its_cache() {
    for (wire, allowed, expected) in [
        (Wire::Anthropic, true, true),
        (Wire::Anthropic, false, false),
        (Wire::Responses, true, false),
        (Wire::Chat, true, false),
    ] {
        let mut stage = reads(wire);
        stage.settings.cache_edits = allowed;
        runtime().block_on(async {
            let mut session = stage.open();
            read_files(&mut session, 5).await;
            let request = next_request(&mut session).await;
            let named = request["cache_edits"].as_array().map_or(0, Vec::len);
            assert_eq!(named > 0, expected, "{wire:?} {allowed}: {request}");
            let ledger = session.path().to_owned();
            drop(session);
            let mut again = stage.resume(&ledger);
            let request = next_request(&mut again).await;
            assert_eq!(request["cache_edits"].as_array().map_or(0, Vec::len), named, "{wire:?} {allowed}");
        });
    }
}

#[test]
fn w4_our_agent_asks_for_context_management_where_its_requests_name_the_feature() {
    for (wire, beta, expected) in [
        (Wire::Anthropic, SERVER_EDITS_BETA, true),
        (Wire::Anthropic, "another-2025-01-01", false),
        (Wire::Responses, SERVER_EDITS_BETA, false),
    ] {
        let mut stage = reads(wire);
        stage.betas = vec!["one".to_owned(), beta.to_owned()];
        stage.settings.profile.server = Some(ServerLimits { trigger_tokens: 100, clear_tokens: 50 });
        runtime().block_on(async {
            let mut session = stage.open();
            read_files(&mut session, 2).await;
            let request = next_request(&mut session).await;
            let edits = &request["context_management"]["edits"];
            assert_eq!(edits.is_array(), expected, "{wire:?} {beta}: {request}");
            if expected {
                assert_eq!(edits[0]["type"], "clear_tool_uses_20250919", "it does not think: {edits}");
                let mut frame = session.frame().clone();
                frame.extra.insert("thinking".to_owned(), json!({"type": "adaptive"}));
                session.set_frame(frame);
                let request = next_request(&mut session).await;
                let edits = &request["context_management"]["edits"];
                assert_eq!(edits[0]["type"], "clear_thinking_20251015", "{edits}");
            }
        });
    }
}
