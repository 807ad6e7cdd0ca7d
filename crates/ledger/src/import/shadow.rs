//! What an importer remembers of a session: ids and small facts per message, never what was said.
//!
//! [`Shadow`] folds the same edits as the view does, so that an importer knows at each line what is live.
//! The view is a linked list that shares its past: going back costs nothing and an abandoned branch can be
//! taken up again.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use throughline_core::{EditId, MessageId};

/// No message, no entry.
pub(super) const NONE: u32 = u32::MAX;

/// How far back siblings are looked for. Parallel calls are dozens at most.
const NEAR: usize = 4096;

/// A message id in little space.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Id {
    /// A UUID in its usual spelling.
    Uuid([u8; 16]),
    /// `c<hash>`, or `c<hash>.<n>` for the nth repetition: made from what the message says and when.
    Made { hash: u64, repeat: u32 },
    /// Any other.
    Text(Box<str>),
}

impl Id {
    pub(super) fn new(id: &str) -> Self {
        match parse_uuid(id) {
            Some(bytes) => Self::Uuid(bytes),
            None => Self::Text(id.into()),
        }
    }

    pub(super) fn to_message_id(&self) -> MessageId {
        match self {
            Self::Uuid(bytes) => uuid::Uuid::from_bytes(*bytes).to_string().into(),
            Self::Made { hash, repeat: 0 } => format!("c{hash:016x}").into(),
            Self::Made { hash, repeat } => format!("c{hash:016x}.{repeat}").into(),
            Self::Text(text) => MessageId::new(text.clone()),
        }
    }
}

/// Only the canonical spelling: any other would not come back as it was.
fn parse_uuid(id: &str) -> Option<[u8; 16]> {
    let canonical = id.len() == 36 && !id.bytes().any(|b| b.is_ascii_uppercase());
    let uuid = canonical.then(|| uuid::Uuid::try_parse(id).ok()).flatten()?;
    Some(*uuid.as_bytes())
}

/// A key for maps of ids: 16 bytes whatever the id's length. Good within one process.
pub(super) fn key(id: &str) -> u128 {
    match parse_uuid(id) {
        Some(bytes) => u128::from_le_bytes(bytes),
        None => {
            let half = |salt: u8| {
                let mut hasher = DefaultHasher::new();
                hasher.write_u8(salt);
                hasher.write(id.as_bytes());
                u128::from(hasher.finish())
            };
            half(0) | half(1) << 64
        }
    }
}

/// What is remembered of one message.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) id: Id,
    /// The message it answers or follows.
    pub(super) parent: u32,
    /// Its newest place in a view.
    pub(super) entry: u32,
    /// Length of its words, where a person said it.
    pub(super) chars: u32,
    /// The API message it belongs to, hashed; 0 for none.
    pub(super) group: u64,
    pub(super) kind: Kind,
}

/// What matters about a message for the shape of the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Never sent to a model.
    Hidden,
    /// A tool result.
    Result,
    /// A person's words.
    RealUser,
    /// All else.
    Other,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    message: u32,
    before: u32,
    depth: u32,
}

/// The view as ids.
#[derive(Clone, Debug)]
pub(super) struct Shadow {
    nodes: Vec<Node>,
    places: Vec<Place>,
    tip: u32,
    /// The last item of the newest replacement, while nothing was said after it.
    base_tip: u32,
    /// The last place of the view before it was last changed other than by saying something.
    left: u32,
    /// The edits and checkpoints that did so, each with the last place of the view before it.
    turns: Vec<(EditId, u32)>,
    /// Messages that were put aside, by the place that they follow.
    asides: HashMap<u32, u32>,
}

impl Default for Shadow {
    fn default() -> Self {
        Self {
            nodes: Vec::new(),
            places: Vec::new(),
            tip: NONE,
            base_tip: NONE,
            left: NONE,
            turns: Vec::new(),
            asides: HashMap::new(),
        }
    }
}

/// Where a new message goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Spot {
    /// After the last one.
    Next,
    /// After an earlier one: what followed that is left behind.
    Rewind(Option<u32>),
    /// Onto a branch that was left behind by these edits: they are undone, and what followed `to` is left behind.
    Return { to: u32, undo: Vec<EditId> },
    /// Onto a branch that was left behind long ago: these messages are the view again.
    Restore(Vec<u32>),
    /// Onto a branch that was left behind, as [`Return`](Self::Return), and back: nobody went there.
    Detour { to: u32, undo: Vec<EditId> },
    /// Nowhere: it belongs to a branch that was left behind.
    Aside,
}

/// The most edits that are undone to take up an abandoned branch: two terminals that take turns need one, three need two.
const MAX_UNDONE: usize = 64;

/// The most messages that taking up an abandoned branch may list.
const MAX_RESTORED: usize = 50_000;

impl Shadow {
    pub(super) fn node(&self, at: u32) -> Option<&Node> {
        self.nodes.get(at as usize)
    }

    pub(super) fn len(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// Remembers a message; it joins the view by [`push`](Self::push).
    pub(super) fn add(&mut self, node: Node) -> u32 {
        self.nodes.push(node);
        self.len() - 1
    }

    pub(super) fn push(&mut self, message: u32) {
        self.tip = self.place(message, self.tip);
    }

    fn place(&mut self, message: u32, before: u32) -> u32 {
        let depth = self.places.get(before as usize).map_or(0, |p| p.depth + 1);
        let place = self.places.len() as u32;
        self.places.push(Place { message, before, depth });
        if let Some(node) = self.nodes.get_mut(message as usize) {
            node.entry = place;
        }
        place
    }

    /// Puts a message onto the branch of its parent, which is not the view. Results of parallel calls follow each other.
    pub(super) fn put_aside(&mut self, message: u32, parent: u32) {
        let Some(parent) = self.entry_of(parent) else { return };
        let before = self.asides.get(&parent).copied().unwrap_or(parent);
        let place = self.place(message, before);
        self.asides.insert(parent, place);
    }

    /// The last message of the view was said aside, and answers `parent`.
    pub(super) fn said_aside(&mut self, parent: u32) {
        if let Some(parent) = self.entry_of(parent) {
            self.asides.insert(parent, self.tip);
        }
    }

    fn entry_of(&self, message: u32) -> Option<u32> {
        self.nearest_shown(message).and_then(|m| self.node(m)).map(|node| node.entry)
    }

    /// The last change of the view is on record under this id.
    pub(super) fn turned_by(&mut self, edit: EditId) {
        self.turns.push((edit, self.left));
    }

    /// The view is these, in this order.
    pub(super) fn replace(&mut self, messages: &[u32]) {
        self.left = self.tip;
        self.tip = NONE;
        for message in messages {
            self.push(*message);
        }
        self.base_tip = self.tip;
    }

    /// The view is a message and what led to it, or nothing.
    pub(super) fn rewind(&mut self, to: Option<u32>) {
        self.left = self.tip;
        self.tip = to.and_then(|m| self.node(m)).map_or(NONE, |node| node.entry);
    }

    /// The last message of the view.
    pub(super) fn tip(&self) -> Option<u32> {
        self.places.get(self.tip as usize).map(|p| p.message)
    }

    /// The view, last message first.
    pub(super) fn backwards(&self) -> impl Iterator<Item = u32> + '_ {
        self.from(self.tip)
    }

    fn from(&self, place: u32) -> impl Iterator<Item = u32> + '_ {
        let mut at = place;
        std::iter::from_fn(move || {
            let place = self.places.get(at as usize)?;
            at = place.before;
            Some(place.message)
        })
    }

    /// Whether a message is in the view.
    pub(super) fn is_live(&self, message: u32) -> bool {
        let Some(target) = self.node(message).map(|n| n.entry) else { return false };
        self.leads_to(target, self.tip)
    }

    /// Whether a place is `end` or lies before it.
    fn leads_to(&self, target: u32, end: u32) -> bool {
        let Some(depth) = self.places.get(target as usize).map(|p| p.depth) else { return false };
        let mut at = end;
        while let Some(place) = self.places.get(at as usize) {
            if place.depth <= depth {
                return at == target;
            }
            at = place.before;
        }
        false
    }

    /// The message itself or its nearest ancestor that a model is sent.
    pub(super) fn nearest_shown(&self, message: u32) -> Option<u32> {
        let mut at = message;
        while let Some(node) = self.node(at) {
            if node.kind != Kind::Hidden {
                return Some(at);
            }
            at = node.parent;
        }
        None
    }

    /// Where a message goes whose parent is `parent` (`None`: it has none). `group` is 0 where it has none.
    pub(super) fn spot(&self, parent: Option<u32>, kind: Kind, group: u64) -> Spot {
        let Some(tip) = self.tip() else { return Spot::Next };
        let Some(parent) = parent.and_then(|p| self.nearest_shown(p)) else {
            return if kind == Kind::Result { Spot::Next } else { Spot::Rewind(None) };
        };
        if parent == tip {
            return Spot::Next;
        }
        if !self.is_live(parent) {
            let place = self.node(parent).map_or(NONE, |n| n.entry);
            if kind == Kind::Result {
                let place = self.asides.get(&place).copied().unwrap_or(place);
                let to = self.places.get(place as usize).map(|p| p.message);
                return match (to, self.way_back_to(place)) {
                    (Some(to), Some(undo)) => Spot::Detour { to, undo },
                    (_, _) => Spot::Aside,
                };
            }
            if let Some(undo) = self.way_back_to(place) {
                return Spot::Return { to: parent, undo };
            }
            let mut path: Vec<u32> = self.from(place).take(MAX_RESTORED + 1).collect();
            if path.len() > MAX_RESTORED || path.is_empty() {
                return Spot::Next;
            }
            path.reverse();
            return Spot::Restore(path);
        }
        // Results point at the call they answer, not at the result before them.
        let after_compaction = self.tip == self.base_tip;
        if kind == Kind::Result || after_compaction || self.only_siblings_since(parent, group) {
            return Spot::Next;
        }
        Spot::Rewind(Some(parent))
    }

    /// The edits without which a place would be in the view: all since it last was. What was said since then follows it.
    fn way_back_to(&self, place: u32) -> Option<Vec<EditId>> {
        let recent = self.turns.iter().rev().take(MAX_UNDONE);
        let n = recent.clone().position(|(_, before)| self.leads_to(place, *before))?;
        Some(recent.take(n + 1).map(|(edit, _)| edit.clone()).collect())
    }

    /// Whether everything after `parent` is results of its parallel calls, or other blocks of the same answer.
    fn only_siblings_since(&self, parent: u32, group: u64) -> bool {
        let same_answer = group != 0 && self.node(parent).is_some_and(|n| n.group == group);
        for message in self.backwards().take(NEAR) {
            if message == parent {
                return true;
            }
            let Some(node) = self.node(message) else { return false };
            if node.kind != Kind::Result && !(same_answer && node.group == group) {
                return false;
            }
        }
        false
    }
}
