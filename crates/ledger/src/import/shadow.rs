//! What an importer remembers of a session: ids and small facts per message, never what was said.
//!
//! [`Shadow`] folds the same edits as the view does, so that an importer knows at each line what is live.
//! The view is a linked list that shares its past: going back costs nothing and an abandoned branch can be
//! taken up again. It is kept in a [`Scratch`]: messages of long ago cost no memory.

pub(super) use super::node::{Kind, Node};
use super::node::{Place, Remembered, ShortId};
use super::scratch::{Paged, Scratch, Table, Texts};
use std::collections::VecDeque;
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

/// The view as ids.
#[derive(Debug)]
pub(super) struct Shadow {
    nodes: Paged<Remembered>,
    /// Ids that are neither UUIDs nor made here.
    texts: Texts,
    places: Paged<Place>,
    tip: u32,
    /// The last item of the newest replacement, while nothing was said after it.
    base_tip: u32,
    /// The last place of the view before it was last changed other than by saying something.
    left: u32,
    /// The newest edits and checkpoints that did so, each with the last place of the view before it.
    turns: VecDeque<(EditId, u32)>,
    /// Messages that were put aside, by the place that they follow.
    asides: Table,
}

impl Default for Shadow {
    fn default() -> Self {
        Self::new(&Scratch::default())
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
    pub(super) fn new(scratch: &Scratch) -> Self {
        Self {
            nodes: Paged::new(scratch),
            texts: Texts::new(scratch),
            places: Paged::new(scratch),
            tip: NONE,
            base_tip: NONE,
            left: NONE,
            turns: VecDeque::new(),
            asides: Table::new(scratch),
        }
    }

    pub(super) fn node(&self, at: u32) -> Option<Node> {
        self.nodes.get(at as usize).map(|remembered| remembered.node)
    }

    pub(super) fn id(&self, at: u32) -> Option<Id> {
        Some(match self.nodes.get(at as usize)?.id {
            ShortId::Uuid(bytes) => Id::Uuid(bytes),
            ShortId::Made { hash, repeat } => Id::Made { hash, repeat },
            ShortId::Text(text) => Id::Text(self.texts.get(text)?.into()),
        })
    }

    pub(super) fn len(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// Remembers a message; it joins the view by [`push`](Self::push).
    pub(super) fn add(&mut self, id: &Id, node: Node) -> u32 {
        let id = match id {
            Id::Uuid(bytes) => ShortId::Uuid(*bytes),
            Id::Made { hash, repeat } => ShortId::Made { hash: *hash, repeat: *repeat },
            Id::Text(text) => ShortId::Text(self.texts.push(text)),
        };
        self.nodes.push(Remembered { id, node });
        self.len() - 1
    }

    pub(super) fn push(&mut self, message: u32) {
        self.tip = self.place(message, self.tip);
    }

    fn place(&mut self, message: u32, before: u32) -> u32 {
        let depth = self.places.get(before as usize).map_or(0, |p| p.depth + 1);
        let place = self.places.len() as u32;
        self.places.push(Place { message, before, depth });
        self.nodes.change(message as usize, |remembered| remembered.node.entry = place);
        place
    }

    /// Puts a message onto the branch of its parent, which is not the view. Results of parallel calls follow each other.
    pub(super) fn put_aside(&mut self, message: u32, parent: u32) {
        let Some(parent) = self.entry_of(parent) else { return };
        let before = self.aside_of(parent).unwrap_or(parent);
        let place = self.place(message, before);
        self.asides.put(parent.into(), place.into());
    }

    /// The last message of the view was said aside, and answers `parent`.
    pub(super) fn said_aside(&mut self, parent: u32) {
        if let Some(parent) = self.entry_of(parent) {
            self.asides.put(parent.into(), self.tip.into());
        }
    }

    fn aside_of(&self, place: u32) -> Option<u32> {
        self.asides.get(place.into()).map(|place| place as u32)
    }

    fn entry_of(&self, message: u32) -> Option<u32> {
        self.nearest_shown(message).and_then(|m| self.node(m)).map(|node| node.entry)
    }

    /// The last change of the view is on record under this id.
    pub(super) fn turned_by(&mut self, edit: EditId) {
        if self.turns.len() == MAX_UNDONE {
            self.turns.pop_front();
        }
        self.turns.push_back((edit, self.left));
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

    /// Bytes held for what is remembered.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        let Self { nodes, texts, places, tip: _, base_tip: _, left: _, turns, asides } = self;
        let turns = turns.capacity() * size_of::<(EditId, u32)>();
        nodes.held() + texts.held() + places.held() + asides.held() + turns
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
                let place = self.aside_of(place).unwrap_or(place);
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
        let recent = self.turns.iter().rev();
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
