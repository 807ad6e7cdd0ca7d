//! A provider that does not take what we made of a request.

use crate::kit::{Asking, World};
use crate::too_long::events;
use serde_json::{Value, json};
use throughline_server::Managing;
use throughline_testkit::{Http, Playbook, Reply, Seen};

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
    let home = world.home.clone();
    world.proxy.stop().await;
    let reasons: Vec<Value> =
        events(&home, "proxy.request").into_iter().map(|event| event.data["original"].clone()).collect();
    let after = "after_rejection";
    assert_eq!(reasons, [after, after, after, "rejected_rewrites", "rejected_rewrites"]);
    let (stats, _) = throughline_server::stats(&home, None).unwrap();
    assert_eq!((stats.total.changed, stats.total.originals[after]), (0, 3));
}

/// A request of the one session.
fn ask(path: &str, body: Vec<u8>) -> Asking {
    Asking::post(path, body).header("x-throughline-session", "one")
}

fn invalid(message: &str) -> Reply {
    let error = json!({"type": "invalid_request_error", "message": message});
    Http::json(400, &json!({"type": "error", "error": error})).into()
}

#[tokio::test(flavor = "multi_thread")]
async fn sends_no_original_that_is_known_to_exceed_the_window() {
    let script = |seen: &Seen| match seen.tokens {
        ..=8_000 => invalid("messages: odd"),
        tokens => invalid(&format!("prompt is too long: {tokens} tokens > 8000 maximum")),
    };
    let world = World::new(script).await;
    // The first original shows where the window ends; after that it is known.
    for (turns, original_first) in [(30, true), (31, false), (32, false), (33, false), (34, false)] {
        let before = world.provider.requests().len();
        let reply = world.ask(ask("/v1/messages", long(turns))).await;
        assert_eq!((reply.status, reply.text().contains("odd")), (400, true), "{turns}: {}", reply.text());
        let seen = world.provider.requests();
        let sizes: Vec<u64> = seen[before..].iter().map(|seen| seen.tokens).collect();
        let exceeds: Vec<bool> = sizes.iter().map(|tokens| *tokens > 8_000).collect();
        let expected = if original_first { vec![true, false] } else { vec![false] };
        assert_eq!(exceeds, expected, "{turns}: {sizes:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sends_the_original_after_a_rejection_without_a_report() {
    let script = |seen: &Seen| -> Reply {
        match seen.body == long(30) {
            true => "Done.".into(),
            false => Http { status: 400, headers: Vec::new(), body: Vec::new() }.into(),
        }
    };
    let world = World::with(script, small).await;
    assert_eq!(world.ask(ask("/v1/messages", long(30))).await.status, 200);
    assert_eq!(world.provider.requests().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn sends_the_original_of_a_rejected_side_request() {
    let count = |seen: &Seen| seen.path.ends_with("count_tokens");
    let script = Playbook::new()
        .when_other(move |seen| count(seen) && seen.body != long(30), invalid("messages: odd"))
        .otherwise("Done.");
    let world = World::with(script, small).await;
    assert_eq!(world.ask(ask("/v1/messages", long(30))).await.status, 200);
    assert_eq!(world.ask(ask("/v1/messages/count_tokens", long(30))).await.status, 200);
    let seen = world.provider.requests();
    let counted: Vec<bool> =
        seen.iter().filter(|seen| count(seen)).map(|seen| seen.body == long(30)).collect();
    assert_eq!(counted, [false, true]);
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
