use crate::arbitrary::message;
use proptest::prelude::*;
use throughline_core::{Record, RecordError};

proptest! {
    #[test]
    fn l1_a_message_survives_the_ledger(message in message()) {
        let record = Record::Message(Box::new(message));
        let mut line = Vec::new();
        record.write(&mut line).unwrap();
        let kind_first = line.starts_with(br#"{"kind":"message","#);
        prop_assert!(kind_first, "the kind is read without parsing the rest");
        prop_assert!(!line.contains(&b'\n'));
        prop_assert_eq!(Record::parse(&line).unwrap(), record);
    }

    #[test]
    fn l7_no_bytes_make_the_parser_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = Record::parse(&bytes);
    }
}

#[test]
fn l7_a_newer_kind_is_told_from_garbage() {
    let newer = Record::parse(br#"{"kind":"hologram","x":1}"#);
    assert!(matches!(newer, Err(RecordError::UnknownKind(kind)) if kind == "hologram"));
    assert!(matches!(Record::parse(b"{\"kind\":"), Err(RecordError::Malformed(_))));
}

#[test]
fn a_line_whose_kind_does_not_come_first_is_read_all_the_same() {
    let line = br#"{"id":"m","role":"user","blocks":[],"kind":"message"}"#;
    assert!(matches!(Record::parse(line).unwrap(), Record::Message(_)));
}

#[test]
fn l1_what_can_be_written_can_be_read_however_deep() {
    use throughline_core::{
        Block, Body, MAX_DEPTH, Message, Role, ToolCall, ToolInput, json_depth, parse_json,
    };
    // As deep as serde_json takes JSON that a provider sends.
    let deep = format!("{}1{}", "[".repeat(127), "]".repeat(127));
    let input = ToolInput::Json(serde_json::from_str(&deep).unwrap());
    let call = ToolCall { id: "c".into(), name: "Deep".into(), input, kind: Default::default() };
    let block: Block = Body::ToolCall(call).into();
    let record = Record::Message(Box::new(Message::new(Role::Assistant, vec![block])));
    let mut line = Vec::new();
    record.write(&mut line).unwrap();
    assert!(json_depth(&line) > 128 && json_depth(&line) < MAX_DEPTH);
    assert_eq!(Record::parse(&line).unwrap(), record);
    let abyss = "[".repeat(1_000_000);
    assert!(parse_json::<serde_json::Value>(abyss.as_bytes()).is_err());
}
