//! What the provider is asked to drop by itself: `context_management` (W4) and `cache_edits` (P3b).

use crate::kit::{Asking, World};
use crate::too_long::conversation;
use serde_json::{Value, json};
use throughline_core::Wire;
use throughline_core::profile::{Profile, ServerLimits};
use throughline_core::stages::microcompact::SERVER_EDITS_BETA;
use throughline_server::{Managing, Settings};

fn managed(cache_edits: bool) -> impl FnOnce(&mut Settings) {
    move |settings| {
        let server = Some(ServerLimits { trigger_tokens: 500, clear_tokens: 100 });
        let profile = Profile { server, ..Profile::claude() };
        settings.manage = Some(Managing { profile, cache_edits, ..Managing::default() });
    }
}

fn asking(path: &str, body: &Value, betas: &str) -> Asking {
    Asking::post(path, body.to_string())
        .header("x-throughline-session", "one")
        .header("anthropic-beta", betas)
}

#[tokio::test(flavor = "multi_thread")]
async fn w4_context_management_goes_only_with_the_header_that_it_needs() {
    let with = format!("one-2025-01-01, {SERVER_EDITS_BETA}");
    for (betas, expected) in [(with.as_str(), true), ("one-2025-01-01", false)] {
        let world = World::with("Done.", managed(false)).await;
        let body = conversation(Wire::Anthropic, 6);
        world.ask(asking("/v1/messages", &body, betas)).await;
        let last = world.provider.last().unwrap();
        let sent = last.json();
        assert_eq!(sent["context_management"].is_object(), expected, "{betas}: {sent}");
        // A request beside the conversation is held to the same rule.
        world.ask(asking("/v1/messages/count_tokens", &body, "one-2025-01-01")).await;
        let last = world.provider.last().unwrap();
        let sent = last.json();
        assert!(sent.get("context_management").is_none(), "{betas}: {sent}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn w4_context_management_of_the_clients_own_stays() {
    let world = World::with("Done.", managed(false)).await;
    let mut body = conversation(Wire::Anthropic, 6);
    let own = json!({"edits": [{"type": "clear_tool_uses_20250919"}]});
    body["context_management"] = own.clone();
    world.ask(asking("/v1/messages", &body, SERVER_EDITS_BETA)).await;
    assert_eq!(world.provider.last().unwrap().json()["context_management"], own);
}

#[tokio::test(flavor = "multi_thread")]
async fn p3b_the_proxy_carries_deletions_where_the_settings_ask_for_them() {
    for cache_edits in [true, false] {
        let world = World::with("Done.", managed(cache_edits)).await;
        let body = conversation(Wire::Anthropic, 8);
        world.ask(asking("/v1/messages", &body, "one")).await;
        let last = world.provider.last().unwrap();
        let sent = last.json();
        let named: Vec<&str> = sent["cache_edits"]
            .as_array()
            .map(|edits| edits.iter().filter_map(|edit| edit["tool_use_id"].as_str()).collect())
            .unwrap_or_default();
        let expected: &[&str] = if cache_edits { &["call_0", "call_1", "call_2"] } else { &[] };
        assert_eq!(named, expected, "{sent}");
    }
}
