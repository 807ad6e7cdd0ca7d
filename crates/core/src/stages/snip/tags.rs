//! The tags that name user messages to the model.

use super::is_word;
use crate::{Block, Body, Entry, Message, MessageId};
use std::collections::HashMap;
use std::sync::Arc;

/// What ends the id of a message of which a snip left a part: it keeps its tag.
pub(super) const KEPT: &str = ".kept";

const LENGTH: usize = 6;

/// Six base-36 characters derived from a message's id: from its first ten hexadecimal digits, where it has them.
///
/// Ids that begin with a time (UUIDs of version 1, 6 and 7) would give neighbours the same tag, and others are not
/// hexadecimal: the hash of those is used.
///
/// ```
/// use throughline_core::stages::snip::tag;
///
/// assert_eq!(tag(&"550e8400-e29b-41d4-a716-446655440000".into()), "4ntnke");
/// ```
pub fn tag(id: &MessageId) -> String {
    let id = id.as_str().trim_end_matches(KEPT);
    let number = digits(id).unwrap_or_else(|| hashed(id));
    base36(number)
}

/// The first ten hexadecimal digits of a UUID that does not begin with a time.
fn digits(id: &str) -> Option<u64> {
    let uuid = uuid::Uuid::try_parse(id).ok()?;
    match uuid.get_version_num() {
        1 | 6 | 7 => None,
        _ => Some((uuid.as_u128() >> 88) as u64),
    }
}

fn hashed(text: &str) -> u64 {
    let hash = blake3::hash(text.as_bytes());
    hash.as_bytes()[..5].iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// The first six digits of a number in base 36.
fn base36(mut number: u64) -> String {
    let mut digits = Vec::new();
    while number > 0 {
        digits.push(char::from_digit((number % 36) as u32, 36).unwrap_or('0'));
        number /= 36;
    }
    digits.resize(digits.len().max(LENGTH), '0');
    digits.iter().rev().take(LENGTH).collect()
}

/// The tags of a view. No two messages have the same one, and what is said later changes none.
#[derive(Clone, Debug, Default)]
pub struct Tags {
    by_place: Vec<(usize, String)>,
    by_tag: HashMap<String, usize>,
}

impl Tags {
    /// Tags every real user message. Where two would be the same, the later message gets another one.
    pub fn of(entries: &[Entry]) -> Self {
        let mut tags = Self::default();
        for (at, entry) in entries.iter().enumerate().filter(|(_, entry)| entry.message.is_real_user()) {
            let id = &entry.message.id;
            let mut name = tag(id);
            let mut n = 1;
            while tags.by_tag.contains_key(&name) {
                name = base36(hashed(&format!("{id}#{n}")));
                n += 1;
            }
            tags.by_tag.insert(name.clone(), at);
            tags.by_place.push((at, name));
        }
        tags
    }

    /// The tag of the entry at a place, if it has one.
    pub fn get(&self, at: usize) -> Option<&str> {
        let n = self.by_place.binary_search_by_key(&at, |(place, _)| *place).ok()?;
        self.by_place.get(n).map(|(_, name)| name.as_str())
    }

    /// The place of the entry with a tag.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.by_tag.get(name).copied()
    }

    /// Every place that has a tag, in order.
    pub fn places(&self) -> Vec<usize> {
        self.by_place.iter().map(|(at, _)| *at).collect()
    }

    /// The copy of a message that is sent: `message` is what the entry at a place shows.
    pub fn mark(&self, at: usize, message: Arc<Message>) -> Arc<Message> {
        match self.get(at) {
            Some(name) => Arc::new(marked(&message, name)),
            None => message,
        }
    }
}

/// A copy of `message` with `[id:name]` behind the last words of the user, on a line of its own. For sending only: what
/// was said stays clean in the ledger.
pub fn marked(message: &Message, name: &str) -> Message {
    let mut message = message.clone();
    let last = message.blocks.iter().rposition(|block| is_word(&message, block));
    match last.and_then(|at| message.blocks.get_mut(at)) {
        Some(Block { body: Body::Text(text), shape }) => {
            text.push_str(&format!("\n[id:{name}]"));
            if let Some(shape) = shape {
                shape.release("text");
            }
        }
        // A picture alone.
        Some(_) | None => {
            message.blocks.push(Block::text(format!("[id:{name}]")));
            message.bare = false;
        }
    }
    message
}
