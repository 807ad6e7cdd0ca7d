//! Content blocks.

use super::WIRE;
use crate::media::{read_source, write_source};
use crate::object::{self, Reader, Writer, unknown};
use serde_json::{Value, json};
use throughline_core::{Block, Body, CallKind, Media, ResultContent, ToolCall, ToolInput, ToolResult};

/// Reads one content block.
pub(crate) fn decode(raw: Value) -> Block {
    let Value::Object(map) = raw else { return unknown(WIRE, raw) };
    let mut r = Reader::new(WIRE, map);
    let body = match r.kind() {
        "text" => r.string("text").map(Body::Text),
        "thinking" => thinking(&mut r),
        "redacted_thinking" => {
            r.string("data").map(|data| Body::Reasoning { text: String::new(), seal: Some(data) })
        }
        "tool_use" => tool_use(&mut r, CallKind::Function),
        "server_tool_use" | "mcp_tool_use" => tool_use(&mut r, CallKind::Hosted),
        "tool_result" => tool_result(&mut r),
        "image" => read_source(&mut r).map(|source| Body::Image(Media { source })),
        "document" => read_source(&mut r).map(|source| Body::Document(Media { source })),
        _ => None,
    };
    match body {
        Some(body) => {
            let kind = r.kind().to_owned();
            r.finish(body, |w, body| write(w, body, &kind))
        }
        None => unknown(WIRE, r.into_raw()),
    }
}

/// Reads a part of a tool's answer, where calls, results and thinking mean nothing.
fn decode_part(raw: Value) -> Block {
    match raw.get("type").and_then(Value::as_str) {
        Some("text" | "image" | "document") => decode(raw),
        Some(_) | None => unknown(WIRE, raw),
    }
}

fn thinking(r: &mut Reader) -> Option<Body> {
    let text = r.string("thinking")?;
    Some(Body::Reasoning { text, seal: r.string("signature") })
}

fn tool_use(r: &mut Reader, kind: CallKind) -> Option<Body> {
    if !(r.has_string("id") && r.has_string("name")) {
        return None;
    }
    let input = ToolInput::Json(r.take("input")?);
    Some(Body::ToolCall(ToolCall { id: r.string("id")?.into(), name: r.string("name")?, input, kind }))
}

fn tool_result(r: &mut Reader) -> Option<Body> {
    let call = r.string("tool_use_id")?.into();
    let content = if let Some(parts) = r.list("content") {
        ResultContent::Parts(parts.into_iter().map(decode_part).collect())
    } else {
        // Absent, or of a type that says nothing: the shape knows.
        ResultContent::Text(r.string("content").unwrap_or_default())
    };
    let is_error = r.get("is_error").and_then(Value::as_bool);
    Some(Body::ToolResult(ToolResult { call, kind: CallKind::Function, content, is_error }))
}

/// Writes one block; the caller has seen to it that it belongs here ([`fit`](crate::fit)).
pub(crate) fn encode(block: &Block) -> Value {
    object::write_block(WIRE, block, write)
}

fn write(w: &mut Writer<'_>, body: &Body, kind: &str) {
    match body {
        Body::Text(text) => {
            w.str("type", "text");
            w.str("text", text);
        }
        Body::Reasoning { text, seal } => match (kind, seal) {
            ("redacted_thinking", Some(seal)) => {
                w.str("type", "redacted_thinking");
                w.str("data", seal);
            }
            (_, seal) => {
                w.str("type", "thinking");
                w.str("thinking", text);
                if let Some(seal) = seal {
                    w.str("signature", seal);
                }
            }
        },
        Body::ToolCall(call) => {
            w.str("type", if call.kind == CallKind::Hosted { "server_tool_use" } else { "tool_use" });
            w.str("id", call.id.as_str());
            w.str("name", &call.name);
            w.with("input", || input(call));
        }
        Body::ToolResult(result) => {
            w.str("tool_use_id", result.call.as_str());
            w.str("type", "tool_result");
            w.with("content", || match &result.content {
                ResultContent::Text(text) => text.as_str().into(),
                ResultContent::Parts(parts) => parts.iter().map(encode).collect(),
            });
            if let Some(is_error) = result.is_error {
                w.with("is_error", || is_error.into());
            }
        }
        Body::Image(media) => {
            w.str("type", "image");
            write_source(w, &media.source);
        }
        Body::Document(media) => {
            w.str("type", "document");
            write_source(w, &media.source);
        }
        Body::Unknown(_) => {}
    }
}

/// The arguments as an object, which is all that this wire takes. Its own calls are left as they were.
fn input(call: &ToolCall) -> Value {
    match (&call.input, call.kind) {
        (ToolInput::Json(value), CallKind::Function | CallKind::Hosted) => value.clone(),
        (ToolInput::Text(text), _) => json!({ "input": text }),
        (input @ (ToolInput::Json(_) | ToolInput::JsonText(_)), _) => match input.to_json() {
            Some(object @ Value::Object(_)) => object,
            Some(value) => json!({ "input": value }),
            None => json!({ "input": input.to_text() }),
        },
    }
}
