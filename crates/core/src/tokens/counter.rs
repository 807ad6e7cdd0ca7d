//! Messages to tokens. A text is counted once: its count is remembered under its content hash.

use super::{Arguments, Breakdown, Profile, ReasoningRule, ViewCount, document_tokens};
use crate::{Block, Body, CallKind, Message, ResultContent, Role, ToolCall, ToolInput};
use serde_json::Value;
use std::borrow::Borrow;
use std::collections::HashMap;

/// Counts messages for one model.
///
/// The count of a message is the sum of its blocks', that of a view the sum of its messages'. Counts never depend
/// on what was counted before: the cache only saves time, and its memory is bounded.
#[derive(Debug)]
pub struct Counter {
    profile: Profile,
    cache: Cache,
}

impl Counter {
    /// Texts whose counts are remembered: some 3 MB at most, and more than the longest sessions hold.
    pub const CAPACITY: usize = 32_768;

    /// A counter for a model, by the name that requests carry.
    pub fn for_model(model: &str) -> Self {
        Self::new(Profile::for_model(model), Self::CAPACITY)
    }

    /// A counter that remembers the counts of up to `capacity` texts.
    pub fn new(profile: Profile, capacity: usize) -> Self {
        Self { profile, cache: Cache { capacity, ..Cache::default() } }
    }

    /// What is known about how the model's provider counts.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// How many texts were tokenized so far, rather than remembered.
    pub fn texts_counted(&self) -> u64 {
        self.cache.misses
    }

    /// Tokens of a text.
    pub fn text(&mut self, text: &str) -> u64 {
        let tokenizer = self.profile.tokenizer;
        self.cache.get_or_count(text, |text| tokenizer.count(text))
    }

    /// Tokens of a JSON value as text: a system prompt's blocks, a tool's definition.
    pub fn json(&mut self, value: &Value) -> u64 {
        self.text(&value.to_string())
    }

    /// Tokens of a block, without those of the message around it.
    pub fn block(&mut self, block: &Block) -> Breakdown {
        let overheads = self.profile.overheads;
        let mut count = Breakdown::default();
        match &block.body {
            Body::Text(text) => {
                count.text = self.text(text);
                count.structure = overheads.text;
            }
            Body::Reasoning { text, seal } => {
                // Beside a seal the text is a summary that the model is not shown.
                count.reasoning = match seal {
                    Some(seal) => overheads.seal.tokens(seal.len()),
                    None => self.text(text),
                };
                count.structure = overheads.reasoning;
            }
            Body::ToolCall(call) => {
                count.calls = self.text(&call.name) + self.arguments(call);
                count.structure = match call.kind {
                    CallKind::Custom => overheads.free_call,
                    CallKind::Function | CallKind::LocalShell | CallKind::ToolSearch | CallKind::Hosted => {
                        overheads.call
                    }
                };
            }
            Body::ToolResult(result) => {
                count.structure = overheads.result;
                match &result.content {
                    ResultContent::Text(text) => count.results = self.text(text),
                    ResultContent::Parts(parts) => {
                        count += parts.iter().map(|part| self.result_part(part)).sum()
                    }
                }
            }
            Body::Image(media) => count.images = self.profile.images.source_tokens(&media.source),
            Body::Document(media) => count.documents = document_tokens(&media.source),
            Body::Unknown(value) => count.other = self.json(value),
        }
        count
    }

    /// Words inside a tool result belong to the result; pictures stay pictures.
    fn result_part(&mut self, part: &Block) -> Breakdown {
        let count = self.block(part);
        Breakdown { text: 0, structure: 0, results: count.results + count.text, ..count }
    }

    fn arguments(&mut self, call: &ToolCall) -> u64 {
        let each = match self.profile.overheads.arguments {
            Arguments::Json => return self.text(&call.input.to_text()),
            Arguments::Parameters { each } => each,
        };
        let parsed;
        let parameters = match &call.input {
            ToolInput::Json(value) => value.as_object(),
            ToolInput::JsonText(_) => {
                parsed = call.input.to_json();
                parsed.as_ref().and_then(Value::as_object)
            }
            ToolInput::Text(_) => None,
        };
        let Some(parameters) = parameters else { return each + self.text(&call.input.to_text()) };
        parameters
            .iter()
            .map(|(name, value)| {
                let value = match value {
                    Value::String(text) => self.text(text),
                    Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                        self.json(value)
                    }
                };
                each + self.text(name) + value
            })
            .sum()
    }

    /// Tokens of a message by kind, reasoning included. Nothing, if it is for people only.
    ///
    /// ```
    /// use throughline_core::tokens::Counter;
    /// use throughline_core::{Message, Role};
    ///
    /// let count = Counter::for_model("gpt-5.5").message(&Message::text(Role::User, "hello world"));
    /// assert_eq!((count.text, count.structure, count.total()), (2, 4, 6));
    /// ```
    pub fn message(&mut self, message: &Message) -> Breakdown {
        if message.flags.display_only {
            return Breakdown::default();
        }
        let mut count: Breakdown = message.blocks.iter().map(|block| self.block(block)).sum();
        if speaks(message) {
            count.structure += match message.role {
                Role::Assistant => self.profile.overheads.answer,
                Role::User | Role::System | Role::Developer | Role::Tool => self.profile.overheads.message,
            };
        }
        count
    }

    /// Tokens of a whole conversation, message by message. Reasoning that the provider drops counts as nothing.
    ///
    /// ```
    /// use throughline_core::tokens::Counter;
    /// use throughline_core::{Message, Role, View};
    ///
    /// let mut view = View::default();
    /// view.push(Message::text(Role::User, "hello").into());
    /// view.push(Message::text(Role::Assistant, "hello to you").into());
    /// let count = Counter::for_model("gpt-5.5").view(view.messages());
    /// assert_eq!(count.messages.len(), 2);
    /// assert_eq!(count.total(), count.messages[0].total() + count.messages[1].total());
    /// ```
    pub fn view<M: Borrow<Message>>(&mut self, messages: impl IntoIterator<Item = M>) -> ViewCount {
        let messages: Vec<M> = messages.into_iter().collect();
        let dropped_before = match self.profile.reasoning {
            ReasoningRule::Kept => 0,
            ReasoningRule::CurrentTurn => turn_start(&messages),
        };
        let counts = messages.iter().enumerate().map(|(at, message)| {
            let message = message.borrow();
            let mut count = self.message(message);
            if at < dropped_before && !message.flags.display_only {
                count.reasoning = 0;
                count.structure -= self.profile.overheads.reasoning * reasoning_blocks(message);
            }
            count
        });
        ViewCount { messages: counts.collect() }
    }
}

/// Where the current turn begins: at the newest words of the user that follow a finished answer. Words put in
/// between tool calls do not begin a turn.
pub(crate) fn turn_start<M: Borrow<Message>>(messages: &[M]) -> usize {
    let mut start = 0;
    let mut words = None;
    for (at, message) in messages.iter().enumerate().rev().map(|(at, message)| (at, message.borrow())) {
        if message.flags.display_only {
            continue;
        }
        let answers_tool = message.role == Role::Tool || message.results().next().is_some();
        match message.role {
            Role::User if !answers_tool && speaks(message) => words = Some(at),
            Role::Assistant if message.calls().next().is_none() && speaks(message) => {
                if let Some(at) = words {
                    start = at;
                    break;
                }
            }
            Role::System | Role::Developer => {}
            Role::User | Role::Assistant | Role::Tool => words = None,
        }
    }
    start
}

fn speaks(message: &Message) -> bool {
    message.blocks.iter().any(|block| match &block.body {
        Body::Text(_) | Body::Image(_) | Body::Document(_) => true,
        Body::Reasoning { .. } | Body::ToolCall(_) | Body::ToolResult(_) | Body::Unknown(_) => false,
    })
}

fn reasoning_blocks(message: &Message) -> u64 {
    message.blocks.iter().filter(|block| matches!(block.body, Body::Reasoning { .. })).count() as u64
}

/// Counts by content hash, in two generations: when the young one is full it becomes the old one, and what was
/// not asked for since is forgotten.
#[derive(Debug, Default)]
struct Cache {
    capacity: usize,
    young: HashMap<[u8; 16], u64>,
    old: HashMap<[u8; 16], u64>,
    misses: u64,
}

/// Shorter texts are counted faster than they are looked up.
const WORTH_REMEMBERING: usize = 64;

impl Cache {
    fn get_or_count(&mut self, text: &str, count: impl Fn(&str) -> u64) -> u64 {
        if text.len() < WORTH_REMEMBERING || self.capacity == 0 {
            self.misses += u64::from(text.len() >= WORTH_REMEMBERING);
            return count(text);
        }
        let mut key = [0; 16];
        key.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..16]);
        if let Some(&tokens) = self.young.get(&key) {
            return tokens;
        }
        let tokens = match self.old.remove(&key) {
            Some(tokens) => tokens,
            None => {
                self.misses += 1;
                count(text)
            }
        };
        if self.young.len() >= self.capacity.div_ceil(2) {
            self.old = std::mem::take(&mut self.young);
        }
        if self.capacity > 0 {
            self.young.insert(key, tokens);
        }
        tokens
    }
}
