//! What passes through is what came, to the byte.

use crate::kit::{Asking, World};
use serde_json::json;
use throughline_testkit::Answer;

fn hello() -> Vec<u8> {
    // Spaces and an order of keys that no encoder of ours would write.
    br#"{ "stream":true,"max_tokens" : 9, "messages": [{"content":"hello","role":"user"}],"model":"m" }"#
        .to_vec()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_needs_nothing_arrives_as_it_was_sent() {
    let world = World::new(Answer::text("Good day.")).await;
    let ask = Asking::post("/v1/messages?beta=true", hello())
        .header("anthropic-version", "2023-06-01")
        .header("anthropic-beta", "a-2025,b-2026")
        .header("X-Api-Key", "sk-test")
        .header("x-throughline-session", "one")
        .header("Connection", "close, x-of-the-hop")
        .header("x-of-the-hop", "1");
    let through = world.ask(ask.clone()).await;
    let alone = throughline_testkit::Server::start(Answer::text("Good day.")).unwrap();
    let direct = ask.of(alone.address()).await;
    assert_eq!(through.text(), direct.text());
    assert!(through.is_whole && through.status == 200);
    assert_eq!(through.header("content-type"), direct.header("content-type"));
    let seen = &world.provider.requests()[0];
    assert_eq!(seen.body, hello());
    assert_eq!(seen.header("anthropic-beta"), Some("a-2025,b-2026"));
    assert_eq!(seen.header("x-api-key"), Some("sk-test"));
    assert_eq!(seen.header("x-throughline-session"), None, "what is said to us goes no further");
    assert_eq!(seen.header("x-of-the-hop"), None);
    assert_eq!(seen.header("host"), Some(world.provider.address().to_string().as_str()));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_by_another_name_is_not_answered() {
    let world = World::new(Answer::text("Good day.")).await;
    let reply = world.ask(Asking::post("/v1/messages", hello()).header("Host", "evil.example")).await;
    assert_eq!(reply.status, 403);
    let from = Asking::post("/v1/messages", hello()).header("Origin", "http://evil.example");
    assert_eq!(world.ask(from).await.status, 403);
    assert_eq!(world.ask(Asking::get("/")).await.status, 401);
    assert_eq!(world.ask(Asking::get("/health")).await.status, 200);
    assert!(world.provider.requests().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_too_large_is_refused_in_the_providers_form() {
    let world = World::with(Answer::text("Good day."), |settings| settings.limits.request_bytes = 50).await;
    let reply = world.ask(Asking::post("/v1/messages", hello())).await;
    assert_eq!(reply.status, 413);
    let error: serde_json::Value = serde_json::from_slice(&reply.body).unwrap();
    assert_eq!(error["error"]["type"], "request_too_large");
    let reply =
        world.ask(Asking::post("/v1/chat/completions", json!({"x": "y".repeat(99)}).to_string())).await;
    assert_eq!(reply.status, 413);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chatgpt_login_is_sent_to_where_it_holds() {
    let world = World::new(Answer::text("Good day.")).await;
    let get = |path: &str| Asking::get(path).header("ChatGPT-Account-ID", "acc_1");
    world.ask(get("/v1/models?client_version=1")).await;
    world.ask(Asking::get("/v1/models")).await;
    let asked: Vec<String> = world.provider.requests().iter().map(|seen| seen.path.clone()).collect();
    assert_eq!(asked, ["/backend-api/codex/models", "/v1/models"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_wants_a_websocket_is_told_to_ask_over_http() {
    let world = World::new(Answer::text("Good day.")).await;
    let ask =
        Asking::get("/v1/responses").header("Upgrade", "websocket").header("Sec-WebSocket-Version", "13");
    assert_eq!(world.ask(ask).await.status, 426);
    assert!(world.provider.requests().is_empty());
}

/// Every file below a folder, with what it holds.
fn files(folder: &std::path::Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| {
            if path.is_dir() { files(&path) } else { vec![(path.clone(), std::fs::read(path).unwrap())] }
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_pass_through_and_are_written_nowhere() {
    const KEY: &str = "key-that-nobody-else-may-see-0123456789";
    let world = World::new(Answer::text("Good day.")).await;
    for header in ["x-api-key", "authorization", "api-key"] {
        let ask =
            Asking::post("/v1/messages", hello()).header(header, KEY).header("x-throughline-session", header);
        assert_eq!(world.ask(ask).await.status, 200);
        assert_eq!(world.provider.requests().last().unwrap().header(header), Some(KEY));
    }
    world.proxy.stop().await;
    let files = files(world.home.root());
    assert!(files.len() >= 3, "three sessions were kept: {files:?}");
    for (path, bytes) in files {
        assert!(!String::from_utf8_lossy(&bytes).contains(KEY), "{}", path.display());
    }
}
