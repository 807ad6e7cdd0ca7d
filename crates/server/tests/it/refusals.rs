//! A provider that does not take what we made of a request.

use crate::kit::{Asking, World};
use serde_json::{Value, json};
use throughline_server::Managing;
use throughline_testkit::{Http, Reply, Seen};

/// Long enough to be condensed.
fn long(turns: usize) -> Vec<u8> {
    let turn = |at: usize| {
        let text = format!("step {at}: {}", "something was found here ".repeat(200));
        [json!({"role": "user", "content": "go on"}), json!({"role": "assistant", "content": text})]
    };
    let mut messages: Vec<Value> = (0..turns).flat_map(turn).collect();
    messages.push(json!({"role": "user", "content": "and now?"}));
    json!({"model": "claude-sonnet-4-5", "max_tokens": 500, "messages": messages}).to_string().into_bytes()
}

fn small(settings: &mut throughline_server::Settings) {
    settings.manage = Some(Managing { window: Some(20_000), ..Managing::default() });
}

#[tokio::test(flavor = "multi_thread")]
async fn the_clients_own_request_is_sent_where_ours_is_refused_and_after_some_times_nothing_is_changed() {
    // Takes nothing but what the client wrote.
    let whole = |seen: &Seen| -> Reply {
        let asked: Value = serde_json::from_slice(&seen.body).unwrap();
        if asked["messages"].as_array().unwrap().len() > 40 {
            return "Done.".into();
        }
        let error =
            json!({"type": "error", "error": {"type": "invalid_request_error", "message": "messages: odd"}});
        Http::json(400, &error).into()
    };
    let world = World::with(whole, small).await;
    let mut sent = Vec::new();
    for turns in 30..35 {
        let ask = Asking::post("/v1/messages", long(turns)).header("x-throughline-session", "one");
        let reply = world.ask(ask).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        sent.push(world.provider.requests().len());
    }
    assert_eq!(sent, [2, 4, 6, 7, 8], "twice while it is tried, once when it is given up");
    assert_eq!(world.provider.requests().last().unwrap().body, long(34));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_of_the_clients_own_request_is_the_clients() {
    let refused = |_: &Seen| -> Reply { Http::json(400, &json!({"error": {"message": "no"}})).into() };
    let world = World::with(refused, small).await;
    let reply = world.ask(Asking::post("/v1/messages", long(30))).await;
    assert_eq!((reply.status, reply.text().contains("\"no\"")), (400, true));
    let sent = world.provider.requests();
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[1].body, long(30));
    // What was not changed is sent once.
    world.ask(Asking::post("/v1/messages", long(1))).await;
    assert_eq!(world.provider.requests().len(), 3);
}
