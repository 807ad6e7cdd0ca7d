//! Items other than messages.

use super::{WIRE, part, part::Side, role_of};
use crate::object::{self, Reader, Remember, Writer, unknown};
use crate::whole;
use serde_json::{Value, json};
use throughline_core::{
    Block, Body, CallKind, Media, Message, ResultContent, Role, Source, ToolCall, ToolInput, ToolResult,
};

/// How the protocol writes one kind of call and its result.
struct CallForm {
    kind: CallKind,
    /// The `type` of the call.
    item: &'static str,
    /// The tool's name, where the item does not carry one.
    name: Option<&'static str>,
    /// The key of the arguments.
    input: &'static str,
    /// The `type` of the result.
    output: &'static str,
}

const CALLS: [CallForm; 5] = [
    CallForm {
        kind: CallKind::Function,
        item: "function_call",
        name: None,
        input: "arguments",
        output: "function_call_output",
    },
    CallForm {
        kind: CallKind::Custom,
        item: "custom_tool_call",
        name: None,
        input: "input",
        output: "custom_tool_call_output",
    },
    CallForm {
        kind: CallKind::LocalShell,
        item: "local_shell_call",
        name: Some("local_shell"),
        input: "action",
        output: "local_shell_call_output",
    },
    CallForm {
        kind: CallKind::ToolSearch,
        item: "tool_search_call",
        name: Some("tool_search"),
        input: "arguments",
        output: "tool_search_output",
    },
    CallForm {
        kind: CallKind::Hosted,
        item: "web_search_call",
        name: Some("web_search"),
        input: "action",
        output: "",
    },
];

/// The one result that may name its call as `id`. Its shape then remembers the type, and nobody else's does.
const BY_ID: &str = "local_shell_call_output";

fn form(kind: CallKind) -> &'static CallForm {
    // Every kind has its line above.
    CALLS.iter().find(|form| form.kind == kind).unwrap_or(&CALLS[0])
}

/// Reads an item that is not a message.
pub(crate) fn decode(mut r: Reader) -> Message {
    let by_id = r.kind() == BY_ID && !r.has_string("call_id");
    let found = CALLS.iter().find(|form| form.item == r.kind());
    let (role, body) = match r.kind() {
        "reasoning" => (Role::Assistant, reasoning(&mut r)),
        "image_generation_call" => (Role::Assistant, picture(&mut r)),
        kind => match (found, CALLS.iter().find(|form| form.output == kind && !kind.is_empty())) {
            (Some(form), _) => (Role::Assistant, call(&mut r, form)),
            (None, Some(form)) => (Role::Tool, result(&mut r, form)),
            (None, None) => (Role::Assistant, None),
        },
    };
    let Some(body) = body else { return raw(r.into_raw()) };
    // Only this wire has pictures by the model; and a result says which key names its call.
    let block = match by_id || matches!(body, Body::Image(_)) {
        true => r.finish_as(body, Remember::Kind, |w, body| write(w, body, if by_id { BY_ID } else { "" })),
        false => r.finish(body, |w, body| write(w, body, "")),
    };
    Message { bare: true, ..whole::message(role, vec![block]) }
}

/// An item that stays as it is. Other calls are the model's; what has no speaker may stand anywhere.
pub(crate) fn raw(raw: Value) -> Message {
    let is_call = raw.get("type").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("_call"));
    let role = match raw.get("role") {
        Some(role) if role.is_string() => role_of(Some(role)),
        Some(_) | None if is_call => Role::Assistant,
        Some(_) | None => Role::System,
    };
    Message { bare: true, ..whole::message(role, vec![unknown(WIRE, raw)]) }
}

/// One summary text is the legible part. Several, or text in `content`, are joined for reading, and the shape
/// keeps the originals.
fn reasoning(r: &mut Reader) -> Option<Body> {
    // Neither words nor a seal: a mere reference to what the provider stored.
    let says_nothing = ["summary", "content"].iter().all(|key| texts(r.get(key)).is_empty());
    if says_nothing && !r.has_string("encrypted_content") {
        return None;
    }
    let text = match r.get("summary") {
        Some(Value::Array(list)) => match list.as_slice() {
            [one] if is_summary(one) => match r.list("summary")?.pop().map(|mut one| one["text"].take()) {
                Some(Value::String(text)) => text,
                Some(_) | None => String::new(),
            },
            [] => texts(r.get("content")),
            _ => texts(r.get("summary")),
        },
        Some(_) => return None,
        None => texts(r.get("content")),
    };
    Some(Body::Reasoning { text, seal: r.string("encrypted_content") })
}

fn is_summary(part: &Value) -> bool {
    part.as_object().is_some_and(|part| {
        part.len() == 2
            && part.keys().map(String::as_str).eq(["type", "text"])
            && part["type"] == "summary_text"
            && part["text"].as_str().is_some_and(|text| !text.is_empty())
    })
}

fn texts(parts: Option<&Value>) -> String {
    let parts = parts.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let texts: Vec<&str> = parts.iter().filter_map(|part| part.get("text")?.as_str()).collect();
    texts.join("\n\n")
}

fn picture(r: &mut Reader) -> Option<Body> {
    let format = r.get("output_format").and_then(Value::as_str).unwrap_or("png");
    let media_type = format!("image/{format}");
    Some(Body::Image(Media { source: Source::Base64 { media_type, data: r.string("result")? } }))
}

fn call(r: &mut Reader, form: &CallForm) -> Option<Body> {
    let id = if form.kind == CallKind::Hosted { "id" } else { "call_id" };
    let is_text = matches!(form.kind, CallKind::Function | CallKind::Custom);
    let fits = (form.kind == CallKind::Hosted || r.has_string(id))
        && (form.name.is_some() || r.has_string("name"))
        && (if is_text { r.has_string(form.input) } else { r.get(form.input).is_some() });
    if !fits {
        return None;
    }
    let input = match form.kind {
        CallKind::Function => ToolInput::JsonText(r.string(form.input)?),
        CallKind::Custom => ToolInput::Text(r.string(form.input)?),
        CallKind::LocalShell | CallKind::ToolSearch | CallKind::Hosted => {
            ToolInput::Json(r.take(form.input)?)
        }
    };
    let name = match form.name {
        Some(name) => name.to_owned(),
        None => r.string("name")?,
    };
    Some(Body::ToolCall(ToolCall {
        id: r.string(id).unwrap_or_default().into(),
        name,
        input,
        kind: form.kind,
    }))
}

fn result(r: &mut Reader, form: &CallForm) -> Option<Body> {
    let output = output_key(form.kind);
    let id = match form.kind {
        CallKind::LocalShell if !r.has_string("call_id") => "id",
        CallKind::LocalShell
        | CallKind::Function
        | CallKind::Custom
        | CallKind::ToolSearch
        | CallKind::Hosted => "call_id",
    };
    let is_list = r.get(output).is_some_and(Value::is_array);
    let fits = is_list || (r.has_string(output) && form.kind != CallKind::ToolSearch);
    if !r.has_string(id) || !fits {
        return None;
    }
    let content = if let Some(parts) = r.list(output) {
        ResultContent::Parts(match form.kind {
            // Tool definitions, not content.
            CallKind::ToolSearch => parts.into_iter().map(|tool| unknown(WIRE, tool)).collect(),
            CallKind::Function | CallKind::Custom | CallKind::LocalShell | CallKind::Hosted => {
                parts.into_iter().map(|raw| part::decode(raw, Side::Input)).collect()
            }
        })
    } else {
        ResultContent::Text(r.string(output)?)
    };
    let call = r.string(id)?.into();
    Some(Body::ToolResult(ToolResult { call, kind: form.kind, content, is_error: None }))
}

fn output_key(kind: CallKind) -> &'static str {
    match kind {
        CallKind::ToolSearch => "tools",
        CallKind::Function | CallKind::Custom | CallKind::LocalShell | CallKind::Hosted => "output",
    }
}

/// Writes one item.
pub(crate) fn encode(block: &Block) -> Value {
    object::write_block(WIRE, block, write)
}

/// The answer to a custom tool's call, where the result itself does not say so.
pub(crate) fn encode_custom_result(result: &ToolResult) -> Value {
    let result = ToolResult { kind: CallKind::Custom, ..result.clone() };
    object::write(WIRE, None, |w| write_result(w, &result, ""))
}

fn write(w: &mut Writer<'_>, body: &Body, kind: &str) {
    match body {
        Body::Reasoning { text, seal } => {
            w.str("type", "reasoning");
            w.with("summary", || match text.as_str() {
                "" => json!([]),
                text => json!([{ "type": "summary_text", "text": text }]),
            });
            if let Some(seal) = seal {
                w.str("encrypted_content", seal);
            }
        }
        Body::ToolCall(call) => write_call(w, call),
        Body::ToolResult(result) => write_result(w, result, kind),
        Body::Image(media) => {
            w.str("type", "image_generation_call");
            if let Source::Base64 { data, .. } = &media.source {
                w.str("result", data);
            }
        }
        // Parts of a message, or raw.
        Body::Text(_) | Body::Document(_) | Body::Unknown(_) => {}
    }
}

fn write_call(w: &mut Writer<'_>, call: &ToolCall) {
    let form = form(call.kind);
    w.str("type", form.item);
    if form.name.is_none() {
        w.str("name", &call.name);
    }
    match call.kind {
        CallKind::Function | CallKind::Custom => w.with(form.input, || call.input.to_text().into()),
        CallKind::LocalShell | CallKind::ToolSearch | CallKind::Hosted => {
            w.with(form.input, || call.input.to_json().unwrap_or_else(|| call.input.to_text().into()));
        }
    }
    w.str(if call.kind == CallKind::Hosted { "id" } else { "call_id" }, call.id.as_str());
}

fn write_result(w: &mut Writer<'_>, result: &ToolResult, kind: &str) {
    w.str("type", form(result.kind).output);
    w.str(if kind == BY_ID { "id" } else { "call_id" }, result.call.as_str());
    w.with(output_key(result.kind), || match (&result.content, result.kind) {
        // A search that found nothing: this item has no place for words.
        (ResultContent::Text(_), CallKind::ToolSearch) => json!([]),
        (ResultContent::Text(text), _) => text.as_str().into(),
        (ResultContent::Parts(parts), _) => {
            parts.iter().map(|part| part::encode(part, Side::Input)).collect()
        }
    });
}
