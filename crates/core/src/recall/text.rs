//! The text of a block as it is searched and read back. One definition for both, so that places found by a search
//! are places of what is read.

use crate::{Block, Body, ResultContent, ToolCall};
use serde_json::Value;
use std::borrow::Cow;

/// The legible text of a block: of a call its tool and the values of its arguments, of a result what the tool said.
/// Pictures and sealed payloads have none.
pub fn block_text(block: &Block) -> Cow<'_, str> {
    match &block.body {
        Body::Text(text) | Body::Reasoning { text, .. } => text.as_str().into(),
        Body::ToolCall(call) => call_text(call).into(),
        Body::ToolResult(result) => match &result.content {
            ResultContent::Text(text) => text.as_str().into(),
            ResultContent::Parts(_) => result.content.to_text(),
        },
        Body::Image(_) | Body::Document(_) => "".into(),
        Body::Unknown(value) => {
            let mut text = String::new();
            values(value, &mut text);
            text.into()
        }
    }
}

fn call_text(call: &ToolCall) -> String {
    let mut text = call.name.clone();
    match call.input.to_json() {
        Some(value) => values(&value, &mut text),
        None => {
            text.push('\n');
            text.push_str(&call.input.to_text());
        }
    }
    text
}

/// The values of a JSON document, a line each; the names of its fields are the tool's, not the session's.
fn values(value: &Value, text: &mut String) {
    let mut line = |word: &str| {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(word);
    };
    match value {
        Value::String(word) => line(word),
        Value::Number(number) => line(&number.to_string()),
        Value::Array(items) => items.iter().for_each(|item| values(item, text)),
        Value::Object(fields) => fields.values().for_each(|field| values(field, text)),
        Value::Null | Value::Bool(_) => {}
    }
}
