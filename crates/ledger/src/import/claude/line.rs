//! One line of a Claude Code transcript, as far as it matters here.
//!
//! What is not named is skipped while parsing and never held: `toolUseResult`, a second and often longer copy of
//! each tool's answer, above all.

use crate::import::lenient::{Flag, Number, Text};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use std::fmt;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Line<'a> {
    #[serde(borrow)]
    pub(super) r#type: Text<'a>,
    #[serde(borrow)]
    pub(super) subtype: Text<'a>,
    #[serde(borrow)]
    pub(super) uuid: Text<'a>,
    #[serde(borrow)]
    pub(super) parent_uuid: Text<'a>,
    #[serde(borrow)]
    pub(super) session_id: Text<'a>,
    #[serde(borrow)]
    pub(super) agent_id: Text<'a>,
    #[serde(borrow)]
    pub(super) timestamp: Text<'a>,
    #[serde(borrow)]
    pub(super) cwd: Text<'a>,
    #[serde(borrow)]
    pub(super) version: Text<'a>,
    #[serde(borrow)]
    pub(super) git_branch: Text<'a>,
    pub(super) is_sidechain: Flag,
    pub(super) is_meta: Flag,
    pub(super) is_compact_summary: Flag,
    pub(super) is_visible_in_transcript_only: Flag,
    pub(super) is_api_error_message: Flag,
    #[serde(borrow)]
    pub(super) prompt_source: Text<'a>,
    pub(super) origin: Value,
    pub(super) turn_origin: Value,
    pub(super) message: Said<'a>,
    #[serde(borrow)]
    pub(super) source_tool_assistant_uuid: Text<'a>,
    pub(super) compact_metadata: Value,
    pub(super) attachment: Option<Attachment<'a>>,
    pub(super) rendered: Value,
    #[serde(borrow)]
    pub(super) rendered_role: Text<'a>,
    #[serde(borrow)]
    pub(super) content: Text<'a>,
    #[serde(borrow)]
    pub(super) summary: Text<'a>,
    #[serde(borrow)]
    pub(super) leaf_uuid: Text<'a>,
    #[serde(borrow)]
    pub(super) ai_title: Text<'a>,
    #[serde(borrow)]
    pub(super) custom_title: Text<'a>,
}

/// The API message inside a record.
#[derive(Debug, Default)]
pub(super) struct Said<'a> {
    pub(super) id: Text<'a>,
    pub(super) model: Text<'a>,
    pub(super) content: Option<Value>,
    pub(super) usage: Option<Usage>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Usage {
    pub(super) input_tokens: Number,
    pub(super) cache_read_input_tokens: Number,
    pub(super) cache_creation_input_tokens: Number,
    pub(super) output_tokens: Number,
}

impl Usage {
    pub(super) fn to_core(&self) -> throughline_core::Usage {
        throughline_core::Usage {
            input: self.input_tokens.0.unwrap_or(0),
            cache_read: self.cache_read_input_tokens.0.unwrap_or(0),
            cache_write: self.cache_creation_input_tokens.0.unwrap_or(0),
            output: self.output_tokens.0.unwrap_or(0),
            reasoning: 0,
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Attachment<'a> {
    #[serde(borrow)]
    pub(super) r#type: Text<'a>,
    pub(super) prompt: Value,
    pub(super) content: Value,
    #[serde(borrow)]
    pub(super) snippet: Text<'a>,
    #[serde(borrow)]
    pub(super) filename: Text<'a>,
    pub(super) origin: Value,
    pub(super) rendered: Value,
    #[serde(borrow)]
    pub(super) rendered_role: Text<'a>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Said<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Said<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut said = Said::default();
                while let Some(key) = map.next_key::<Text<'de>>()? {
                    match key.or_empty() {
                        "id" => said.id = map.next_value()?,
                        "model" => said.model = map.next_value()?,
                        "content" => said.content = Some(map.next_value()?),
                        "usage" => said.usage = map.next_value()?,
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Ok(said)
            }

            fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
                Ok(Said::default())
            }

            fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
                Ok(Said::default())
            }

            fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
                Ok(Said::default())
            }

            fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
                Ok(Said::default())
            }

            fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
                Ok(Said::default())
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Said::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Said::default())
            }
        }
        deserializer.deserialize_any(V)
    }
}

/// Only what tells a record's kind: for lines of other kinds whose fields mean something else.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Head<'a> {
    #[serde(borrow)]
    pub(super) r#type: Text<'a>,
}
