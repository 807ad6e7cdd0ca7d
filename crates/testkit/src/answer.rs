//! What the model says.

use crate::{Coding, Fault, Figures, Gate, Reply};
use serde_json::Value;
use std::time::Duration;
use throughline_core::Usage;
use throughline_wire::Stop;

/// An answer of the model, in the form of whichever wire it is asked for, streamed if the request says so.
///
/// Parts come in the order in which they are added, except that thinking comes first.
#[derive(Clone, Debug)]
pub struct Answer {
    pub(crate) parts: Vec<Part>,
    pub(crate) figures: Figures,
    pub(crate) stop: Option<Stop>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) delivery: Delivery,
}

/// How an answer is sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Delivery {
    pub(crate) gate: Option<Gate>,
    pub(crate) between: Duration,
    pub(crate) pieces: Option<usize>,
    pub(crate) delta: Option<usize>,
    pub(crate) comments: bool,
    pub(crate) coding: Option<Coding>,
}

#[derive(Clone, Debug)]
pub(crate) enum Part {
    Thinking(String),
    Text(String),
    Call { id: Option<String>, name: String, input: Value },
    Patch { name: String, input: String },
    Refusal(String),
    Raw(Value),
}

impl Answer {
    /// An answer that says nothing yet.
    pub fn empty() -> Self {
        Self {
            parts: Vec::new(),
            figures: Figures::Counted,
            stop: None,
            headers: Vec::new(),
            delivery: Delivery::default(),
        }
    }

    /// An answer of words.
    pub fn text(text: impl Into<String>) -> Self {
        Self::empty().and_text(text)
    }

    /// More words, as a part of their own.
    #[must_use]
    pub fn and_text(mut self, text: impl Into<String>) -> Self {
        self.parts.push(Part::Text(text.into()));
        self
    }

    /// Reasoning, before all that is not reasoning: a signed thinking block, a reasoning item with a summary, or
    /// `reasoning_content`.
    #[must_use]
    pub fn thinking(mut self, text: impl Into<String>) -> Self {
        let at = self.parts.iter().take_while(|part| matches!(part, Part::Thinking(_))).count();
        self.parts.insert(at, Part::Thinking(text.into()));
        self
    }

    /// A call of a tool, with an id that no other call of the server has.
    #[must_use]
    pub fn call(mut self, name: &str, input: Value) -> Self {
        self.parts.push(Part::Call { id: None, name: name.to_owned(), input });
        self
    }

    /// A call of a tool with this id.
    #[must_use]
    pub fn call_with_id(mut self, id: &str, name: &str, input: Value) -> Self {
        self.parts.push(Part::Call { id: Some(id.to_owned()), name: name.to_owned(), input });
        self
    }

    /// A call whose argument is free text: a custom tool call on the OpenAI wires, `{"input": …}` on Anthropic's.
    #[must_use]
    pub fn free_call(mut self, name: &str, input: &str) -> Self {
        self.parts.push(Part::Patch { name: name.to_owned(), input: input.to_owned() });
        self
    }

    /// A refusal in the model's words: a refusal part on the OpenAI wires, text on Anthropic's.
    #[must_use]
    pub fn refusal(mut self, text: &str) -> Self {
        self.parts.push(Part::Refusal(text.to_owned()));
        self
    }

    /// A content block or item in the wire's own form; on the Chat wire, keys of the message.
    #[must_use]
    pub fn raw(mut self, part: Value) -> Self {
        self.parts.push(Part::Raw(part));
        self
    }

    /// These figures instead of counted ones.
    #[must_use]
    pub fn usage(self, usage: Usage) -> Self {
        self.figures(Figures::Exactly(usage))
    }

    /// Right or wrong figures.
    #[must_use]
    pub fn figures(mut self, figures: Figures) -> Self {
        self.figures = figures;
        self
    }

    /// This reason for the end, in the wire's own word or the nearest it has. Unless told, it is
    /// [`Stop::ToolUse`] if there is a call and [`Stop::EndTurn`] if not.
    #[must_use]
    pub fn stop(mut self, stop: Stop) -> Self {
        self.stop = Some(stop);
        self
    }

    /// With a header more.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With these headers more.
    #[must_use]
    pub fn headers<'a>(self, headers: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        headers.into_iter().fold(self, |answer, (name, value)| answer.header(name, value))
    }

    /// Waits this long before each event but the first, or each piece if there are [pieces](Self::in_pieces).
    #[must_use]
    pub fn slowly(mut self, between: Duration) -> Self {
        self.delivery.between = between;
        self
    }

    /// Sends nothing before the gate is open.
    #[must_use]
    pub fn at(mut self, gate: &Gate) -> Self {
        self.delivery.gate = Some(gate.clone());
        self
    }

    /// Writes the body in pieces of `bytes` bytes, whatever they cut through: characters, events, or several of them.
    #[must_use]
    pub fn in_pieces(mut self, bytes: usize) -> Self {
        self.delivery.pieces = Some(bytes.max(1));
        self
    }

    /// Streams text in deltas of at most so many characters. Unless told: a word or two, and longer for long texts.
    #[must_use]
    pub fn deltas(mut self, chars: usize) -> Self {
        self.delivery.delta = Some(chars.max(1));
        self
    }

    /// Sends a comment before each event of the stream, as gateways do to keep a connection alive.
    #[must_use]
    pub fn with_comments(mut self) -> Self {
        self.delivery.comments = true;
        self
    }

    /// Compresses the body. A stream then comes in pieces of 64 bytes, unless there are [others](Self::in_pieces).
    #[must_use]
    pub fn compressed(mut self, coding: Coding) -> Self {
        self.delivery.coding = Some(coding);
        self
    }

    /// The answer, spoilt by a fault. Faults that leave no answer replace it.
    pub fn spoilt_by(self, fault: Fault) -> Reply {
        Reply::Spoilt(Box::new(self), fault)
    }
}
