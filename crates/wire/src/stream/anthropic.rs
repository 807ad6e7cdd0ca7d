//! `message_start`, `content_block_*`, `message_delta`, `message_stop`.

use super::{Delta, StreamError, merge, named, provider_error};
use crate::sse::Event;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(super) struct Assembly {
    message: Map<String, Value>,
    blocks: BTreeMap<u64, Partial>,
    pub(super) complete: bool,
}

/// A block, and its arguments while they are in pieces.
#[derive(Debug, Default)]
struct Partial {
    block: Map<String, Value>,
    /// A block that is no object can't grow.
    raw: Option<Value>,
    json: String,
}

impl Assembly {
    pub(super) fn push(&mut self, mut data: Map<String, Value>) -> Result<Delta, StreamError> {
        let kind = data.get("type").and_then(Value::as_str).unwrap_or("");
        match kind {
            "message_start" => {
                if let Some(Value::Object(message)) = data.shift_remove("message") {
                    self.message = message;
                }
            }
            "content_block_start" => {
                let partial = match data.shift_remove("content_block") {
                    Some(Value::Object(block)) => Partial { block, ..Partial::default() },
                    raw => Partial { raw, ..Partial::default() },
                };
                self.blocks.insert(index(&data), partial);
            }
            "content_block_delta" => {
                let at = index(&data);
                if let Some(Value::Object(delta)) = data.shift_remove("delta") {
                    return Ok(self.blocks.entry(at).or_default().grow(delta));
                }
            }
            "message_delta" => self.message_delta(data),
            "message_stop" => self.complete = true,
            "error" => {
                let error = data.get("error").cloned();
                return Err(provider_error(error.as_ref(), data));
            }
            // `content_block_stop` and `ping` add nothing, nor does what we do not know.
            _ => {}
        }
        Ok(Delta::Other)
    }

    fn message_delta(&mut self, data: Map<String, Value>) {
        for (key, value) in data {
            match (key.as_str(), value) {
                ("type", _) => {}
                ("delta", Value::Object(delta)) => {
                    for (key, value) in delta {
                        merge::set(&mut self.message, key, value);
                    }
                }
                ("usage", Value::Object(usage)) => match self.message.get_mut("usage") {
                    Some(Value::Object(known)) => {
                        for (key, value) in usage {
                            merge::set(known, key, value);
                        }
                    }
                    Some(_) | None => {
                        self.message.insert(key, Value::Object(usage));
                    }
                },
                (_, value) => merge::set(&mut self.message, key, value),
            }
        }
    }

    pub(super) fn finish(mut self) -> Map<String, Value> {
        if !self.blocks.is_empty() {
            let content = self.blocks.into_values().map(Partial::finish).collect();
            self.message.insert("content".to_owned(), content);
        }
        self.message
    }
}

fn index(data: &Map<String, Value>) -> u64 {
    data.get("index").and_then(Value::as_u64).unwrap_or(0)
}

impl Partial {
    fn grow(&mut self, mut delta: Map<String, Value>) -> Delta {
        let kind = delta.get("type").and_then(Value::as_str).unwrap_or("");
        match kind {
            "input_json_delta" => {
                if let Some(Value::String(piece)) = delta.get("partial_json") {
                    self.json.push_str(piece);
                }
                Delta::Other
            }
            "citations_delta" => {
                let citation = delta.shift_remove("citation").unwrap_or_default();
                match self.block.get_mut("citations") {
                    Some(Value::Array(citations)) => citations.push(citation),
                    Some(_) | None => {
                        self.block.insert("citations".to_owned(), json!([citation]));
                    }
                }
                Delta::Other
            }
            // `text_delta`, `thinking_delta`, `signature_delta`, and whatever comes: each key continues the block's own.
            kind => {
                let shown = match kind {
                    "text_delta" => {
                        delta.get("text").and_then(Value::as_str).map(|t| Delta::Text(t.to_owned()))
                    }
                    "thinking_delta" => {
                        delta.get("thinking").and_then(Value::as_str).map(|t| Delta::Reasoning(t.to_owned()))
                    }
                    _ => None,
                };
                for (key, value) in delta {
                    if key != "type" {
                        merge::fragment(&mut self.block, &key, value);
                    }
                }
                shown.unwrap_or(Delta::Other)
            }
        }
    }

    fn finish(mut self) -> Value {
        if let Some(raw) = self.raw {
            return raw;
        }
        if !self.json.is_empty() {
            let input = serde_json::from_str(&self.json).unwrap_or(Value::String(self.json));
            self.block.insert("input".to_owned(), input);
        }
        Value::Object(self.block)
    }
}

/// The events of a whole message.
pub(super) fn events(mut message: Map<String, Value>) -> Vec<Event> {
    let blocks = match message.get_mut("content") {
        Some(Value::Array(blocks)) => std::mem::take(blocks),
        Some(_) | None => Vec::new(),
    };
    let mut end = Map::new();
    for key in ["stop_reason", "stop_sequence"] {
        if let Some(value) = message.get_mut(key) {
            end.insert(key.to_owned(), value.take());
        }
    }
    let usage = message.get("usage").cloned();
    let mut events = vec![named(json!({ "type": "message_start", "message": message }))];
    for (index, block) in blocks.into_iter().enumerate() {
        block_events(index, block, &mut events);
    }
    let mut last = json!({ "type": "message_delta", "delta": end });
    if let Some(usage @ Value::Object(_)) = usage {
        last["usage"] = usage;
    }
    events.push(named(last));
    events.push(named(json!({ "type": "message_stop" })));
    events
}

fn block_events(index: usize, mut block: Value, events: &mut Vec<Event>) {
    let deltas = block.as_object_mut().map(hollow_out).unwrap_or_default();
    events.push(named(json!({ "type": "content_block_start", "index": index, "content_block": block })));
    for delta in deltas {
        events.push(named(json!({ "type": "content_block_delta", "index": index, "delta": delta })));
    }
    events.push(named(json!({ "type": "content_block_stop", "index": index })));
}

/// Takes out of a block what comes in pieces.
fn hollow_out(block: &mut Map<String, Value>) -> Vec<Value> {
    let mut deltas = Vec::new();
    match block.get("type").and_then(Value::as_str) {
        Some("text") => {
            if let Some(Value::Array(citations)) = block.get_mut("citations") {
                let each = std::mem::take(citations).into_iter();
                deltas.extend(each.map(|one| json!({ "type": "citations_delta", "citation": one })));
            }
            if let Some(text) = merge::hollow(block, "text") {
                deltas.push(json!({ "type": "text_delta", "text": text }));
            }
        }
        Some("thinking") => {
            for (key, kind) in [("thinking", "thinking_delta"), ("signature", "signature_delta")] {
                if let Some(text) = merge::hollow(block, key) {
                    deltas.push(json!({ "type": kind, key: text }));
                }
            }
        }
        Some("tool_use" | "server_tool_use" | "mcp_tool_use") => {
            if let Some(input) = block.get_mut("input") {
                let input = std::mem::replace(input, json!({}));
                deltas.push(json!({ "type": "input_json_delta", "partial_json": input.to_string() }));
            }
        }
        Some(_) | None => {}
    }
    deltas
}
