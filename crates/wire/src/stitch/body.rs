//! Answers as whole bodies: calls of ours taken out, several made one.

use super::usage;
use serde_json::{Map, Value};
use throughline_core::Wire;

/// Which items the last body holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Items {
    /// Its own.
    All,
    /// None although there were some: the client was told of them one by one.
    LeftOut,
}

/// Whether a block, item or call is a call of one of our tools.
pub(super) fn is_own(wire: Wire, unit: &Value, names: &[String]) -> bool {
    let is_named = |name: Option<&Value>| {
        name.and_then(Value::as_str).is_some_and(|name| names.iter().any(|own| own == name))
    };
    let kind = unit.get("type").and_then(Value::as_str);
    match wire {
        Wire::Anthropic => kind == Some("tool_use") && is_named(unit.get("name")),
        Wire::Responses => {
            // A name within a namespace is another's.
            let elsewhere = unit.get("namespace").is_some_and(|space| !space.is_null());
            kind == Some("function_call") && !elsewhere && is_named(unit.get("name"))
        }
        Wire::Chat => is_named(unit.get("function").and_then(|function| function.get("name"))),
    }
}

/// What holds the calls of a body.
fn units(wire: Wire, body: &mut Map<String, Value>) -> Option<&mut Vec<Value>> {
    match wire {
        Wire::Anthropic => body.get_mut("content")?.as_array_mut(),
        Wire::Responses => body.get_mut("output")?.as_array_mut(),
        Wire::Chat => message(body)?.get_mut("tool_calls")?.as_array_mut(),
    }
}

/// The message of a Chat completion.
fn message(body: &mut Map<String, Value>) -> Option<&mut Map<String, Value>> {
    body.get_mut("choices")?.get_mut(0)?.get_mut("message")?.as_object_mut()
}

/// Takes the calls of our tools out.
pub(super) fn cut(wire: Wire, body: &mut Map<String, Value>, names: &[String]) {
    let Some(units) = units(wire, body) else { return };
    let before = units.len();
    units.retain(|unit| !is_own(wire, unit, names));
    // An empty list of calls is none.
    let none_left = units.is_empty() && before > 0;
    if let (Wire::Chat, true, Some(message)) = (wire, none_left, message(body)) {
        message.shift_remove("tool_calls");
    }
}

/// Puts what came before in front.
pub(super) fn join(wire: Wire, earlier: &[Map<String, Value>], last: &mut Map<String, Value>, items: Items) {
    let Some(first) = earlier.first() else { return };
    rename(wire, earlier, last);
    for key in ["id", "created", "created_at"] {
        if let (Some(own), Some(value)) = (last.get_mut(key), first.get(key)) {
            *own = value.clone();
        }
    }
    if let Some(Value::Object(usage)) = last.get_mut("usage") {
        usage::total(wire, earlier, usage);
    }
    match wire {
        Wire::Anthropic | Wire::Responses => {
            if items == Items::All
                && let Some(units) = units(wire, last)
            {
                let mut all: Vec<Value> =
                    earlier.iter().flat_map(|body| units_of(wire, body)).cloned().collect();
                all.append(units);
                *units = all;
            }
        }
        Wire::Chat => {
            for key in ["content", "reasoning_content", "reasoning"] {
                let before = said(earlier, key);
                let Some(message) = message(last) else { return };
                let now = message.get(key).and_then(Value::as_str).unwrap_or_default();
                if !before.is_empty() {
                    let gap = gap(key, &before, now);
                    message.insert(key.to_owned(), format!("{before}{gap}{now}").into());
                }
            }
        }
    }
}

/// The blocks or items of a body.
pub(super) fn units_of(wire: Wire, body: &Map<String, Value>) -> &[Value] {
    let list = match wire {
        Wire::Anthropic => body.get("content"),
        Wire::Responses => body.get("output"),
        Wire::Chat => None,
    };
    list.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// What Chat completions said under a key, one after the other.
pub(super) fn said(earlier: &[Map<String, Value>], key: &str) -> String {
    let mut all = String::new();
    for body in earlier {
        let message = body.get("choices").and_then(|choices| choices.get(0)?.get("message"));
        let now = message.and_then(|message| message.get(key)?.as_str()).unwrap_or_default();
        all.push_str(gap(key, &all, now));
        all.push_str(now);
    }
    all
}

/// What stands between two texts that were said one after the other, so that they do not run together.
pub(super) fn gap(key: &str, before: &str, next: &str) -> &'static str {
    let runs_together =
        before.ends_with(|c: char| !c.is_whitespace()) && next.starts_with(|c: char| !c.is_whitespace());
    if key == "content" && runs_together { "\n\n" } else { "" }
}

/// Gives items whose id an earlier answer used already another one.
pub(super) fn rename(wire: Wire, earlier: &[Map<String, Value>], body: &mut Map<String, Value>) {
    if wire != Wire::Responses {
        return;
    }
    for item in units(wire, body).into_iter().flatten() {
        if let Some(id) = item.get_mut("id") {
            rename_id(earlier, id);
        }
    }
}

/// Gives an id that an earlier answer used already another one; always the same.
pub(super) fn rename_id(earlier: &[Map<String, Value>], id: &mut Value) {
    let is_taken = |id: &Value| {
        earlier.iter().flat_map(|body| units_of(Wire::Responses, body)).any(|item| item.get("id") == Some(id))
    };
    if id.is_string()
        && is_taken(id)
        && let Some(text) = id.as_str()
    {
        *id = format!("{text}_{}", earlier.len()).into();
    }
}

/// Says that an answer is over which said that it waits.
pub(super) fn end_turn(wire: Wire, body: &mut Map<String, Value>) {
    match wire {
        Wire::Anthropic => {
            if let Some(reason) = body.get_mut("stop_reason").filter(|reason| *reason == "tool_use") {
                *reason = "end_turn".into();
            }
        }
        Wire::Responses => {}
        Wire::Chat => {
            if let Some(reason) =
                body.get_mut("choices").and_then(|choices| choices.get_mut(0)?.get_mut("finish_reason"))
                && reason == "tool_calls"
            {
                *reason = "stop".into();
            }
            if let Some(content) = message(body).and_then(|message| message.get_mut("content"))
                && content.is_null()
            {
                *content = "".into();
            }
        }
    }
}
