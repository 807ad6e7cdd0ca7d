//! What is remembered of an answer that was made of several.

use super::{Round, body};
use crate::splice::{Body, Fragment};
use crate::{Response, encode_messages};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use throughline_core::{
    Block, Body as Content, CallId, Message, ResultContent, Role, ToolCall, ToolResult, Wire, content_id,
};

/// An answer that was made of several, so that later requests can be sent with what the model really said.
///
/// It is found again by what it says and by what stands before it: string or list, order of keys and cache marks make no
/// difference, nor does reasoning that the client leaves out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stitched {
    wire: Wire,
    /// What stands before it in the client's history.
    before: String,
    /// The answers that were continued.
    pub parts: Vec<StitchedPart>,
    /// What the client got, without reasoning: blocks, or items.
    words: Vec<String>,
    /// How many blocks or items of reasoning it got.
    reasoning: usize,
    /// On the Chat wire: how many bytes of its text the continued answers make up.
    #[serde(default)]
    head: usize,
    /// Calls of ours in the last answer, among the client's.
    #[serde(default)]
    own: Vec<Own>,
    /// Our answers to those.
    #[serde(default)]
    results: Vec<Value>,
}

/// An answer that was continued, and our results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StitchedPart {
    /// Blocks or items that the client got of it, reasoning included.
    units: usize,
    /// The same without reasoning.
    words: usize,
    /// What the model said, as elements of a request.
    said: Vec<Value>,
    /// What we answered, as elements of a request.
    results: Vec<Value>,
}

/// A call of ours in the last answer, by its place among what the client got of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Own {
    pub(super) units: usize,
    pub(super) words: usize,
    pub(super) call: Value,
}

/// The answer to a call of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnResult {
    /// The call.
    pub call: CallId,
    /// What the model reads.
    pub text: String,
    /// Whether it failed.
    pub is_error: bool,
}

impl Stitched {
    /// The answer to a request of the client's, as the client sent it.
    pub fn to(request: &Body) -> Self {
        Self {
            wire: request.wire(),
            before: before(request, request.len()),
            parts: Vec::new(),
            words: Vec::new(),
            reasoning: 0,
            head: 0,
            own: Vec::new(),
            results: Vec::new(),
        }
    }

    /// One more answer that we continue.
    pub fn go_on(&mut self, round: &Round, results: &[OwnResult]) {
        let delivered = without(self.wire, &round.response, &round.calls);
        let units = units(self.wire, &delivered.messages);
        self.parts.push(StitchedPart {
            units: units.len(),
            words: units.iter().filter(|unit| !unit.is_reasoning).count(),
            said: said(self.wire, &round.response),
            results: results_as_elements(self.wire, results),
        });
        if self.wire != Wire::Chat {
            self.take(units);
        }
    }

    /// The last answer, as far as the client got it.
    pub fn end(&mut self, last: &Response) {
        match self.wire {
            Wire::Anthropic | Wire::Responses => self.take(units(self.wire, &last.messages)),
            Wire::Chat => {
                // Its texts are one for the client.
                let earlier: Vec<Map<String, Value>> = self.parts.iter().map(StitchedPart::as_body).collect();
                let before = body::said(&earlier, "content");
                let mut whole = last.encode();
                if let Value::Object(whole) = &mut whole {
                    let now = body::said(std::slice::from_ref(whole), "content");
                    self.head = before.len() + body::gap("content", &before, &now).len();
                    body::join(Wire::Chat, &earlier, whole, body::Items::All);
                }
                if let Ok(whole) = Response::from_value(Wire::Chat, whole) {
                    self.take(units(Wire::Chat, &whole.messages));
                }
            }
        }
    }

    /// The last answer, of which our calls were taken out and are not answered.
    pub fn end_without(&mut self, round: &Round) {
        self.end(&without(self.wire, &round.response, &round.calls));
    }

    /// The last answer, in which calls of ours stand among the client's.
    pub fn end_mixed(&mut self, round: &Round, results: &[OwnResult]) {
        self.end_without(round);
        let (mut at, mut words) = (0, 0);
        for unit in units(self.wire, &round.response.messages) {
            match unit.call.clone().filter(|call| round.calls.iter().any(|own| own.id == *call)) {
                Some(call) => {
                    let call = call_as_unit(self.wire, &round.response, &call);
                    self.own.extend(call.map(|call| Own { units: at, words, call }));
                }
                None => {
                    at += 1;
                    // On the Chat wire calls stand in a list of their own.
                    let counts = match self.wire {
                        Wire::Anthropic | Wire::Responses => !unit.is_reasoning,
                        Wire::Chat => unit.call.is_some(),
                    };
                    words += usize::from(counts);
                }
            }
        }
        self.results = results_as_elements(self.wire, results);
    }

    fn take(&mut self, units: Vec<Unit>) {
        for unit in units {
            match unit.is_reasoning {
                true => self.reasoning += 1,
                false => self.words.push(unit.hash),
            }
        }
    }

    /// What stands behind the request in the next one: what the model said and what we answered.
    pub fn elements(&self) -> Vec<Fragment> {
        self.parts.iter().flat_map(|part| part.said.iter().chain(&part.results)).map(Fragment::from).collect()
    }

    /// Whether there is anything that requests are to be sent with.
    pub fn is_empty(&self) -> bool {
        (self.parts.is_empty() && self.own.is_empty()) || self.words.is_empty()
    }

    pub(super) fn wire(&self) -> Wire {
        self.wire
    }

    pub(super) fn before(&self) -> &str {
        &self.before
    }

    pub(super) fn words(&self) -> &[String] {
        &self.words
    }

    pub(super) fn reasoning(&self) -> usize {
        self.reasoning
    }

    pub(super) fn head(&self) -> usize {
        self.head
    }

    pub(super) fn own(&self) -> &[Own] {
        &self.own
    }

    pub(super) fn results(&self) -> &[Value] {
        &self.results
    }
}

impl StitchedPart {
    pub(super) fn len(&self, with_reasoning: bool) -> usize {
        if with_reasoning { self.units } else { self.words }
    }

    /// What the model said and what we answered, as elements.
    pub(super) fn elements(&self, wire: Wire, with_reasoning: bool) -> Vec<Value> {
        let said = self.said.iter().filter_map(|element| match with_reasoning {
            true => Some(element.clone()),
            false => without_reasoning(wire, element),
        });
        said.chain(self.results.iter().cloned()).collect()
    }

    /// The answer as a Chat completion with nothing else in it.
    fn as_body(&self) -> Map<String, Value> {
        let message = self.said.first().cloned().unwrap_or_default();
        let choices = serde_json::json!([{ "message": message }]);
        Map::from_iter([("choices".to_owned(), choices)])
    }
}

fn without_reasoning(wire: Wire, element: &Value) -> Option<Value> {
    match wire {
        Wire::Anthropic => {
            let mut element = element.clone();
            let blocks = element.get_mut("content").and_then(Value::as_array_mut)?;
            blocks.retain(|block| !matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking")));
            (!blocks.is_empty()).then_some(element)
        }
        Wire::Responses => (element["type"] != "reasoning").then(|| element.clone()),
        Wire::Chat => Some(element.clone()),
    }
}

/// A block or an item of an answer.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    pub(super) hash: String,
    pub(super) is_reasoning: bool,
    pub(super) call: Option<CallId>,
}

/// What an answer consists of: items on the Responses wire, blocks on the others. Empty texts are none.
pub(super) fn units(wire: Wire, messages: &[Message]) -> Vec<Unit> {
    let of = |blocks: &[Block]| Unit {
        hash: content_id(None, &Message::new(Role::Assistant, blocks.to_vec())).to_string(),
        is_reasoning: blocks.iter().all(|block| matches!(block.body, Content::Reasoning { .. })),
        call: blocks.iter().find_map(|block| match &block.body {
            Content::ToolCall(call) => Some(call.id.clone()),
            Content::Text(_)
            | Content::Reasoning { .. }
            | Content::ToolResult(_)
            | Content::Image(_)
            | Content::Document(_)
            | Content::Unknown(_) => None,
        }),
    };
    match wire {
        Wire::Responses => messages.iter().map(|message| of(&message.blocks)).collect(),
        Wire::Anthropic => messages
            .iter()
            .flat_map(|message| &message.blocks)
            .map(|block| of(std::slice::from_ref(block)))
            .collect(),
        Wire::Chat => messages
            .iter()
            .flat_map(|message| &message.blocks)
            .filter(|block| !block.is_empty())
            .map(|block| of(std::slice::from_ref(block)))
            .collect(),
    }
}

/// What stands before an element of a request: the next one above it that is no reasoning.
pub(super) fn before(request: &Body, at: usize) -> String {
    let above = (0..at).rev().filter_map(|at| request.message(at));
    let is_said = |message: &Message| {
        !message.blocks.iter().all(|block| matches!(block.body, Content::Reasoning { .. }))
            || message.blocks.is_empty()
    };
    above.into_iter().find(is_said).map(|message| content_id(None, &message).to_string()).unwrap_or_default()
}

/// An answer without some of its calls.
fn without(wire: Wire, response: &Response, calls: &[ToolCall]) -> Response {
    let mut whole = response.encode();
    if let Value::Object(whole) = &mut whole {
        let names: Vec<String> = calls.iter().map(|call| call.name.clone()).collect();
        body::cut(wire, whole, &names);
    }
    Response::from_value(wire, whole).unwrap_or_else(|_| response.clone())
}

/// What the model said, as elements of the next request.
fn said(wire: Wire, response: &Response) -> Vec<Value> {
    let mut elements = encode_messages(wire, &response.messages);
    if wire == Wire::Responses {
        let is_reasoning = |item: &Value| item["type"] == "reasoning";
        let is_sealed =
            |item: &Value| item["encrypted_content"].as_str().is_some_and(|seal| !seal.is_empty());
        if elements.iter().any(|item| is_reasoning(item) && !is_sealed(item)) {
            // The provider kept nothing, and the client did not ask for the reasoning in a form that can be sent back. Items
            // that name themselves would ask for it.
            elements.retain(|item| !is_reasoning(item));
            for item in elements.iter_mut().filter_map(Value::as_object_mut) {
                item.shift_remove("id");
            }
        }
    }
    elements
}

fn results_as_elements(wire: Wire, results: &[OwnResult]) -> Vec<Value> {
    let block = |result: &OwnResult| {
        Block::from(Content::ToolResult(ToolResult {
            call: result.call.clone(),
            kind: throughline_core::CallKind::Function,
            content: ResultContent::Text(result.text.clone()),
            is_error: result.is_error.then_some(true),
        }))
    };
    match wire {
        // All of them in one message.
        Wire::Anthropic => {
            encode_messages(wire, &[Message::new(Role::User, results.iter().map(block).collect())])
        }
        Wire::Responses | Wire::Chat => {
            let messages: Vec<Message> =
                results.iter().map(|result| Message::new(Role::Tool, vec![block(result)])).collect();
            encode_messages(wire, &messages)
        }
    }
}

/// A call as the wire writes it: a block, an item, or an element of `tool_calls`.
fn call_as_unit(wire: Wire, response: &Response, call: &CallId) -> Option<Value> {
    let whole = response.encode();
    let (units, key) = match wire {
        Wire::Anthropic => (whole.get("content")?, "id"),
        Wire::Responses => (whole.get("output")?, "call_id"),
        Wire::Chat => (whole.get("choices")?.get(0)?.get("message")?.get("tool_calls")?, "id"),
    };
    units.as_array()?.iter().find(|unit| unit[key] == call.as_str()).cloned()
}
