//! OpenAI Responses: a flat list of items.
//!
//! A `message` item is a message with its parts as blocks. Every other item is a message of one block that stands
//! [`bare`](Message::bare): a call, a result, reasoning, a generated picture, or an unknown item kept raw.

mod item;
mod part;

use crate::object::{self, Reader, Remember};
use crate::run::{Run, runs};
use crate::whole;
use part::Side;
use serde_json::Value;
use std::collections::HashMap;
use throughline_core::{Block, Body, CallId, CallKind, Message, Role, Wire};

const WIRE: Wire = Wire::Responses;

/// Reads one item of `input` or `output`, or the payload of a Codex `response_item`.
///
/// Never fails and loses nothing: what does not fit a typed form is an unknown block in place. The id is empty: see
/// [`chain`](crate::chain).
pub fn decode_item(raw: Value) -> Message {
    let Value::Object(map) = raw else { return item::raw(raw) };
    let r = Reader::new(WIRE, map);
    match r.kind() {
        "message" => message(r),
        "" if r.get("type").is_none() && r.has_string("role") => message(r),
        _ => item::decode(r),
    }
}

fn message(mut r: Reader) -> Message {
    let role = role_of(r.get("role"));
    let side = Side::of(role);
    let (blocks, bare) = if let Some(text) = r.string("content") {
        (vec![Block::text(text)], true)
    } else if let Some(parts) = r.list("content") {
        (parts.into_iter().map(|raw| part::decode(raw, side)).collect(), false)
    } else {
        return item::raw(r.into_raw());
    };
    let shape = r.shape(Remember::Difference, |w| {
        w.str("type", "message");
        w.str("role", role_name(role));
        w.with("content", || Value::Null);
    });
    Message { bare, shape, ..whole::message(role, blocks) }
}

/// A request whose `input` is one bare string.
pub(crate) fn bare_input(text: String) -> Message {
    Message { bare: true, ..whole::message(Role::User, vec![Block::text(text)]) }
}

/// The bare string that `input` can be, where these messages still are just that.
pub(crate) fn as_bare_input(messages: &[Message]) -> Option<&str> {
    match messages {
        [Message { role: Role::User, bare: true, blocks, .. }] => match blocks.as_slice() {
            [Block { body: Body::Text(text), .. }] => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// A role that we do not know gets the one that carries no authority; its name stays in the shape.
fn role_of(role: Option<&Value>) -> Role {
    match role.and_then(Value::as_str) {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system") => Role::System,
        Some("developer") => Role::Developer,
        Some(_) | None => Role::Tool,
    }
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::User | Role::Tool => "user",
        Role::Assistant => "assistant",
        Role::System => "system",
        Role::Developer => "developer",
    }
}

/// Writes the items of `input`.
pub(crate) fn encode(messages: &[&Message]) -> Vec<Value> {
    // Another wire's result does not say which kind of call it answers.
    let mut kinds: HashMap<&CallId, CallKind> = HashMap::new();
    for message in messages {
        kinds.extend(message.calls().map(|call| (&call.id, call.kind)));
    }
    let mut out = Vec::with_capacity(messages.len());
    for run in runs(WIRE, messages) {
        encode_run(&run, &kinds, &mut out);
    }
    out
}

fn encode_run(run: &Run<'_>, kinds: &HashMap<&CallId, CallKind>, out: &mut Vec<Value>) {
    let is_item = run.bare && !run.foreign;
    let mut parts: Vec<&Block> = Vec::new();
    for block in &run.blocks {
        let item = match &block.body {
            Body::Reasoning { .. } | Body::ToolCall(_) => item::encode(block),
            Body::ToolResult(result) => match kinds.get(&result.call) {
                Some(CallKind::Custom) if !is_item => item::encode_custom_result(result),
                Some(_) | None => item::encode(block),
            },
            Body::Image(_) | Body::Unknown(_) if is_item => item::encode(block),
            Body::Text(_) | Body::Image(_) | Body::Document(_) | Body::Unknown(_) => {
                parts.push(block);
                continue;
            }
        };
        flush(run, &mut parts, out);
        out.push(item);
    }
    if run.blocks.is_empty() {
        out.push(encode_parts(run, &[]));
    }
    flush(run, &mut parts, out);
}

fn flush(run: &Run<'_>, parts: &mut Vec<&Block>, out: &mut Vec<Value>) {
    if !parts.is_empty() {
        out.push(encode_parts(run, parts));
        parts.clear();
    }
}

fn encode_parts(run: &Run<'_>, parts: &[&Block]) -> Value {
    let side = Side::of(run.role);
    object::write(WIRE, run.shape, |w| {
        w.str("type", "message");
        w.str("role", role_name(run.role));
        w.with("content", || match parts {
            [Block { body: Body::Text(text), .. }] if run.bare => text.as_str().into(),
            parts => parts.iter().map(|block| part::encode(block, side)).collect(),
        });
    })
}
