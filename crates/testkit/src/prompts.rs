//! Counting prompts, and what a prompt cache would have of them.

use crate::seen::common_prefix;
use serde_json::{Map, Value, json};
use std::collections::{HashMap, VecDeque};
use throughline_core::tokens::Counter;
use throughline_core::{Message, Wire};
use throughline_wire::Request;

/// As many prompts are remembered as a test is likely to have conversations going.
const REMEMBERED: usize = 32;

/// What was asked so far.
#[derive(Default)]
pub(crate) struct Prompts {
    counters: HashMap<String, Counter>,
    known: VecDeque<Vec<u8>>,
}

/// The size of a prompt, and its bytes in the order in which providers read them.
#[derive(Default)]
pub(crate) struct Measure {
    pub(crate) tokens: u64,
    pub(crate) cached: u64,
    pub(crate) bytes: Vec<u8>,
}

impl Prompts {
    /// Measures a request.
    pub(crate) fn measure(&mut self, wire: Wire, body: &Value) -> Measure {
        let Ok(request) = Request::from_value(wire, body.clone()) else { return Measure::default() };
        let counter = self.counter(request.model().unwrap_or(""));
        let tokens = counter.view(&request.messages).total()
            + request.system().map_or(0, |system| counter.text(&system))
            + request.tools().map_or(0, |tools| counter.json(tools));
        let bytes = prompt_bytes(wire, body);
        let shared = self.known.iter().map(|known| common_prefix(known, &bytes)).max().unwrap_or(0);
        let cached = u128::from(tokens) * shared as u128 / (bytes.len() as u128).max(1);
        Measure { tokens, cached: u64::try_from(cached).unwrap_or(tokens), bytes }
    }

    /// The prompt was answered: later ones may begin with it.
    pub(crate) fn remember(&mut self, prompt: Vec<u8>) {
        if self.known.len() >= REMEMBERED {
            self.known.pop_front();
        }
        self.known.push_back(prompt);
    }

    /// Tokens of what a model says.
    pub(crate) fn count(&mut self, model: &str, messages: &[Message]) -> u64 {
        self.counter(model).view(messages).total()
    }

    /// Tokens of a text.
    pub(crate) fn count_text(&mut self, model: &str, text: &str) -> u64 {
        self.counter(model).text(text)
    }

    fn counter(&mut self, model: &str) -> &mut Counter {
        self.counters.entry(model.to_owned()).or_insert_with(|| Counter::for_model(model))
    }
}

/// Model, tools, system prompt, messages. Marks for the cache are no part of a prompt, and a bare string is the same
/// as one block of text.
fn prompt_bytes(wire: Wire, body: &Value) -> Vec<u8> {
    let (system, messages) = match wire {
        Wire::Anthropic => ("system", "messages"),
        Wire::Responses => ("instructions", "input"),
        Wire::Chat => ("", "messages"),
    };
    let mut bytes = Vec::new();
    for key in ["model", "tools", system, messages] {
        let value = body.get(key).map(canonical).unwrap_or_default();
        let value = if key == "system" { as_blocks(value) } else { value };
        bytes.extend(value.to_string().into_bytes());
        bytes.push(b'\n');
    }
    bytes
}

fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.iter().filter(|(key, _)| *key != "cache_control");
            let each = kept.map(|(key, value)| match (key.as_str(), map.contains_key("role")) {
                ("content", true) => (key.clone(), as_blocks(canonical(value))),
                _ => (key.clone(), canonical(value)),
            });
            each.collect::<Map<_, _>>().into()
        }
        Value::Array(list) => list.iter().map(canonical).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

fn as_blocks(value: Value) -> Value {
    match value {
        Value::String(text) => json!([{ "type": "text", "text": text }]),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value,
    }
}
