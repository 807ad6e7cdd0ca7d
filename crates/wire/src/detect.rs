//! Which format a request body is in.

use crate::Request;
use serde_json::{Map, Value};
use throughline_core::Wire;

/// Top-level keys that only one of the two formats with `messages` has.
const ANTHROPIC_KEYS: &[&str] = &[
    "system",
    "stop_sequences",
    "thinking",
    "anthropic_version",
    "anthropic_beta",
    "context_management",
    "output_config",
    "top_k",
    "container",
    "mcp_servers",
];
const CHAT_KEYS: &[&str] = &[
    "max_completion_tokens",
    "stream_options",
    "response_format",
    "stop",
    "n",
    "frequency_penalty",
    "presence_penalty",
    "logit_bias",
    "logprobs",
    "reasoning_effort",
    "parallel_tool_calls",
    "functions",
    "user",
    "seed",
];

impl Request {
    /// The format of a request body, from its keys and from what its messages are made of. `None` if it is neither.
    pub fn detect(value: &Value) -> Option<Wire> {
        let body = value.as_object()?;
        let Some(messages) = body.get("messages").and_then(Value::as_array) else {
            let is_responses = ["input", "instructions", "previous_response_id", "prompt", "conversation"];
            return is_responses.iter().any(|key| body.contains_key(*key)).then_some(Wire::Responses);
        };
        Some(
            from_messages(messages)
                .or_else(|| from_tools(body))
                .or_else(|| from_keys(body))
                .unwrap_or_else(|| from_model(body)),
        )
    }
}

pub(crate) fn from_messages(messages: &[Value]) -> Option<Wire> {
    messages.iter().find_map(|message| match message.get("role").and_then(Value::as_str) {
        Some("tool" | "developer" | "function") => Some(Wire::Chat),
        _ if message.get("tool_calls").is_some() => Some(Wire::Chat),
        _ => {
            message.get("content")?.as_array()?.iter().find_map(|part| match part.get("type")?.as_str()? {
                "image_url" | "input_audio" | "file" | "refusal" => Some(Wire::Chat),
                "tool_use" | "tool_result" | "thinking" | "redacted_thinking" | "image" | "document"
                | "server_tool_use" => Some(Wire::Anthropic),
                _ if part.get("cache_control").is_some() => Some(Wire::Anthropic),
                _ => None,
            })
        }
    })
}

fn from_tools(body: &Map<String, Value>) -> Option<Wire> {
    body.get("tools")?.as_array()?.iter().find_map(|tool| {
        if tool.get("input_schema").is_some() {
            Some(Wire::Anthropic)
        } else {
            tool.get("function").map(|_| Wire::Chat)
        }
    })
}

fn from_keys(body: &Map<String, Value>) -> Option<Wire> {
    let has = |keys: &[&str]| keys.iter().any(|key| body.contains_key(*key));
    match (has(ANTHROPIC_KEYS), has(CHAT_KEYS)) {
        (true, false) => Some(Wire::Anthropic),
        (false, true) => Some(Wire::Chat),
        (true, true) | (false, false) => None,
    }
}

/// Nothing but words: Anthropic insists on `max_tokens` and begins with the user.
fn from_model(body: &Map<String, Value>) -> Wire {
    let model = body.get("model").and_then(Value::as_str).unwrap_or("");
    let first_role = body.get("messages").and_then(|list| list.get(0)?.get("role")?.as_str());
    if model.contains("claude") {
        Wire::Anthropic
    } else if first_role == Some("system") || !body.contains_key("max_tokens") {
        Wire::Chat
    } else {
        Wire::Anthropic
    }
}
