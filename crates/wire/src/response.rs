//! Whole answers.

use crate::stop::{self, Stop};
use crate::{WireError, anthropic, chain, chat, slot, usage};
use serde_json::{Map, Value};
use throughline_core::{GroupId, Message, MessageId, Usage, Wire};

/// An answer: what the model said as messages, everything else as it was.
///
/// Decoding and encoding gives the same JSON, key order included.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// The format.
    pub wire: Wire,
    /// What the model said: one message, or one per Responses item. They share the response's id as their
    /// [group](Message::group). Ids begin without a parent: see [`follow`](Self::follow).
    pub messages: Vec<Message>,
    /// All other keys, in order. An empty value marks the place of the messages; further choices are in it, raw.
    pub envelope: Map<String, Value>,
    /// What it cost.
    pub usage: Usage,
    /// Why it ended.
    pub stop: Stop,
}

impl Response {
    /// Reads a response body. Any JSON object is one; what is odd in it is kept as it is.
    pub fn decode(wire: Wire, body: &[u8]) -> Result<Self, WireError> {
        let value =
            serde_json::from_slice(body).map_err(|error| WireError::NotJson { what: "response", error })?;
        Self::from_value(wire, value)
    }

    /// Reads a response that is parsed already.
    pub fn from_value(wire: Wire, value: Value) -> Result<Self, WireError> {
        match value {
            Value::Object(envelope) => Ok(Self::from_object(wire, envelope)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                Err(WireError::NotObject { wire, what: "response" })
            }
        }
    }

    pub(crate) fn from_object(wire: Wire, mut envelope: Map<String, Value>) -> Self {
        let mut messages = match wire {
            Wire::Anthropic => take_content(&mut envelope),
            Wire::Responses => slot::take_list(wire, &mut envelope, "output"),
            Wire::Chat => take_choice(&mut envelope),
        };
        let group = envelope.get("id").and_then(Value::as_str).map(GroupId::from);
        for message in &mut messages {
            message.group.clone_from(&group);
        }
        chain(None, &mut messages);
        let calls_tools = messages.iter().flat_map(Message::calls).any(|call| call.kind.needs_result());
        let stop = stop::read(wire, &envelope, calls_tools);
        let usage = envelope.get("usage").map(|value| usage::read(wire, value)).unwrap_or_default();
        Self { wire, messages, envelope, usage, stop }
    }

    /// The response as JSON.
    pub fn encode(&self) -> Value {
        let mut envelope = self.envelope.clone();
        match self.wire {
            Wire::Anthropic => {
                let content = self.messages.first().map(|_| anthropic::encode_answer(&self.messages));
                if let Some(content) = content {
                    envelope.insert("content".to_owned(), content);
                }
            }
            Wire::Responses => slot::fill(self.wire, &mut envelope, "output", &self.messages),
            Wire::Chat => {
                let place = choice_message(&mut envelope);
                if let (Some(place), false) = (place, self.messages.is_empty()) {
                    *place = chat::encode_answer(&self.messages);
                }
            }
        }
        Value::Object(envelope)
    }

    /// The response as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.encode().to_string().into_bytes()
    }

    /// Puts the answer behind the last message of its request: the ids are then those that the next request gets when
    /// the client sends the answer back.
    pub fn follow(&mut self, parent: Option<&MessageId>) {
        for message in &mut self.messages {
            message.id = MessageId::new("");
        }
        chain(parent, &mut self.messages);
    }
}

fn take_content(envelope: &mut Map<String, Value>) -> Vec<Message> {
    let empty = match envelope.get("content") {
        Some(Value::Array(list)) if !list.is_empty() => Value::Array(Vec::new()),
        Some(Value::String(text)) if !text.is_empty() => "".into(),
        Some(_) | None => return Vec::new(),
    };
    let content = envelope.insert("content".to_owned(), empty).unwrap_or_default();
    vec![anthropic::decode_answer(content)]
}

fn take_choice(envelope: &mut Map<String, Value>) -> Vec<Message> {
    match choice_message(envelope).map(Value::take) {
        Some(Value::Object(message)) => vec![chat::decode_answer(message)],
        Some(other) => {
            if let Some(place) = choice_message(envelope) {
                *place = other;
            }
            Vec::new()
        }
        None => Vec::new(),
    }
}

fn choice_message(envelope: &mut Map<String, Value>) -> Option<&mut Value> {
    envelope.get_mut("choices")?.get_mut(0)?.get_mut("message")
}
