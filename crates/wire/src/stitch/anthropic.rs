//! `content_block_*` of our calls taken out, the others in their new places.

use super::streamed::{Fate, Scene};
use super::{body, usage};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use throughline_core::Wire;

/// One answer.
#[derive(Debug, Default)]
pub(super) struct Weaver {
    /// The blocks that are calls of ours, by their place.
    own: BTreeSet<u64>,
    /// What the beginning said of its cost.
    usage: Map<String, Value>,
}

impl Weaver {
    pub(super) fn is_own(&self) -> bool {
        !self.own.is_empty()
    }

    pub(super) fn weave(&mut self, kind: &str, scene: &Scene<'_>, data: &mut Map<String, Value>) -> Fate {
        match kind {
            "message_start" => {
                if let Some(Value::Object(usage)) =
                    data.get("message").and_then(|message| message.get("usage"))
                {
                    self.usage = usage.clone();
                }
                if scene.is_first() { Fate::Pass } else { Fate::Drop }
            }
            "content_block_start" | "content_block_delta" | "content_block_stop" => {
                let Some(index) = data.get("index").and_then(Value::as_u64) else { return Fate::Pass };
                if let Some(block) = data.get("content_block")
                    && body::is_own(Wire::Anthropic, block, scene.names)
                {
                    self.own.insert(index);
                }
                if self.own.contains(&index) {
                    return Fate::Drop;
                }
                let before: u64 =
                    scene.earlier.iter().map(|body| body::units_of(Wire::Anthropic, body).len() as u64).sum();
                let place = before.saturating_add(index - self.own.range(..index).count() as u64);
                if place == index {
                    return Fate::Pass;
                }
                data.insert("index".to_owned(), place.into());
                Fate::Write
            }
            "message_delta" => {
                if !scene.is_first() {
                    self.cost(scene, data);
                }
                match (self.is_own(), scene.is_first()) {
                    (true, _) => Fate::Hold,
                    (false, true) => Fate::Pass,
                    (false, false) => Fate::Write,
                }
            }
            "message_stop" if self.is_own() => Fate::Hold,
            _ => Fate::Pass,
        }
    }

    /// The client knows what the first beginning said: the end says all of it again.
    fn cost(&self, scene: &Scene<'_>, data: &mut Map<String, Value>) {
        let mut all = self.usage.clone();
        if let Some(Value::Object(end)) = data.get("usage") {
            for (key, value) in end {
                if !value.is_null() || !all.contains_key(key) {
                    all.insert(key.clone(), value.clone());
                }
            }
        }
        if !all.is_empty() {
            usage::total(Wire::Anthropic, scene.earlier, &mut all);
            data.insert("usage".to_owned(), Value::Object(all));
        }
    }
}
