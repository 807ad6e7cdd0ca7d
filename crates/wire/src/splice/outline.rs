//! Where the keys of a request and the elements of its conversation stand.

use super::scan::{Flaw, Scanner, Span};
use crate::request::key as conversation_key;
use std::borrow::Cow;
use throughline_core::Wire;

/// Where everything stands in a request's bytes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Outline {
    /// The request itself, braces included.
    pub(super) object: Span,
    /// Its keys, in order.
    pub(super) members: Vec<Member>,
    /// Which of them is the conversation.
    pub(super) conversation: Conversation,
    /// The elements of the conversation.
    pub(super) elements: Vec<Span>,
}

/// A key and what stands under it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Member {
    /// The key, quotes included.
    pub(super) key: Span,
    /// Its value.
    pub(super) value: Span,
}

/// The member that holds the conversation, by its place among the members. The last one counts, as for `serde_json`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Conversation {
    /// There is none, or it is something else than a list.
    Missing,
    /// `input` is one string.
    Text(usize),
    /// A list.
    List(usize),
}

impl Conversation {
    pub(super) fn is_list(self) -> bool {
        match self {
            Self::List(_) => true,
            Self::Missing | Self::Text(_) => false,
        }
    }

    pub(super) fn place(self) -> Option<usize> {
        match self {
            Self::Missing => None,
            Self::Text(at) | Self::List(at) => Some(at),
        }
    }
}

/// A request that was read before, and its outline.
type Guide<'a> = Option<(&'a [u8], &'a Outline)>;

/// Finds everything, and how many leading elements are those of the guide. `None` for JSON that is no object.
pub(super) fn read(wire: Wire, bytes: &[u8], guide: Guide<'_>) -> Result<Option<(Outline, usize)>, Flaw> {
    let mut scanner = Scanner::new(bytes);
    if scanner.next_token() != Some(b'{') {
        scanner.value(0)?;
        scanner.end()?;
        return Ok(None);
    }
    let outline = Outline {
        object: Span::new(scanner.at(), bytes.len()),
        members: Vec::with_capacity(guide.map_or(16, |(_, outline)| outline.members.len() + 1)),
        conversation: Conversation::Missing,
        elements: Vec::new(),
    };
    let mut reader = Reader { bytes, scanner, guide, outline, same: 0 };
    reader.object(conversation_key(wire), wire == Wire::Responses)?;
    Ok(Some((reader.outline, reader.same)))
}

struct Reader<'a> {
    bytes: &'a [u8],
    scanner: Scanner<'a>,
    guide: Guide<'a>,
    outline: Outline,
    same: usize,
}

impl<'a> Reader<'a> {
    fn object(&mut self, conversation: &str, may_be_text: bool) -> Result<(), Flaw> {
        self.scanner.expect(b'{', "expected `{`")?;
        if self.scanner.next_token() == Some(b'}') {
            self.scanner.expect(b'}', "expected `}`")?;
        } else {
            loop {
                let key = self.scanner.key()?;
                self.scanner.expect(b':', "expected `:`")?;
                let value = if text_of_key(key.of(self.bytes)) == conversation {
                    self.conversation(may_be_text)?
                } else {
                    self.value(key)?
                };
                self.outline.members.push(Member { key, value });
                if !self.scanner.another(b'}')? {
                    break;
                }
            }
        }
        self.outline.object.end = self.scanner.at();
        self.scanner.end()
    }

    fn value(&mut self, key: Span) -> Result<Span, Flaw> {
        self.scanner.next_token();
        let known = self.guide.and_then(|(bytes, outline)| {
            let key = key.of(self.bytes);
            let member = outline.members.iter().find(|member| member.key.of(bytes) == key)?;
            Some(member.value.of(bytes))
        });
        match known.and_then(|known| self.scanner.known(known)) {
            Some(span) => Ok(span),
            None => self.scanner.value(1),
        }
    }

    fn conversation(&mut self, may_be_text: bool) -> Result<Span, Flaw> {
        let place = self.outline.members.len();
        self.outline.elements.clear();
        self.same = 0;
        match self.scanner.next_token() {
            Some(b'[') => {
                self.outline.conversation = Conversation::List(place);
                self.list()
            }
            Some(b'"') if may_be_text => {
                self.outline.conversation = Conversation::Text(place);
                let known = self.known_elements();
                let text = self.element(known)?;
                if text.of(self.bytes) == b"\"\"" {
                    // Nobody said anything.
                    self.outline.elements.clear();
                    self.same = 0;
                }
                Ok(text)
            }
            Some(_) | None => {
                self.outline.conversation = Conversation::Missing;
                self.scanner.value(1)
            }
        }
    }

    fn list(&mut self) -> Result<Span, Flaw> {
        let start = self.scanner.at();
        self.scanner.expect(b'[', "expected `[`")?;
        let known = self.known_elements();
        let mut more = if self.take_same(start + 1) > 0 {
            self.scanner.another(b']')?
        } else if self.scanner.next_token() == Some(b']') {
            self.scanner.expect(b']', "expected `]`")?;
            false
        } else {
            true
        };
        while more {
            self.scanner.next_token();
            self.element(known)?;
            more = self.scanner.another(b']')?;
        }
        Ok(Span::new(start, self.scanner.at()))
    }

    /// Takes over the elements that the list begins with in both requests, and tells how many. `start` is behind the bracket.
    fn take_same(&mut self, start: usize) -> usize {
        let Some((bytes, outline)) = self.guide else { return 0 };
        let Conversation::List(place) = outline.conversation else { return 0 };
        let Some(list) = outline.members.get(place) else { return 0 };
        let known_start = list.value.start + 1;
        let common = common_prefix(&bytes[known_start..], &self.bytes[start..]);
        // What follows an element must be the same too: else it may go on.
        let same = outline.elements.partition_point(|element| element.end < known_start + common);
        self.outline.elements.reserve(outline.elements.len() + 8);
        let shift = |at: usize| at - known_start + start;
        let spans = outline.elements[..same].iter().map(|span| Span::new(shift(span.start), shift(span.end)));
        self.outline.elements.extend(spans);
        if let Some(last) = self.outline.elements.last() {
            self.scanner.skip_to(last.end);
        }
        self.same = same;
        same
    }

    /// The elements of the guide, if its conversation has the same form: a string means something else in a list.
    fn known_elements(&self) -> Option<(&'a [u8], &'a [Span])> {
        let (bytes, outline) = self.guide?;
        let alike = outline.conversation.is_list() == self.outline.conversation.is_list();
        alike.then_some((bytes, outline.elements.as_slice()))
    }

    fn element(&mut self, known: Option<(&[u8], &[Span])>) -> Result<Span, Flaw> {
        let at = self.outline.elements.len();
        let known = known.and_then(|(bytes, elements)| Some(elements.get(at)?.of(bytes)));
        let span = match known.and_then(|known| self.scanner.known(known)) {
            Some(span) => {
                self.same += usize::from(self.same == at);
                span
            }
            None => self.scanner.value(if self.outline.conversation.is_list() { 2 } else { 1 })?,
        };
        self.outline.elements.push(span);
        Ok(span)
    }
}

/// How many bytes two texts have in common at their beginning. Long ones are compared as blocks, which costs what copying them
/// would.
fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let len = a.len().min(b.len());
    let mut at = 0;
    for block in [4096, 64, 1] {
        while at + block <= len && a[at..at + block] == b[at..at + block] {
            at += block;
        }
    }
    at
}

/// The text of a key that stands in quotes, escapes resolved.
pub(super) fn text_of_key(key: &[u8]) -> Cow<'_, str> {
    let inner = key.get(1..key.len().saturating_sub(1)).unwrap_or_default();
    if inner.contains(&b'\\')
        && let serde_json::Value::String(text) = super::mend::read(key)
    {
        return Cow::Owned(text);
    }
    String::from_utf8_lossy(inner)
}
