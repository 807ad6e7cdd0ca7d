//! What we say of our own in a client's conversation, and requests beside it.

use crate::common::{WIRES, conversation, tiny, valid};
use serde_json::{Value, json};
use throughline_core::pipeline::{Moment, Unrecorded};
use throughline_core::{Message, Role, Wire};
use throughline_engine::{Options, Preparer, RequestFolder};

fn options() -> Options {
    Options { window: Some(6_000), ..Options::new(tiny("throughline")) }
}

fn key(wire: Wire) -> &'static str {
    if wire == Wire::Responses { "input" } else { "messages" }
}

/// The first elements of a conversation.
fn first(whole: &Value, wire: Wire, upto: usize) -> Vec<u8> {
    let mut body = whole.clone();
    body[key(wire)] = whole[key(wire)].as_array().unwrap()[..upto].to_vec().into();
    body.to_string().into_bytes()
}

fn moment() -> Moment {
    Moment { now: Some("2026-01-01T00:00:00Z".parse().unwrap()), ..Moment::default() }
}

fn note() -> Message {
    Message::text(Role::User, "A note of ours.")
}

fn at(messages: &[Message]) -> Vec<usize> {
    (0..messages.len()).filter(|at| messages[*at].to_text() == "A note of ours.").collect()
}

#[test]
fn what_was_told_stays_where_it_was_told() {
    for wire in WIRES {
        let whole = conversation(wire, 6, "short");
        let length = whole[key(wire)].as_array().unwrap().len();
        let mut preparer = Preparer::new(wire, options());
        let mut last: Option<Vec<u8>> = None;
        for upto in (1..=length).filter(|upto| upto % 4 == 1) {
            let taken = preparer.take(first(&whole, wire, upto), &moment(), &mut Unrecorded).unwrap();
            assert_eq!(taken.fresh.len(), if upto == 1 { 1 } else { 4 });
            if upto == 1 {
                preparer.tell(note(), &moment(), &mut Unrecorded).unwrap();
            }
            let ready = preparer.ready(&moment(), &mut Unrecorded).unwrap();
            let messages = valid(wire, &ready.bytes);
            assert_eq!(at(&messages), [1], "{wire:?}");
            assert_eq!(messages.len(), upto + 1);
            if let Some(last) = last.replace(ready.bytes.to_vec()) {
                let same = last.iter().zip(&ready.bytes).take_while(|(a, b)| a == b).count();
                assert!(same + 80 >= last.len(), "{wire:?}: {same} of {}", last.len());
            }
        }
    }
}

#[test]
fn what_was_told_is_there_for_the_next_process_and_stays_when_the_client_goes_back() {
    let wire = Wire::Anthropic;
    let dir = tempfile::tempdir().unwrap();
    let whole = conversation(wire, 3, "short");
    let mut other = whole.clone();
    other["messages"].as_array_mut().unwrap().truncate(1);
    other["messages"]
        .as_array_mut()
        .unwrap()
        .push(json!({"role": "assistant", "content": "Another answer."}));
    other["messages"].as_array_mut().unwrap().push(json!({"role": "user", "content": "Go on."}));
    let requests = [first(&whole, wire, 1), first(&whole, wire, 5), other.to_string().into_bytes()];
    for (turn, bytes) in requests.into_iter().enumerate() {
        let mut preparer = Preparer::new(wire, options());
        let mut folder = RequestFolder::open(dir.path(), &mut preparer, moment().now.unwrap()).unwrap();
        let taken = preparer.take(bytes, &moment(), &mut folder).unwrap();
        assert_eq!(taken.diverged, turn == 2);
        if turn == 0 {
            preparer.tell(note(), &moment(), &mut folder).unwrap();
        }
        let ready = preparer.ready(&moment(), &mut folder).unwrap();
        assert_eq!(at(&valid(wire, &ready.bytes)), [1], "request {turn}");
    }
}

#[test]
fn a_request_beside_the_conversation_gets_what_was_decided_and_decides_nothing() {
    for wire in WIRES {
        let whole = conversation(wire, 40, &"something was found here ".repeat(25));
        let mut preparer = Preparer::new(wire, options());
        let bytes = whole.to_string().into_bytes();
        let sent = preparer.prepare(bytes.clone(), &moment(), &mut Unrecorded).unwrap();
        assert!(sent.pass.changed());
        assert_eq!(preparer.reapply(&bytes).unwrap().as_deref(), Some(sent.bytes.as_ref()));
        // The same conversation with one more message, which the conversation itself never sees.
        let mut beside = whole.clone();
        beside[key(wire)].as_array_mut().unwrap().push(json!({"role": "user", "content": "Say it shorter."}));
        let out = preparer.reapply(beside.to_string().as_bytes()).unwrap().unwrap();
        let (was, now) = (valid(wire, &sent.bytes), valid(wire, &out));
        assert_eq!(now.len(), was.len() + 1, "{wire:?}");
        assert_eq!(now.last().unwrap().to_text(), "Say it shorter.");
        let again = preparer.prepare(bytes.clone(), &moment(), &mut Unrecorded).unwrap();
        assert_eq!(again.bytes, sent.bytes, "nothing was taken in");
        // Of another conversation nothing is known.
        let other = conversation(wire, 1, "fresh").to_string().replace("brief", "other");
        assert_eq!(preparer.reapply(other.as_bytes()).unwrap(), None);
    }
}

#[test]
fn the_size_of_the_clients_own_conversation_is_known_whatever_was_cut() {
    let wire = Wire::Chat;
    let dir = tempfile::tempdir().unwrap();
    let whole = conversation(wire, 40, &"something was found here ".repeat(25));
    let bytes = whole.to_string().into_bytes();
    let mut sizes = Vec::new();
    for _ in 0..2 {
        let mut preparer = Preparer::new(wire, options());
        let mut folder = RequestFolder::open(dir.path(), &mut preparer, moment().now.unwrap()).unwrap();
        let prepared = preparer.prepare(bytes.clone(), &moment(), &mut folder).unwrap();
        assert!(preparer.client_tokens() > 2 * prepared.pass.tokens_after);
        assert_eq!(preparer.client_sizes().len(), whole["messages"].as_array().unwrap().len());
        sizes.push(preparer.client_tokens());
    }
    assert_eq!(sizes[0], sizes[1], "a later process counts the same");
}
