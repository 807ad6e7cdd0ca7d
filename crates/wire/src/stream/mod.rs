//! Answers as streams of events.
//!
//! A [`StreamDecoder`] puts the whole response together from its events and reads it with the same decoder as a response that
//! was not streamed, so that both give the same [`Response`]. [`events`] is the reverse: what a client would have been sent.

mod anthropic;
mod chat;
mod merge;
mod responses;

use crate::sse::Event;
use crate::{Response, Stop};
use serde_json::{Map, Value};
use throughline_core::Wire;

/// What an event added, for those who show the answer as it comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delta {
    /// Words of the answer.
    Text(String),
    /// Legible reasoning.
    Reasoning(String),
    /// Something else, or nothing.
    Other,
}

/// Why an event did not advance the answer. What came before it is not lost: see [`StreamDecoder::finish`].
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// The provider reported an error instead of going on.
    #[error("the provider ended the stream with an error: {kind}: {message}")]
    Provider {
        /// The provider's name for it, such as `overloaded_error`.
        kind: String,
        /// What it says.
        message: String,
        /// The whole report.
        raw: Value,
    },
    /// The data of an event is not JSON.
    #[error("an event of the {wire:?} stream is not JSON: {error}")]
    NotJson {
        /// The wire.
        wire: Wire,
        /// Where and why.
        error: serde_json::Error,
    },
    /// The answer is larger than any provider gives.
    #[error("the answer is larger than {limit} bytes; end the stream")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
}

/// The largest answer that is put together.
pub const ANSWER_LIMIT: usize = 256 << 20;

/// Puts an answer together, event by event.
#[derive(Debug)]
pub struct StreamDecoder {
    wire: Wire,
    assembly: Assembly,
    seen: usize,
    failed: bool,
}

#[derive(Debug)]
enum Assembly {
    Anthropic(anthropic::Assembly),
    Responses(responses::Assembly),
    Chat(chat::Assembly),
}

impl StreamDecoder {
    /// A decoder for one answer.
    pub fn new(wire: Wire) -> Self {
        let assembly = match wire {
            Wire::Anthropic => Assembly::Anthropic(anthropic::Assembly::default()),
            Wire::Responses => Assembly::Responses(responses::Assembly::default()),
            Wire::Chat => Assembly::Chat(chat::Assembly::default()),
        };
        Self { wire, assembly, seen: 0, failed: false }
    }

    /// Takes the next event. After an error, later events are still taken.
    pub fn push(&mut self, event: &Event) -> Result<Delta, StreamError> {
        self.seen = self.seen.saturating_add(event.data.len());
        if self.seen > ANSWER_LIMIT {
            return Err(StreamError::TooLarge { limit: ANSWER_LIMIT });
        }
        if event.data.trim() == DONE {
            if let Assembly::Chat(chat) = &mut self.assembly {
                chat.done();
            }
            return Ok(Delta::Other);
        }
        let data: Value = serde_json::from_str(&event.data)
            .map_err(|error| StreamError::NotJson { wire: self.wire, error })?;
        let Value::Object(mut data) = data else { return Ok(Delta::Other) };
        // The name is in the data too; some servers send only one of the two.
        if self.wire != Wire::Chat
            && !data.contains_key("type")
            && let Some(name) = &event.name
        {
            data.insert("type".to_owned(), name.as_str().into());
        }
        let result = match &mut self.assembly {
            Assembly::Anthropic(assembly) => assembly.push(data),
            Assembly::Responses(assembly) => assembly.push(data),
            Assembly::Chat(assembly) => assembly.push(data),
        };
        self.failed |= result.is_err();
        result
    }

    /// Whether the answer has come to its end.
    pub fn is_complete(&self) -> bool {
        match &self.assembly {
            Assembly::Anthropic(assembly) => assembly.complete,
            Assembly::Responses(assembly) => assembly.complete,
            Assembly::Chat(assembly) => assembly.is_complete(),
        }
    }

    /// The answer. If the stream ended early it is what had come by then, and [`Response::stop`] says [`Stop::CutOff`],
    /// or [`Stop::Failed`] after an error. Arguments of a call that was cut off are a string of what had come.
    pub fn finish(self) -> Response {
        let complete = self.is_complete();
        let body = match self.assembly {
            Assembly::Anthropic(assembly) => assembly.finish(),
            Assembly::Responses(assembly) => assembly.finish(),
            Assembly::Chat(assembly) => assembly.finish(),
        };
        let mut response = Response::from_object(self.wire, body);
        if self.failed {
            response.stop = Stop::Failed;
        } else if !complete {
            response.stop = Stop::CutOff;
        }
        response
    }
}

const DONE: &str = "[DONE]";

/// The events that a client would have been sent for this answer. Decoding them gives the answer back.
pub fn events(response: &Response) -> Vec<Event> {
    let Value::Object(body) = response.encode() else { return Vec::new() };
    match response.wire {
        Wire::Anthropic => anthropic::events(body),
        Wire::Responses => responses::events(body),
        Wire::Chat => chat::events(body),
    }
}

/// An event whose name is its data's `type`.
fn named(data: Value) -> Event {
    let name = data.get("type").and_then(Value::as_str).map(str::to_owned);
    Event { name, data: data.to_string() }
}

/// A provider's report, typed. `error` is the object that says `type` or `code`, and `message`.
fn provider_error(error: Option<&Value>, raw: Map<String, Value>) -> StreamError {
    let word = |key: &str| error.and_then(|error| error.get(key)?.as_str());
    let kind = word("code").or_else(|| word("type")).unwrap_or("error").to_owned();
    let message = word("message").or_else(|| error?.as_str()).unwrap_or("").to_owned();
    StreamError::Provider { kind, message, raw: Value::Object(raw) }
}
