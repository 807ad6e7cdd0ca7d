//! `chat.completion.chunk`s and `[DONE]`.

use super::{DONE, Delta, StreamError, merge, provider_error};
use crate::sse::Event;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

const CHUNK: &str = "chat.completion.chunk";
const WHOLE: &str = "chat.completion";

#[derive(Debug, Default)]
pub(super) struct Assembly {
    body: Map<String, Value>,
    choices: BTreeMap<u64, Choice>,
    done: bool,
}

/// One choice; `message` holds its place among the keys.
#[derive(Debug, Default)]
struct Choice {
    object: Map<String, Value>,
    message: Map<String, Value>,
    calls: Option<BTreeMap<u64, Value>>,
}

impl Assembly {
    pub(super) fn done(&mut self) {
        self.done = true;
    }

    /// Local servers may leave `[DONE]` out; a reason for the end of the first choice is an end too.
    pub(super) fn is_complete(&self) -> bool {
        let ended = |choice: &Choice| choice.object.get("finish_reason").is_some_and(|why| !why.is_null());
        self.done || self.choices.values().next().is_some_and(ended)
    }

    pub(super) fn push(&mut self, mut data: Map<String, Value>) -> Result<Delta, StreamError> {
        if data.get("error").is_some_and(|error| !error.is_null()) {
            let error = data.get("error").cloned();
            return Err(provider_error(error.as_ref(), data));
        }
        let mut delta = Delta::Other;
        if let Some(Value::Array(choices)) = data.get_mut("choices") {
            for (at, choice) in std::mem::take(choices).into_iter().enumerate() {
                if let Value::Object(choice) = choice {
                    let index = choice.get("index").and_then(Value::as_u64).unwrap_or(at as u64);
                    let said = self.choices.entry(index).or_default().grow(choice);
                    if self.choices.keys().next() == Some(&index) {
                        delta = said;
                    }
                }
            }
        }
        for (key, value) in data {
            match key.as_str() {
                "object" if value == CHUNK => merge::set(&mut self.body, key, WHOLE.into()),
                _ => merge::set(&mut self.body, key, value),
            }
        }
        Ok(delta)
    }

    pub(super) fn finish(mut self) -> Map<String, Value> {
        if !self.choices.is_empty() {
            let choices = self.choices.into_values().map(Choice::finish).collect();
            self.body.insert("choices".to_owned(), choices);
        }
        self.body
    }
}

impl Choice {
    fn grow(&mut self, choice: Map<String, Value>) -> Delta {
        let mut said = Delta::Other;
        for (key, value) in choice {
            match (key.as_str(), value) {
                ("delta", Value::Object(delta)) => {
                    self.object.entry("message").or_insert(Value::Null);
                    for (key, value) in delta {
                        said = shown(&key, &value).unwrap_or(said);
                        self.add(key, value);
                    }
                }
                (_, value) => merge::set(&mut self.object, key, value),
            }
        }
        said
    }

    fn add(&mut self, key: String, value: Value) {
        match (key.as_str(), value) {
            ("tool_calls", Value::Array(calls)) => {
                self.message.entry("tool_calls").or_insert(Value::Null);
                let known = self.calls.get_or_insert_default();
                for call in calls {
                    add_call(known, call);
                }
            }
            (_, value) => merge::fragment(&mut self.message, &key, value),
        }
    }

    fn finish(mut self) -> Value {
        if let Some(calls) = self.calls {
            self.message.insert("tool_calls".to_owned(), calls.into_values().collect());
        }
        if let Some(place) = self.object.get_mut("message") {
            *place = Value::Object(self.message);
        }
        Value::Object(self.object)
    }
}

fn add_call(known: &mut BTreeMap<u64, Value>, mut call: Value) {
    let index = call.as_object_mut().and_then(|call| call.shift_remove("index"));
    let next = known.keys().next_back().map_or(0, |last| last.saturating_add(1));
    let at = index.and_then(|index| index.as_u64()).unwrap_or(next);
    match (known.get_mut(&at), call) {
        (Some(Value::Object(known)), Value::Object(more)) => {
            for (key, value) in more {
                merge::fragment(known, &key, value);
            }
        }
        (_, call) => {
            known.insert(at, call);
        }
    }
}

fn shown(key: &str, value: &Value) -> Option<Delta> {
    let text = value.as_str().filter(|text| !text.is_empty())?.to_owned();
    match key {
        "content" => Some(Delta::Text(text)),
        "reasoning" | "reasoning_content" => Some(Delta::Reasoning(text)),
        _ => None,
    }
}

/// The events of a whole completion.
pub(super) fn events(mut body: Map<String, Value>) -> Vec<Event> {
    if body.get("object").is_some_and(|object| object == WHOLE) {
        body.insert("object".to_owned(), CHUNK.into());
    }
    let usage = body.get_mut("usage").map(Value::take);
    let choices = match body.get_mut("choices") {
        Some(Value::Array(choices)) => std::mem::take(choices),
        Some(_) | None => Vec::new(),
    };
    let mut chunks = Vec::new();
    for choice in choices {
        if let Value::Object(choice) = choice {
            choice_chunks(&body, choice, &mut chunks);
        }
    }
    if chunks.is_empty() || usage.as_ref().is_some_and(|usage| !usage.is_null()) {
        let mut last = body;
        if let Some(usage) = usage {
            last.insert("usage".to_owned(), usage);
        }
        chunks.push(Value::Object(last));
    }
    let events = chunks.into_iter().map(|chunk| Event { name: None, data: chunk.to_string() });
    events.chain([Event { name: None, data: DONE.to_owned() }]).collect()
}

fn choice_chunks(body: &Map<String, Value>, choice: Map<String, Value>, chunks: &mut Vec<Value>) {
    let index = choice.get("index").cloned();
    let mut first = Map::new();
    let mut end = None;
    let mut message = None;
    for (key, value) in choice {
        match (key.as_str(), value) {
            ("message", Value::Object(fields)) => {
                first.insert("delta".to_owned(), json!({}));
                message = Some(fields);
            }
            ("finish_reason", reason) => {
                first.insert(key, Value::Null);
                end = Some(reason);
            }
            (_, value) => {
                first.insert(key, value);
            }
        }
    }
    let mut push = |choice: Map<String, Value>| {
        let mut chunk = body.clone();
        chunk.insert("choices".to_owned(), json!([choice]));
        chunks.push(Value::Object(chunk));
    };
    let with_index = |key: &str, value: Value| {
        let index = index.clone().map(|index| ("index".to_owned(), index));
        index.into_iter().chain([(key.to_owned(), value)]).collect::<Map<_, _>>()
    };
    push(first);
    for (key, value) in message.into_iter().flatten() {
        for delta in deltas(key, value) {
            push(with_index("delta", Value::Object(delta)));
        }
    }
    if let Some(reason) = end {
        let mut last = with_index("delta", json!({}));
        last.insert("finish_reason".to_owned(), reason);
        push(last);
    }
}

/// The pieces of one key of a message.
fn deltas(key: String, value: Value) -> Vec<Map<String, Value>> {
    if key != "tool_calls" || !value.is_array() {
        return vec![Map::from_iter([(key, value)])];
    }
    let Value::Array(calls) = value else { return Vec::new() };
    let one = |call: Value| Map::from_iter([("tool_calls".to_owned(), json!([call]))]);
    let mut out = vec![Map::from_iter([("tool_calls".to_owned(), json!([]))])];
    for (index, call) in calls.into_iter().enumerate() {
        let Value::Object(call) = call else {
            out.push(one(call));
            continue;
        };
        let mut begun = Map::from_iter([("index".to_owned(), Value::from(index))]);
        begun.extend(call);
        let mut more = None;
        for (inner, text) in [("function", "arguments"), ("custom", "input")] {
            let whole = begun.get_mut(inner).and_then(Value::as_object_mut);
            if let Some(piece) = whole.and_then(|whole| merge::hollow(whole, text)) {
                more = Some(json!({ "index": index, inner: { text: piece } }));
            }
        }
        out.push(one(Value::Object(begun)));
        out.extend(more.map(one));
    }
    out
}
