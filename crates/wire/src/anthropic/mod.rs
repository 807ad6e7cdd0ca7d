//! Anthropic Messages.

mod block;

use crate::object::{self, Reader, Remember, unknown};
use crate::run::{Run, answer, runs};
use crate::whole;
use serde_json::Value;
use throughline_core::{Block, Body, Message, Role, Wire};

const WIRE: Wire = Wire::Anthropic;

/// Reads the `content` of a message: its blocks, and whether it stood bare instead of in a list.
///
/// Never fails and loses nothing: what does not fit a typed form is an unknown block in place. With the blocks and
/// the flag in a [`Message`], encoding gives the same content back.
pub fn decode_content(content: Value) -> (Vec<Block>, bool) {
    match content {
        Value::String(text) => (vec![Block::text(text)], true),
        Value::Array(blocks) => (blocks.into_iter().map(block::decode).collect(), false),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            (vec![unknown(WIRE, content)], true)
        }
    }
}

/// Reads one element of `messages`. Its id is empty: see [`chain`](crate::chain).
pub fn decode_message(raw: Value) -> Message {
    let Value::Object(map) = raw else { return whole::whole(WIRE, raw) };
    let mut r = Reader::new(WIRE, map);
    let role = role_of(r.get("role"));
    // Claude Code sends settings for the turn, such as `output_config`, in a system message without content. It is
    // not an empty message to be dropped.
    let says_nothing = r.get("content").and_then(Value::as_array).is_some_and(Vec::is_empty);
    if role == Role::System && says_nothing {
        return whole::whole(WIRE, r.into_raw());
    }
    let (blocks, bare) = r.take("content").map(decode_content).unwrap_or_default();
    let shape = r.shape(Remember::Difference, |w| {
        w.str("role", role_name(role));
        w.with("content", || Value::Array(Vec::new()));
    });
    Message { bare, shape, ..whole::message(role, blocks) }
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
        Role::System | Role::Developer => "system",
    }
}

/// Writes the elements of `messages`.
pub(crate) fn encode(messages: &[&Message]) -> Vec<Value> {
    runs(WIRE, messages).iter().map(encode_run).collect()
}

fn encode_run(run: &Run<'_>) -> Value {
    if let Some(raw) = run.bare().and_then(|block| whole::as_whole(WIRE, block)) {
        return raw.clone();
    }
    object::write(WIRE, run.shape, |w| {
        w.str("role", role_name(run.role));
        w.with("content", || encode_content(run));
    })
}

fn encode_content(run: &Run<'_>) -> Value {
    match run.bare().map(|block| &block.body) {
        Some(Body::Text(text)) => text.as_str().into(),
        Some(Body::Unknown(raw)) => raw.clone(),
        Some(_) | None => run.blocks.iter().map(|b| block::encode(b)).collect(),
    }
}

/// The `content` of a response.
pub(crate) fn decode_answer(content: Value) -> Message {
    let (blocks, bare) = decode_content(content);
    Message { bare, ..whole::message(Role::Assistant, blocks) }
}

pub(crate) fn encode_answer(messages: &[Message]) -> Value {
    answer(WIRE, messages).map_or(Value::Array(Vec::new()), |run| encode_content(&run))
}
