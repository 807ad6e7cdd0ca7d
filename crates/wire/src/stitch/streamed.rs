//! An answer that comes as a stream of events.

use super::frames::{Frames, event};
use super::{anthropic, chat, responses};
use crate::sse::Event;
use serde_json::{Map, Value};
use std::sync::Arc;
use throughline_core::Wire;

const DONE: &str = "[DONE]";

/// What becomes of an event.
pub(super) enum Fate {
    /// It goes on as it came.
    Pass,
    /// The client does not need it.
    Drop,
    /// It goes on as it was changed.
    Write,
    /// It is a part of the end, and waits for what is decided about that.
    Hold,
    /// It goes on as it was changed, and this waits.
    WriteAndHold(Map<String, Value>),
}

/// What a wire's events are judged by.
pub(super) struct Scene<'a> {
    pub(super) names: &'a [String],
    /// What the client got of the answers before.
    pub(super) earlier: &'a [Map<String, Value>],
}

impl Scene<'_> {
    pub(super) fn is_first(&self) -> bool {
        self.earlier.is_empty()
    }
}

#[derive(Debug)]
enum Weaver {
    Anthropic(anthropic::Weaver),
    Responses(responses::Weaver),
    Chat(chat::Weaver),
}

/// What waits for the end.
#[derive(Debug)]
struct Held {
    name: Option<String>,
    /// `None`: the mark of the end.
    data: Option<Map<String, Value>>,
}

#[derive(Debug)]
pub(super) struct Streamed {
    wire: Wire,
    names: Arc<[String]>,
    frames: Frames,
    weaver: Weaver,
    held: Vec<Held>,
    forgotten: bool,
    /// The most bytes of one event that are held.
    most: usize,
    /// Handling of the rest of an event that is larger.
    spilling: Option<Spill>,
    /// An event that can't be passed on unseen was larger.
    overflowed: bool,
}

/// Handling of an event that is too large to be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spill {
    /// It goes on unseen.
    Pass,
    /// It is left out: it may hold a call of ours.
    Drop,
}

impl Streamed {
    pub(super) fn new(wire: Wire, names: Arc<[String]>, most: usize) -> Self {
        let weaver = match wire {
            Wire::Anthropic => Weaver::Anthropic(anthropic::Weaver::default()),
            Wire::Responses => Weaver::Responses(responses::Weaver::default()),
            Wire::Chat => Weaver::Chat(chat::Weaver::default()),
        };
        Self {
            wire,
            names,
            frames: Frames::default(),
            weaver,
            held: Vec::new(),
            forgotten: false,
            most,
            spilling: None,
            overflowed: false,
        }
    }

    pub(super) fn limit_events(&mut self, most: usize) {
        self.most = most;
    }

    pub(super) fn has_overflowed(&self) -> bool {
        self.overflowed
    }

    /// Whether one of our tools is called in this answer.
    pub(super) fn is_own(&self) -> bool {
        match &self.weaver {
            Weaver::Anthropic(weaver) => weaver.is_own(),
            Weaver::Responses(weaver) => weaver.is_own(),
            Weaver::Chat(weaver) => weaver.is_own(),
        }
    }

    /// This answer can't be told again.
    pub(super) fn forget(&mut self) {
        self.forgotten = true;
    }

    pub(super) fn is_forgotten(&self) -> bool {
        self.forgotten
    }

    pub(super) fn push(&mut self, bytes: &[u8], earlier: &[Map<String, Value>], out: &mut Vec<u8>) {
        let mut frames = std::mem::take(&mut self.frames);
        frames.push(bytes, |frame| match self.spilling.take() {
            Some(spill) => spill.put(frame, out),
            None => self.take(frame, earlier, out),
        });
        if self.spilling.is_none() && frames.held() > self.most {
            let held = frames.spill();
            let is_plain = earlier.is_empty() && !self.is_own() && !self.mentions(&held);
            let spill = if is_plain { Spill::Pass } else { Spill::Drop };
            spill.put(&held, out);
            self.spilling = Some(spill);
            self.overflowed |= spill == Spill::Drop;
            self.forgotten = true;
        } else if let Some(spill) = self.spilling {
            spill.put(&frames.spill(), out);
        }
        self.frames = frames;
    }

    /// What is left when the provider's stream is over.
    pub(super) fn end(&mut self, earlier: &[Map<String, Value>], out: &mut Vec<u8>) {
        let left = self.frames.finish();
        let is_whole =
            |event: Event| event.data.trim() == DONE || serde_json::from_str::<Value>(&event.data).is_ok();
        // Half an event of an answer that is being changed would run into what is written behind it.
        let is_torn = (self.is_own() || !earlier.is_empty()) && !event(&left).is_some_and(is_whole);
        if !left.is_empty() && !is_torn {
            self.take(&left, earlier, out);
        }
    }

    fn take(&mut self, frame: &[u8], earlier: &[Map<String, Value>], out: &mut Vec<u8>) {
        // Nearly all of all streams: nothing of ours, nothing to look at.
        if earlier.is_empty() && !self.is_own() && !self.mentions(frame) {
            out.extend_from_slice(frame);
            return;
        }
        let Some(Event { name, data }) = event(frame) else {
            out.extend_from_slice(frame);
            return;
        };
        if data.trim() == DONE && self.wire == Wire::Chat {
            match self.is_own() {
                true => self.held.push(Held { name, data: None }),
                false => out.extend_from_slice(frame),
            }
            return;
        }
        let Ok(Value::Object(mut data)) = serde_json::from_str(&data) else {
            out.extend_from_slice(frame);
            return;
        };
        let kind =
            data.get("type").and_then(Value::as_str).or(name.as_deref()).unwrap_or_default().to_owned();
        let scene = Scene { names: &self.names, earlier };
        let fate = match &mut self.weaver {
            Weaver::Anthropic(weaver) => weaver.weave(&kind, &scene, &mut data),
            Weaver::Responses(weaver) => weaver.weave(&kind, &scene, &mut data),
            Weaver::Chat(weaver) => weaver.weave(&scene, &mut data),
        };
        match fate {
            Fate::Pass => out.extend_from_slice(frame),
            Fate::Drop => {}
            Fate::Write => write(name, data, out),
            Fate::Hold => self.held.push(Held { name, data: Some(data) }),
            Fate::WriteAndHold(held) => {
                write(name.clone(), data, out);
                self.held.push(Held { name, data: Some(held) });
            }
        }
    }

    /// Whether a tool of ours may be called in an event.
    fn mentions(&self, frame: &[u8]) -> bool {
        match std::str::from_utf8(frame) {
            // Letters may be written as escapes.
            Ok(text) => self.names.iter().any(|name| text.contains(name.as_str())) || text.contains("\\u00"),
            Err(_) => false,
        }
    }

    /// Writes the end. `cut`: the answer is over although the model waits for our results.
    pub(super) fn release(&mut self, cut: bool, out: &mut Vec<u8>) {
        for Held { name, data } in std::mem::take(&mut self.held) {
            match data {
                None => Event { name, data: DONE.to_owned() }.write(out),
                Some(mut data) => {
                    if cut {
                        end_turn(self.wire, &mut data);
                    }
                    write(name, data, out);
                }
            }
        }
    }

    /// The next answer follows.
    pub(super) fn go_on(&mut self, earlier: &[Map<String, Value>]) {
        self.held.clear();
        self.frames = Frames::default();
        match &mut self.weaver {
            Weaver::Anthropic(weaver) => *weaver = anthropic::Weaver::default(),
            Weaver::Responses(weaver) => weaver.go_on(),
            Weaver::Chat(weaver) => *weaver = chat::Weaver::behind(earlier),
        }
    }
}

impl Spill {
    fn put(self, bytes: &[u8], out: &mut Vec<u8>) {
        match self {
            Self::Pass => out.extend_from_slice(bytes),
            Self::Drop => {}
        }
    }
}

fn end_turn(wire: Wire, data: &mut Map<String, Value>) {
    match (wire, data.get_mut("delta")) {
        (Wire::Anthropic, Some(Value::Object(delta))) => super::body::end_turn(wire, delta),
        (Wire::Anthropic, _) => {}
        (Wire::Responses | Wire::Chat, _) => super::body::end_turn(wire, data),
    }
}

fn write(name: Option<String>, data: Map<String, Value>, out: &mut Vec<u8>) {
    Event { name, data: Value::Object(data).to_string() }.write(out);
}
