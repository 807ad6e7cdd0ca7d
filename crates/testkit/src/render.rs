//! An answer in a wire's own form.

use crate::answer::{Answer, Part};
use crate::prompts::Prompts;
use crate::{Figures, Seen};
use serde_json::{Map, Value, json};
use throughline_core::{Usage, Wire};
use throughline_wire::{Response, Stop};

/// The same moment for all, so that two runs give the same bytes.
const CREATED: u64 = 1_760_000_000;

/// The answer's body as if it were not streamed.
pub(crate) fn body(answer: &Answer, seen: &Seen, prompts: &mut Prompts) -> Value {
    let calls = answer.parts.iter().any(|part| match part {
        Part::Call { .. } | Part::Patch { .. } => true,
        Part::Thinking(_) | Part::Text(_) | Part::Refusal(_) | Part::Raw(_) => false,
    });
    let stop = answer.stop.clone().unwrap_or(if calls { Stop::ToolUse } else { Stop::EndTurn });
    let mut body = match seen.wire {
        Wire::Anthropic => anthropic(answer, seen, &stop),
        Wire::Responses => responses(answer, seen, &stop),
        Wire::Chat => chat(answer, seen, &stop),
    };
    let counted = if answer.figures == Figures::Counted || answer.figures == Figures::Strings {
        count(answer, seen, &body, prompts)
    } else {
        Usage::default()
    };
    if let Some(usage) = answer.figures.write(seen.wire, counted) {
        body["usage"] = usage;
    }
    body
}

fn count(answer: &Answer, seen: &Seen, body: &Value, prompts: &mut Prompts) -> Usage {
    let messages = Response::from_value(seen.wire, body.clone()).map(|response| response.messages);
    let reasoning = answer.parts.iter().map(|part| match part {
        Part::Thinking(text) => prompts.count_text(seen.model(), text),
        Part::Text(_) | Part::Call { .. } | Part::Patch { .. } | Part::Refusal(_) | Part::Raw(_) => 0,
    });
    let reasoning = reasoning.sum();
    let said = messages.map_or(0, |messages| prompts.count(seen.model(), &messages));
    let new = seen.tokens.saturating_sub(seen.cached);
    let marked =
        seen.wire == Wire::Anthropic && String::from_utf8_lossy(&seen.body).contains("\"cache_control\"");
    let (input, cache_write) = if marked { (0, new) } else { (new, 0) };
    Usage { input, cache_read: seen.cached, cache_write, output: said.max(reasoning), reasoning }
}

fn anthropic(answer: &Answer, seen: &Seen, stop: &Stop) -> Value {
    let content: Vec<Value> = answer
        .parts
        .iter()
        .enumerate()
        .map(|(at, part)| match part {
            Part::Thinking(text) => {
                json!({ "type": "thinking", "thinking": text, "signature": format!("c2lnbmVk{at}") })
            }
            Part::Text(text) | Part::Refusal(text) => json!({ "type": "text", "text": text }),
            Part::Call { id, name, input } => {
                json!({ "type": "tool_use", "id": call_id("toolu_", id, seen, at), "name": name, "input": input })
            }
            Part::Patch { name, input } => {
                let id = call_id("toolu_", &None, seen, at);
                json!({ "type": "tool_use", "id": id, "name": name, "input": { "input": input } })
            }
            Part::Raw(block) => block.clone(),
        })
        .collect();
    let (reason, sequence) = match stop {
        Stop::EndTurn => (json!("end_turn"), Value::Null),
        Stop::ToolUse => (json!("tool_use"), Value::Null),
        Stop::MaxTokens => (json!("max_tokens"), Value::Null),
        Stop::ContextFull => (json!("model_context_window_exceeded"), Value::Null),
        Stop::StopSequence => (json!("stop_sequence"), json!("###")),
        Stop::Refusal => (json!("refusal"), Value::Null),
        Stop::Paused => (json!("pause_turn"), Value::Null),
        Stop::Other(word) => (json!(word), Value::Null),
        Stop::Failed | Stop::CutOff | Stop::Unsaid => (Value::Null, Value::Null),
    };
    json!({
        "id": format!("msg_test_{:06}", seen.number), "type": "message", "role": "assistant", "model": seen.model(),
        "content": content, "stop_reason": reason, "stop_sequence": sequence,
    })
}

fn responses(answer: &Answer, seen: &Seen, stop: &Stop) -> Value {
    let id = |prefix: &str, at: usize| format!("{prefix}test_{:06}_{at}", seen.number);
    let message = |at: usize, part: Value| json!({ "type": "message", "id": id("msg_", at), "status": "completed", "role": "assistant", "content": [part] });
    let output: Vec<Value> = answer
        .parts
        .iter()
        .enumerate()
        .map(|(at, part)| match part {
            Part::Thinking(text) => json!({
                "type": "reasoning", "id": id("rs_", at), "summary": [{ "type": "summary_text", "text": text }],
                "encrypted_content": format!("c2VhbGVk{at}"),
            }),
            Part::Text(text) => message(at, json!({ "type": "output_text", "text": text, "annotations": [] })),
            Part::Refusal(text) => message(at, json!({ "type": "refusal", "refusal": text })),
            Part::Call { id: given, name, input } => json!({
                "type": "function_call", "id": id("fc_", at), "call_id": call_id("call_", given, seen, at), "name": name,
                "arguments": input.to_string(), "status": "completed",
            }),
            Part::Patch { name, input } => json!({
                "type": "custom_tool_call", "id": id("ctc_", at), "call_id": call_id("call_", &None, seen, at),
                "name": name, "input": input, "status": "completed",
            }),
            Part::Raw(item) => item.clone(),
        })
        .collect();
    let (status, error, incomplete) = match stop {
        Stop::EndTurn | Stop::ToolUse | Stop::StopSequence | Stop::Paused => {
            ("completed", Value::Null, Value::Null)
        }
        Stop::MaxTokens | Stop::ContextFull => {
            ("incomplete", Value::Null, json!({ "reason": "max_output_tokens" }))
        }
        Stop::Refusal => ("incomplete", Value::Null, json!({ "reason": "content_filter" })),
        Stop::Other(word) => ("incomplete", Value::Null, json!({ "reason": word })),
        Stop::Failed => (
            "failed",
            json!({ "code": "server_error", "message": "The model failed to answer." }),
            Value::Null,
        ),
        Stop::CutOff | Stop::Unsaid => ("", Value::Null, Value::Null),
    };
    let mut body = json!({
        "id": format!("resp_test_{:06}", seen.number), "object": "response", "created_at": CREATED, "status": status,
        "error": error, "incomplete_details": incomplete, "model": seen.model(), "output": output,
        "parallel_tool_calls": true, "store": false,
    });
    if let (true, Some(body)) = (status.is_empty(), body.as_object_mut()) {
        body.shift_remove("status");
    }
    body
}

fn chat(answer: &Answer, seen: &Seen, stop: &Stop) -> Value {
    let joined = |pick: &dyn Fn(&Part) -> Option<String>| {
        let texts: Vec<String> = answer.parts.iter().filter_map(pick).collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    };
    let mut message = Map::new();
    message.insert("role".to_owned(), "assistant".into());
    let thinking = joined(&|part| if let Part::Thinking(text) = part { Some(text.clone()) } else { None });
    if let Some(thinking) = thinking {
        message.insert("reasoning_content".to_owned(), thinking.into());
    }
    let text = joined(&|part| if let Part::Text(text) = part { Some(text.clone()) } else { None });
    message.insert("content".to_owned(), text.into());
    let refusal = joined(&|part| if let Part::Refusal(text) = part { Some(text.clone()) } else { None });
    if let Some(refusal) = refusal {
        message.insert("refusal".to_owned(), refusal.into());
    }
    let calls: Vec<Value> = answer
        .parts
        .iter()
        .enumerate()
        .filter_map(|(at, part)| match part {
            Part::Call { id, name, input } => Some(json!({
                "id": call_id("call_", id, seen, at), "type": "function",
                "function": { "name": name, "arguments": input.to_string() },
            })),
            Part::Patch { name, input } => Some(json!({
                "id": call_id("call_", &None, seen, at), "type": "custom", "custom": { "name": name, "input": input },
            })),
            Part::Thinking(_) | Part::Text(_) | Part::Refusal(_) | Part::Raw(_) => None,
        })
        .collect();
    if !calls.is_empty() {
        message.insert("tool_calls".to_owned(), calls.into());
    }
    for part in &answer.parts {
        if let Part::Raw(Value::Object(keys)) = part {
            message.extend(keys.clone());
        }
    }
    let reason = match stop {
        Stop::EndTurn | Stop::StopSequence | Stop::Paused => json!("stop"),
        Stop::ToolUse => json!("tool_calls"),
        Stop::MaxTokens | Stop::ContextFull => json!("length"),
        Stop::Refusal => json!("content_filter"),
        Stop::Failed => json!("error"),
        Stop::Other(word) => json!(word),
        Stop::CutOff | Stop::Unsaid => Value::Null,
    };
    json!({
        "id": format!("chatcmpl-test{:06}", seen.number), "object": "chat.completion", "created": CREATED,
        "model": seen.model(), "choices": [{ "index": 0, "message": message, "finish_reason": reason }],
    })
}

fn call_id(prefix: &str, given: &Option<String>, seen: &Seen, at: usize) -> String {
    given.clone().unwrap_or_else(|| format!("{prefix}test_{:06}_{at}", seen.number))
}
