//! Which requests are forwarded, to whom, and with which credentials (K1).

use crate::kit::{Asking, World};
use crate::local::{TOKEN, world};
use throughline_testkit::Answer;

const HELLO: &str = r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hello"}]}"#;

#[tokio::test(flavor = "multi_thread")]
async fn k1_does_not_forward_requests_of_other_vendors() {
    let world = World::new(Answer::text("Good day.")).await;
    let path = "/v1beta/models/gemini-3-pro:generateContent";
    for ask in [
        Asking::post(path, "{}").header("x-goog-api-key", "AIza-secret"),
        Asking::post(&format!("{path}?key=AIza-secret"), "{}"),
        Asking::get("/v1/models").header("x-goog-api-key", "AIza-secret"),
        Asking::get("/model/m/converse").header("Authorization", "Bearer abc"),
    ] {
        let reply = world.ask(ask).await;
        assert_eq!(reply.status, 404, "{}", reply.text());
        assert!(!reply.text().contains("secret"), "{}", reply.text());
        let error: serde_json::Value = serde_json::from_slice(&reply.body).unwrap();
        let message = error["error"]["message"].as_str().unwrap();
        assert!(message.contains("/v1") || message.contains("/model/m"), "{message}");
        assert!(message.contains("directly"), "{message}");
    }
    assert!(world.provider.requests().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn k1_does_not_forward_cookies_or_tokens_of_our_page() {
    let world = world(Answer::text("Good day.")).await;
    let entered = world.ask(Asking::get(&format!("/?token={TOKEN}"))).await;
    let cookie = entered.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    // A page that there is not, as a browser asks for it.
    let reply = world.ask(Asking::get("/session").header("Cookie", &cookie)).await;
    assert_eq!(reply.status, 404);
    assert!(world.provider.requests().is_empty());
    for ask in [
        Asking::post("/v1/messages", HELLO).header("Cookie", &cookie),
        Asking::get("/v1/models").header("Cookie", &cookie),
        Asking::post("/v1/responses", HELLO).header("Authorization", &format!("Bearer {TOKEN}")),
    ] {
        world.ask(ask).await;
        let seen = world.provider.last().unwrap();
        assert_eq!((seen.header("cookie"), seen.header("authorization")), (None, None));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn k1_forwards_to_a_vendor_only_its_own_credentials() {
    let world = World::new(Answer::text("Good day.")).await;
    let keys = ["x-api-key", "authorization", "x-goog-api-key", "x-auth-token", "xi-api-key"];
    let with_keys = |ask: Asking| keys.iter().fold(ask, |ask, name| ask.header(name, "k"));
    world.ask(with_keys(Asking::post("/v1/messages", HELLO))).await;
    world.ask(with_keys(Asking::post("/v1/chat/completions", HELLO))).await;
    let sent: Vec<Vec<&str>> = world
        .provider
        .requests()
        .iter()
        .map(|seen| keys.into_iter().filter(|name| seen.header(name).is_some()).collect())
        .collect();
    assert_eq!(sent, [vec!["x-api-key", "authorization"], vec!["authorization"]]);
}

#[tokio::test(flavor = "multi_thread")]
async fn k1_forwards_the_paths_that_clients_use() {
    let world = World::new(Answer::text("Good day.")).await;
    for (path, sign, there) in [
        ("/v1/models", "anthropic-version", "/v1/models"),
        ("/api/oauth/profile", "authorization", "/api/oauth/profile"),
        ("/v1/messages/batches", "x-api-key", "/v1/messages/batches"),
        ("/v1/files", "authorization", "/v1/files"),
        ("/v1/batches", "authorization", "/v1/batches"),
        ("/v1/embeddings", "authorization", "/v1/embeddings"),
        ("/models", "authorization", "/v1/models"),
        ("/v1/models", "chatgpt-account-id", "/backend-api/codex/models"),
        ("/v1/anything", "x-throughline-provider", "/v1/anything"),
    ] {
        let reply = world.ask(Asking::get(path).header(sign, "openai")).await;
        assert_ne!(reply.status, 0, "{path}");
        assert_eq!(world.provider.last().map(|seen| seen.path), Some(there.to_owned()), "{path}");
    }
}
