//! Conversations that are awake hold no more together than they may, and go on as if all of them were.

use crate::kit::{Asking, World};
use serde_json::{Value, json};
use throughline_ledger::list;
use throughline_testkit::{Answer, Gate, Reply as Said, Seen};

/// What may be held, and what one of them takes: a good third of it.
const MOST: usize = 1 << 20;
const LONG: usize = 150_000;

fn echo(seen: &Seen) -> Said {
    Answer::text(format!("You said: {}", seen.last_user_text().len())).into()
}

/// The first words of a conversation, long and its own.
fn first(number: usize) -> Value {
    let text = format!("file {number} of many, and what stands in it; ");
    json!({"role": "user", "content": text.repeat(LONG / text.len())})
}

fn asking(number: usize, messages: &[Value]) -> Asking {
    let body = json!({"model": "claude-opus-4-5", "max_tokens": 99, "messages": messages});
    Asking::post("/v1/messages", body.to_string())
        .header("x-throughline-session", &format!("conversation-{number}"))
        .header("content-type", "application/json")
}

fn held(world: &World) -> usize {
    usize::try_from(world.proxy.snapshot().unwrap().held).unwrap()
}

fn awake(world: &World) -> usize {
    world.proxy.snapshot().unwrap().sessions.iter().filter(|session| session.awake).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_awake_takes_at_most_four_times_its_request() {
    let world = World::new(echo).await;
    world.ask(asking(0, &[first(0)])).await;
    let one = held(&world);
    assert!((2 * LONG..4 * LONG).contains(&one), "{one} bytes for a request of {LONG}");
    world.proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_is_held_than_may_be_and_every_conversation_goes_on() {
    let world = World::with(echo, |settings| settings.limits.awake_bytes = MOST).await;
    let mut talks: Vec<Vec<Value>> = (0..8).map(|number| vec![first(number)]).collect();
    for round in 0..3 {
        for (number, messages) in talks.iter_mut().enumerate() {
            let reply = world.ask(asking(number, messages)).await;
            assert_eq!(reply.status, 200);
            let answer: Value = serde_json::from_slice(&reply.body).unwrap();
            messages.push(json!({"role": "assistant", "content": answer["content"]}));
            messages.push(json!({"role": "user", "content": format!("round {round}")}));
            assert!(held(&world) <= MOST, "{} bytes are held", held(&world));
            assert!(awake(&world) < talks_that_fit(), "too many are awake");
        }
    }
    let snapshot = world.proxy.snapshot().unwrap();
    assert_eq!(snapshot.failures, 0, "{:?}", snapshot.problems);
    let home = world.home.clone();
    world.proxy.stop().await;
    assert_eq!(list(&home).unwrap().len(), 8, "one ledger for each, whether it rested or not");
}

/// Each holds its request and its messages at least.
fn talks_that_fit() -> usize {
    MOST / (2 * LONG) + 1
}

#[tokio::test(flavor = "multi_thread")]
async fn those_rest_too_whose_answers_are_on_their_way() {
    let gate = Gate::new();
    let at = gate.clone();
    let script = move |seen: &Seen| -> Said {
        Answer::text(format!("You said: {}", seen.last_user_text().len())).at(&at).into()
    };
    let world = World::with(script, |settings| settings.limits.awake_bytes = MOST).await;
    let proxy = world.proxy.address();
    let asked: Vec<_> =
        (0..8).map(|number| tokio::spawn(asking(number, &[first(number)]).of(proxy))).collect();
    while world.provider.requests().len() < 8 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert!(held(&world) <= MOST, "{} bytes are held while all wait", held(&world));
    gate.open();
    for reply in asked {
        assert_eq!(reply.await.unwrap().status, 200);
    }
    let snapshot = world.proxy.stop().await.unwrap();
    assert_eq!((snapshot.sessions.len(), snapshot.total.requests, snapshot.failures), (8, 8, 0));
}
