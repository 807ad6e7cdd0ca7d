//! W1 and W2 on requests that real clients sent.
//!
//! `THROUGHLINE_CAPTURES` names a folder of logs, one JSON file per request with its `path`, `headers` and `body`, at any depth. The
//! logs hold the clients' own prompts and are not part of this repository.

use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use throughline_core::{Wire, invariants};
use throughline_wire::{Request, encode_messages};

struct Capture {
    file: PathBuf,
    wire: Wire,
    session: String,
    body: Value,
}

fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, out);
        } else if path.extension().is_some_and(|ext| ext == "json") {
            out.push(path);
        }
    }
}

fn read(file: PathBuf) -> Option<Capture> {
    let mut log: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).ok()?;
    let wire = match log["path"].as_str()? {
        path if path.contains("/messages") => Wire::Anthropic,
        path if path.contains("/responses") => Wire::Responses,
        path if path.contains("/chat/completions") => Wire::Chat,
        _ => return None,
    };
    let header = |names: &[&str]| {
        let headers = log["headers"].as_object().cloned().unwrap_or_default();
        let found = headers.iter().find(|(key, _)| names.contains(&key.to_lowercase().as_str()));
        found.and_then(|(_, value)| value.as_str().map(str::to_owned)).unwrap_or_default()
    };
    // Counting tokens and sub-agents are conversations of their own.
    let session = header(&["x-claude-code-session-id", "thread-id"])
        + &header(&["x-claude-code-agent-id"])
        + if log["path"].as_str()?.ends_with("count_tokens") { "count" } else { "" };
    Some(Capture {
        session: format!("{}{session}", file.parent()?.display()),
        file,
        wire,
        body: log["body"].take(),
    })
}

/// A message without what clients change from one request to the next, done on the raw JSON.
fn plain(message: &Value) -> Value {
    match message {
        Value::Object(map) => {
            let keep = |(key, value): (&String, &Value)| match (key.as_str(), value) {
                ("cache_control", _) => None,
                ("content", Value::String(text)) => {
                    Some((key.clone(), json!([{"type": "text", "text": text}])))
                }
                _ => Some((key.clone(), plain(value))),
            };
            map.iter().filter_map(keep).collect::<Map<_, _>>().into()
        }
        Value::Array(list) => list.iter().map(plain).collect(),
        leaf => leaf.clone(),
    }
}

fn common<T: PartialEq>(a: &[T], b: &[T]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

#[test]
fn w1_w2_requests_of_real_clients() {
    let Some(folder) = std::env::var_os("THROUGHLINE_CAPTURES") else {
        println!("skipped: THROUGHLINE_CAPTURES names no folder of logged requests");
        return;
    };
    let mut found = Vec::new();
    files(Path::new(&folder), &mut found);
    let captures: Vec<Capture> = found.into_iter().filter_map(read).collect();
    assert!(!captures.is_empty(), "no logged requests in {}", folder.display());

    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    let (mut pairs, mut continued, mut messages) = (0, 0, 0);
    let mut before: BTreeMap<&str, (Vec<Value>, Vec<String>)> = BTreeMap::new();
    for capture in &captures {
        let at = capture.file.display();
        let request = Request::from_value(capture.wire, capture.body.clone()).unwrap();
        assert_eq!(request.encode().to_string(), capture.body.to_string(), "{at}: not the same again");
        assert_eq!(Request::detect(&capture.body), Some(capture.wire), "{at}: taken for another wire");
        assert_eq!(invariants::check(&request.messages), [], "{at}: breaks a rule");
        for to in [Wire::Anthropic, Wire::Responses, Wire::Chat] {
            let list = encode_messages(to, &request.messages);
            let mut read: Vec<_> =
                list.into_iter().map(|raw| throughline_wire::decode_message(to, raw)).collect();
            throughline_wire::chain(None, &mut read);
            assert_eq!(invariants::check(&read), [], "{at}: breaks a rule as {to:?}");
        }
        for block in request.messages.iter().flat_map(|m| &m.blocks) {
            let kind = match &block.body {
                throughline_core::Body::Unknown(raw) => format!("unknown {}", raw["type"]),
                body => format!("{body:?}").split(['(', ' ']).next().unwrap().to_owned(),
            };
            let shaped = if block.shape.is_some() { ", shaped" } else { "" };
            *kinds.entry(format!("{:?} {kind}{shaped}", capture.wire)).or_default() += 1;
        }
        messages += request.messages.len();

        let key = match capture.wire {
            Wire::Responses => "input",
            Wire::Anthropic | Wire::Chat => "messages",
        };
        let raw: Vec<Value> = capture.body[key].as_array().into_iter().flatten().map(plain).collect();
        let ids: Vec<String> = request.messages.iter().map(|m| m.id.to_string()).collect();
        if let Some((old_raw, old_ids)) = before.get(capture.session.as_str()) {
            let same = common(old_raw, &raw);
            assert!(common(old_ids, &ids) >= same, "{at}: the same message got another id");
            pairs += 1;
            continued += usize::from(common(old_ids, &ids) == old_ids.len());
        }
        before.insert(&capture.session, (raw, ids));
    }
    println!(
        "{} requests, {messages} messages, {} sessions; {continued} of {pairs} follow-ups kept every id of the request before",
        captures.len(),
        before.len(),
    );
    kinds.iter().for_each(|(kind, count)| println!("{count:6} {kind}"));
    assert!(continued * 2 > pairs, "most requests continue the one before");
}
