//! `response.created`, `response.output_item.*`, the deltas of items, `response.completed`.

use super::{Delta, StreamError, merge, named, provider_error};
use crate::sse::Event;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(super) struct Assembly {
    response: Map<String, Value>,
    items: BTreeMap<u64, Value>,
    pub(super) complete: bool,
}

/// Where the text of a delta goes: into a part of a list, or into the item itself.
struct Target {
    event: &'static str,
    list: Option<(&'static str, &'static str, &'static str)>,
    key: &'static str,
}

/// List, the delta's key of the index, the `type` of the part; then the key of the text.
const TARGETS: [Target; 6] = [
    Target {
        event: "response.output_text",
        list: Some(("content", "content_index", "output_text")),
        key: "text",
    },
    Target { event: "response.refusal", list: Some(("content", "content_index", "refusal")), key: "refusal" },
    Target {
        event: "response.reasoning_text",
        list: Some(("content", "content_index", "reasoning_text")),
        key: "text",
    },
    Target {
        event: "response.reasoning_summary_text",
        list: Some(("summary", "summary_index", "summary_text")),
        key: "text",
    },
    Target { event: "response.function_call_arguments", list: None, key: "arguments" },
    Target { event: "response.custom_tool_call_input", list: None, key: "input" },
];

impl Assembly {
    pub(super) fn push(&mut self, mut data: Map<String, Value>) -> Result<Delta, StreamError> {
        let kind = data.get("type").and_then(Value::as_str).unwrap_or("").to_owned();
        match kind.as_str() {
            "response.created" | "response.in_progress" | "response.queued" => self.envelope(&mut data),
            "response.completed" | "response.incomplete" | "response.done" => {
                self.envelope(&mut data);
                self.complete = true;
            }
            "response.failed" => {
                self.envelope(&mut data);
                self.complete = true;
                let error = self.response.get("error").cloned();
                return Err(provider_error(error.as_ref(), data));
            }
            "response.output_item.added" | "response.output_item.done" => {
                if let Some(item) = data.shift_remove("item") {
                    let at = self.place(&data, &item);
                    self.items.insert(at, item);
                }
            }
            "error" => {
                // The report is the event itself, or in its `error`.
                let error = data.get("error").cloned().unwrap_or_else(|| Value::Object(data.clone()));
                return Err(provider_error(Some(&error), data));
            }
            kind => {
                if let Some(name) = kind.strip_suffix(".delta")
                    && let Some(target) = TARGETS.iter().find(|target| target.event == name)
                {
                    return Ok(self.grow(target, &data));
                }
            }
        }
        Ok(Delta::Other)
    }

    fn envelope(&mut self, data: &mut Map<String, Value>) {
        if let Some(Value::Object(response)) = data.shift_remove("response") {
            self.response = response;
        }
    }

    /// Where an item belongs; without an index, behind the others, or in place of the one with its id.
    fn place(&self, data: &Map<String, Value>, item: &Value) -> u64 {
        let by_index = data.get("output_index").and_then(Value::as_u64);
        let id = item.get("id").filter(|id| id.is_string());
        let by_id = || {
            let known = self.items.iter().find(|(_, known)| id.is_some() && known.get("id") == id);
            known.map(|(at, _)| *at)
        };
        by_index
            .or_else(by_id)
            .unwrap_or_else(|| self.items.keys().next_back().map_or(0, |last| last.saturating_add(1)))
    }

    fn grow(&mut self, target: &Target, data: &Map<String, Value>) -> Delta {
        let Some(piece) = data.get("delta").and_then(Value::as_str) else { return Delta::Other };
        let by_id = || {
            let id = data.get("item_id")?;
            self.items.iter().find(|(_, item)| item.get("id") == Some(id)).map(|(at, _)| *at)
        };
        let at = data.get("output_index").and_then(Value::as_u64).or_else(by_id);
        let item = at.and_then(|at| self.items.get_mut(&at)).and_then(Value::as_object_mut);
        let Some(item) = item else { return Delta::Other };
        let into = match target.list {
            None => Some(item),
            Some((list, index, kind)) => {
                let index =
                    data.get(index).and_then(Value::as_u64).and_then(|index| usize::try_from(index).ok());
                part(item, list, index.unwrap_or(0), kind)
            }
        };
        if let Some(into) = into {
            merge::fragment(into, target.key, piece.into());
        }
        match target.event {
            "response.output_text" => Delta::Text(piece.to_owned()),
            "response.reasoning_text" | "response.reasoning_summary_text" => {
                Delta::Reasoning(piece.to_owned())
            }
            _ => Delta::Other,
        }
    }

    pub(super) fn finish(mut self) -> Map<String, Value> {
        // The last event repeats all items; servers that leave them out have sent them one by one.
        let is_empty =
            self.response.get("output").is_none_or(|output| output.as_array().is_none_or(Vec::is_empty));
        if is_empty && !self.items.is_empty() {
            self.response.insert("output".to_owned(), self.items.into_values().collect());
        }
        self.response
    }
}

/// The part of a list that a delta continues; the next one is added, others do not exist.
fn part<'a>(
    item: &'a mut Map<String, Value>,
    list: &str,
    index: usize,
    kind: &str,
) -> Option<&'a mut Map<String, Value>> {
    let parts = item.entry(list).or_insert_with(|| json!([]));
    if parts.is_null() {
        *parts = json!([]);
    }
    let parts = parts.as_array_mut()?;
    if index == parts.len() {
        parts.push(json!({ "type": kind }));
    }
    parts.get_mut(index)?.as_object_mut()
}

/// The events of a whole response.
pub(super) fn events(response: Map<String, Value>) -> Vec<Event> {
    let mut out = Numbered::default();
    let mut begun = response.clone();
    for (key, value) in &mut begun {
        match key.as_str() {
            "output" => *value = json!([]),
            "status" => *value = "in_progress".into(),
            "usage" | "error" | "incomplete_details" => *value = Value::Null,
            _ => {}
        }
    }
    out.push("response.created", json!({ "response": begun }));
    out.push("response.in_progress", json!({ "response": begun }));
    let items = response.get("output").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for (index, item) in items.iter().enumerate() {
        item_events(index, item, &mut out);
    }
    let last = match response.get("status").and_then(Value::as_str) {
        Some("failed") => "response.failed",
        Some("incomplete") => "response.incomplete",
        Some(_) | None => "response.completed",
    };
    out.push(last, json!({ "response": response }));
    out.events
}

#[derive(Default)]
struct Numbered {
    events: Vec<Event>,
}

impl Numbered {
    fn push(&mut self, kind: &str, body: Value) {
        let mut data = Map::new();
        data.insert("type".to_owned(), kind.into());
        data.insert("sequence_number".to_owned(), self.events.len().into());
        if let Value::Object(body) = body {
            data.extend(body);
        }
        self.events.push(named(Value::Object(data)));
    }
}

fn item_events(index: usize, item: &Value, out: &mut Numbered) {
    let id = item.get("id").cloned().unwrap_or_default();
    let mut begun = item.clone();
    let mut pieces: Vec<(&Target, usize, Value)> = Vec::new();
    if let Some(begun) = begun.as_object_mut() {
        if let Some(status) = begun.get_mut("status") {
            *status = "in_progress".into();
        }
        let kind = item.get("type").and_then(Value::as_str).unwrap_or("");
        for target in &TARGETS {
            match target.list {
                Some((list, _, part_kind)) if matches!(kind, "message" | "reasoning") => {
                    let parts =
                        item.get(list).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
                    for (at, part) in parts.iter().enumerate().filter(|(_, part)| part["type"] == part_kind) {
                        pieces.push((target, at, part.clone()));
                    }
                    if !parts.is_empty() {
                        begun.insert(list.to_owned(), json!([]));
                    }
                }
                None if (kind, target.key) == ("function_call", "arguments")
                    || (kind, target.key) == ("custom_tool_call", "input") =>
                {
                    if merge::hollow(begun, target.key).is_some() {
                        pieces.push((target, 0, item.clone()));
                    }
                }
                Some(_) | None => {}
            }
        }
    }
    pieces.sort_by_key(|(target, at, _)| (target.list.map(|(list, ..)| list), *at));
    out.push("response.output_item.added", json!({ "output_index": index, "item": begun }));
    for (target, at, whole) in pieces {
        piece_events(target, &Piece { item: index, id: &id, part: at, whole }, out);
    }
    out.push("response.output_item.done", json!({ "output_index": index, "item": item }));
}

struct Piece<'a> {
    item: usize,
    id: &'a Value,
    part: usize,
    whole: Value,
}

fn piece_events(target: &Target, piece: &Piece<'_>, out: &mut Numbered) {
    let text = piece.whole.get(target.key).cloned().unwrap_or_default();
    let base = |extra: Value| {
        let mut body = json!({ "item_id": piece.id, "output_index": piece.item });
        if let Some((_, index, _)) = target.list {
            body[index] = piece.part.into();
        }
        if let (Some(body), Value::Object(extra)) = (body.as_object_mut(), extra) {
            body.extend(extra);
        }
        body
    };
    let part_event = match target.list {
        Some(("summary", ..)) => Some("response.reasoning_summary_part"),
        Some(_) => Some("response.content_part"),
        None => None,
    };
    if let Some(name) = part_event {
        let mut empty = piece.whole.clone();
        empty[target.key] = "".into();
        out.push(&format!("{name}.added"), base(json!({ "part": empty })));
    }
    out.push(&format!("{}.delta", target.event), base(json!({ "delta": text })));
    out.push(&format!("{}.done", target.event), base(json!({ target.key: text })));
    if let Some(name) = part_event {
        out.push(&format!("{name}.done"), base(json!({ "part": piece.whole })));
    }
}
