//! P5 and B7.

mod progress;
mod restored;
mod rungs;
mod two_hours;
mod window;

use throughline_core::{Body, CallKind, Entry, Message, Role, ToolCall, ToolInput, ToolResult};

/// A message with a legible id.
pub(crate) fn said(id: &str, role: Role, text: &str) -> Entry {
    let mut message = Message::text(role, text);
    message.id = id.into();
    message.into()
}

pub(crate) fn call(id: &str, call: &str, name: &str, input: serde_json::Value, text: &str) -> Entry {
    let made = ToolCall {
        id: call.into(),
        name: name.to_owned(),
        input: ToolInput::Json(input),
        kind: CallKind::Function,
    };
    let mut message = Message::text(Role::Assistant, text);
    message.id = id.into();
    message.blocks.push(Body::ToolCall(made).into());
    message.into()
}

pub(crate) fn result(id: &str, call: &str, text: &str) -> Entry {
    let mut message =
        Message::new(Role::User, vec![Body::ToolResult(ToolResult::text(call.into(), text)).into()]);
    message.id = id.into();
    message.into()
}

/// A view in lines that a reviewer can read: who, how, and the first words.
pub(crate) fn outline(entries: &[Entry]) -> String {
    let mut out = String::new();
    for entry in entries {
        let message = entry.shown();
        let mark = match (message.flags.summary, message.flags.meta) {
            (true, _) => " summary",
            (false, true) => " meta",
            (false, false) => "",
        };
        out.push_str(&format!("{:?}{mark}\n", message.role).to_lowercase());
        for block in &message.blocks {
            let line = match &block.body {
                Body::Text(text) => text.clone(),
                Body::Reasoning { text, .. } => format!("reasoning: {text}"),
                Body::ToolCall(call) => format!("call {} {} {}", call.id, call.name, call.input.to_text()),
                Body::ToolResult(result) => format!("result {}: {}", result.call, result.content.to_text()),
                Body::Image(_) => "[image]".to_owned(),
                Body::Document(_) => "[document]".to_owned(),
                Body::Unknown(value) => value.to_string(),
            };
            for line in line.lines() {
                out.push_str(&format!("  | {line}\n"));
            }
        }
    }
    out
}
