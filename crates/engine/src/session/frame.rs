//! What comes around the messages of a session's requests.

use bytes::Bytes;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use throughline_core::{Body, Fragment, Message, Role, Wire};
use throughline_model::{Delivery, body};
use throughline_wire::Request;

/// What comes around the messages of a session's requests. It must not change between requests unless it has to: the
/// provider's cache begins with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// The format.
    pub wire: Wire,
    /// The model, as the provider knows it.
    pub model: String,
    /// The system prompt.
    pub system: String,
    /// The tools offered, as the provider's format has them.
    pub tools: Vec<Value>,
    /// The most tokens an answer may have.
    pub max_output: Option<u64>,
    /// Other keys of the request, such as `thinking` or `temperature`.
    pub extra: Map<String, Value>,
}

/// Anthropic wants a limit in every request.
const MAX_OUTPUT: u64 = 16_000;

impl Frame {
    /// Nothing around the messages but the model's name.
    pub fn new(wire: Wire, model: &str) -> Self {
        Self {
            wire,
            model: model.to_owned(),
            system: String::new(),
            tools: Vec::new(),
            max_output: None,
            extra: Map::new(),
        }
    }

    /// The request for some messages, to be streamed. What does not change comes first, so that one request begins with the
    /// bytes of the one before it as far as they say the same.
    pub fn request(&self, messages: &[Arc<Message>]) -> Bytes {
        self.request_with(messages, Vec::new())
    }

    /// The same with further keys that hold for this request only.
    pub(crate) fn request_with(&self, messages: &[Arc<Message>], keys: Vec<(&'static str, Value)>) -> Bytes {
        let system = self.system.as_str();
        let mut envelope = Map::new();
        envelope.insert("model".to_owned(), self.model.as_str().into());
        let mut front = None;
        if !system.is_empty() {
            match self.wire {
                Wire::Anthropic => {
                    let block =
                        json!({"type": "text", "text": system, "cache_control": {"type": "ephemeral"}});
                    envelope.insert("system".to_owned(), Value::Array(vec![block]));
                }
                Wire::Responses => {
                    envelope.insert("instructions".to_owned(), system.into());
                }
                Wire::Chat => front = Some(Message::text(Role::System, system)),
            }
        }
        if !self.tools.is_empty() {
            envelope.insert("tools".to_owned(), Value::Array(self.tools.clone()));
        }
        let (key, limit) = match self.wire {
            Wire::Anthropic => ("max_tokens", Some(self.max_output.unwrap_or(MAX_OUTPUT))),
            Wire::Responses => ("max_output_tokens", self.max_output),
            Wire::Chat => ("max_completion_tokens", self.max_output),
        };
        if let Some(limit) = limit {
            envelope.insert(key.to_owned(), limit.into());
        }
        envelope.extend(self.extra.clone());
        envelope.extend(keys.into_iter().map(|(key, value)| (key.to_owned(), value)));
        let place = match self.wire {
            Wire::Anthropic | Wire::Chat => "messages",
            Wire::Responses => "input",
        };
        // What `body` adds has to stand before the messages, too.
        envelope.insert("stream".to_owned(), true.into());
        match self.wire {
            Wire::Anthropic => {}
            Wire::Responses => {
                envelope.entry("store").or_insert(false.into());
            }
            Wire::Chat => {
                envelope.insert("stream_options".to_owned(), json!({"include_usage": true}));
            }
        }
        envelope.insert(place.to_owned(), Value::Array(Vec::new()));
        let messages: Vec<Message> =
            front.into_iter().chain(messages.iter().map(|message| spoken_on(self.wire, message))).collect();
        let request = Request { wire: self.wire, messages, envelope };
        match self.wire {
            Wire::Anthropic => with_cache_mark(request.encode()),
            Wire::Responses | Wire::Chat => body(&request, Delivery::Streamed),
        }
    }
}

/// A message as a wire can have it. Anthropic's knows no developers: what they said in a conversation that began elsewhere is a
/// reminder there.
fn spoken_on(wire: Wire, message: &Message) -> Message {
    let mut message = message.clone();
    let is_foreign = match message.role {
        Role::System | Role::Developer => wire == Wire::Anthropic && message.shape.is_none(),
        Role::User | Role::Assistant | Role::Tool => false,
    };
    if is_foreign {
        message.role = Role::User;
        message.flags.meta = true;
        for block in &mut message.blocks {
            if let Body::Text(text) = &mut block.body {
                *text = Fragment::SystemReminder.render(text.as_str());
            }
        }
    }
    message
}

/// Marks the end of the conversation, so that the next request reads all of this one from the cache. The mark itself is no
/// part of what is cached.
fn with_cache_mark(mut request: Value) -> Bytes {
    let last = request.get_mut("messages").and_then(Value::as_array_mut).and_then(|list| list.last_mut());
    let block = last
        .and_then(|message| message.get_mut("content"))
        .and_then(Value::as_array_mut)
        .and_then(|blocks| blocks.last_mut())
        .and_then(Value::as_object_mut);
    if let Some(block) = block {
        let is_thinking =
            block.get("type").and_then(Value::as_str).is_some_and(|kind| kind.contains("thinking"));
        if !is_thinking {
            block.insert("cache_control".to_owned(), json!({"type": "ephemeral"}));
        }
    }
    Bytes::from(request.to_string().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(texts: &[&str]) -> Vec<Arc<Message>> {
        let roles = [Role::User, Role::Assistant].into_iter().cycle();
        texts.iter().zip(roles).map(|(text, role)| Arc::new(Message::text(role, *text))).collect()
    }

    #[test]
    fn a_request_begins_with_the_bytes_of_the_one_before() {
        for wire in [Wire::Anthropic, Wire::Responses, Wire::Chat] {
            let mut frame = Frame::new(wire, "m");
            frame.system = "be brief".to_owned();
            frame.tools = vec![json!({"name": "Look"})];
            let first = frame.request(&said(&["one"]));
            let second = frame.request(&said(&["one", "two", "three"]));
            let shared = first.iter().zip(&second).take_while(|(a, b)| a == b).count();
            // All but what closes the last message, with its cache mark.
            let open = first.len() - shared;
            assert!(open < 60, "{wire:?}: {}", String::from_utf8_lossy(&first[shared..]));
            assert!(Request::decode(wire, &second).is_ok_and(|request| request.stream()));
        }
    }
}
