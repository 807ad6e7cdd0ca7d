//! The parent's request, and what is put behind it.

use crate::{Delivery, Wire};
use bytes::Bytes;
use serde_json::{Map, Value, json};
use std::fmt;
use std::sync::Arc;
use throughline_core::Message;
use throughline_core::cost::Ttl;
use throughline_wire::splice::{Body, Changes, Fragment, SpliceError};
use throughline_wire::{WireError, encode_messages};

/// The request that a fork continues, to the byte: system prompt, tools and messages as the parent sent them. Clones
/// share it.
#[derive(Clone)]
pub struct Prefix {
    body: Arc<Body>,
}

/// What may differ from the parent's request beside the messages behind its last: keys that no prompt cache depends on,
/// unless it is said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tail {
    /// The most tokens of an answer. Where the parent gives thinking a budget on Anthropic's wire, and this is no more
    /// than the budget, it comes on top: the limit covers both, and changing the budget would cost the cache.
    pub max_output: Option<u64>,
    /// How the answer is to come; as the parent's if not said.
    pub delivery: Option<Delivery>,
    /// No thinking, or as little as the wire has a word for. **Costs the cache of the messages on Anthropic's wire**, so
    /// it pays for short conversations only.
    pub without_thinking: bool,
}

/// A request that can't be continued.
#[derive(Debug, thiserror::Error)]
pub enum ForkError {
    /// There is no list of messages to continue.
    #[error("the parent's request can't be continued: {0}")]
    Splice(#[from] SpliceError),
}

impl Prefix {
    /// Takes a request as it was sent.
    ///
    /// # Errors
    /// If the body is not a JSON object.
    pub fn new(wire: Wire, body: impl Into<Vec<u8>>) -> Result<Self, WireError> {
        Ok(Self { body: Arc::new(Body::parse(wire, body)?) })
    }

    /// The format.
    pub fn wire(&self) -> Wire {
        self.body.wire()
    }

    /// The model that the parent asked; empty if it named none.
    pub fn model(&self) -> String {
        let name = self.body.get("model").unwrap_or_default();
        name.as_str().unwrap_or_default().to_owned()
    }

    /// The parent's request.
    pub fn bytes(&self) -> &[u8] {
        self.body.bytes()
    }

    /// The request with messages behind the last one. Nothing before them changes by a byte: neither the parent's elements nor
    /// what stands between them, nor any key that `change` does not name. The parent's last element is never added to.
    ///
    /// On Anthropic's wire, what the user says right behind tool results joins their message, and further results do too:
    /// all results of an answer must be in the one message behind it.
    ///
    /// # Errors
    /// If the parent's request has no list of messages.
    pub fn then(&self, messages: &[Message], change: &Tail) -> Result<Bytes, ForkError> {
        let mut changes = Changes::default();
        let mut elements = encode_messages(self.wire(), messages);
        if self.wire() == Wire::Anthropic {
            elements = join_results(elements);
        }
        let len = self.body.len();
        changes.replace(len..len, elements.iter().map(Fragment::from).collect());
        self.change_keys(change, &mut changes);
        Ok(Bytes::from(self.body.rebuild(&changes)?.into_owned()))
    }

    /// How many bytes of the parent's tools, system prompt and messages a body has too, from the beginning and in this
    /// order, which is the order in which providers cache. None if it asks another model.
    pub fn shared(&self, body: &[u8]) -> usize {
        let Ok(other) = self.body.advance(body) else { return 0 };
        let other = other.body;
        if other.get("model") != self.body.get("model") {
            return 0;
        }
        let mut shared = 0;
        for key in self.keys() {
            let (mine, theirs) = (self.part(key), other.raw(key));
            let whole = match (mine, theirs) {
                (None, None) => true,
                (None, Some(_)) | (Some(_), None) => false,
                (Some(mine), Some(theirs)) => {
                    let same = if is_text_as_list(mine, &other) { mine.len() } else { common(mine, theirs) };
                    shared += same;
                    same == mine.len()
                }
            };
            if !whole {
                break;
            }
        }
        shared
    }

    /// The bytes of the parent's tools, system prompt and messages: what [`shared`](Self::shared) comes to at most.
    pub fn len(&self) -> usize {
        self.keys().iter().filter_map(|key| self.part(key)).map(<[u8]>::len).sum()
    }

    /// Whether there is nothing that a cache could hold.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The most tokens that the parent lets an answer have.
    pub(super) fn max_output(&self) -> Option<u64> {
        self.output_keys().iter().find_map(|key| self.body.get(key)?.as_u64())
    }

    /// The lifetime that the parent's marks give to cache entries.
    pub(super) fn ttl(&self) -> Ttl {
        // Inside a longer text the closing quote would stand behind a backslash.
        let is_long = || self.bytes().windows(4).any(|four| four == b"\"1h\"");
        if self.wire() == Wire::Anthropic && is_long() { Ttl::Long } else { Ttl::Short }
    }

    /// Whether the provider forgets its own answers: reasoning then comes back sealed or not at all.
    pub(super) fn is_stateless(&self) -> bool {
        self.wire() == Wire::Responses && self.body.get("store") == Some(Value::Bool(false))
    }

    /// What a cache goes by, in its order.
    fn keys(&self) -> [&'static str; 3] {
        match self.wire() {
            Wire::Anthropic => ["tools", "system", "messages"],
            Wire::Responses => ["tools", "instructions", "input"],
            // The system prompt is a message. The second is a key that no request has.
            Wire::Chat => ["tools", "", "messages"],
        }
    }

    /// What stands under a key; of a list of messages, all but its end, which moves when messages are added.
    fn part(&self, key: &str) -> Option<&[u8]> {
        let raw = self.body.raw(key)?;
        let is_conversation = key == "messages" || key == "input";
        Some(match raw.strip_suffix(b"]") {
            Some(open) if is_conversation => open.trim_ascii_end(),
            Some(_) | None => raw,
        })
    }

    fn output_keys(&self) -> &'static [&'static str] {
        match self.wire() {
            Wire::Anthropic => &["max_tokens"],
            Wire::Responses => &["max_output_tokens"],
            Wire::Chat => &["max_completion_tokens", "max_tokens"],
        }
    }

    fn change_keys(&self, change: &Tail, changes: &mut Changes) {
        if let Some(most) = change.max_output {
            let keys = self.output_keys();
            let key = keys.iter().find(|key| self.body.raw(key).is_some()).or(keys.first());
            let most = match self.thinking_budget().filter(|_| !change.without_thinking) {
                Some(budget) if most <= budget => budget.saturating_add(most),
                Some(_) | None => most,
            };
            if let Some(key) = key {
                changes.set(key, Fragment::from(&Value::from(most)));
            }
        }
        match change.delivery {
            Some(Delivery::Streamed) => {
                changes.set("stream", Fragment::from(&Value::Bool(true)));
                if self.wire() == Wire::Chat {
                    let mut options = self.object("stream_options");
                    options.insert("include_usage".to_owned(), true.into());
                    changes.set("stream_options", Fragment::from(&Value::Object(options)));
                }
            }
            Some(Delivery::Whole) => {
                changes.remove("stream_options");
                if self.body.raw("stream").is_some() {
                    changes.set("stream", Fragment::from(&Value::Bool(false)));
                }
            }
            None => {}
        }
        if change.without_thinking {
            self.stop_thinking(changes);
        }
    }

    fn thinking_budget(&self) -> Option<u64> {
        if self.wire() != Wire::Anthropic {
            return None;
        }
        self.body.get("thinking")?.get("budget_tokens")?.as_u64()
    }

    fn stop_thinking(&self, changes: &mut Changes) {
        match self.wire() {
            Wire::Anthropic => {
                changes.remove("thinking");
                // An edit of thoughts is refused where there are none.
                let mut management = self.object("context_management");
                let Some(Value::Array(edits)) = management.get_mut("edits") else { return };
                let is_of_thoughts = |edit: &Value| {
                    edit["type"].as_str().is_some_and(|kind| kind.starts_with("clear_thinking"))
                };
                let before = edits.len();
                edits.retain(|edit| !is_of_thoughts(edit));
                if edits.is_empty() {
                    changes.remove("context_management");
                } else if edits.len() < before {
                    changes.set("context_management", Fragment::from(&Value::Object(management)));
                }
            }
            Wire::Responses => {
                let mut reasoning = self.object("reasoning");
                if !reasoning.is_empty() {
                    reasoning.insert("effort".to_owned(), "low".into());
                    changes.set("reasoning", Fragment::from(&Value::Object(reasoning)));
                }
            }
            Wire::Chat => {
                if self.body.raw("reasoning_effort").is_some() {
                    changes.set("reasoning_effort", Fragment::from(&json!("low")));
                }
            }
        }
    }

    fn object(&self, key: &str) -> Map<String, Value> {
        match self.body.get(key) {
            Some(Value::Object(map)) => map,
            Some(_) | None => Map::new(),
        }
    }
}

impl fmt::Debug for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prefix")
            .field("wire", &self.wire())
            .field("elements", &self.body.len())
            .field("bytes", &self.bytes().len())
            .finish_non_exhaustive()
    }
}

/// Joins user messages to the one before where that holds tool results.
fn join_results(elements: Vec<Value>) -> Vec<Value> {
    let mut joined: Vec<Value> = Vec::with_capacity(elements.len());
    for mut element in elements {
        let is_user = element["role"] == "user";
        let results = joined.last_mut().filter(|last| is_user && holds_results(last)).and_then(content);
        match (results.and_then(Value::as_array_mut), content(&mut element)) {
            (Some(blocks), Some(Value::Array(more))) => blocks.append(more),
            (Some(blocks), Some(Value::String(text))) => blocks.push(json!({"type": "text", "text": text})),
            (Some(_) | None, _) => joined.push(element),
        }
    }
    joined
}

fn holds_results(element: &Value) -> bool {
    let blocks = element["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    element["role"] == "user" && blocks.iter().any(|block| block["type"] == "tool_result")
}

fn content(element: &mut Value) -> Option<&mut Value> {
    element.get_mut("content")
}

/// Whether an `input` that was one string stands at the beginning of a list now, as what the user says.
fn is_text_as_list(text: &[u8], other: &Body) -> bool {
    let said = || other.element(0)?.strip_suffix(b"}")?.strip_suffix(text)?.strip_suffix(b"\"content\":");
    text.starts_with(b"\"") && said().is_some()
}

/// How many bytes two texts have in common at their beginning.
fn common(one: &[u8], other: &[u8]) -> usize {
    // Slices compare faster than bytes one by one.
    const PIECE: usize = 4096;
    let pieces = one.chunks(PIECE).zip(other.chunks(PIECE)).take_while(|(a, b)| a == b);
    let start: usize = pieces.map(|(a, _)| a.len()).sum();
    start + one[start..].iter().zip(&other[start..]).take_while(|(a, b)| a == b).count()
}
