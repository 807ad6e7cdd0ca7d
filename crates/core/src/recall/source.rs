//! Where messages come from, and how an answer names them.

use super::answer::Desk;
use crate::text::one_line;
use crate::{Block, Body, CallId, Message, MessageId, Role, ToolCall};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// Where the messages of a session can be read, also those that no view shows.
pub trait Archive {
    /// A message by its id.
    fn message(&self, id: &MessageId) -> Option<Arc<Message>>;
}

impl<F: Fn(&MessageId) -> Option<Arc<Message>>> Archive for F {
    fn message(&self, id: &MessageId) -> Option<Arc<Message>> {
        self(id)
    }
}

impl Archive for HashMap<MessageId, Arc<Message>> {
    fn message(&self, id: &MessageId) -> Option<Arc<Message>> {
        self.get(id).cloned()
    }
}

/// Who said it, by which tool and about what, and when.
pub(super) fn label(desk: &Desk<'_>, message: &Message, block: Option<usize>) -> String {
    let block = match (block, message.blocks.as_slice()) {
        (Some(at), blocks) => blocks.get(at),
        (None, [only]) => Some(only),
        (None, _) => None,
    };
    let mut label = match block.map(|block| &block.body) {
        Some(Body::ToolCall(call)) => format!("call of {}", call.name),
        Some(Body::ToolResult(result)) => match called(desk, &result.call, message, block) {
            Some(about) => about,
            None => "tool result".to_owned(),
        },
        Some(Body::Reasoning { .. }) => "reasoning".to_owned(),
        Some(Body::Text(_) | Body::Image(_) | Body::Document(_) | Body::Unknown(_)) | None => {
            match message.role {
                Role::User if message.is_real_user() => "user".to_owned(),
                Role::User => "client".to_owned(),
                Role::Assistant => "assistant".to_owned(),
                Role::System | Role::Developer => "instructions".to_owned(),
                Role::Tool => "tool".to_owned(),
            }
        }
    };
    if let Some(at) = message.at {
        label.push_str(&at.strftime(" %m-%d %H:%M").to_string());
    }
    label
}

/// The call that a result answers, in a few words.
fn called(desk: &Desk<'_>, id: &CallId, message: &Message, block: Option<&Block>) -> Option<String> {
    let at = message.blocks.iter().position(|other| block.is_some_and(|block| std::ptr::eq(block, other)))?;
    let asking = desk.index.asked_by(&message.id, at)?;
    let asking = desk.archive.message(asking)?;
    let call = asking.calls().find(|call| call.id == *id)?;
    let about = key_argument(call);
    Some(match about.is_empty() {
        true => call.name.clone(),
        false => format!("{} {about}", call.name),
    })
}

/// What a call is about: its path, command, pattern or query, else the first words among its arguments.
fn key_argument(call: &ToolCall) -> String {
    const TELLING: &[&str] = &["file_path", "path", "command", "cmd", "pattern", "query", "url"];
    let found = match call.input.to_json() {
        Some(Value::Object(arguments)) => {
            let named = TELLING.iter().find_map(|name| arguments.get(*name));
            let value = named.or_else(|| arguments.values().find(|value| value.is_string()));
            match value {
                Some(Value::String(text)) => text.clone(),
                Some(Value::Array(words)) => {
                    words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
                }
                Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => {
                    String::new()
                }
            }
        }
        Some(Value::String(text)) => text,
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_)) => String::new(),
        None => call.input.to_text().into_owned(),
    };
    let found = one_line(&found, 200);
    // Of a path the end tells most, of a command the beginning.
    match found.contains(' ') || found.chars().count() <= KEY {
        true => one_line(&found, KEY),
        false => format!("…{}", crate::text::tail(&found, KEY)),
    }
}

const KEY: usize = 32;
