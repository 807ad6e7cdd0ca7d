//! The key of an envelope that the messages stood in.

use crate::{decode_message, encode_messages, responses};
use serde_json::{Map, Value};
use throughline_core::{Message, Wire};

/// Takes a list of messages out of `envelope` and leaves an empty one. What is no list stays as it is.
pub(crate) fn take_list(wire: Wire, envelope: &mut Map<String, Value>, key: &str) -> Vec<Message> {
    match envelope.get_mut(key) {
        Some(Value::Array(list)) => {
            std::mem::take(list).into_iter().map(|raw| decode_message(wire, raw)).collect()
        }
        Some(_) | None => Vec::new(),
    }
}

/// The same for a request, where Responses takes a bare string for one user message.
pub(crate) fn take(wire: Wire, envelope: &mut Map<String, Value>, key: &str) -> Vec<Message> {
    match envelope.get_mut(key) {
        Some(Value::String(text)) if wire == Wire::Responses && !text.is_empty() => {
            vec![responses::bare_input(std::mem::take(text))]
        }
        Some(_) | None => take_list(wire, envelope, key),
    }
}

/// Puts the messages back.
pub(crate) fn fill(wire: Wire, envelope: &mut Map<String, Value>, key: &str, messages: &[Message]) {
    let bare = match envelope.get(key) {
        Some(Value::String(_)) => responses::as_bare_input(messages),
        Some(_) | None => None,
    };
    let is_slot = matches!(envelope.get(key), Some(Value::Array(_)));
    if let Some(text) = bare {
        envelope.insert(key.to_owned(), text.into());
    } else if is_slot || !messages.is_empty() {
        envelope.insert(key.to_owned(), Value::Array(encode_messages(wire, messages)));
    }
}
