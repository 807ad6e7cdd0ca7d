//! An answer as the events of a stream, in as many deltas as a provider would send.

use crate::answer::Delivery;
use serde_json::{Value, json};
use throughline_core::Wire;
use throughline_wire::sse::Event;
use throughline_wire::{Response, stream};

/// Characters of a delta, unless told; long texts come in at most [`MOST_DELTAS`].
const DELTA: usize = 12;
const MOST_DELTAS: usize = 200;

/// The events for a body. `usage`: whether a Chat stream says what it cost, which clients must ask for.
pub(crate) fn events(wire: Wire, mut body: Value, usage: bool, delivery: &Delivery) -> Vec<Event> {
    if let (Wire::Chat, false, Some(body)) = (wire, usage, body.as_object_mut()) {
        body.shift_remove("usage");
    }
    let Ok(response) = Response::from_value(wire, body) else { return Vec::new() };
    let whole = stream::events(&response);
    let mut events: Vec<Event> = Vec::new();
    for event in whole {
        let Ok(mut data) = serde_json::from_str::<Value>(&event.data) else {
            events.push(event);
            continue;
        };
        if data["type"] == "message_start" {
            if data["message"]["usage"]["output_tokens"].is_u64() {
                data["message"]["usage"]["output_tokens"] = 1.into();
            }
            events.push(Event { name: event.name, data: data.to_string() });
            events.push(Event { name: Some("ping".to_owned()), data: json!({ "type": "ping" }).to_string() });
            continue;
        }
        for piece in split(wire, data, delivery.delta) {
            events.push(Event { name: event.name.clone(), data: piece.to_string() });
        }
    }
    if wire == Wire::Responses {
        number(&mut events);
    }
    events
}

/// Splits a delta into several.
fn split(wire: Wire, data: Value, size: Option<usize>) -> Vec<Value> {
    let Some(text) = delta_text(wire, &data).and_then(|path| data.pointer(path)?.as_str().map(|t| (path, t)))
    else {
        return vec![data];
    };
    let (path, text) = text;
    let chars: Vec<char> = text.chars().collect();
    let size = size.unwrap_or_else(|| DELTA.max(chars.len().div_ceil(MOST_DELTAS)));
    if chars.len() <= size {
        return vec![data];
    }
    let one = |piece: &[char]| {
        let mut data = data.clone();
        if let Some(place) = data.pointer_mut(path) {
            *place = piece.iter().collect::<String>().into();
        }
        data
    };
    chars.chunks(size).map(one).collect()
}

/// Where the text of a delta is, if the event is one.
fn delta_text(wire: Wire, data: &Value) -> Option<&'static str> {
    let paths: &[&str] = match wire {
        Wire::Anthropic => &["/delta/text", "/delta/thinking", "/delta/partial_json"],
        Wire::Responses => &["/delta"],
        Wire::Chat => &[
            "/choices/0/delta/content",
            "/choices/0/delta/reasoning_content",
            "/choices/0/delta/refusal",
            "/choices/0/delta/tool_calls/0/function/arguments",
            "/choices/0/delta/tool_calls/0/custom/input",
        ],
    };
    paths.iter().copied().find(|path| data.pointer(path).is_some_and(Value::is_string))
}

fn number(events: &mut [Event]) {
    for (at, event) in events.iter_mut().enumerate() {
        if let Ok(mut data) = serde_json::from_str::<Value>(&event.data) {
            data["sequence_number"] = at.into();
            event.data = data.to_string();
        }
    }
}
