use super::{Placed, put_back};
use serde_json::{Value, json};
use throughline_core::Wire;
use throughline_wire::splice::{Body, Fragment, Slot};

/// The messages that are sent when those at `kept` stay, with one of ours behind them where `told`.
fn sent(messages: &Value, kept: &[usize], told: Option<&Value>) -> Vec<String> {
    let body = Body::parse(Wire::Anthropic, json!({ "messages": messages }).to_string()).unwrap();
    let mut elements: Vec<Placed<'_>> =
        kept.iter().map(|at| Placed { slot: Slot::Keep(*at), place: Some(*at) }).collect();
    elements.extend(told.map(|told| Placed { slot: Slot::Written(Fragment::from(told)), place: None }));
    put_back(&mut elements, &body);
    let bytes = |element: &Placed<'_>| match &element.slot {
        Slot::Keep(at) => body.element(*at).unwrap().to_vec(),
        Slot::Written(fragment) => fragment.bytes().to_vec(),
        Slot::Write(_) => unreachable!("nothing is left to be written"),
    };
    elements.iter().map(|element| String::from_utf8(bytes(element)).unwrap()).collect()
}

fn marked(text: &str) -> Value {
    json!({"role": "user", "content": [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]})
}

#[test]
fn a_mark_passes_over_thinking_and_empty_text_and_changes_no_other_byte() {
    let answer = r#"{"role": "assistant",  "content": [{"type":"text","text":"\u0061"} , {"type":"thinking","thinking":"hm","signature":"s"}, {"type":"text","text":" "}]}"#;
    let messages = format!(r#"{{"messages":[{answer},{}]}}"#, marked("gone"));
    let body = Body::parse(Wire::Anthropic, messages).unwrap();
    let mut elements = [Placed { slot: Slot::Keep(0), place: Some(0) }];
    put_back(&mut elements, &body);
    let Slot::Written(fragment) = &elements[0].slot else { panic!("it was not marked") };
    let with = answer.replace(r#""\u0061"}"#, r#""\u0061","cache_control":{"type":"ephemeral"}}"#);
    assert_eq!(String::from_utf8_lossy(fragment.bytes()), with);
}

#[test]
fn a_mark_goes_back_over_whole_messages_that_cannot_be_marked() {
    let messages = json!([
        {"role": "user", "content": "plain"},
        {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "x"}]},
        {"role": "user", "content": ""},
        marked("gone"),
    ]);
    let sent = sent(&messages, &[0, 1, 2], None);
    let first: Value = serde_json::from_str(&sent[0]).unwrap();
    assert_eq!(first, marked("plain"));
    assert_eq!(sent[1..].join("").matches("cache_control").count(), 0);
}

#[test]
fn marks_that_meet_become_one_and_what_stands_behind_gets_none() {
    let messages = json!([marked("a"), marked("gone"), marked("gone too"), {"role": "user", "content": "z"}]);
    assert_eq!(sent(&messages, &[0, 3], None).join("").matches("cache_control").count(), 1);
    // Nothing is left at or before the mark.
    assert_eq!(sent(&messages, &[3], None), [r#"{"role":"user","content":"z"}"#]);
    // What took the place of everything.
    let told = json!({"role": "user", "content": "so far"});
    let all = sent(&messages, &[], Some(&told));
    assert_eq!(all, [marked("so far").to_string()]);
}

#[test]
fn elements_that_cannot_be_read_are_left_as_they_are() {
    let messages = json!([{"role": "user", "content": 7}, 9, {"role": "user"}, marked("gone")]);
    let left = sent(&messages, &[0, 1, 2], None);
    assert_eq!(left, [r#"{"role":"user","content":7}"#, "9", r#"{"role":"user"}"#]);
}
