//! A compaction as the provider would have answered it.
//!
//! **Figures.** No model was asked, so all usage is zero. Claude Code takes the size of its context from the last answer of the
//! conversation, which this is not, and Codex counts its new history itself: a zero keeps neither from condensing again in time,
//! and sets nothing off.

use super::super::LocalAnswer;
use super::super::recognise::Native;
use super::Written;
use super::ask::Wanted;
use super::blob::Blob;
use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Value, json};
use throughline_core::{Fragment, Wire};
use throughline_wire::{Response, encode_messages, stream};

/// The answer to whoever asked.
pub(super) fn answer(
    wanted: &Wanted,
    written: &Written,
    at: Timestamp,
) -> Result<LocalAnswer, throughline_wire::WireError> {
    let number = written.blob.digest.get(..24).unwrap_or_default();
    let created = at.as_second();
    match written.native {
        Native::ClaudePrompt => {
            let text = Fragment::Summary.render(&written.text);
            let body = json!({
                "id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": wanted.model,
                "content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "stop_sequence": null,
                "usage": {
                    "input_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
                    "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
                    "output_tokens": 0,
                },
            });
            given(Wire::Anthropic, body, wanted.streams)
        }
        Native::CodexPrompt => {
            let item = json!({
                "type": "message", "id": format!("msg_{number}"), "status": "completed", "role": "assistant",
                "content": [{"type": "output_text", "text": written.text, "annotations": []}],
            });
            given(Wire::Responses, response(number, created, wanted, vec![item]), wanted.streams)
        }
        Native::Trigger => {
            let body = response(number, created, wanted, vec![opaque(number, &written.blob)]);
            given(Wire::Responses, body, wanted.streams)
        }
        Native::Endpoint => {
            let body = json!({
                "id": format!("resp_{number}"), "object": "response.compaction", "created_at": created,
                "output": output(number, written), "usage": usage(),
            });
            Ok(LocalAnswer {
                status: StatusCode::OK,
                content_type: "application/json",
                body: body.to_string().into(),
            })
        }
    }
}

/// The opaque item.
fn opaque(number: &str, blob: &Blob) -> Value {
    json!({"type": "compaction", "id": format!("cmp_{number}"), "encrypted_content": blob.write()})
}

/// The new input: what stays, with the opaque item in the place of the summary.
fn output(number: &str, written: &Written) -> Vec<Value> {
    let mut items = Vec::new();
    for entry in &written.entries {
        let message = entry.shown();
        if message.flags.summary && message.flags.meta {
            items.push(opaque(number, &written.blob));
            continue;
        }
        for mut item in encode_messages(Wire::Responses, &[&*message]) {
            if let Some(object) = item.as_object_mut()
                && object.get("type").and_then(Value::as_str) == Some("message")
            {
                let id = format!("msg_{number}_{}", items.len());
                object.entry("id").or_insert_with(|| id.into());
                object.entry("status").or_insert_with(|| "completed".into());
            }
            items.push(item);
        }
    }
    items
}

fn response(number: &str, created: i64, wanted: &Wanted, output: Vec<Value>) -> Value {
    json!({
        "id": format!("resp_{number}"), "object": "response", "created_at": created, "status": "completed",
        "error": null, "incomplete_details": null, "model": wanted.model, "output": output, "store": false,
        "usage": usage(),
    })
}

fn usage() -> Value {
    json!({
        "input_tokens": 0, "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 0, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 0,
    })
}

/// Streamed or whole, as it was asked for.
fn given(wire: Wire, body: Value, streams: bool) -> Result<LocalAnswer, throughline_wire::WireError> {
    if !streams {
        return Ok(LocalAnswer {
            status: StatusCode::OK,
            content_type: "application/json",
            body: body.to_string().into(),
        });
    }
    let mut bytes = Vec::new();
    for event in stream::events(&Response::from_value(wire, body)?) {
        event.write(&mut bytes);
    }
    Ok(LocalAnswer {
        status: StatusCode::OK,
        content_type: "text/event-stream; charset=utf-8",
        body: bytes.into(),
    })
}
