//! What is remembered of a message, and how it lies on disk.

use super::scratch::{Fixed, Text};

/// What is remembered of one message, beside its id.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
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

/// An id of any length in a fixed one.
#[derive(Clone, Copy, Debug)]
pub(super) enum ShortId {
    Uuid([u8; 16]),
    Made { hash: u64, repeat: u32 },
    Text(Text),
}

/// A message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Remembered {
    pub(super) id: ShortId,
    pub(super) node: Node,
}

/// A message in a view: what stands before it, and how much.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) message: u32,
    pub(super) before: u32,
    pub(super) depth: u32,
}

impl Fixed for Place {
    const SIZE: usize = 12;

    fn write(&self, out: &mut Vec<u8>) {
        for n in [self.message, self.before, self.depth] {
            out.extend_from_slice(&n.to_le_bytes());
        }
    }

    fn read(bytes: &[u8]) -> Self {
        Self { message: u32_at(bytes, 0), before: u32_at(bytes, 4), depth: u32_at(bytes, 8) }
    }
}

impl Fixed for Remembered {
    const SIZE: usize = 38;

    fn write(&self, out: &mut Vec<u8>) {
        let Node { parent, entry, chars, group, kind } = self.node;
        let (form, head, tail) = match self.id {
            ShortId::Uuid(bytes) => (0, u64_at(&bytes, 0), u64_at(&bytes, 8)),
            ShortId::Made { hash, repeat } => (1, hash, repeat.into()),
            ShortId::Text(Text { at, length }) => (2, at, length.into()),
        };
        for n in [head, tail, group] {
            out.extend_from_slice(&n.to_le_bytes());
        }
        for n in [parent, entry, chars] {
            out.extend_from_slice(&n.to_le_bytes());
        }
        out.extend_from_slice(&[form, kind as u8]);
    }

    fn read(bytes: &[u8]) -> Self {
        let (head, tail) = (u64_at(bytes, 0), u64_at(bytes, 8));
        let id = match bytes.get(36) {
            Some(0) => ShortId::Uuid((u128::from(head) | u128::from(tail) << 64).to_le_bytes()),
            Some(1) => ShortId::Made { hash: head, repeat: tail as u32 },
            Some(_) | None => ShortId::Text(Text { at: head, length: tail as u32 }),
        };
        let kinds = [Kind::Hidden, Kind::Result, Kind::RealUser, Kind::Other];
        let kind = bytes.get(37).and_then(|n| kinds.get(usize::from(*n))).copied().unwrap_or(Kind::Other);
        let [parent, entry, chars] = [24, 28, 32].map(|at| u32_at(bytes, at));
        Self { id, node: Node { parent, entry, chars, group: u64_at(bytes, 16), kind } }
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes)
}
