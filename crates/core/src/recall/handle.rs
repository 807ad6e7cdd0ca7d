//! Handles: short names by which a model reads a message again.

use crate::MessageId;
use crate::stages::snip;
use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

/// Six base-36 characters for a message: the same as its `[id:…]` mark (P2). Two messages of one session may share
/// them; [`Handles`] tells those apart.
///
/// ```
/// assert_eq!(throughline_core::recall::short_id(&"550e8400-e29b-41d4-a716-446655440000".into()), "4ntnke");
/// ```
pub fn short_id(id: &MessageId) -> String {
    snip::tag(id)
}

/// A name for a message or for one block of it: `k3f9x2`, `k3f9x2.2` (its second block), `k3f9x2~2` (the second
/// message with that short id).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Handle {
    tag: String,
    nth: Option<usize>,
    block: Option<usize>,
}

impl Handle {
    /// The same message, one block of it; blocks count from zero here and from one in the handle's text.
    pub fn with_block(mut self, block: usize) -> Self {
        self.block = Some(block);
        self
    }

    /// The block that it names, counting from zero.
    pub fn block(&self) -> Option<usize> {
        self.block
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.tag)?;
        if let Some(nth) = self.nth {
            write!(f, "~{nth}")?;
        }
        match self.block {
            Some(block) => write!(f, ".{}", block + 1),
            None => Ok(()),
        }
    }
}

/// Why a text is no handle.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a handle: a handle is six letters and digits such as k3f9x2, as shown in brackets beside what was removed"
)]
pub struct HandleError(pub String);

/// Reads a handle as models write it: with or without brackets, and with what stands before it there.
impl FromStr for Handle {
    type Err = HandleError;

    fn from_str(text: &str) -> Result<Self, HandleError> {
        let wrong = || HandleError(crate::text::one_line(text, 40));
        let bare = text.trim().trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let bare = bare.rsplit_once(':').map_or(bare, |(_, rest)| rest).trim().to_ascii_lowercase();
        let (bare, block) = match bare.split_once('.') {
            Some((bare, block)) => (bare.to_owned(), Some(counted(block).ok_or_else(wrong)? - 1)),
            None => (bare, None),
        };
        let (tag, nth) = match bare.split_once('~') {
            Some((tag, nth)) => (tag.to_owned(), Some(counted(nth).ok_or_else(wrong)?)),
            None => (bare, None),
        };
        match tag.len() == 6 && tag.bytes().all(|b| b.is_ascii_alphanumeric()) {
            true => Ok(Self { tag, nth, block }),
            false => Err(wrong()),
        }
    }
}

/// A number from one.
fn counted(text: &str) -> Option<usize> {
    text.parse().ok().filter(|&n| n > 0)
}

/// The messages of a session by handle. Each has one that opens it; where a later message turns out to share its short
/// id, the handle that was given before leads to a choice between them.
#[derive(Clone, Debug, Default)]
pub struct Handles {
    ids: Vec<MessageId>,
    places: HashMap<MessageId, u32>,
    by_tag: HashMap<String, Vec<u32>>,
}

/// What a handle leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found<'a> {
    /// One message.
    One(&'a MessageId),
    /// Several messages share the short id; each with the handle that opens it alone.
    Many(Vec<(Handle, &'a MessageId)>),
    /// Nothing.
    None,
}

impl Handles {
    /// Takes in one more message. False if it was there already.
    pub fn push(&mut self, id: &MessageId) -> bool {
        if self.places.contains_key(id) {
            return false;
        }
        let place = self.ids.len() as u32;
        self.ids.push(id.clone());
        self.places.insert(id.clone(), place);
        self.by_tag.entry(short_id(id)).or_default().push(place);
        true
    }

    /// The handle of a message.
    pub fn get(&self, id: &MessageId) -> Option<Handle> {
        let place = self.places.get(id)?;
        let tag = short_id(id);
        let sharing = self.by_tag.get(&tag)?;
        let nth = sharing.iter().position(|at| at == place)? + 1;
        Some(Handle { tag, nth: (sharing.len() > 1).then_some(nth), block: None })
    }

    /// What a handle leads to.
    pub fn find(&self, handle: &Handle) -> Found<'_> {
        let sharing = self.by_tag.get(&handle.tag).map_or(&[][..], Vec::as_slice);
        let id = |place: &u32| &self.ids[*place as usize];
        match (handle.nth, sharing) {
            (None | Some(1), [only]) => Found::One(id(only)),
            (Some(nth), sharing) => sharing.get(nth - 1).map_or(Found::None, |place| Found::One(id(place))),
            (None, []) => Found::None,
            (None, sharing) => {
                let named =
                    |(n, place): (usize, &u32)| (Handle { nth: Some(n + 1), ..handle.clone() }, id(place));
                Found::Many(sharing.iter().enumerate().map(named).collect())
            }
        }
    }

    /// How many messages there are.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    pub(super) fn place(&self, id: &MessageId) -> Option<u32> {
        self.places.get(id).copied()
    }

    pub(super) fn at(&self, place: u32) -> &MessageId {
        &self.ids[place as usize]
    }
}
