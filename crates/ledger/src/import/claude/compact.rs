//! Compactions: a boundary record, then the summary. Kept messages are not written again but named.

use super::lane::{LaneState, Parent, Placing};
use crate::import::outcome::{Lane, Output};
use crate::import::shadow::{Id, Kind, NONE, key};
use jiff::Timestamp;
use serde_json::Value;
use throughline_core::{Checkpoint, EditId, Item, Message};

/// A boundary whose summary has not come yet.
#[derive(Clone, Debug)]
pub(super) struct Boundary {
    id: String,
    at: Option<Timestamp>,
    trigger: String,
    tokens_before: Option<u64>,
    tokens_after: Option<u64>,
    kept: Kept,
    /// The kept messages stand before the summary.
    kept_first: bool,
}

#[derive(Clone, Debug)]
enum Kept {
    Nothing,
    Each(Vec<u128>),
    Span { head: u128, tail: u128 },
}

impl Boundary {
    pub(super) fn new(uuid: &str, at: Option<Timestamp>, metadata: Value) -> Self {
        let number = |name: &str| metadata.get(name).and_then(Value::as_u64);
        let messages = metadata.get("preservedMessages");
        let segment = metadata.get("preservedSegment");
        let list =
            messages.and_then(|m| m.get("allUuids").or_else(|| m.get("uuids"))).and_then(Value::as_array);
        let end = |name: &str| segment.and_then(|s| s.get(name)).and_then(Value::as_str).map(key);
        let kept = match (list, end("headUuid"), end("tailUuid")) {
            (Some(list), _, _) => Kept::Each(list.iter().filter_map(Value::as_str).map(key).collect()),
            (None, Some(head), Some(tail)) => Kept::Span { head, tail },
            (None, _, _) => Kept::Nothing,
        };
        let anchor = messages.or(segment).and_then(|m| m.get("anchorUuid")).and_then(Value::as_str);
        Self {
            id: uuid.to_owned(),
            at,
            trigger: metadata.get("trigger").and_then(Value::as_str).unwrap_or_default().to_owned(),
            tokens_before: number("preTokens"),
            tokens_after: number("postTokens"),
            kept,
            kept_first: anchor == Some(uuid),
        }
    }
}

impl LaneState {
    /// The view is the summary and what was kept. Returns its last message: what names the summary as its parent comes
    /// after the kept messages.
    pub(super) fn compacted(&mut self, mut message: Message, place: &Placing, out: &mut Vec<Output>) -> u32 {
        let boundary = self.boundary.take().map(|b| *b).unwrap_or_else(|| Boundary {
            id: format!("{}.checkpoint", place.uuid),
            at: place.at,
            trigger: String::new(),
            tokens_before: None,
            tokens_after: None,
            kept: Kept::Nothing,
            kept_first: false,
        });
        let kept = self.kept(&boundary);
        let parent = self.session.view.tip().unwrap_or(NONE);
        message.parent = self.session.id_of(parent);
        let node = self.session.remember(&message, Id::new(&place.uuid), parent, 0);
        let mut items: Vec<Item> = kept.iter().filter_map(|m| self.session.keep(*m)).collect();
        let mut view = kept;
        let at = if boundary.kept_first { items.len() } else { 0 };
        items.insert(at, Item::New(Box::new(message)));
        view.insert(at, node);
        self.session.view.replace(&view);
        self.session.checkpoint(Lane(place.lane), boundary.to_checkpoint(items), out);
        view.last().copied().unwrap_or(node)
    }

    /// A boundary without a summary: the view is only what was kept.
    pub(super) fn compacted_without_summary(&mut self, place: &mut Placing, out: &mut Vec<Output>) {
        let Some(boundary) = self.boundary.take() else { return };
        let kept = self.kept(&boundary);
        let items = kept.iter().filter_map(|m| self.session.keep(*m)).collect();
        self.session.view.replace(&kept);
        self.session.checkpoint(Lane(place.lane), boundary.to_checkpoint(items), out);
        place.parent = Parent::Missing;
    }

    /// The kept messages that are here, in the order of the view.
    fn kept(&self, boundary: &Boundary) -> Vec<u32> {
        let view = &self.session.view;
        let key_of = |message: u32| view.id(message).map(|id| node_key(&id));
        let mut kept: Vec<u32> = match &boundary.kept {
            Kept::Nothing => Vec::new(),
            Kept::Each(uuids) => {
                let wanted: std::collections::HashSet<u128> = uuids.iter().copied().collect();
                view.backwards().filter(|m| key_of(*m).is_some_and(|k| wanted.contains(&k))).collect()
            }
            Kept::Span { head, tail } => {
                let mut span = Vec::new();
                let mut whole = false;
                for message in view.backwards().skip_while(|m| key_of(*m) != Some(*tail)) {
                    span.push(message);
                    whole = key_of(message) == Some(*head);
                    if whole {
                        break;
                    }
                }
                if !whole {
                    span.clear();
                }
                span
            }
        };
        kept.retain(|m| view.node(*m).is_some_and(|node| node.kind != Kind::Hidden));
        kept.reverse();
        kept
    }
}

fn node_key(id: &Id) -> u128 {
    match id {
        Id::Uuid(bytes) => u128::from_le_bytes(*bytes),
        Id::Text(text) => key(text),
        Id::Made { .. } => key(id.to_message_id().as_str()),
    }
}

impl Boundary {
    fn to_checkpoint(&self, items: Vec<Item>) -> Checkpoint {
        Checkpoint {
            id: EditId::new(self.id.as_str()),
            at: self.at,
            strategy: "summary".to_owned(),
            trigger: self.trigger.clone(),
            tokens_before: self.tokens_before,
            tokens_after: self.tokens_after,
            check: None,
            preserved: None,
            items,
        }
    }
}
