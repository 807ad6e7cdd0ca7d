//! What is to change in a request.

use super::Body;
use super::scan::Scanner;
use crate::{WireError, encode_messages};
use serde_json::Value;
use std::borrow::Borrow;
use std::ops::Range;
use std::sync::Arc;
use throughline_core::{Message, Wire};

/// One JSON value, written. Clones share their bytes: what was written for one request can be kept for the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fragment(Arc<[u8]>);

impl Fragment {
    /// Takes a value that is written already.
    pub fn parse(bytes: impl Into<Arc<[u8]>>) -> Result<Self, WireError> {
        let bytes = bytes.into();
        let mut scanner = Scanner::new(&bytes);
        // As deep as elements stand, so that the request that gets it can be read again.
        match scanner.value(2).and_then(|_| scanner.end()) {
            Ok(()) => Ok(Self(bytes)),
            Err(flaw) => Err(WireError::NotJson { what: "fragment", error: flaw.into_error(&bytes) }),
        }
    }

    /// The value, to the byte.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl From<&Value> for Fragment {
    fn from(value: &Value) -> Self {
        Self(value.to_string().into_bytes().into())
    }
}

/// Writes messages that stand side by side as elements of a request, as [`encode_messages`] does: there may be more or fewer of
/// them, and nothing is joined with what stands before or after.
pub fn encode_run<M: Borrow<Message>>(wire: Wire, messages: &[M]) -> Vec<Fragment> {
    encode_messages(wire, messages).iter().map(Fragment::from).collect()
}

/// What a conversation is to be made of.
#[derive(Clone, Debug)]
pub enum Slot<'a> {
    /// An element of the request, to the byte.
    Keep(usize),
    /// A message. Those that stand side by side are encoded together.
    Write(&'a Message),
    /// An element that is written already.
    Written(Fragment),
}

/// What is to change in a request. What is not mentioned stays as it is, to the byte.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    pub(super) elements: Vec<(Range<usize>, Vec<Fragment>)>,
    pub(super) keys: Vec<(String, Option<Fragment>)>,
}

impl Changes {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty() && self.keys.is_empty()
    }

    /// Puts elements in place of those in `range`, by their place in the request as it is. An empty range inserts before
    /// the element of that number; no elements drop those in the range.
    pub fn replace(&mut self, range: Range<usize>, with: Vec<Fragment>) {
        if !range.is_empty() || !with.is_empty() {
            self.elements.push((range, with));
        }
    }

    /// Puts a value under a key: in its place if the request has the key, else last. Of a repeated key the last is
    /// meant.
    pub fn set(&mut self, key: &str, value: Fragment) {
        self.change_key(key, Some(value));
    }

    /// Takes a key away, as often as the request has it.
    pub fn remove(&mut self, key: &str) {
        self.change_key(key, None);
    }

    fn change_key(&mut self, key: &str, value: Option<Fragment>) {
        self.keys.retain(|(other, _)| other != key);
        self.keys.push((key.to_owned(), value));
    }
}

/// Changes that a request has no place for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpliceError {
    /// There are not as many elements.
    #[error(
        "elements {start}..{end} can't be changed: the request has {len}; take positions from this request"
    )]
    OutOfRange {
        /// The first.
        start: usize,
        /// The one after the last.
        end: usize,
        /// How many there are.
        len: usize,
    },
    /// Two changes of one element.
    #[error("element {0} is changed twice; join the two changes")]
    Overlap(usize),
    /// The conversation would be in two places, or in none.
    #[error("`{0}` holds the conversation; change its elements")]
    Conversation(&'static str),
    /// There is no conversation to change.
    #[error("the request has no list under `{0}`; pass its bytes on unchanged")]
    NoConversation(&'static str),
}

impl Body {
    /// The changes after which the conversation consists of `slots`, in this order, and of nothing else.
    pub fn changes(&self, slots: &[Slot<'_>]) -> Result<Changes, SpliceError> {
        let mut changes = Changes::default();
        let (mut next, mut new) = (0, New { wire: self.wire(), run: Vec::new(), done: Vec::new() });
        for slot in slots {
            match slot {
                Slot::Write(message) => new.run.push(message),
                Slot::Written(fragment) => new.add(fragment.clone()),
                Slot::Keep(at) => {
                    let out_of_range =
                        SpliceError::OutOfRange { start: *at, end: at.saturating_add(1), len: self.len() };
                    let bytes = self.element(*at).ok_or(out_of_range)?;
                    if *at < next {
                        // It moved: its place is taken, its bytes are not.
                        new.add(Fragment(bytes.into()));
                    } else {
                        changes.replace(next..*at, new.take());
                        next = *at + 1;
                    }
                }
            }
        }
        changes.replace(next..self.len(), new.take());
        Ok(changes)
    }
}

/// What stands between two kept elements.
struct New<'a> {
    wire: Wire,
    /// Messages that are to be encoded together.
    run: Vec<&'a Message>,
    done: Vec<Fragment>,
}

impl New<'_> {
    fn add(&mut self, fragment: Fragment) {
        self.flush();
        self.done.push(fragment);
    }

    fn flush(&mut self) {
        if !self.run.is_empty() {
            self.done.extend(encode_run(self.wire, &self.run));
            self.run.clear();
        }
    }

    fn take(&mut self) -> Vec<Fragment> {
        self.flush();
        std::mem::take(&mut self.done)
    }
}
