//! Messages and requests in a form that people can review: one line per block.

use serde_json::Value;
use std::fmt::Write;
use throughline_core::{Block, Body, CallKind, Message, ResultContent, Source, ToolInput, ToolResult};

/// One line per message, one per block. `~` marks what has a shape.
pub(crate) fn messages(messages: &[Message]) -> String {
    let mut out = String::new();
    for message in messages {
        let role = format!("{:?}", message.role).to_lowercase();
        let bare = if message.bare { " bare" } else { "" };
        writeln!(out, "{role}{bare}{}", tilde(message.shape.is_some())).unwrap();
        for block in &message.blocks {
            writeln!(out, "  {}", self::block(block)).unwrap();
        }
    }
    out
}

fn tilde(is_shaped: bool) -> &'static str {
    if is_shaped { " ~" } else { "" }
}

fn block(block: &Block) -> String {
    let body = match &block.body {
        Body::Text(text) => format!("text {text:?}"),
        Body::Reasoning { text, seal } => {
            format!("reasoning {text:?} seal {:?}", seal.as_deref().unwrap_or("none"))
        }
        Body::ToolCall(call) => {
            let input = match &call.input {
                ToolInput::Json(value) => format!("json {value}"),
                ToolInput::JsonText(text) => format!("json text {text:?}"),
                ToolInput::Text(text) => format!("text {text:?}"),
            };
            format!("call {} {}{} {input}", call.id, call.name, kind(call.kind))
        }
        Body::ToolResult(result) => self::result(result),
        Body::Image(media) => format!("image {}", source(&media.source)),
        Body::Document(media) => format!("document {}", source(&media.source)),
        Body::Unknown(raw) => format!("unknown {raw}"),
    };
    format!("{body}{}", tilde(block.shape.is_some()))
}

fn kind(kind: CallKind) -> String {
    match kind {
        CallKind::Function => String::new(),
        other => format!(" ({other:?})"),
    }
}

fn result(result: &ToolResult) -> String {
    let content = match &result.content {
        ResultContent::Text(text) => format!("{text:?}"),
        ResultContent::Parts(parts) => {
            let parts: Vec<_> = parts.iter().map(block).collect();
            format!("[{}]", parts.join(" | "))
        }
    };
    let error = result.is_error.map(|error| format!(" error={error}")).unwrap_or_default();
    format!("result {}{}{error} {content}", result.call, kind(result.kind))
}

fn source(source: &Source) -> String {
    match source {
        Source::Base64 { media_type, data } => format!("{media_type} {data}"),
        Source::Url(url) => format!("at {url}"),
        Source::File(id) => format!("file {id}"),
        Source::Other(raw) => format!("other {raw}"),
    }
}

/// One line per element of a request's list.
pub(crate) fn elements(list: &[Value]) -> String {
    let lines: Vec<String> = list.iter().map(Value::to_string).collect();
    lines.join("\n")
}
