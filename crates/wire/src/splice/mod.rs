//! A request as bytes that are cut only where something changes.
//!
//! [`Body`] holds the bytes of a request, and knows where its keys and the elements of its conversation stand.
//! Nothing is parsed before it is asked for, and nothing is written anew that was not changed: kept elements and
//! keys are copied to the letter, however they are spaced, escaped or repeated.
//!
//! - [`Body::parse`] scans everything once. [`Body::advance`] compares with the request before, and scans only what
//!   differs: its cost is that of comparing bytes.
//! - [`Body::message`] decodes one element.
//! - [`Body::changes`] says what must happen for the conversation to read as given, and [`Body::rebuild`] does it.
//!
//! ```
//! use throughline_core::{Message, Role, Wire};
//! use throughline_wire::splice::{Body, Slot};
//!
//! let first = r#"{"model": "m", "messages": [{"role": "user", "content": "a\u0062"}], "x": 1e2}"#;
//! let body = Body::parse(Wire::Chat, first)?;
//! let second = first.replace("}]", r#"}, {"role": "assistant", "content": "c"}]"#);
//! let next = body.advance(second.as_str())?;
//! assert_eq!((next.same, next.body.len()), (1, 2));
//!
//! let note = Message::text(Role::User, "d");
//! let changes = next.body.changes(&[Slot::Keep(0), Slot::Write(&note)])?;
//! assert_eq!(
//!     next.body.rebuild(&changes)?.as_ref(),
//!     br#"{"model": "m", "messages": [{"role": "user", "content": "a\u0062"}, {"role":"user","content":[{"type":"text","text":"d"}]}], "x": 1e2}"#,
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod changes;
mod mend;
mod outline;
mod rebuild;
mod scan;

pub use changes::{Changes, Fragment, Slot, SpliceError, encode_run};

use crate::{WireError, decode_message, detect, responses};
use bytes::Bytes;
use outline::{Conversation, Member, Outline};
use serde_json::{Map, Value};
use std::ops::Range;
use throughline_core::{Message, Wire};

/// The bytes of a request, and where its keys and elements stand.
#[derive(Clone, Debug)]
pub struct Body {
    wire: Wire,
    bytes: Bytes,
    outline: Outline,
}

/// The next request of a conversation.
#[derive(Clone, Debug)]
pub struct Advance {
    /// The request.
    pub body: Body,
    /// How many elements at its beginning are, to the byte, those that the request before began with.
    pub same: usize,
}

impl Body {
    /// Finds the keys and elements of a request body. Any JSON object is one; a body without a list of messages has no
    /// elements.
    pub fn parse(wire: Wire, bytes: impl Into<Vec<u8>>) -> Result<Self, WireError> {
        Self::share(wire, Bytes::from(bytes.into()))
    }

    /// As [`parse`](Self::parse), for bytes that others hold too: they are not copied.
    pub fn share(wire: Wire, bytes: Bytes) -> Result<Self, WireError> {
        Ok(Self::read(wire, bytes, None)?.body)
    }

    /// As [`parse`](Self::parse), for a request that has most in common with this one: what is the same to the byte is
    /// compared and not scanned.
    pub fn advance(&self, bytes: impl Into<Vec<u8>>) -> Result<Advance, WireError> {
        self.advance_to(Bytes::from(bytes.into()))
    }

    /// As [`advance`](Self::advance), for bytes that others hold too: they are not copied.
    pub fn advance_to(&self, bytes: Bytes) -> Result<Advance, WireError> {
        Self::read(self.wire, bytes, Some(self))
    }

    fn read(wire: Wire, bytes: Bytes, guide: Option<&Self>) -> Result<Advance, WireError> {
        let guide = guide.map(|body| (body.bytes.as_ref(), &body.outline));
        match outline::read(wire, &bytes, guide) {
            Ok(Some((outline, same))) => Ok(Advance { body: Self { wire, bytes, outline }, same }),
            Ok(None) => Err(WireError::NotObject { wire, what: "request" }),
            Err(flaw) => Err(WireError::NotJson { what: "request", error: flaw.into_error(&bytes) }),
        }
    }

    /// The format of a request body, as [`Request::detect`](crate::Request::detect) tells it, with no more of the
    /// conversation decoded than it takes.
    pub fn detect(bytes: &[u8]) -> Result<Option<Wire>, WireError> {
        let body = Self::parse(Wire::Anthropic, bytes)?;
        let decisive = (0..body.len()).find_map(|at| detect::from_messages(&[body.value(at)?]));
        if decisive.is_some() {
            return Ok(decisive);
        }
        // What is left to decide by is the other keys, and who speaks first.
        let mut rest: Map<String, Value> = body
            .keys()
            .map(|key| {
                let value = if key == "messages" || key == "input" { None } else { body.get(&key) };
                (key, value.unwrap_or_default())
            })
            .collect();
        if body.outline.conversation.is_list() {
            rest.insert("messages".to_owned(), body.value(0).into_iter().collect());
        }
        Ok(crate::Request::detect(&Value::Object(rest)))
    }

    /// The format.
    pub fn wire(&self) -> Wire {
        self.wire
    }

    /// The request, to the byte.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The request, to the byte.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes.into()
    }

    /// How many elements the conversation has. An `input` that is one string counts as one, unless it is
    /// empty.
    pub fn len(&self) -> usize {
        self.outline.elements.len()
    }

    /// Whether the conversation has no elements.
    pub fn is_empty(&self) -> bool {
        self.outline.elements.is_empty()
    }

    /// An element of the conversation, to the byte.
    pub fn element(&self, at: usize) -> Option<&[u8]> {
        Some(self.outline.elements.get(at)?.of(&self.bytes))
    }

    /// An element of the conversation as JSON. Half of a surrogate pair is read as U+FFFD, and a number beyond a double as
    /// the nearest one; the bytes stay as they are.
    pub fn value(&self, at: usize) -> Option<Value> {
        self.element(at).map(mend::read)
    }

    /// An element of the conversation as a message, read as [`value`](Self::value) does. Its id is empty: see
    /// [`chain`](crate::chain).
    pub fn message(&self, at: usize) -> Option<Message> {
        let value = self.value(at)?;
        Some(match (self.outline.conversation, value) {
            (Conversation::Text(_), Value::String(text)) => responses::bare_input(text),
            (_, value) => decode_message(self.wire, value),
        })
    }

    /// Some elements of the conversation as messages, of those that there are.
    pub fn messages(&self, range: Range<usize>) -> impl Iterator<Item = Message> + '_ {
        range.map_while(|at| self.message(at))
    }

    /// The keys of the request, in their order, repeated ones too.
    pub fn keys(&self) -> impl Iterator<Item = String> + '_ {
        self.outline
            .members
            .iter()
            .map(|member| outline::text_of_key(member.key.of(&self.bytes)).into_owned())
    }

    /// What stands under a key, to the byte; under the last one, if it is repeated.
    pub fn raw(&self, key: &str) -> Option<&[u8]> {
        let member = self.outline.members.get(self.position(key)?)?;
        Some(member.value.of(&self.bytes))
    }

    /// What stands under a key, read as [`value`](Self::value) does.
    pub fn get(&self, key: &str) -> Option<Value> {
        self.raw(key).map(mend::read)
    }

    /// The member that counts under a key.
    fn position(&self, key: &str) -> Option<usize> {
        self.outline.members.iter().rposition(|member| self.is_key(member, key))
    }

    fn is_key(&self, member: &Member, key: &str) -> bool {
        outline::text_of_key(member.key.of(&self.bytes)) == key
    }
}
