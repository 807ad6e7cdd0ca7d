//! Elements of `tool_calls`.

use super::{PLACE, WIRE};
use crate::object::{self, Reader, Writer, mark};
use serde_json::Value;
use throughline_core::{Block, Body, CallKind, ToolCall, ToolInput};

/// Reads one call.
pub(crate) fn decode(raw: Value) -> Block {
    let unknown = |raw| Block { body: Body::Unknown(raw), shape: mark(WIRE, &[(PLACE, "tool_calls")]) };
    let Value::Object(map) = raw else { return unknown(raw) };
    let mut r = Reader::new(WIRE, map);
    let call = match r.kind() {
        // Some servers leave the type out.
        "function" | "" => function(&mut r),
        "custom" => custom(&mut r),
        _ => None,
    };
    match call {
        Some(call) => r.finish(Body::ToolCall(call), write),
        None => unknown(r.into_raw()),
    }
}

fn function(r: &mut Reader) -> Option<ToolCall> {
    let fits = r.has_string("id")
        && r.inner_string("function", "name").is_some()
        && r.inner_string("function", "arguments").is_some();
    if !fits || !r.open("function") {
        return None;
    }
    Some(ToolCall {
        id: r.string("id")?.into(),
        name: r.string("function.name")?,
        input: ToolInput::JsonText(r.string("function.arguments")?),
        kind: CallKind::Function,
    })
}

fn custom(r: &mut Reader) -> Option<ToolCall> {
    let fits = r.has_string("id")
        && r.inner_string("custom", "name").is_some()
        && r.inner_string("custom", "input").is_some();
    if !fits || !r.open("custom") {
        return None;
    }
    Some(ToolCall {
        id: r.string("id")?.into(),
        name: r.string("custom.name")?,
        input: ToolInput::Text(r.string("custom.input")?),
        kind: CallKind::Custom,
    })
}

/// Writes one call.
pub(crate) fn encode(block: &Block) -> Value {
    object::write_block(WIRE, block, |w, body, _| write(w, body))
}

fn write(w: &mut Writer<'_>, body: &Body) {
    let Body::ToolCall(call) = body else { return };
    w.str("id", call.id.as_str());
    match call.kind {
        CallKind::Custom => {
            w.str("type", "custom");
            w.inner("custom");
            w.str("custom.name", &call.name);
            w.with("custom.input", || call.input.to_text().into());
        }
        CallKind::Function | CallKind::LocalShell | CallKind::ToolSearch | CallKind::Hosted => {
            w.str("type", "function");
            w.inner("function");
            w.str("function.name", &call.name);
            w.with("function.arguments", || call.input.to_text().into());
        }
    }
}
