//! A request is cut only where something changes.

mod properties;
mod scribble;

use serde_json::{Value, json};
use throughline_core::{MAX_DEPTH, Message, Role, Wire};
use throughline_wire::splice::{Body, Changes, Fragment, Slot, SpliceError, encode_run};
use throughline_wire::{Request, WireError};

fn rebuild(text: &str, change: impl FnOnce(&mut Changes)) -> String {
    let body = Body::parse(Wire::Responses, text).unwrap();
    let mut changes = Changes::default();
    change(&mut changes);
    String::from_utf8(body.rebuild(&changes).unwrap().into_owned()).unwrap()
}

fn fragments(of: &[Value]) -> Vec<Fragment> {
    of.iter().map(Fragment::from).collect()
}

#[test]
fn w1_new_elements_are_spaced_like_their_neighbours() {
    let pretty = "{\n  \"input\": [\n    1,\n    2,\n    3\n  ]\n}\n";
    let two = fragments(&[json!({"a": 1}), json!("b")]);
    let cases = [
        (1..2, two.clone(), "{\n  \"input\": [\n    1,\n    {\"a\":1},\n    \"b\",\n    3\n  ]\n}\n"),
        (0..0, two.clone(), "{\n  \"input\": [\n    {\"a\":1},\n    \"b\",\n    1,\n    2,\n    3\n  ]\n}\n"),
        (3..3, two.clone(), "{\n  \"input\": [\n    1,\n    2,\n    3,\n    {\"a\":1},\n    \"b\"\n  ]\n}\n"),
        (0..1, Vec::new(), "{\n  \"input\": [\n    2,\n    3\n  ]\n}\n"),
        (1..2, Vec::new(), "{\n  \"input\": [\n    1,\n    3\n  ]\n}\n"),
        (2..3, Vec::new(), "{\n  \"input\": [\n    1,\n    2\n  ]\n}\n"),
        (0..3, Vec::new(), "{\n  \"input\": []\n}\n"),
        (0..3, two[..1].to_vec(), "{\n  \"input\": [\n    {\"a\":1}\n  ]\n}\n"),
    ];
    for (range, with, expected) in cases {
        let rebuilt = rebuild(pretty, |changes| {
            changes.replace(range.clone(), with);
        });
        assert_eq!(rebuilt, expected, "{range:?}");
    }
    let one = rebuild("{\"input\": [\n  1\n]}", |changes| changes.replace(1..1, two.clone()));
    assert_eq!(one, "{\"input\": [\n  1,\n  {\"a\":1},\n  \"b\"\n]}");
    assert_eq!(
        rebuild(r#"{"input":[ ]}"#, |changes| changes.replace(0..0, two.clone())),
        r#"{"input":[{"a":1},"b"]}"#
    );
}

#[test]
fn w1_changes_may_come_in_any_order_and_touch_each_other() {
    let text = r#"{"input":[0, 1,2]}"#;
    let rebuilt = rebuild(text, |changes| {
        changes.replace(2..3, Vec::new());
        changes.replace(1..2, fragments(&[json!("x")]));
        changes.replace(1..1, fragments(&[json!("w")]));
        changes.replace(3..3, fragments(&[json!("y")]));
    });
    assert_eq!(rebuilt, r#"{"input":[0, "w", "x", "y"]}"#);
}

#[test]
fn w4_new_keys_are_spaced_like_the_others() {
    let set = |text: &str| {
        rebuild(text, |changes| {
            changes.set("tools", Fragment::from(&json!([])));
        })
    };
    assert_eq!(set("{}"), r#"{"tools":[]}"#);
    assert_eq!(set("{ }"), r#"{"tools":[]}"#);
    assert_eq!(set(r#"{"a": 1, "b": 2}"#), r#"{"a": 1, "b": 2, "tools": []}"#);
    assert_eq!(set("{\n  \"a\": 1\n}\n"), "{\n  \"a\": 1,\n  \"tools\": []\n}\n");
    assert_eq!(set(r#"{"tools":1,"a":2,"t\u006fols" : 3}"#), r#"{"tools":1,"a":2,"t\u006fols" : []}"#);
    let removed = rebuild(r#"{"tools":1, "a":2,"tools" : 3}"#, |changes| changes.remove("tools"));
    assert_eq!(removed, r#"{"a":2}"#);
    assert_eq!(rebuild(r#"{ "tools":1 }"#, |changes| changes.remove("tools")), "{}");
}

#[test]
fn w1_an_input_of_one_string_becomes_a_list_only_when_it_must() {
    let text = r#"{"input": "caf\u00e9", "model": "m"}"#;
    let body = Body::parse(Wire::Responses, text).unwrap();
    assert_eq!(body.len(), 1);
    assert_eq!(body.message(0).unwrap().user_words(), "café");
    let kept = rebuild(text, |changes| changes.set("model", Fragment::from(&json!("n"))));
    assert_eq!(kept, r#"{"input": "caf\u00e9", "model": "n"}"#);
    let added = rebuild(text, |changes| changes.replace(1..1, fragments(&[json!({"type": "x"})])));
    assert_eq!(
        added,
        r#"{"input": [{"type":"message","role":"user","content":"caf\u00e9"},{"type":"x"}], "model": "m"}"#
    );
    let replaced = rebuild(text, |changes| changes.replace(0..1, fragments(&[json!({"type": "x"})])));
    assert_eq!(replaced, r#"{"input": [{"type":"x"}], "model": "m"}"#);
    assert_eq!(body.advance(r#"{"input": ["caf\u00e9"]}"#).unwrap().same, 0);
    assert_eq!(body.advance(r#"{"stream":true,"input":"caf\u00e9"}"#).unwrap().same, 1);
}

#[test]
fn w1_the_last_of_repeated_conversations_counts_and_the_others_keep_their_bytes() {
    let text = r#"{"messages":[1,2], "m\u0065ssages" :[3] }"#;
    let body = Body::parse(Wire::Chat, text).unwrap();
    assert_eq!((body.len(), body.element(0)), (1, Some(b"3".as_slice())));
    let mut changes = Changes::default();
    changes.replace(0..1, fragments(&[json!(4)]));
    assert_eq!(&*body.rebuild(&changes).unwrap(), br#"{"messages":[1,2], "m\u0065ssages" :[4] }"#);
    let odd = Body::parse(Wire::Chat, r#"{"messages":[1,2],"messages":null}"#).unwrap();
    assert!(odd.is_empty());
}

#[test]
fn w1_a_number_that_grew_is_another_element() {
    let body = Body::parse(Wire::Chat, r#"{"n":12,"messages":[12,1]}"#).unwrap();
    let next = body.advance(r#"{"n":123,"messages":[12,12]}"#).unwrap();
    assert_eq!(next.same, 1);
    assert_eq!((next.body.raw("n"), next.body.element(1)), (Some(b"123".as_slice()), Some(b"12".as_slice())));
}

#[test]
fn w1_text_cut_inside_a_character_passes_through_and_can_be_read() {
    let text = r#"{"messages":[{"role":"user","content":"a\ud83d"},{"role":"user","content":"\ud83d\ude00\udc00 \\ud83d","n":-1e999}]}"#;
    assert!(Request::decode(Wire::Chat, text.as_bytes()).is_err(), "else there is nothing to mend");
    let body = Body::parse(Wire::Chat, text).unwrap();
    assert_eq!(&*body.rebuild(&Changes::default()).unwrap(), text.as_bytes());
    assert_eq!(body.message(0).unwrap().user_words(), "a\u{FFFD}");
    assert_eq!(body.message(1).unwrap().user_words(), "\u{1F600}\u{FFFD} \\ud83d");
    assert_eq!(body.value(1).unwrap()["n"], json!(f64::MIN));
}

#[test]
fn w1_depth_is_limited_as_in_the_ledger() {
    let nested =
        |depth: usize| format!(r#"{{"messages":[{}1{}]}}"#, "[".repeat(depth - 2), "]".repeat(depth - 2));
    let deepest = Body::parse(Wire::Chat, nested(MAX_DEPTH)).unwrap();
    assert_eq!(deepest.value(0).unwrap().to_string(), format!("{}1{}", "[".repeat(198), "]".repeat(198)));
    let error = Body::parse(Wire::Chat, nested(MAX_DEPTH + 1)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the request is not JSON: nested too deep at line 1 column 212; pass its bytes on unchanged"
    );
    assert!(Body::parse(Wire::Chat, "[".repeat(1_000_000)).is_err());
    assert!(Fragment::parse(nested(MAX_DEPTH).into_bytes()).is_err(), "too deep for an element");
}

#[test]
fn w1_what_is_not_json_is_named_with_its_place() {
    let cases: [(&[u8], usize, usize); 9] = [
        (b"", 1, 0),
        (b"{", 1, 1),
        (b"{\"a\":\n  tru}", 2, 3),
        (b"{\"messages\":[1 2]}", 1, 16),
        (b"{\"a\":1}\n\n x", 3, 2),
        (b"{\"a\":\"\x01\"}", 1, 7),
        (b"{\"a\":\"\xFF\"}", 1, 7),
        (b"{\"a\":01}", 1, 7),
        (b"{\"messages\":[{\"a\":\"\\x\"}]}", 1, 21),
    ];
    for (text, line, column) in cases {
        let shown = String::from_utf8_lossy(text);
        let Err(WireError::NotJson { error, .. }) = Body::parse(Wire::Chat, text) else { panic!("{shown}") };
        assert_eq!((error.line(), error.column()), (line, column), "{shown}: {error}");
    }
    let error = Body::parse(Wire::Chat, "[]").unwrap_err();
    assert_eq!(error.to_string(), "the Chat request is JSON, but not an object; pass its bytes on unchanged");
    assert!(Fragment::parse(*b"{} {}").is_err());
}

#[test]
fn w1_every_byte_at_every_place_in_a_string_is_judged_as_json_does() {
    for byte in 0..=u8::MAX {
        for place in 0..20 {
            let mut text = br#"{"messages":["aaaaaaaaaaaaaaaaaaaa"]}"#.to_vec();
            text[14 + place] = byte;
            let theirs = serde_json::from_slice::<Value>(&text).is_ok();
            assert_eq!(Body::parse(Wire::Chat, text.as_slice()).is_ok(), theirs, "{byte:#x} at {place}");
            // The last bytes of a text are looked at one by one.
            let end = &[b"{\"".as_slice(), &text[14..=14 + place], b"\":1}"].concat();
            let theirs = serde_json::from_slice::<Value>(end).is_ok();
            assert_eq!(Body::parse(Wire::Chat, end.as_slice()).is_ok(), theirs, "{byte:#x} at {place}");
        }
    }
}

#[test]
fn w1_changes_that_have_no_place_are_refused() {
    let body = Body::parse(Wire::Chat, r#"{"messages":[1,2]}"#).unwrap();
    let refused = |body: &Body, change: &dyn Fn(&mut Changes)| {
        let mut changes = Changes::default();
        change(&mut changes);
        body.rebuild(&changes).unwrap_err()
    };
    let x = || fragments(&[json!("x")]);
    assert_eq!(
        refused(&body, &|changes| changes.replace(1..3, x())),
        SpliceError::OutOfRange { start: 1, end: 3, len: 2 }
    );
    let twice = |changes: &mut Changes| {
        changes.replace(0..2, x());
        changes.replace(1..2, x());
    };
    assert_eq!(refused(&body, &twice), SpliceError::Overlap(1));
    assert_eq!(
        refused(&body, &|changes| changes.set("messages", x()[0].clone())),
        SpliceError::Conversation("messages")
    );
    let none = Body::parse(Wire::Chat, r#"{"messages":{}}"#).unwrap();
    assert_eq!(
        refused(&none, &|changes| changes.replace(0..0, x())),
        SpliceError::NoConversation("messages")
    );
    assert!(body.changes(&[Slot::Keep(usize::MAX)]).is_err());
}

#[test]
fn w1_messages_side_by_side_are_encoded_together() {
    let mut records = [Message::text(Role::Assistant, "a"), Message::text(Role::Assistant, "b")];
    for record in &mut records {
        record.group = Some("g".into());
    }
    assert_eq!(encode_run(Wire::Anthropic, &records).len(), 1);
    let body = Body::parse(Wire::Anthropic, r#"{"messages":[1]}"#).unwrap();
    let [a, b] = &records;
    let changes = body.changes(&[Slot::Write(a), Slot::Write(b), Slot::Keep(0)]).unwrap();
    assert_eq!(
        &*body.rebuild(&changes).unwrap(),
        br#"{"messages":[{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},1]}"#
    );
}
