//! Writes a request with its changes.
//!
//! The new request is a list of pieces: spans of the old one, and what is new. Spans that touch become one, so that what was
//! kept is copied in as few steps as there are changes.
//!
//! An object and a list are written by the same rules: each kept item has in front of it what it had, white space
//! and comma; a new item has what separates the items of this list elsewhere.

use super::Body;
use super::changes::{Changes, Fragment, SpliceError};
use super::outline::{Conversation, Member};
use super::scan::Span;
use crate::request::key as conversation_key;
use bytes::Bytes;
use std::borrow::Cow;
use std::ops::Range;

/// A part of the new request.
enum Piece<'a> {
    Old(Span),
    New(Cow<'a, [u8]>),
}

#[derive(Default)]
struct Pieces<'a>(Vec<Piece<'a>>);

impl<'a> Pieces<'a> {
    fn keep(&mut self, start: usize, end: usize) {
        match self.0.last_mut() {
            Some(Piece::Old(last)) if last.end == start => last.end = end,
            Some(_) | None => self.0.push(Piece::Old(Span::new(start, end))),
        }
    }

    fn add(&mut self, bytes: impl Into<Cow<'a, [u8]>>) {
        self.0.push(Piece::New(bytes.into()));
    }
}

/// How the items of an object or a list are separated in the source.
struct Layout<'a> {
    /// Brackets included.
    whole: Span,
    /// The first and the last item.
    ends: Option<(Span, Span)>,
    /// Stands before every new item but the first.
    separator: Cow<'a, [u8]>,
}

impl<'a> Layout<'a> {
    fn new(source: &'a [u8], whole: Span, first_two: [Option<Span>; 2], last: Option<Span>) -> Self {
        let separator = match first_two {
            [Some(first), Some(second)] => Cow::Borrowed(Span::new(first.end, second.start).of(source)),
            [Some(first), None] => {
                let indent = Span::new(whole.start + 1, first.start).of(source);
                Cow::Owned([b",", indent].concat())
            }
            [None, _] => Cow::Borrowed(b",".as_slice()),
        };
        Self { whole, ends: first_two[0].zip(last), separator }
    }
}

/// Writes the items of one object or list.
struct Writer<'p, 'a> {
    pieces: &'p mut Pieces<'a>,
    layout: Layout<'a>,
    is_first: bool,
}

impl<'p, 'a> Writer<'p, 'a> {
    fn new(pieces: &'p mut Pieces<'a>, layout: Layout<'a>) -> Self {
        pieces.keep(layout.whole.start, layout.whole.start + 1);
        Self { pieces, layout, is_first: true }
    }

    /// What stands before an item. `before` is the end of the item before it in the source, and `start` its own start
    /// there, if it has one.
    fn separate(&mut self, before: Option<usize>, start: Option<usize>) {
        let is_first = std::mem::take(&mut self.is_first);
        match (is_first, before, start) {
            (true, _, _) => {
                if let Some((first, _)) = self.layout.ends {
                    self.pieces.keep(self.layout.whole.start + 1, first.start);
                }
            }
            (false, Some(before), Some(start)) => self.pieces.keep(before, start),
            (false, _, _) => self.pieces.add(self.layout.separator.clone()),
        }
    }

    fn end(self) {
        let end = self.layout.whole.end;
        match self.layout.ends {
            Some((_, last)) if !self.is_first => self.pieces.keep(last.end, end),
            Some(_) | None => self.pieces.keep(end - 1, end),
        }
    }
}

/// A part of the conversation as it is to be.
enum Item<'a> {
    Keep(Range<usize>),
    New(&'a Fragment),
}

impl Body {
    /// The request with these changes. Without any it is this request's own bytes.
    pub fn rebuild(&self, changes: &Changes) -> Result<Cow<'_, [u8]>, SpliceError> {
        if changes.is_empty() {
            return Ok(Cow::Borrowed(&self.bytes));
        }
        Ok(Cow::Owned(self.pieces(changes)?.concat()))
    }

    /// As [`rebuild`](Self::rebuild), to be kept: without changes the bytes are shared.
    pub fn rebuild_shared(&self, changes: &Changes) -> Result<Bytes, SpliceError> {
        if changes.is_empty() {
            return Ok(self.bytes.clone());
        }
        Ok(self.pieces(changes)?.concat().into())
    }

    /// The request with these changes, in pieces: to be written one after the other, with nothing copied.
    pub fn pieces<'a>(&'a self, changes: &'a Changes) -> Result<Vec<Cow<'a, [u8]>>, SpliceError> {
        let items = self.items(changes)?;
        self.check_keys(changes)?;
        let mut pieces = Pieces::default();
        pieces.keep(0, self.outline.object.start);
        self.write_object(&mut pieces, changes, items.as_deref());
        pieces.keep(self.outline.object.end, self.bytes.len());
        let bytes_of = |piece| match piece {
            Piece::Old(span) => Cow::Borrowed(Span::of(span, &self.bytes)),
            Piece::New(bytes) => bytes,
        };
        Ok(pieces.0.into_iter().map(bytes_of).collect())
    }

    fn conversation_key(&self) -> &'static str {
        conversation_key(self.wire)
    }

    fn check_keys(&self, changes: &Changes) -> Result<(), SpliceError> {
        let key = self.conversation_key();
        match changes.keys.iter().any(|(other, _)| other == key) {
            true => Err(SpliceError::Conversation(key)),
            false => Ok(()),
        }
    }

    /// The conversation as it is to be. `None` if it stays as it is.
    fn items<'a>(&self, changes: &'a Changes) -> Result<Option<Vec<Item<'a>>>, SpliceError> {
        if changes.elements.is_empty() {
            return Ok(None);
        }
        if self.outline.conversation == Conversation::Missing {
            return Err(SpliceError::NoConversation(self.conversation_key()));
        }
        let mut splices: Vec<&(Range<usize>, Vec<Fragment>)> = changes.elements.iter().collect();
        splices.sort_by_key(|(range, _)| (range.start, range.end));
        let len = self.len();
        let mut items = Vec::with_capacity(2 * splices.len() + 1);
        let mut next = 0;
        for (range, with) in splices {
            if range.start > range.end || range.end > len {
                return Err(SpliceError::OutOfRange { start: range.start, end: range.end, len });
            }
            if range.start < next {
                return Err(SpliceError::Overlap(range.start));
            }
            items.push(Item::Keep(next..range.start));
            items.extend(with.iter().map(Item::New));
            next = range.end;
        }
        items.push(Item::Keep(next..len));
        Ok(Some(items))
    }

    fn write_object<'a>(&'a self, pieces: &mut Pieces<'a>, changes: &'a Changes, items: Option<&[Item<'a>]>) {
        let members = &self.outline.members;
        let whole = |member: &Member| Span::new(member.key.start, member.value.end);
        let first_two = [members.first().map(whole), members.get(1).map(whole)];
        let layout = Layout::new(&self.bytes, self.outline.object, first_two, members.last().map(whole));
        let mut writer = Writer::new(pieces, layout);
        for (at, member) in members.iter().enumerate() {
            let change = changes.keys.iter().find(|(key, _)| self.is_key(member, key));
            if let Some((_, None)) = change {
                continue;
            }
            let before = at.checked_sub(1).and_then(|before| members.get(before));
            writer.separate(before.map(|before| before.value.end), Some(member.key.start));
            writer.pieces.keep(member.key.start, member.value.start);
            match (change, items) {
                (Some((key, Some(value))), _) if self.position(key) == Some(at) => {
                    writer.pieces.add(value.bytes());
                }
                (_, Some(items)) if self.outline.conversation.place() == Some(at) => {
                    self.write_conversation(writer.pieces, member.value, items);
                }
                _ => writer.pieces.keep(member.value.start, member.value.end),
            }
        }
        let colon = members
            .first()
            .map_or(b":".as_slice(), |member| Span::new(member.key.end, member.value.start).of(&self.bytes));
        for (key, value) in &changes.keys {
            if let (Some(value), None) = (value, self.position(key)) {
                writer.separate(None, None);
                let name = serde_json::Value::from(key.as_str()).to_string();
                writer.pieces.add(name.into_bytes());
                writer.pieces.add(colon);
                writer.pieces.add(value.bytes());
            }
        }
        writer.end();
    }

    fn write_conversation<'a>(&'a self, pieces: &mut Pieces<'a>, value: Span, items: &[Item<'a>]) {
        match self.outline.conversation {
            Conversation::List(_) => self.write_list(pieces, value, items),
            Conversation::Text(_) => write_text_as_list(pieces, value, items),
            Conversation::Missing => pieces.keep(value.start, value.end),
        }
    }

    fn write_list<'a>(&'a self, pieces: &mut Pieces<'a>, value: Span, items: &[Item<'a>]) {
        let elements = &self.outline.elements;
        let first_two = [elements.first().copied(), elements.get(1).copied()];
        let layout = Layout::new(&self.bytes, value, first_two, elements.last().copied());
        let mut writer = Writer::new(pieces, layout);
        for item in items {
            match item {
                Item::Keep(range) => {
                    let Some((first, last)) = ends(elements, range) else { continue };
                    let before = range.start.checked_sub(1).and_then(|before| elements.get(before));
                    writer.separate(before.map(|before| before.end), Some(first.start));
                    writer.pieces.keep(first.start, last.end);
                }
                Item::New(fragment) => {
                    writer.separate(None, None);
                    writer.pieces.add(fragment.bytes());
                }
            }
        }
        writer.end();
    }
}

/// The first and the last of some elements.
fn ends<'a>(elements: &'a [Span], range: &Range<usize>) -> Option<(&'a Span, &'a Span)> {
    let elements = elements.get(range.clone())?;
    elements.first().zip(elements.last())
}

/// An `input` that was one string and becomes a list: the string, to the byte, is what the user says in it.
fn write_text_as_list<'a>(pieces: &mut Pieces<'a>, text: Span, items: &[Item<'a>]) {
    let mut separator: &[u8] = b"[";
    for item in items {
        match item {
            Item::Keep(range) if range.is_empty() => continue,
            Item::Keep(_) => {
                pieces.add(separator);
                pieces.add(br#"{"type":"message","role":"user","content":"#.as_slice());
                pieces.keep(text.start, text.end);
                pieces.add(b"}".as_slice());
            }
            Item::New(fragment) => {
                pieces.add(separator);
                pieces.add(fragment.bytes());
            }
        }
        separator = b",";
    }
    pieces.add(if separator == b"[" { b"[]".as_slice() } else { b"]" });
}
