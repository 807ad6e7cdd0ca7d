//! OpenAI Chat Completions, which local servers speak too.
//!
//! An assistant message is one object with several places for blocks: `reasoning_content` (or `reasoning`), `content`,
//! `refusal`, `tool_calls`. Its blocks come in that order; what stood in an unusual place says so in its shape. A `tool` message
//! is a message of one result.

mod call;
mod part;

use crate::object::{self, Reader, Remember, Writer, mark, unknown};
use crate::run::{Run, answer, runs};
use crate::whole;
use serde_json::{Map, Value};
use std::borrow::Cow;
use throughline_core::{Block, Body, CallKind, Message, ResultContent, Role, ToolResult, Wire};

const WIRE: Wire = Wire::Chat;

/// The word under which a block's shape names the key it stood in.
const PLACE: &str = "in";

/// Reads one element of `messages`, or the `message` of a choice. Never fails and loses nothing. The id is
/// empty: see [`chain`](crate::chain).
pub fn decode_message(raw: Value) -> Message {
    let Value::Object(map) = raw else { return whole::whole(WIRE, raw) };
    let r = Reader::new(WIRE, map);
    match r.get("role").and_then(Value::as_str) {
        Some("assistant") => assistant(r),
        Some("tool") => result(r),
        Some("user") => said(r, Role::User),
        Some("system") => said(r, Role::System),
        Some("developer") => said(r, Role::Developer),
        // A role that we do not know gets the one that carries no authority; its name stays in the shape.
        Some(_) | None => said(r, Role::Tool),
    }
}

fn said(mut r: Reader, role: Role) -> Message {
    let (blocks, bare) = r.take("content").map(content).unwrap_or_default();
    let shape = r.shape(Remember::Difference, |w| {
        w.str("role", role_name(role));
        w.with("content", || Value::Null);
    });
    Message { bare, shape, ..whole::message(role, blocks) }
}

fn content(raw: Value) -> (Vec<Block>, bool) {
    match raw {
        Value::String(text) => (vec![Block::text(text)], true),
        Value::Array(parts) => (parts.into_iter().map(part::decode).collect(), false),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            (vec![unknown(WIRE, raw)], true)
        }
    }
}

fn result(mut r: Reader) -> Message {
    let fits = r.has_string("tool_call_id")
        && r.get("content").is_some_and(|content| content.is_string() || content.is_array());
    if !fits {
        return whole::whole(WIRE, r.into_raw());
    }
    let call = r.string("tool_call_id").unwrap_or_default().into();
    let content = match r.list("content") {
        Some(parts) => ResultContent::Parts(parts.into_iter().map(part::decode).collect()),
        None => ResultContent::Text(r.string("content").unwrap_or_default()),
    };
    let result = ToolResult { call, kind: CallKind::Function, content, is_error: None };
    let shape = r.shape(Remember::Difference, |w| write_result(w, &result));
    // Only a server that takes pictures here gets them here.
    let look = if has_media(&result) { mark(WIRE, &[]) } else { None };
    let block = Block { body: Body::ToolResult(result), shape: look };
    Message { shape, ..whole::message(Role::Tool, vec![block]) }
}

fn assistant(mut r: Reader) -> Message {
    let mut blocks = Vec::new();
    for (key, usual) in [("reasoning_content", true), ("reasoning", false)] {
        let is_text = r.get(key).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
        if is_text && blocks.is_empty() {
            let text = r.string(key).unwrap_or_default();
            let shape = if usual { None } else { mark(WIRE, &[(PLACE, key)]) };
            blocks.push(Block { body: Body::Reasoning { text, seal: None }, shape });
        }
    }
    let calls =
        r.get("tool_calls").is_some_and(|calls| calls.as_array().is_some_and(|calls| !calls.is_empty()));
    // Beside calls, an empty content says nothing: no block, and the shape keeps how it looked.
    let says_nothing = match r.get("content") {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.is_empty() && calls,
        Some(Value::Array(parts)) => parts.is_empty(),
        Some(Value::Bool(_) | Value::Number(_) | Value::Object(_)) => false,
    };
    let mut bare = false;
    if !says_nothing {
        let (parts, is_bare) = r.take("content").map(content).unwrap_or_default();
        blocks.extend(parts);
        bare = is_bare;
    }
    if r.get("refusal").is_some_and(|text| text != "")
        && let Some(text) = r.string("refusal")
    {
        blocks.push(Block { body: Body::Text(text), shape: mark(WIRE, &[(PLACE, "refusal")]) });
    }
    if calls {
        blocks.extend(r.list("tool_calls").unwrap_or_default().into_iter().map(call::decode));
    }
    let places = Places::of(blocks.iter().map(Cow::Borrowed));
    let shape = r.shape(Remember::Difference, |w| places.write(w, bare));
    drop(places);
    Message { bare, shape, ..whole::message(Role::Assistant, blocks) }
}

/// The blocks of an assistant message, by the key they stand in.
#[derive(Default)]
struct Places<'a> {
    reasoning: Vec<Cow<'a, Block>>,
    content: Vec<Cow<'a, Block>>,
    refusal: Vec<Cow<'a, Block>>,
    calls: Vec<Cow<'a, Block>>,
}

fn place(block: &Block) -> Option<&str> {
    block.shape.as_ref().filter(|shape| shape.wire() == WIRE)?.get(PLACE)?.as_str()
}

impl<'a> Places<'a> {
    fn of(blocks: impl Iterator<Item = Cow<'a, Block>>) -> Self {
        let mut places = Self::default();
        for block in blocks {
            match (&block.body, place(&block)) {
                (Body::Reasoning { .. }, _) => places.reasoning.push(block),
                (Body::ToolCall(_), _) | (_, Some("tool_calls")) => places.calls.push(block),
                (Body::Text(_), Some("refusal")) => places.refusal.push(block),
                _ => places.content.push(block),
            }
        }
        places
    }

    fn write(&self, w: &mut Writer<'_>, bare: bool) {
        w.str("role", "assistant");
        if let Some(first) = self.reasoning.first() {
            let key = if place(first) == Some("reasoning") { "reasoning" } else { "reasoning_content" };
            w.with(key, || join(&self.reasoning));
        }
        w.with("content", || content_of(&self.content, bare));
        if !self.refusal.is_empty() {
            w.with("refusal", || join(&self.refusal));
        }
        if !self.calls.is_empty() {
            w.with("tool_calls", || self.calls.iter().map(|block| call::encode(block)).collect());
        }
    }
}

fn join(blocks: &[Cow<'_, Block>]) -> Value {
    let texts: Vec<_> = blocks.iter().map(|block| block.to_text()).collect();
    texts.join("\n\n").into()
}

fn content_of(blocks: &[Cow<'_, Block>], bare: bool) -> Value {
    match blocks {
        [] => Value::Null,
        [
            Cow::Borrowed(Block { body: Body::Text(text), .. })
            | Cow::Owned(Block { body: Body::Text(text), .. }),
        ] if bare => text.as_str().into(),
        [block] if bare && matches!(block.body, Body::Unknown(_)) => part::encode(block),
        blocks => blocks.iter().map(|block| part::encode(block)).collect(),
    }
}

/// Many local servers know no developer; who sent one here gets it back by its shape.
fn role_name(role: Role) -> &'static str {
    match role {
        Role::User | Role::Tool => "user",
        Role::Assistant => "assistant",
        Role::System | Role::Developer => "system",
    }
}

/// Writes the elements of `messages`.
pub(crate) fn encode(messages: &[&Message]) -> Vec<Value> {
    let mut out = Vec::with_capacity(messages.len());
    for run in runs(WIRE, messages) {
        encode_run(run, &mut out);
    }
    out
}

fn encode_run(run: Run<'_>, out: &mut Vec<Value>) {
    if let Some(raw) = run.bare().and_then(|block| whole::as_whole(WIRE, block)) {
        out.push(raw.clone());
        return;
    }
    if run.role == Role::Assistant
        && !run.blocks.iter().any(|block| matches!(block.body, Body::ToolResult(_)))
    {
        out.push(encode_assistant(run));
        return;
    }
    let (mut results, mut calls, mut rest) = (Vec::new(), Vec::new(), Vec::new());
    let Run { role, blocks, shape, bare, .. } = run;
    let is_empty = blocks.is_empty();
    for block in blocks {
        match &block.body {
            Body::ToolResult(_) => results.push(block),
            Body::ToolCall(_) => calls.push(block),
            Body::Text(_)
            | Body::Reasoning { .. }
            | Body::Image(_)
            | Body::Document(_)
            | Body::Unknown(_) => {
                rest.push(block);
            }
        }
    }
    for block in &results {
        if let Body::ToolResult(result) = &block.body {
            let shape = shape.filter(|_| results.len() == 1);
            out.push(object::write(WIRE, shape, |w| write_result(w, result)));
        }
    }
    if !rest.is_empty() || is_empty {
        out.push(object::write(WIRE, shape.filter(|_| results.is_empty()), |w| {
            w.str("role", role_name(role));
            w.with("content", || match rest.as_slice() {
                [] => Value::Array(Vec::new()),
                rest => content_of(rest, bare),
            });
        }));
    }
    // Calls by anyone but the model: only the model's message has a place for them.
    if !calls.is_empty() {
        let places = Places { calls, ..Places::default() };
        out.push(object::write(WIRE, None, |w| places.write(w, false)));
    }
}

fn encode_assistant(run: Run<'_>) -> Value {
    let bare = run.bare || (run.foreign && one_text(&run.blocks));
    let places = Places::of(run.blocks.into_iter());
    object::write(WIRE, run.shape, |w| places.write(w, bare))
}

/// The `message` of a choice: the model's, whatever role it names.
pub(crate) fn decode_answer(message: Map<String, Value>) -> Message {
    assistant(Reader::new(WIRE, message))
}

pub(crate) fn encode_answer(messages: &[Message]) -> Value {
    answer(WIRE, messages).map(encode_assistant).unwrap_or_default()
}

fn one_text(blocks: &[Cow<'_, Block>]) -> bool {
    let mut texts =
        blocks.iter().filter(|block| !matches!(block.body, Body::ToolCall(_) | Body::Reasoning { .. }));
    matches!((texts.next().map(|block| &block.body), texts.next()), (Some(Body::Text(_)), None))
}

fn write_result(w: &mut Writer<'_>, result: &ToolResult) {
    w.str("role", "tool");
    w.str("tool_call_id", result.call.as_str());
    w.with("content", || match &result.content {
        ResultContent::Text(text) => text.as_str().into(),
        ResultContent::Parts(parts) => parts.iter().map(part::encode).collect(),
    });
}

/// Whether a tool answered with more than text.
fn has_media(result: &ToolResult) -> bool {
    match &result.content {
        ResultContent::Text(_) => false,
        ResultContent::Parts(parts) => {
            parts.iter().any(|part| matches!(part.body, Body::Image(_) | Body::Document(_)))
        }
    }
}
