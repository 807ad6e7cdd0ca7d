//! What the model really said, put back into requests that repeat what the client was told.

use super::record::{Own, Stitched, Unit, before, units};
use crate::WireError;
use crate::splice::{Body, Changes, Fragment, SpliceError};
use bytes::Bytes;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::ops::Range;
use throughline_core::{Role, Wire};

/// Puts what the model really said back into the requests of a conversation.
#[derive(Debug, Default)]
pub struct Expander {
    known: Vec<Stitched>,
    /// By the first word.
    by_word: HashMap<String, Vec<usize>>,
    /// The request before, and what was replaced in it.
    last: Option<(Body, Vec<Replaced>)>,
}

#[derive(Clone, Debug)]
struct Replaced {
    range: Range<usize>,
    with: Vec<Fragment>,
}

/// Why a request can't be expanded.
#[derive(Debug, thiserror::Error)]
pub enum ExpandError {
    /// It can't be read.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// It can't be put together again.
    #[error(transparent)]
    Splice(#[from] SpliceError),
}

impl Expander {
    /// One more answer that requests may repeat.
    pub fn learn(&mut self, stitched: Stitched) {
        let Some(word) = stitched.words().first().filter(|_| !stitched.is_empty()) else { return };
        self.by_word.entry(word.clone()).or_default().push(self.known.len());
        self.known.push(stitched);
        // An answer that was looked at before it was known may be it.
        self.last = None;
    }

    /// Whether there is nothing to put back.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// The request with what the model really said; `None` if it repeats nothing of it. An answer that the client dropped or
    /// changed stays as the client has it.
    pub fn expand(&mut self, bytes: &Bytes, wire: Wire) -> Result<Option<Vec<u8>>, ExpandError> {
        if self.known.is_empty() {
            return Ok(None);
        }
        let (body, same, mut replaced) = match self.last.take() {
            Some((last, replaced)) => {
                let next = last.advance_to(bytes.clone())?;
                (next.body, next.same, replaced)
            }
            None => (Body::share(wire, bytes.clone())?, 0, Vec::new()),
        };
        // The last element that is the same may go on, or be answered, in what is new.
        replaced.retain(|replaced| replaced.range.end < same);
        let mut at = replaced.last().map_or(0, |replaced| replaced.range.end);
        if replaced.is_empty() || at < same {
            at = at.max(self.restart(&body, same, at));
        }
        self.find_from(&body, at, &mut replaced);
        let expanded = rebuild(&body, &replaced)?;
        self.last = Some((body, replaced));
        Ok(expanded)
    }

    /// As [`expand`](Self::expand), for a request that is not the next one of the conversation.
    pub fn expand_beside(&self, bytes: &[u8], wire: Wire) -> Result<Option<Vec<u8>>, ExpandError> {
        if self.known.is_empty() {
            return Ok(None);
        }
        let body = Body::parse(wire, bytes)?;
        let mut replaced = Vec::new();
        self.find_from(&body, 0, &mut replaced);
        Ok(rebuild(&body, &replaced)?)
    }

    fn find_from(&self, body: &Body, mut at: usize, replaced: &mut Vec<Replaced>) {
        while at < body.len() {
            match self.find(body, at) {
                Some(found) => {
                    at = found.range.end.max(at + 1);
                    replaced.push(found);
                }
                None => at += 1,
            }
        }
    }

    /// From where on elements have to be looked at: what was looked at in the request before held nothing more.
    fn restart(&self, body: &Body, same: usize, at: usize) -> usize {
        match body.wire() {
            // An answer may have been cut short by the end of the request before.
            Wire::Responses => same.saturating_sub(self.longest()).max(at),
            Wire::Anthropic | Wire::Chat => same.saturating_sub(2).max(at),
        }
    }

    fn longest(&self) -> usize {
        // Results may stand between the items of an answer.
        self.known.iter().map(|known| 2 * (known.words().len() + known.reasoning()) + 2).max().unwrap_or(0)
    }

    /// The newest answer that stands at a place.
    fn find(&self, body: &Body, at: usize) -> Option<Replaced> {
        let message = body.message(at)?;
        if message.role != Role::Assistant {
            return None;
        }
        let here = units(body.wire(), std::slice::from_ref(&message));
        let word = here.iter().find(|unit| !unit.is_reasoning)?;
        let candidates = self.by_word.get(&word.hash)?;
        candidates.iter().rev().filter_map(|&known| self.known.get(known)).find_map(|known| {
            let place = Place { body, at, here: &here };
            match body.wire() {
                _ if known.wire() != body.wire() => None,
                Wire::Anthropic => place.anthropic(known),
                Wire::Responses => place.responses(known),
                Wire::Chat => place.chat(known),
            }
        })
    }
}

fn rebuild(body: &Body, replaced: &[Replaced]) -> Result<Option<Vec<u8>>, SpliceError> {
    let mut changes = Changes::default();
    for Replaced { range, with } in replaced {
        changes.replace(range.clone(), with.clone());
    }
    (!changes.is_empty()).then(|| body.rebuild(&changes).map(|bytes| bytes.into_owned())).transpose()
}

/// A place in a request where an answer may stand.
struct Place<'a> {
    body: &'a Body,
    at: usize,
    here: &'a [Unit],
}

impl Place<'_> {
    /// Whether all of an answer is here, and with its reasoning or without any; `None` for anything else.
    fn with_reasoning(known: &Stitched, here: &[Unit]) -> Option<bool> {
        let words = here.iter().filter(|unit| !unit.is_reasoning).map(|unit| &unit.hash);
        if !words.eq(known.words()) {
            return None;
        }
        match here.iter().filter(|unit| unit.is_reasoning).count() {
            n if n == known.reasoning() => Some(true),
            0 => Some(false),
            _ => None,
        }
    }

    fn anthropic(&self, known: &Stitched) -> Option<Replaced> {
        let with_reasoning = Self::with_reasoning(known, self.here)?;
        if before(self.body, self.at) != known.before() {
            return None;
        }
        let mut element = self.body.value(self.at)?;
        let mut blocks = match element.get_mut("content")?.take() {
            Value::Array(blocks) => blocks,
            Value::String(text) => vec![json!({ "type": "text", "text": text })],
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
        };
        let head: usize = known.parts.iter().map(|part| part.len(with_reasoning)).sum();
        let mut last = blocks.split_off(head.min(blocks.len()));
        insert(&mut last, known.own(), with_reasoning);
        let mut all: Vec<Value> =
            known.parts.iter().flat_map(|part| part.elements(Wire::Anthropic, with_reasoning)).collect();
        if !last.is_empty() {
            element["content"] = last.into();
            all.push(element);
        }
        let mut end = self.at + 1;
        if let Some(results) = known.results().first() {
            match self.answered(results) {
                Some(answer) => {
                    all.push(answer);
                    end += 1;
                }
                None => all.push(results.clone()),
            }
        }
        Some(Replaced { range: self.at..end, with: all.iter().map(Fragment::from).collect() })
    }

    /// The client's results with ours before them.
    fn answered(&self, results: &Value) -> Option<Value> {
        let mut next = self.body.value(self.at + 1).filter(|next| next["role"] == "user")?;
        let mut content = results.get("content")?.as_array()?.clone();
        match next.get_mut("content")?.take() {
            Value::Array(blocks) => content.extend(blocks),
            Value::String(text) => content.push(json!({ "type": "text", "text": text })),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
        }
        next["content"] = content.into();
        Some(next)
    }

    fn chat(&self, known: &Stitched) -> Option<Replaced> {
        let words = self.here.iter().filter(|unit| !unit.is_reasoning).map(|unit| &unit.hash);
        if !words.eq(known.words()) || before(self.body, self.at) != known.before() {
            return None;
        }
        let mut element = self.body.value(self.at)?;
        let text = match element.get_mut("content")? {
            Value::String(text) => Some(text),
            Value::Array(parts) => match parts.as_mut_slice() {
                [Value::Object(part)] => match part.get_mut("text") {
                    Some(Value::String(text)) => Some(text),
                    Some(_) | None => None,
                },
                _ => None,
            },
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
        };
        let is_silent = match text {
            Some(text) => {
                *text = text.get(known.head()..)?.to_owned();
                text.is_empty()
            }
            None if known.head() > 0 => return None,
            None => true,
        };
        if let Some(Value::Array(calls)) = element.get_mut("tool_calls") {
            insert(calls, known.own(), false);
        }
        let mut all: Vec<Value> =
            known.parts.iter().flat_map(|part| part.elements(Wire::Chat, true)).collect();
        if !is_silent || element.get("tool_calls").is_some_and(|calls| !calls.is_null()) {
            all.push(element);
        }
        all.extend(known.results().iter().cloned());
        Some(Replaced { range: self.at..self.at + 1, with: all.iter().map(Fragment::from).collect() })
    }

    fn responses(&self, known: &Stitched) -> Option<Replaced> {
        // Reasoning stands before what it led to.
        let is_reasoning = |at: &usize| self.body.value(*at).is_some_and(|item| item["type"] == "reasoning");
        let leading = (0..self.at).rev().take_while(is_reasoning).count();
        let start = self.at - leading;
        if before(self.body, start) != known.before() {
            return None;
        }
        // The items of the answer; results of the client's may stand between those of its last part.
        let (mut run, mut found, mut end) = (Vec::new(), 0, start);
        while found < known.words().len() {
            let message = self.body.message(end)?;
            let is_result = message.role == Role::Tool || message.results().next().is_some();
            let unit = units(Wire::Responses, std::slice::from_ref(&message)).pop().filter(|_| !is_result);
            found += usize::from(unit.as_ref().is_some_and(|unit| !unit.is_reasoning));
            run.push((end, unit));
            end += 1;
        }
        let here: Vec<Unit> = run.iter().filter_map(|(_, unit)| unit.clone()).collect();
        let with_reasoning = Self::with_reasoning(known, &here)?;
        let head: usize = known.parts.iter().map(|part| part.len(with_reasoning)).sum();
        let mut all: Vec<Value> =
            known.parts.iter().flat_map(|part| part.elements(Wire::Responses, with_reasoning)).collect();
        let place = |own: &Own| if with_reasoning { own.units } else { own.words };
        let calls = |from: usize, to: usize| {
            known
                .own()
                .iter()
                .filter(move |own| (from..to).contains(&(place(own) + head)))
                .map(|own| own.call.clone())
        };
        let mut seen = 0;
        for (at, unit) in &run {
            if unit.is_some() {
                seen += 1;
                if seen <= head {
                    continue;
                }
                // Those that came right before this item of the last part.
                all.extend(calls(seen - 1, seen));
            } else if seen < head {
                return None;
            }
            all.extend(self.body.value(*at));
        }
        all.extend(calls(seen, usize::MAX));
        all.extend(known.results().iter().cloned());
        Some(Replaced { range: start..end, with: all.iter().map(Fragment::from).collect() })
    }
}

/// Puts calls of ours among the client's blocks or calls.
fn insert(units: &mut Vec<Value>, own: &[Own], with_reasoning: bool) {
    for (before, own) in own.iter().enumerate() {
        let place = if with_reasoning { own.units } else { own.words };
        units.insert((place + before).min(units.len()), own.call.clone());
    }
}
