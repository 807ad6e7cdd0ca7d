//! Answers in which a model calls tools that its client knows nothing of.
//!
//! A proxy offers tools of its own, answers their calls and asks the model to go on. A [`Stitcher`] makes one answer for the
//! client of all the answers that this takes:
//!
//! - As long as none of our tools is called, what comes out is what came in, to the byte, event by event.
//! - A call of ours never comes out, not even in part. What follows it moves up: places in the answer and numbers of events.
//! - An answer that waits only for us ([`Ending::Ours`]) is not ended for the client. The next answer continues it: one
//!   beginning, one end, one id, everything in its place.
//! - Calls of ours among the client's ([`Ending::Mixed`]): ours are taken out, the client gets its own and an end.
//! - The figures at the end are those of the last answer, with the output of all: a client that asks how full its context is finds
//!   what the last request found.
//!
//! [`Stitched`] remembers such an answer, and puts what the model really said back into the requests that repeat it.
//!
//! **Never half a call.** A stream that breaks off, or is ended without us ([`Stitcher::give_up`]), has whole blocks, items
//! and calls of the client's and none of ours.

mod anthropic;
mod body;
mod chat;
mod expand;
mod frames;
mod record;
mod responses;
mod streamed;
mod usage;

pub use expand::{ExpandError, Expander};
pub use record::{OwnResult, Stitched, StitchedPart};

use crate::{Response, Stop, stream};
use serde_json::{Map, Value};
use std::sync::Arc;
use streamed::Streamed;
use throughline_core::{ToolCall, Wire};

/// How an answer comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As a stream of events.
    Streamed,
    /// As one object. Nothing comes out before its end.
    Whole,
}

/// Makes one answer of several. Bytes of the provider go in, bytes for the client come out.
///
/// ```
/// use throughline_core::Wire;
/// use throughline_wire::stitch::{Ending, Form, Stitcher};
///
/// let mut stitcher = Stitcher::new(Wire::Chat, Form::Whole, &["Recall"]);
/// let first = r#"{"id": "a", "choices": [{"message": {"role": "assistant", "content": "I look.", "tool_calls": [
///     {"id": "c1", "type": "function", "function": {"name": "Recall", "arguments": "{}"}}]}, "finish_reason": "tool_calls"}]}"#;
/// let mut out = Vec::new();
/// stitcher.push(first.as_bytes(), &mut out);
/// let Ending::Ours(round) = stitcher.end(&mut out) else { unreachable!() };
/// assert_eq!((round.calls[0].id.as_str(), out.len()), ("c1", 0));
///
/// stitcher.go_on();
/// let second = r#"{"id": "b", "choices": [{"message": {"role": "assistant", "content": "Port 7."}, "finish_reason": "stop"}]}"#;
/// stitcher.push(second.as_bytes(), &mut out);
/// assert!(matches!(stitcher.end(&mut out), Ending::Over(Some(_))));
/// assert_eq!(
///     String::from_utf8_lossy(&out),
///     r#"{"id":"a","choices":[{"message":{"role":"assistant","content":"I look.\n\nPort 7."},"finish_reason":"stop"}]}"#,
/// );
/// ```
#[derive(Debug)]
pub struct Stitcher {
    wire: Wire,
    names: Arc<[String]>,
    most: usize,
    /// What the client got of the answers before this one, as whole bodies.
    earlier: Vec<Map<String, Value>>,
    /// This answer, to the byte.
    raw: Vec<u8>,
    /// What the client got of this answer, once it has ended.
    ended: Option<Map<String, Value>>,
    /// `None`: it comes as one object.
    streamed: Option<Box<Streamed>>,
}

/// One answer of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// All that it said.
    pub response: Response,
    /// Our tools that it called, in order.
    pub calls: Vec<ToolCall>,
}

/// How an answer ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// The client has all of it. What it got of this last answer, where more than one made it up.
    Over(Option<Box<Response>>),
    /// It waits for us alone. The client has not been told of an end: [`go_on`](Stitcher::go_on) or
    /// [`give_up`](Stitcher::give_up).
    Ours(Box<Round>),
    /// It waits for us and for the client, which has its own calls and the end.
    Mixed(Box<Round>),
    /// It broke off, or the provider reported an error: the client has what came, without ours.
    Broken,
}

/// The largest answer that is held: beyond it calls of ours are taken out, and not answered.
const MOST: usize = 64 << 20;
/// The largest event of a stream that is held: beyond it the event passes unseen.
const MOST_OF_EVENT: usize = 8 << 20;

impl Stitcher {
    /// For one answer; `names` are our tools.
    pub fn new(wire: Wire, form: Form, names: &[&str]) -> Self {
        let names: Arc<[String]> = names.iter().map(|&name| name.to_owned()).collect();
        let streamed = match form {
            Form::Streamed => Some(Box::new(Streamed::new(wire, names.clone(), MOST_OF_EVENT))),
            Form::Whole => None,
        };
        Self { wire, names, most: MOST, earlier: Vec::new(), raw: Vec::new(), ended: None, streamed }
    }

    /// Limits the bytes of an answer that are held, and those of one event of a stream.
    pub fn limit(mut self, answer: usize, event: usize) -> Self {
        self.most = self.most.min(answer);
        if let Some(streamed) = &mut self.streamed {
            streamed.limit_events(event);
        }
        self
    }

    /// Returns `true` if an event was larger than may be held and could not be passed on unseen: the stream can't be continued.
    pub fn has_overflowed(&self) -> bool {
        self.streamed.as_ref().is_some_and(|streamed| streamed.has_overflowed())
    }

    /// Returns `true` if this answer is not held whole any more: calls of ours in it are not answered.
    pub fn is_forgotten(&self) -> bool {
        self.most == 0
    }

    /// Holds this answer no longer. Calls of ours in a stream are taken out, and not answered.
    pub fn forget(&mut self) {
        if let Some(streamed) = &mut self.streamed {
            // What is not all there can't be told again.
            streamed.forget();
            self.raw = Vec::new();
            self.most = 0;
        }
    }

    /// Takes the next bytes of the provider, and appends what the client gets.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let fits = self.raw.len().saturating_add(bytes.len()) <= self.most;
        if !fits {
            self.forget();
        }
        match &mut self.streamed {
            Some(streamed) => {
                if fits {
                    self.raw.extend_from_slice(bytes);
                }
                streamed.push(bytes, &self.earlier, out);
                if streamed.is_forgotten() {
                    self.raw = Vec::new();
                    self.most = 0;
                }
            }
            None if fits => self.raw.extend_from_slice(bytes),
            None => {
                // Too large to be looked at: it passes as it is.
                out.append(&mut self.raw);
                out.extend_from_slice(bytes);
                self.most = 0;
            }
        }
    }

    /// The provider's answer has come to its end, as far as its connection tells.
    pub fn end(&mut self, out: &mut Vec<u8>) -> Ending {
        match &mut self.streamed {
            Some(streamed) => {
                streamed.end(&self.earlier, out);
                if !streamed.is_own() && self.earlier.is_empty() {
                    return Ending::Over(None);
                }
                if streamed.is_forgotten() {
                    streamed.release(true, out);
                    return Ending::Over(None);
                }
                let decoded = self.decode();
                self.judge(decoded, out)
            }
            None => match serde_json::from_slice(&self.raw) {
                Ok(Value::Object(body)) if self.most > 0 => {
                    let response = Response::from_object(self.wire, body);
                    self.judge(response, out)
                }
                Ok(_) | Err(_) => {
                    // No answer of a model: whatever it is, it is the client's.
                    out.append(&mut self.raw);
                    Ending::Over(None)
                }
            },
        }
    }

    fn decode(&self) -> Response {
        let mut events = Vec::new();
        // What can't be read was passed on as it is.
        let _ = crate::sse::Parser::default().push(&self.raw, &mut events);
        let mut decoder = stream::StreamDecoder::new(self.wire);
        for event in &events {
            let _ = decoder.push(event);
        }
        decoder.finish()
    }

    fn judge(&mut self, response: Response, out: &mut Vec<u8>) -> Ending {
        let is_own = |call: &&ToolCall| self.names.contains(&call.name);
        let calls: Vec<ToolCall> =
            response.messages.iter().flat_map(|message| message.calls()).filter(is_own).cloned().collect();
        if calls.is_empty() && self.earlier.is_empty() && self.streamed.is_none() {
            out.append(&mut self.raw);
            return Ending::Over(None);
        }
        if matches!(response.stop, Stop::CutOff | Stop::Failed) && self.streamed.is_some() {
            return Ending::Broken;
        }
        let Value::Object(mut body) = response.encode() else { return Ending::Broken };
        body::cut(self.wire, &mut body, &self.names);
        let delivered = Response::from_object(self.wire, body.clone());
        self.ended = Some(body);
        if calls.is_empty() {
            self.finish(false, out);
            return Ending::Over(Some(Box::new(delivered)));
        }
        let waits_for_client = delivered
            .messages
            .iter()
            .flat_map(|message| message.calls())
            .any(|call| call.kind.needs_result());
        if waits_for_client {
            self.finish(false, out);
            return Ending::Mixed(Box::new(Round { response, calls }));
        }
        match response.stop {
            // Some servers do not say that an answer with calls waits for them.
            Stop::ToolUse | Stop::EndTurn | Stop::Unsaid => Ending::Ours(Box::new(Round { response, calls })),
            // The call was cut off with the answer, or the provider wants something else first.
            Stop::MaxTokens
            | Stop::ContextFull
            | Stop::StopSequence
            | Stop::Refusal
            | Stop::Paused
            | Stop::Failed
            | Stop::CutOff
            | Stop::Other(_) => {
                self.finish(false, out);
                Ending::Over(Some(Box::new(delivered)))
            }
        }
    }

    /// Writes the end. `cut`: the answer is over although the model waits for our results.
    fn finish(&mut self, cut: bool, out: &mut Vec<u8>) {
        match &mut self.streamed {
            Some(streamed) => streamed.release(cut, out),
            None => {
                let Some(mut body) = self.ended.clone() else { return };
                body::join(self.wire, &self.earlier, &mut body, body::Items::All);
                if cut {
                    body::end_turn(self.wire, &mut body);
                }
                out.extend_from_slice(Value::Object(body).to_string().as_bytes());
            }
        }
    }

    /// The next answer continues this one.
    pub fn go_on(&mut self) {
        if let Some(mut body) = self.ended.take() {
            body::rename(self.wire, &self.earlier, &mut body);
            self.earlier.push(body);
        }
        self.raw = Vec::new();
        if let Some(streamed) = &mut self.streamed {
            streamed.go_on(&self.earlier);
        }
    }

    /// There is no next answer: the client gets the end that was held back, without our calls.
    pub fn give_up(&mut self, out: &mut Vec<u8>) {
        self.finish(true, out);
    }
}
