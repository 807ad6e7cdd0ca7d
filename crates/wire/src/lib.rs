//! Provider formats to and from [`Message`]s, with nothing lost: Anthropic Messages, OpenAI Responses, OpenAI Chat
//! Completions. No I/O.
//!
//! - [`Request`], [`Response`]: bodies. Decoding and encoding gives the same JSON, key order included.
//! - [`splice`]: a request as bytes, of which only what changes is decoded and written again.
//! - [`sse`], [`stream`]: an answer as a stream of events, read at any chunking and written again.
//! - [`stitch`]: several answers as one, for tools that the client knows nothing of.
//! - [`decode_message`], [`encode_messages`]: the conversation alone; [`anthropic::decode_content`] and
//!   [`responses::decode_item`] for importers of transcripts.
//!
//! **Same wire.** Messages decoded from a wire and encoded to it again give the same list: nothing is joined, split or
//! reordered, and what we do not know is in place.
//!
//! **Another wire.** Calls, results, texts, pictures and documents are written in that wire's own form. Records of one
//! answer become one message where the wire has answers as one message: two adjacent messages are joined if they
//! share a [`group`](Message::group), or are the model's and one of them shows by its form that it came from another
//! wire, or are tool results on their way to Anthropic. Results inside a user message become messages or items of their own.
//! What only its own provider understands is left out: reasoning, hosted calls, stored files, unknown blocks; a message of which
//! nothing is left disappears, and a user message or tool result says in words what stood there.
//!
//! ```
//! use serde_json::json;
//! use throughline_core::Wire;
//! use throughline_wire::{Request, encode_messages};
//!
//! let body = json!({"model": "m", "input": [
//!     {"role": "user", "content": "list the files"},
//!     {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "shell", "arguments": "{\"cmd\": \"ls\"}"},
//!     {"type": "function_call_output", "call_id": "c1", "output": "Cargo.toml"},
//! ]});
//! let request = Request::from_value(Wire::Responses, body.clone())?;
//! assert_eq!(request.encode().to_string(), body.to_string());
//!
//! let there = encode_messages(Wire::Anthropic, &request.messages);
//! assert_eq!(there[1]["content"][0], json!({"type": "tool_use", "id": "c1", "name": "shell", "input": {"cmd": "ls"}}));
//! assert_eq!(there[2]["content"][0]["tool_use_id"], "c1");
//! # Ok::<(), throughline_wire::WireError>(())
//! ```

pub mod anthropic;
pub mod chat;
mod detect;
mod error;
mod fit;
mod media;
mod object;
mod request;
mod response;
pub mod responses;
mod run;
mod slot;
pub mod splice;
pub mod sse;
pub mod stitch;
mod stop;
pub mod stream;
mod usage;
mod whole;

pub use error::WireError;
pub use request::Request;
pub use response::Response;
pub use stop::Stop;

use serde_json::Value;
use std::borrow::Borrow;
use throughline_core::{Body, Message, MessageId, Role, Wire, content_id};

/// Reads one element of a request's `messages` or `input`. Its id is empty: see [`chain`].
///
/// Never fails and loses nothing: what does not fit a typed form is an unknown block.
pub fn decode_message(wire: Wire, raw: Value) -> Message {
    match wire {
        Wire::Anthropic => anthropic::decode_message(raw),
        Wire::Responses => responses::decode_item(raw),
        Wire::Chat => chat::decode_message(raw),
    }
}

/// Writes messages as the elements of a request's `messages` or `input`. The crate's own page says what is joined and what is
/// left out; messages for people only are never written.
pub fn encode_messages<M: Borrow<Message>>(wire: Wire, messages: &[M]) -> Vec<Value> {
    let messages: Vec<&Message> = messages.iter().map(Borrow::borrow).collect();
    match wire {
        Wire::Anthropic => anthropic::encode(&messages),
        Wire::Responses => responses::encode(&messages),
        Wire::Chat => chat::encode(&messages),
    }
}

/// Splits off the system and developer messages that a conversation begins with: their text, and the rest. Anthropic
/// wants such text in `system`, as its messages begin with the user.
pub fn split_instructions<M: Borrow<Message>>(messages: &[M]) -> (String, &[M]) {
    let is_instruction = |message: &Message| match message.role {
        Role::System | Role::Developer => true,
        Role::User | Role::Assistant | Role::Tool => false,
    };
    let count = messages.iter().take_while(|message| is_instruction((*message).borrow())).count();
    let (instructions, rest) = messages.split_at(count);
    let texts = instructions
        .iter()
        .flat_map(|message| &message.borrow().blocks)
        .filter_map(|block| if let Body::Text(text) = &block.body { Some(text.as_str()) } else { None });
    (texts.collect::<Vec<_>>().join("\n\n"), rest)
}

/// Gives messages without an id their [content id](content_id), and each the one before it as its parent; `parent` is
/// what stands before the first. The same history gets the same ids again.
pub fn chain(parent: Option<&MessageId>, messages: &mut [Message]) {
    let mut parent = parent.cloned();
    for message in messages {
        if message.id.as_str().is_empty() {
            message.id = content_id(parent.as_ref(), message);
        }
        message.parent = parent.replace(message.id.clone());
    }
}
