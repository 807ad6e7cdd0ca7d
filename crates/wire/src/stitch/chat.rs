//! Pieces of our calls taken out of `tool_calls`, the others in their new places, one id and one reason for the end.

use super::body;
use super::streamed::{Fate, Scene};
use super::usage;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use throughline_core::Wire;

/// One answer.
#[derive(Debug, Default)]
pub(super) struct Weaver {
    /// Our calls, by their place.
    own: BTreeSet<u64>,
    /// One of ours came without a place.
    unplaced: bool,
    /// The reason for the end was given, and held back.
    ended: bool,
    /// What was said before, until more is said.
    before: Option<String>,
}

impl Weaver {
    /// For an answer that continues others.
    pub(super) fn behind(earlier: &[Map<String, Value>]) -> Self {
        Self { before: Some(body::said(earlier, "content")), ..Self::default() }
    }

    pub(super) fn is_own(&self) -> bool {
        !self.own.is_empty() || self.unplaced
    }

    pub(super) fn weave(&mut self, scene: &Scene<'_>, data: &mut Map<String, Value>) -> Fate {
        if data.get("error").is_some_and(|error| !error.is_null()) {
            return Fate::Pass;
        }
        let mut changed = !scene.is_first();
        if let Some(first) = scene.earlier.first() {
            for key in ["id", "created"] {
                if let (Some(own), Some(value)) = (data.get_mut(key), first.get(key)) {
                    *own = value.clone();
                }
            }
            if let Some(Value::Object(usage)) = data.get_mut("usage") {
                usage::total(Wire::Chat, scene.earlier, usage);
            }
        }
        let costs = data.get("usage").is_some_and(|usage| !usage.is_null());
        let Some(choice) = data.get_mut("choices").and_then(|choices| choices.get_mut(0)?.as_object_mut())
        else {
            // Nothing but what it cost.
            return match (self.ended, changed) {
                (true, _) => Fate::Hold,
                (false, true) => Fate::Write,
                (false, false) => Fate::Pass,
            };
        };
        let had = choice.get("delta").and_then(Value::as_object).map_or(0, Map::len);
        if let Some(Value::Object(delta)) = choice.get_mut("delta") {
            changed |= self.take_out(scene, delta);
            if !scene.is_first() {
                delta.shift_remove("role");
                self.keep_apart(delta);
            }
        }
        let is_empty = choice.get("delta").and_then(Value::as_object).is_none_or(Map::is_empty);
        let ends = choice.get("finish_reason").is_some_and(|why| !why.is_null());
        if self.ended || (ends && self.is_own()) {
            self.ended = true;
            if is_empty {
                return Fate::Hold;
            }
            let mut held = data.clone();
            if let Some(choice) =
                held.get_mut("choices").and_then(|choices| choices.get_mut(0)?.as_object_mut())
            {
                choice.insert("delta".to_owned(), json!({}));
            }
            data.shift_remove("usage");
            if let Some(choice) =
                data.get_mut("choices").and_then(|choices| choices.get_mut(0)?.as_object_mut())
            {
                choice.insert("finish_reason".to_owned(), Value::Null);
            }
            return Fate::WriteAndHold(held);
        }
        // Everything in it was ours, or only said that an answer begins.
        let begins_again = !scene.is_first() && had == 0;
        if is_empty && !ends && !costs && changed && (had > 0 || begins_again) {
            return Fate::Drop;
        }
        if changed { Fate::Write } else { Fate::Pass }
    }

    /// Takes our calls out; whether anything changed.
    fn take_out(&mut self, scene: &Scene<'_>, delta: &mut Map<String, Value>) -> bool {
        let Some(Value::Array(calls)) = delta.get_mut("tool_calls") else { return false };
        let mut changed = false;
        let mut kept = Vec::with_capacity(calls.len());
        for mut call in std::mem::take(calls) {
            let index = call.get("index").and_then(Value::as_u64);
            if body::is_own(Wire::Chat, &call, scene.names) {
                self.own.extend(index);
                self.unplaced |= index.is_none();
                changed = true;
                continue;
            }
            if let Some(index) = index {
                if self.own.contains(&index) {
                    changed = true;
                    continue;
                }
                let place = index - self.own.range(..index).count() as u64;
                if place != index {
                    call["index"] = place.into();
                    changed = true;
                }
            }
            kept.push(call);
        }
        if kept.is_empty() && changed {
            delta.shift_remove("tool_calls");
        } else {
            *calls = kept;
        }
        changed
    }

    /// What is said next does not run together with what was said before.
    fn keep_apart(&mut self, delta: &mut Map<String, Value>) {
        let Some(Value::String(text)) = delta.get_mut("content") else { return };
        if text.is_empty() {
            return;
        }
        if let Some(before) = self.before.take() {
            text.insert_str(0, body::gap("content", &before, text));
        }
    }
}
