//! Authorisation of callers: the user of the server, and whoever shows that user's secret (P1).

use crate::kit::{Asking, NOBODY, World, is_root};
use throughline_server::Token;
use throughline_testkit::Answer;

const HELLO: &str = r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hello"}]}"#;
const SECRET: &str = "0123456789abcdef-the-secret-of-the-user";

async fn world() -> World {
    World::with(Answer::text("Good day."), |settings| settings.secret = Token::new(SECRET)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn p1_the_secret_is_removed_before_a_request_is_forwarded() {
    let world = world().await;
    for ask in [
        Asking::post(&format!("/t/{SECRET}/v1/messages?beta=true"), HELLO),
        Asking::post("/v1/messages?beta=true", HELLO).header("X-Throughline-Secret", SECRET),
        Asking::post("/v1/messages?beta=true", HELLO).header("Authorization", &format!("Bearer {SECRET}")),
    ] {
        assert_eq!(world.ask(ask).await.status, 200);
        let seen = world.provider.last().unwrap();
        assert_eq!((seen.path.as_str(), seen.header("authorization")), ("/v1/messages", None));
        assert!(!format!("{seen:?}").contains(SECRET), "{seen:?}");
    }
    let unknown = world.ask(Asking::get(&format!("/t/{SECRET}/nowhere"))).await;
    assert_eq!(unknown.status, 404);
    assert!(unknown.text().contains("/nowhere") && !unknown.text().contains(SECRET), "{}", unknown.text());
    world.proxy.stop().await;
    for path in world.home.ledgers().unwrap() {
        assert!(!std::fs::read_to_string(&path).unwrap().contains(SECRET), "{}", path.display());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p1_a_wrong_secret_is_refused_and_not_repeated() {
    let world = world().await;
    for ask in [
        Asking::post("/t/wrong-one/v1/messages", HELLO),
        Asking::post("/t/", HELLO),
        Asking::post("/v1/messages", HELLO).header("X-Throughline-Secret", "wrong-one"),
    ] {
        let reply = world.ask(ask).await;
        assert_eq!(reply.status, 401);
        assert!(!reply.text().contains("wrong-one") && reply.text().contains("proxy/secret"));
    }
    assert!(world.provider.requests().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn p1_another_connection_is_managed_with_the_secret_only() {
    if !is_root("connections of a second user") {
        return;
    }
    let world = world().await;
    let without = Asking::post("/v1/messages", HELLO).of_user(NOBODY, world.proxy.address()).await;
    assert_eq!((without.status, world.proxy.snapshot().unwrap().sessions.len()), (200, 0));
    let with = Asking::post(&format!("/t/{SECRET}/v1/messages"), HELLO);
    assert_eq!(with.of_user(NOBODY, world.proxy.address()).await.status, 200);
    assert_eq!(world.proxy.snapshot().unwrap().sessions.len(), 1);
    world.proxy.stop().await;
    assert_eq!(world.home.ledgers().unwrap().len(), 1);
}
