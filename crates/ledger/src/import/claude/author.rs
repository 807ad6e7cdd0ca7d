//! Who wrote a record in the person's name: the person, or the client.

use serde_json::Value;
use throughline_core::{Body, Fragment, Message, Speaker};

/// Whether the record says that a person typed it: yes, no, or nothing about it.
pub(super) fn who_typed(origin: &Value, turn_origin: &Value, prompt_source: Option<&str>) -> Option<bool> {
    let kind = |value: &Value| {
        value.get("kind").and_then(Value::as_str).or(value.as_str()).map(|kind| kind == "human")
    };
    kind(origin).or_else(|| kind(turn_origin).filter(|human| *human)).or(match prompt_source {
        Some("typed" | "queued") => Some(true),
        Some("system") => Some(false),
        Some(_) | None => None,
    })
}

/// Commands are recorded in tags that nobody typed.
pub(super) fn is_command(message: &Message) -> bool {
    message.blocks.iter().any(|block| match &block.body {
        Body::Text(text) => Fragment::recognise(Speaker::User, text).is_some(),
        Body::Reasoning { .. }
        | Body::ToolCall(_)
        | Body::ToolResult(_)
        | Body::Image(_)
        | Body::Document(_)
        | Body::Unknown(_) => false,
    })
}

/// Texts that the client writes in the person's name without marking them.
pub(super) fn client_made(message: &Message) -> bool {
    match message.blocks.as_slice() {
        [block] => match &block.body {
            Body::Text(text) => {
                matches!(
                    text.trim(),
                    "[Request interrupted by user]" | "[Request interrupted by user for tool use]"
                )
            }
            Body::Reasoning { .. }
            | Body::ToolCall(_)
            | Body::ToolResult(_)
            | Body::Image(_)
            | Body::Document(_)
            | Body::Unknown(_) => false,
        },
        _ => false,
    }
}
