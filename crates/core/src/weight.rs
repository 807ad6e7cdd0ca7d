//! How much memory messages take.

use crate::{Block, Body, Media, Message, ResultContent, Shape, Source, ToolInput};
use serde_json::Value;

impl Message {
    /// Bytes that it takes in memory, about: its words, and what stands around them.
    ///
    /// ```
    /// use throughline_core::{Message, Role};
    ///
    /// let weight = Message::text(Role::User, "a".repeat(10_000)).weight();
    /// assert!((10_000..11_000).contains(&weight));
    /// ```
    pub fn weight(&self) -> usize {
        let shape = self.shape.as_ref().map_or(0, Shape::weight);
        size_of::<Self>() + shape + self.blocks.iter().map(Block::weight).sum::<usize>()
    }
}

impl Block {
    fn weight(&self) -> usize {
        let words = match &self.body {
            Body::Text(text) => text.len(),
            Body::Reasoning { text, seal } => text.len() + seal.as_ref().map_or(0, String::len),
            Body::ToolCall(call) => {
                call.name.len()
                    + match &call.input {
                        ToolInput::Json(value) => weight_of(value),
                        ToolInput::JsonText(text) | ToolInput::Text(text) => text.len(),
                    }
            }
            Body::ToolResult(result) => match &result.content {
                ResultContent::Text(text) => text.len(),
                ResultContent::Parts(parts) => parts.iter().map(Self::weight).sum(),
            },
            Body::Image(Media { source }) | Body::Document(Media { source }) => match source {
                Source::Base64 { data, .. } => data.len(),
                Source::Url(text) | Source::File(text) => text.len(),
                Source::Other(value) => weight_of(value),
            },
            Body::Unknown(value) => weight_of(value),
        };
        size_of::<Self>() + words + self.shape.as_ref().map_or(0, Shape::weight)
    }
}

/// Bytes that a JSON value takes in memory, about.
pub(crate) fn weight_of(value: &Value) -> usize {
    // A key is hashed, and stands there with its value.
    const PER_KEY: usize = 48;
    let held = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight_of).sum(),
        Value::Object(members) => {
            members.iter().map(|(key, value)| PER_KEY + key.len() + weight_of(value)).sum()
        }
    };
    size_of::<Value>() + held
}
