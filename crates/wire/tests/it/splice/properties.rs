//! What holds for any request.

use super::scribble::{Scribble, mutation, text_of_request};
use crate::arbitrary::{any_request, element, more, wire};
use proptest::collection::vec;
use proptest::prelude::*;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use throughline_core::{Block, MAX_DEPTH, Message, Role, Wire, json_depth};
use throughline_wire::splice::{Body, Changes, Fragment, Slot};
use throughline_wire::{Request, WireError, decode_message, encode_messages};

/// What the grammar says, by another reader.
fn is_json(text: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(text).is_ok()
        && std::str::from_utf8(text).is_ok()
        && json_depth(text) <= MAX_DEPTH
}

/// Everything that can be asked of a body: its elements, its keys, its messages.
type Everything = (Vec<Vec<u8>>, Vec<(String, Option<Vec<u8>>)>, Vec<Message>);

fn everything(body: &Body) -> Everything {
    let elements = (0..body.len()).map(|at| body.element(at).unwrap().to_vec()).collect();
    let keys = body.keys().map(|key| (key.clone(), body.raw(&key).map(<[u8]>::to_vec))).collect();
    (elements, keys, body.messages(0..body.len()).collect())
}

fn no_ids(request: &Request) -> Vec<Message> {
    let strip = |message: &Message| Message { id: "".into(), parent: None, ..message.clone() };
    request.messages.iter().map(strip).collect()
}

proptest! {
    #![proptest_config(more(4))]

    #[test]
    fn w1_a_request_without_changes_is_the_same_to_the_byte((wire, text) in text_of_request()) {
        let body = Body::parse(wire, text.as_str()).unwrap();
        prop_assert_eq!(body.bytes(), text.as_bytes());
        prop_assert_eq!(&*body.rebuild(&Changes::default()).unwrap(), text.as_bytes());
        let kept: Vec<Slot> = (0..body.len()).map(Slot::Keep).collect();
        let changes = body.changes(&kept).unwrap();
        prop_assert!(changes.is_empty());
        prop_assert_eq!(&*body.rebuild(&changes).unwrap(), text.as_bytes());
        prop_assert_eq!(body.into_bytes(), text.into_bytes());
    }

    #[test]
    fn w1_elements_and_keys_are_those_of_the_whole_request((wire, text) in text_of_request()) {
        let body = Body::parse(wire, text.as_str()).unwrap();
        let request = Request::decode(wire, text.as_bytes()).unwrap();
        let messages: Vec<Message> = body.messages(0..body.len()).collect();
        prop_assert_eq!(messages, no_ids(&request));
        let whole: Value = serde_json::from_str(&text).unwrap();
        for key in body.keys() {
            prop_assert_eq!(body.get(&key).unwrap().to_string(), whole[key.as_str()].to_string());
        }
        prop_assert_eq!(Body::detect(text.as_bytes()).unwrap(), Request::detect(&whole));
    }

    #[test]
    fn w1_what_is_json_is_read_and_what_is_not_is_named(
        (wire, text) in text_of_request(), mutations in vec(mutation(), 0..3),
    ) {
        let mut text = text.into_bytes();
        mutations.iter().for_each(|mutation| mutation.apply(&mut text));
        match Body::parse(wire, text.clone()) {
            Ok(body) => {
                prop_assert!(is_json(&text));
                let _ = everything(&body);
                prop_assert_eq!(&*body.rebuild(&Changes::default()).unwrap(), text.as_slice());
            }
            Err(WireError::NotObject { .. }) => prop_assert!(is_json(&text)),
            Err(WireError::NotJson { error, .. }) => {
                prop_assert!(!is_json(&text), "{error}");
                let lines = text.split(|&byte| byte == b'\n').count();
                prop_assert!((1..=lines).contains(&error.line()), "{error}");
            }
        }
    }

    #[test]
    fn w1_advancing_gives_what_reading_it_all_gives(
        (wire, text) in text_of_request(), mutations in vec(mutation(), 0..3),
    ) {
        let first = Body::parse(wire, text.as_str()).unwrap();
        let mut next = text.into_bytes();
        mutations.iter().for_each(|mutation| mutation.apply(&mut next));
        match (first.advance(next.clone()), Body::parse(wire, next)) {
            (Ok(advance), Ok(parsed)) => {
                prop_assert_eq!(everything(&advance.body), everything(&parsed));
                let same = (0..parsed.len()).take_while(|&at| parsed.element(at) == first.element(at)).count();
                // A string that stands alone and one in a list are not the same message.
                let alike = parsed.is_empty() || first.is_empty() || parsed.message(0) == first.message(0);
                prop_assert_eq!(advance.same, if alike { same } else { 0 });
            }
            (Err(ours), Err(theirs)) => prop_assert_eq!(ours.to_string(), theirs.to_string()),
            (ours, theirs) => prop_assert!(false, "{ours:?}\n{theirs:?}"),
        }
    }

    #[test]
    fn w1_only_what_is_new_is_read_when_elements_are_added_and_marks_move(
        wire in wire(), before in vec("[a-z]{0,9}", 1..6), after in vec("[a-z]{0,9}", 0..3), tools_first in any::<bool>(),
    ) {
        let say = |text: &str, mark: bool| {
            let mark = if mark { r#","cache_control":{"type":"ephemeral"}"# } else { "" };
            format!(r#"{{"role":"user","content":[{{"type":"text","text":"{text}"{mark}}}]}}"#)
        };
        let key = if wire == Wire::Responses { "input" } else { "messages" };
        let request = |texts: &[&String], tools: &str| {
            let last = texts.len() - 1;
            let list: Vec<String> = texts.iter().enumerate().map(|(at, text)| say(text, at == last)).collect();
            let list = format!(r#""{key}":[{}]"#, list.join(","));
            let tools = format!(r#""tools":[{tools}]"#);
            if tools_first { format!("{{{tools},{list}}}") } else { format!("{{{list},{tools}}}") }
        };
        let all: Vec<&String> = before.iter().chain(&after).collect();
        let first = Body::parse(wire, request(&all[..before.len()], "1")).unwrap();
        // The tools get longer: everything behind them stands elsewhere.
        let next = first.advance(request(&all, "1,2")).unwrap();
        let marked = usize::from(!after.is_empty());
        prop_assert_eq!(next.same, before.len() - marked);
        prop_assert_eq!(next.body.len(), all.len());
    }

    #[test]
    fn w1_what_is_replaced_reads_as_asked_and_the_rest_stays_to_the_byte(
        (wire, text, new, slots) in any_request().prop_flat_map(|(wire, value)| {
            (Just(wire), vec(any::<u8>(), 1..64).prop_map(move |choices| Scribble::write(&value, &choices)),
             vec(element(wire), 1..4), vec((any::<bool>(), 0..8usize), 0..8))
        }),
    ) {
        let body = Body::parse(wire, text.as_str()).unwrap();
        let whole: Value = serde_json::from_str(&text).unwrap();
        let key = if wire == Wire::Responses { "input" } else { "messages" };
        prop_assume!(whole.get(key).is_some_and(Value::is_array));
        let fragments: Vec<Fragment> = new.iter().map(Fragment::from).collect();
        let slots: Vec<Slot> = slots.into_iter().map(|(keep, at)| {
            if keep && at < body.len() { Slot::Keep(at) } else { Slot::Written(fragments[at % fragments.len()].clone()) }
        }).collect();
        let changes = body.changes(&slots).unwrap();
        let rebuilt = body.rebuild(&changes).unwrap();
        prop_assert_eq!(body.pieces(&changes).unwrap().concat(), &*rebuilt);
        let again = Body::parse(wire, &*rebuilt).unwrap();
        prop_assert_eq!(again.len(), slots.len());
        for (at, slot) in slots.iter().enumerate() {
            let expected = match slot {
                Slot::Keep(at) => body.element(*at).unwrap(),
                Slot::Written(fragment) => fragment.bytes(),
                Slot::Write(_) => unreachable!(),
            };
            prop_assert_eq!(again.element(at).unwrap(), expected);
        }
        prop_assert_eq!(body.keys().collect::<Vec<_>>(), again.keys().collect::<Vec<_>>());
        for other in body.keys().filter(|other| other != key) {
            prop_assert_eq!(body.raw(&other), again.raw(&other));
        }
    }

    #[test]
    fn w1_messages_are_written_in_the_form_of_the_wire((wire, text) in text_of_request(), words in "[a-z ]{1,9}") {
        let body = Body::parse(wire, text.as_str()).unwrap();
        prop_assume!(!body.is_empty());
        let note = Message::new(Role::User, vec![Block::text(words)]);
        let mut slots: Vec<Slot> = (1..body.len()).map(Slot::Keep).collect();
        slots.insert(0, Slot::Write(&note));
        let rebuilt = body.rebuild(&body.changes(&slots).unwrap()).unwrap().into_owned();
        let again = Body::parse(wire, rebuilt).unwrap();
        let expected = encode_messages(wire, &[&note]);
        prop_assert_eq!(again.value(0).unwrap(), expected[0].clone());
        prop_assert_eq!(again.message(0).unwrap(), decode_message(wire, expected[0].clone()));
        prop_assert_eq!(again.len(), body.len());
    }

    #[test]
    fn w4_keys_are_set_added_and_taken_away_and_nothing_else_changes(
        (wire, text) in text_of_request(), edits in vec((prop::sample::select(vec!["tools", "system", "model", "new", "é\""]), any::<Option<u8>>()), 1..4),
    ) {
        let body = Body::parse(wire, text.as_str()).unwrap();
        let mut changes = Changes::default();
        let mut expected: Value = serde_json::from_str(&text).unwrap();
        let object = expected.as_object_mut().unwrap();
        for (key, value) in edits {
            match value {
                Some(n) => {
                    changes.set(key, Fragment::from(&json!({"n": n})));
                    object.insert(key.to_owned(), json!({"n": n}));
                }
                None => {
                    changes.remove(key);
                    object.remove(key);
                }
            }
        }
        let rebuilt = body.rebuild(&changes).unwrap();
        prop_assert_eq!(serde_json::from_slice::<Value>(&rebuilt).unwrap(), expected);
        let again = Body::parse(wire, &*rebuilt).unwrap();
        prop_assert_eq!(everything(&again).0, everything(&body).0);
        for key in again.keys().filter(|key| !["tools", "system", "model", "new", "é\""].contains(&key.as_str())) {
            prop_assert_eq!(again.raw(&key), body.raw(&key));
        }
    }
}
