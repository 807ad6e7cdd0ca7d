//! The client's marks for Anthropic's cache, in a request that is no longer the client's to the byte.
//!
//! A client marks where the cache is to be written, and moves its marks from request to request. What stands in the place of a
//! marked message must be marked too, or the provider writes nothing. A mark goes where the client has it; where that
//! is gone, or can't be marked, to the nearest block before it. Marks are moved and never multiplied, so that there are never more of
//! them than the client has.

use memchr::memmem;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use throughline_wire::splice::{Body, Fragment, Slot};

#[cfg(test)]
mod tests;

const MARK: &str = "cache_control";

/// An element of a request, and where the client has the message.
pub(crate) struct Placed<'a> {
    pub(crate) slot: Slot<'a>,
    /// `None` for one of ours.
    pub(crate) place: Option<usize>,
}

/// Gives the elements that are not the client's own bytes the marks that the client has there now.
pub(crate) fn put_back(elements: &mut [Placed<'_>], body: &Body) {
    let mut is_kept = vec![false; body.len()];
    for element in elements.iter() {
        if let Slot::Keep(place) = element.slot
            && let Some(kept) = is_kept.get_mut(place)
        {
            *kept = true;
        }
    }
    let finder = memmem::Finder::new(MARK);
    for place in (0..body.len()).filter(|place| !is_kept[*place]) {
        let Some(bytes) = body.element(place).filter(|bytes| finder.find(bytes).is_some()) else { continue };
        for mark in marks_of(bytes) {
            put(elements, body, place, &mark);
        }
    }
}

/// A mark as the client has it.
struct Mark<'a> {
    /// On which block of its message.
    block: usize,
    /// Whether that is the last one.
    is_last: bool,
    value: &'a RawValue,
}

fn put(elements: &mut [Placed<'_>], body: &Body, place: usize, mark: &Mark<'_>) {
    let behind = |element: &Placed<'_>| element.place.is_some_and(|other| other > place);
    let end = elements.iter().position(behind).unwrap_or(elements.len());
    for element in elements[..end].iter_mut().rev() {
        let bytes = match &element.slot {
            Slot::Keep(at) => body.element(*at).unwrap_or_default(),
            Slot::Written(fragment) => fragment.bytes(),
            // Whoever calls has written everything.
            Slot::Write(_) => continue,
        };
        let upto = if element.place == Some(place) && !mark.is_last { mark.block } else { usize::MAX };
        match with_mark(bytes, upto, mark.value) {
            Marked::Already => return,
            Marked::Now(marked) => {
                if let Ok(fragment) = Fragment::parse(marked) {
                    element.slot = Slot::Written(fragment);
                }
                return;
            }
            Marked::Cannot => {}
        }
    }
}

#[derive(Deserialize)]
struct Element<'a> {
    #[serde(borrow)]
    content: &'a RawValue,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    cache_control: Option<&'a RawValue>,
}

impl<'a> Block<'a> {
    fn read(raw: &'a RawValue) -> Option<Self> {
        serde_json::from_str(raw.get()).ok()
    }

    /// Its own mark, or the last of those inside it.
    fn mark(&self) -> Option<&'a RawValue> {
        let inner = || {
            let parts: Vec<&RawValue> = serde_json::from_str(self.content?.get()).ok()?;
            parts.into_iter().rev().find_map(|part| Block::read(part)?.cache_control)
        };
        self.cache_control.filter(|mark| mark.get() != "null").or_else(inner)
    }

    /// Whether the provider takes a mark here.
    fn can_be_marked(&self) -> bool {
        match &*self.kind {
            "thinking" | "redacted_thinking" => false,
            "text" => self.text.as_ref().is_some_and(|text| !text.trim().is_empty()),
            _ => true,
        }
    }
}

fn blocks(element: &[u8]) -> Option<Vec<&RawValue>> {
    let element: Element<'_> = serde_json::from_slice(element).ok()?;
    serde_json::from_str(element.content.get()).ok()
}

fn marks_of(element: &[u8]) -> Vec<Mark<'_>> {
    let blocks = blocks(element).unwrap_or_default();
    let last = blocks.len().saturating_sub(1);
    let marks = blocks.iter().enumerate().filter_map(|(block, raw)| {
        Some(Mark { block, is_last: block == last, value: Block::read(raw)?.mark()? })
    });
    marks.collect()
}

enum Marked {
    /// It has one at this place.
    Already,
    Now(Vec<u8>),
    /// No block up to there can have one.
    Cannot,
}

/// Marks the last block that can be marked, up to one. Nothing else of the element changes, to the byte.
fn with_mark(element: &[u8], upto: usize, mark: &RawValue) -> Marked {
    let Ok(Element { content }) = serde_json::from_slice(element) else { return Marked::Cannot };
    let insert = |raw: &RawValue, with: &str| {
        // Both are parts of the same bytes.
        let start = raw.get().as_ptr() as usize - element.as_ptr() as usize;
        let (before, rest) = element.split_at(start);
        [before, with.as_bytes(), &rest[raw.get().len()..]].concat()
    };
    if let Ok(text) = serde_json::from_str::<Cow<'_, str>>(content.get()) {
        if text.trim().is_empty() {
            return Marked::Cannot;
        }
        let block = format!(r#"[{{"type":"text","text":{},"{MARK}":{mark}}}]"#, content.get());
        return Marked::Now(insert(content, &block));
    }
    let blocks: Vec<&RawValue> = serde_json::from_str(content.get()).unwrap_or_default();
    for raw in blocks.into_iter().take(upto.saturating_add(1)).rev() {
        let Some(block) = Block::read(raw) else { continue };
        if block.mark().is_some() {
            return Marked::Already;
        }
        if let (true, Some(open)) = (block.can_be_marked(), raw.get().strip_suffix('}')) {
            return Marked::Now(insert(raw, &format!(r#"{open},"{MARK}":{mark}}}"#)));
        }
    }
    Marked::Cannot
}

/// Takes the marks away that a message had when it came.
pub(crate) fn take_away(element: &mut Value) {
    let Some(blocks) = element.get_mut("content").and_then(Value::as_array_mut) else { return };
    for block in blocks {
        take_away(block);
        if let Some(block) = block.as_object_mut() {
            block.shift_remove(MARK);
        }
    }
}
