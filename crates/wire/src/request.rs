//! Requests.

use crate::error::WireError;
use crate::{chain, slot};
use serde_json::{Map, Value};
use std::borrow::Cow;
use throughline_core::{Message, Wire};

/// A request: the conversation as messages, everything else as it was.
///
/// Decoding and encoding gives the same JSON, key order included. The messages may be edited in between, or the
/// same messages put into a request of another wire.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The format.
    pub wire: Wire,
    /// The conversation. Ids are [content ids](throughline_core::content_id), each naming the message before it.
    pub messages: Vec<Message>,
    /// All other keys, in order. An empty value marks the place of `messages` or `input`.
    pub envelope: Map<String, Value>,
}

impl Request {
    /// An empty request for a model.
    pub fn new(wire: Wire, model: &str) -> Self {
        let mut envelope = Map::new();
        envelope.insert("model".to_owned(), model.into());
        envelope.insert(key(wire).to_owned(), Value::Array(Vec::new()));
        Self { wire, messages: Vec::new(), envelope }
    }

    /// Reads a request body. Any JSON object is one; what is odd in it is kept as it is.
    pub fn decode(wire: Wire, body: &[u8]) -> Result<Self, WireError> {
        let value =
            serde_json::from_slice(body).map_err(|error| WireError::NotJson { what: "request", error })?;
        Self::from_value(wire, value)
    }

    /// Reads a request that is parsed already.
    pub fn from_value(wire: Wire, value: Value) -> Result<Self, WireError> {
        let Value::Object(mut envelope) = value else {
            return Err(WireError::NotObject { wire, what: "request" });
        };
        let mut messages = slot::take(wire, &mut envelope, key(wire));
        chain(None, &mut messages);
        Ok(Self { wire, messages, envelope })
    }

    /// The request as JSON.
    pub fn encode(&self) -> Value {
        let mut envelope = self.envelope.clone();
        slot::fill(self.wire, &mut envelope, key(self.wire), &self.messages);
        Value::Object(envelope)
    }

    /// The request as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.encode().to_string().into_bytes()
    }

    /// The model asked for.
    pub fn model(&self) -> Option<&str> {
        self.envelope.get("model")?.as_str()
    }

    /// The system prompt outside the messages: Anthropic's `system`, Responses' `instructions`. Text blocks are joined
    /// by blank lines. Chat has none.
    pub fn system(&self) -> Option<Cow<'_, str>> {
        let value = match self.wire {
            Wire::Anthropic => self.envelope.get("system")?,
            Wire::Responses => self.envelope.get("instructions")?,
            Wire::Chat => return None,
        };
        match value {
            Value::String(text) => Some(text.as_str().into()),
            Value::Array(blocks) => {
                let texts: Vec<&str> =
                    blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect();
                Some(texts.join("\n\n").into())
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
        }
    }

    /// The tools offered, as the provider's format has them.
    pub fn tools(&self) -> Option<&Value> {
        self.envelope.get("tools")
    }

    /// The most tokens the answer may have.
    pub fn max_output(&self) -> Option<u64> {
        let keys: &[&str] = match self.wire {
            Wire::Anthropic => &["max_tokens"],
            Wire::Responses => &["max_output_tokens"],
            Wire::Chat => &["max_completion_tokens", "max_tokens"],
        };
        keys.iter().find_map(|key| self.envelope.get(*key)?.as_u64())
    }

    /// Whether the answer is to be streamed.
    pub fn stream(&self) -> bool {
        self.envelope.get("stream").and_then(Value::as_bool).unwrap_or(false)
    }
}

/// The key that holds the conversation.
pub(crate) fn key(wire: Wire) -> &'static str {
    match wire {
        Wire::Anthropic | Wire::Chat => "messages",
        Wire::Responses => "input",
    }
}
