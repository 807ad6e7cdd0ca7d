//! One line of a Codex rollout: `{timestamp, ordinal?, type, payload}`.
//!
//! Events are mostly copies of items, sometimes with much more output: only their few useful fields are read.

use crate::import::lenient::{Number, Text};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use std::fmt;

#[derive(Debug, Default)]
pub(super) struct Line<'a> {
    pub(super) timestamp: Text<'a>,
    pub(super) ordinal: Number,
    pub(super) r#type: Text<'a>,
    pub(super) payload: Payload<'a>,
}

#[derive(Debug, Default)]
pub(super) enum Payload<'a> {
    /// The line has none: the oldest files, whose lines are bare items.
    #[default]
    Absent,
    /// Of a line that has no use for it.
    Unread,
    Event(Box<Event<'a>>),
    Value(Value),
}

/// The payload of an `event_msg`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Event<'a> {
    #[serde(borrow)]
    pub(super) r#type: Text<'a>,
    #[serde(borrow)]
    pub(super) message: Text<'a>,
    #[serde(borrow)]
    pub(super) reason: Text<'a>,
    #[serde(borrow)]
    pub(super) turn_id: Text<'a>,
    #[serde(borrow)]
    pub(super) thread_name: Text<'a>,
    pub(super) num_turns: Number,
    pub(super) model_context_window: Number,
    pub(super) info: Option<TokenInfo>,
    #[serde(borrow)]
    pub(super) memory_mode: Text<'a>,
    #[serde(borrow)]
    pub(super) thread_settings: Option<Box<Settings<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Settings<'a> {
    #[serde(borrow)]
    pub(super) memory_mode: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TokenInfo {
    pub(super) total_token_usage: Option<Tokens>,
    pub(super) last_token_usage: Option<Tokens>,
    pub(super) model_context_window: Number,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Tokens {
    pub(super) input_tokens: Number,
    pub(super) cached_input_tokens: Number,
    pub(super) output_tokens: Number,
    pub(super) reasoning_output_tokens: Number,
    pub(super) total_tokens: Number,
}

impl Tokens {
    /// Codex counts cached tokens as part of the input.
    pub(super) fn to_core(&self) -> throughline_core::Usage {
        let cached = self.cached_input_tokens.0.unwrap_or(0);
        throughline_core::Usage {
            input: self.input_tokens.0.unwrap_or(0).saturating_sub(cached),
            cache_read: cached,
            cache_write: 0,
            output: self.output_tokens.0.unwrap_or(0),
            reasoning: self.reasoning_output_tokens.0.unwrap_or(0),
        }
    }

    pub(super) fn total(&self) -> u64 {
        let sum = self.input_tokens.0.unwrap_or(0).saturating_add(self.output_tokens.0.unwrap_or(0));
        self.total_tokens.0.unwrap_or(sum)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Line<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Line<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut line = Line::default();
                while let Some(key) = map.next_key::<Text<'de>>()? {
                    match key.or_empty() {
                        "timestamp" => line.timestamp = map.next_value()?,
                        "ordinal" => line.ordinal = map.next_value()?,
                        "type" => line.r#type = map.next_value()?,
                        // The kind stands before the payload and tells how to read it.
                        "payload" => {
                            line.payload = match line.r#type.or_empty() {
                                "event_msg" => Payload::Event(map.next_value()?),
                                "world_state"
                                | "security_risk_score"
                                | "inter_agent_communication_metadata" => {
                                    map.next_value::<IgnoredAny>()?;
                                    Payload::Unread
                                }
                                _ => Payload::Value(map.next_value()?),
                            }
                        }
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Ok(line)
            }
        }
        deserializer.deserialize_map(V)
    }
}
