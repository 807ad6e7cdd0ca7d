//! Items of our calls taken out, the others in their new places, events numbered through, and one `response` at the end.

use super::body::{self, Items};
use super::streamed::{Fate, Scene};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use throughline_core::Wire;

/// One answer.
#[derive(Debug, Default)]
pub(super) struct Weaver {
    /// The items that are calls of ours, by their place.
    own: BTreeSet<u64>,
    /// Their ids.
    ids: Vec<Value>,
    /// A call that only the end told of.
    at_end: bool,
    /// Whether the client was told of an item of this answer.
    told: bool,
    /// The number of the next event, once it differs from the provider's.
    next: Option<u64>,
}

impl Weaver {
    pub(super) fn is_own(&self) -> bool {
        !self.own.is_empty() || !self.ids.is_empty() || self.at_end
    }

    pub(super) fn go_on(&mut self) {
        *self = Self { next: self.next, ..Self::default() };
    }

    pub(super) fn weave(&mut self, kind: &str, scene: &Scene<'_>, data: &mut Map<String, Value>) -> Fate {
        let fate = self.judge(kind, scene, data);
        let number = data.get("sequence_number").and_then(Value::as_u64);
        match fate {
            Fate::Drop => {
                if let (None, Some(number)) = (self.next, number) {
                    self.next = Some(number);
                }
                fate
            }
            Fate::Pass | Fate::Write | Fate::Hold | Fate::WriteAndHold(_) => {
                let (Some(next), Some(_)) = (self.next, number) else { return fate };
                data.insert("sequence_number".to_owned(), next.into());
                // What is held may never be sent.
                match fate {
                    Fate::Hold => fate,
                    Fate::Pass | Fate::Drop | Fate::Write | Fate::WriteAndHold(_) => {
                        self.next = Some(next.saturating_add(1));
                        Fate::Write
                    }
                }
            }
        }
    }

    fn judge(&mut self, kind: &str, scene: &Scene<'_>, data: &mut Map<String, Value>) -> Fate {
        match kind {
            "response.created" | "response.in_progress" | "response.queued" => {
                if scene.is_first() {
                    Fate::Pass
                } else {
                    Fate::Drop
                }
            }
            "response.completed" | "response.incomplete" | "response.done" | "response.failed" => {
                self.end(kind, scene, data)
            }
            _ => self.within(scene, data),
        }
    }

    /// An event of one item.
    fn within(&mut self, scene: &Scene<'_>, data: &mut Map<String, Value>) -> Fate {
        let index = data.get("output_index").and_then(Value::as_u64);
        if let Some(item) = data.get("item") {
            self.told = true;
            if body::is_own(Wire::Responses, item, scene.names) {
                self.own.extend(index);
                self.ids.extend(item.get("id").filter(|id| id.is_string()).cloned());
            }
        }
        let id = data.get("item_id").or_else(|| data.get("item").and_then(|item| item.get("id")));
        if index.is_some_and(|index| self.own.contains(&index)) || id.is_some_and(|id| self.ids.contains(id))
        {
            return Fate::Drop;
        }
        let mut fate = Fate::Pass;
        if let Some(index) = index {
            let before: u64 =
                scene.earlier.iter().map(|body| body::units_of(Wire::Responses, body).len() as u64).sum();
            let place = before.saturating_add(index - self.own.range(..index).count() as u64);
            if place != index {
                data.insert("output_index".to_owned(), place.into());
                fate = Fate::Write;
            }
        }
        if !scene.is_first() {
            if let Some(id) = data.get_mut("item_id") {
                body::rename_id(scene.earlier, id);
            }
            if let Some(id) = data.get_mut("item").and_then(|item| item.get_mut("id")) {
                body::rename_id(scene.earlier, id);
            }
            fate = Fate::Write;
        }
        fate
    }

    /// The event that repeats the whole answer.
    fn end(&mut self, kind: &str, scene: &Scene<'_>, data: &mut Map<String, Value>) -> Fate {
        let Some(Value::Object(response)) = data.get_mut("response") else { return Fate::Pass };
        let items = body::units_of(Wire::Responses, response);
        self.at_end = items.iter().any(|item| body::is_own(Wire::Responses, item, scene.names));
        let left_out = items.is_empty() && self.told;
        body::cut(Wire::Responses, response, scene.names);
        let items = if left_out { Items::LeftOut } else { Items::All };
        body::join(Wire::Responses, scene.earlier, response, items);
        match (kind, self.is_own()) {
            // An error is the end, whatever was called before.
            ("response.failed", _) => Fate::Write,
            (_, true) => Fate::Hold,
            (_, false) if scene.is_first() => Fate::Pass,
            (_, false) => Fate::Write,
        }
    }
}
