//! What tool calls are about.

use crate::{Entry, ToolInput};
use serde_json::Value;
use std::collections::HashSet;

/// The paths and names among the arguments of tool calls.
pub(super) fn subjects(entries: &[Entry]) -> HashSet<&str> {
    let mut found = HashSet::new();
    for call in entries.iter().flat_map(|entry| entry.message.calls()) {
        match &call.input {
            ToolInput::Json(value) => gather(value, &mut found),
            ToolInput::JsonText(text) | ToolInput::Text(text) => words(text, &mut found),
        }
    }
    found
}

/// Deep values are walked with a list of our own: the stack may be too short for them.
fn gather<'a>(value: &'a Value, found: &mut HashSet<&'a str>) {
    let mut waiting = vec![value];
    while let Some(value) = waiting.pop() {
        match value {
            Value::String(text) => words(text, found),
            Value::Array(items) => waiting.extend(items),
            Value::Object(map) => waiting.extend(map.values()),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

fn words<'a>(text: &'a str, found: &mut HashSet<&'a str>) {
    let apart = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | ',' | '{' | '}' | '[' | ']');
    found.extend(text.split(apart).filter(|word| {
        (4..200).contains(&word.len()) && word.contains(['/', '.', '_']) && !word.starts_with('-')
    }));
}
