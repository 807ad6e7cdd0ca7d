//! One mechanism for every object on every wire: [`Reader`] moves typed values out of an object, [`Writer`]
//! writes the canonical object, and the difference between the two is the [`Shape`].
//!
//! A value that the reader moved out is encoded again to the letter (a string, a list of blocks), so it need not
//! be compared: both sides hold `null` in its place and no big string is copied.
//!
//! An inner object whose keys are typed (`source`, `function`) is opened: its keys become `source.data` and so
//! on, in place, and are put back together after the shape was applied. Hence key order and unknown keys hold
//! there too.

use serde_json::{Map, Value};
use throughline_core::{Block, Body, CallKind, Shape, Source, Wire};

/// An object that is being read.
pub(crate) struct Reader {
    wire: Wire,
    rest: Map<String, Value>,
    taken: Vec<&'static str>,
}

/// What a shape must remember beyond the difference.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Remember {
    /// Nothing.
    Difference,
    /// The original `type`, always: it says which form to write, or the block is only valid at home.
    Kind,
}

impl Reader {
    pub(crate) fn new(wire: Wire, object: Map<String, Value>) -> Self {
        Self { wire, rest: object, taken: Vec::new() }
    }

    /// The object's `type`, or nothing.
    pub(crate) fn kind(&self) -> &str {
        self.get("type").and_then(Value::as_str).unwrap_or("")
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        self.rest.get(key)
    }

    pub(crate) fn has_string(&self, key: &str) -> bool {
        self.get(key).is_some_and(Value::is_string)
    }

    /// A string of an inner object.
    pub(crate) fn inner_string(&self, outer: &str, key: &str) -> Option<&str> {
        self.get(outer)?.get(key)?.as_str()
    }

    /// Opens an inner object: its keys are `outer.key` from here on. False, and nothing changed, where that
    /// would be ambiguous.
    pub(crate) fn open(&mut self, outer: &'static str) -> bool {
        let prefixed = |key: &str| key.strip_prefix(outer).is_some_and(|rest| rest.starts_with('.'));
        let is_object = self.get(outer).and_then(Value::as_object).is_some_and(|inner| !inner.is_empty());
        if !is_object || self.rest.keys().any(|key| prefixed(key)) {
            return false;
        }
        let mut flat = Map::with_capacity(self.rest.len() + 2);
        for (key, mut value) in std::mem::take(&mut self.rest) {
            if let (Value::Object(inner), true) = (&mut value, key == outer) {
                let inner = std::mem::take(inner);
                flat.extend(inner.into_iter().map(|(key, value)| (format!("{outer}.{key}"), value)));
            } else {
                flat.insert(key, value);
            }
        }
        self.rest = flat;
        true
    }

    /// Moves a value out. The canonical form must write it back to the letter, under the same key.
    pub(crate) fn take(&mut self, key: &'static str) -> Option<Value> {
        let value = self.rest.get_mut(key)?.take();
        self.taken.push(key);
        Some(value)
    }

    /// Moves a string out; anything else stays.
    pub(crate) fn string(&mut self, key: &'static str) -> Option<String> {
        match self.rest.get_mut(key)? {
            Value::String(text) => {
                let text = std::mem::take(text);
                self.rest[key] = Value::Null;
                self.taken.push(key);
                Some(text)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// Moves a list out; anything else stays.
    pub(crate) fn list(&mut self, key: &'static str) -> Option<Vec<Value>> {
        match self.rest.get_mut(key)? {
            Value::Array(list) => {
                let list = std::mem::take(list);
                self.rest[key] = Value::Null;
                self.taken.push(key);
                Some(list)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => None,
        }
    }

    /// The object as it came. Only where nothing was taken or opened.
    pub(crate) fn into_raw(self) -> Value {
        Value::Object(self.rest)
    }

    /// The block that was read: `write` gives the canonical form of its body.
    pub(crate) fn finish(self, body: Body, write: impl FnOnce(&mut Writer<'_>, &Body)) -> Block {
        let remember = remember(&body);
        self.finish_as(body, remember, write)
    }

    /// The same, with a say in what the shape remembers.
    pub(crate) fn finish_as(
        self,
        body: Body,
        remember: Remember,
        write: impl FnOnce(&mut Writer<'_>, &Body),
    ) -> Block {
        let shape = self.shape(remember, |w| write(w, &body));
        Block { body, shape }
    }

    /// The shape of what was read: `write` gives the canonical form.
    pub(crate) fn shape(self, remember: Remember, write: impl FnOnce(&mut Writer<'_>)) -> Option<Shape> {
        let mut writer = Writer { map: Map::with_capacity(self.rest.len()), taken: &self.taken, outer: None };
        write(&mut writer);
        let mut canonical = writer.map;
        if remember == Remember::Kind {
            canonical.shift_remove("type");
        }
        Shape::between(self.wire, &canonical, &self.rest)
    }
}

/// An object that is being written.
pub(crate) struct Writer<'a> {
    map: Map<String, Value>,
    taken: &'a [&'static str],
    outer: Option<&'static str>,
}

impl Writer<'_> {
    pub(crate) fn str(&mut self, key: &'static str, text: &str) {
        self.with(key, || text.into());
    }

    pub(crate) fn value(&mut self, key: &'static str, value: &Value) {
        self.with(key, || value.clone());
    }

    pub(crate) fn with(&mut self, key: &'static str, value: impl FnOnce() -> Value) {
        let value = if self.taken.contains(&key) { Value::Null } else { value() };
        self.map.insert(key.to_owned(), value);
    }

    /// Says that keys which begin with `outer.` belong to an inner object.
    pub(crate) fn inner(&mut self, outer: &'static str) {
        self.outer = Some(outer);
    }
}

/// Writes an object: canonically, then with the look it had on `wire`.
pub(crate) fn write(wire: Wire, shape: Option<&Shape>, write: impl FnOnce(&mut Writer<'_>)) -> Value {
    let mut writer = Writer { map: Map::new(), taken: &[], outer: None };
    write(&mut writer);
    let map = match shape {
        Some(shape) => shape.restore(wire, writer.map),
        None => writer.map,
    };
    Value::Object(match writer.outer {
        Some(outer) => close(map, outer),
        None => map,
    })
}

/// Writes a block, given the canonical form of its body and of its original `type`. Unknown blocks are raw.
pub(crate) fn write_block(
    wire: Wire,
    block: &Block,
    form: impl FnOnce(&mut Writer<'_>, &Body, &str),
) -> Value {
    if let Body::Unknown(raw) = &block.body {
        return raw.clone();
    }
    let shape = block.shape.as_ref();
    write(wire, shape, |w| form(w, &block.body, kind(wire, shape)))
}

/// The reverse of [`Reader::open`].
fn close(map: Map<String, Value>, outer: &str) -> Map<String, Value> {
    let mut out: Map<String, Value> = Map::with_capacity(map.len());
    for (key, value) in map {
        match key.strip_prefix(outer).and_then(|rest| rest.strip_prefix('.')) {
            Some(inner_key) => {
                let inner = out.entry(outer).or_insert_with(|| Value::Object(Map::new()));
                if let Value::Object(inner) = inner {
                    inner.insert(inner_key.to_owned(), value);
                }
            }
            None => {
                out.insert(key, value);
            }
        }
    }
    out
}

/// What does not fit a typed form: raw, in place, and with its wire on it.
pub(crate) fn unknown(wire: Wire, raw: Value) -> Block {
    Block { body: Body::Unknown(raw), shape: mark(wire, &[]) }
}

/// A shape that changes nothing and carries a few words, such as the place an unknown value stood in.
pub(crate) fn mark(wire: Wire, words: &[(&str, &str)]) -> Option<Shape> {
    // The two objects differ in any case, so there always is a shape.
    let canonical = Map::from_iter([(String::new(), Value::Null)]);
    let original = words.iter().map(|(key, value)| ((*key).to_owned(), Value::from(*value))).collect();
    Shape::between(wire, &canonical, &original)
}

/// The wire that a block shows it came from.
pub(crate) fn home(block: &Block) -> Option<Wire> {
    block.shape.as_ref().map(Shape::wire)
}

/// The original `type` of a block, where its shape remembers it.
fn kind(wire: Wire, shape: Option<&Shape>) -> &str {
    shape
        .filter(|shape| shape.wire() == wire)
        .and_then(|shape| shape.get("type"))
        .and_then(Value::as_str)
        .unwrap_or("")
}

/// Bodies that mean something to their own provider only always carry a shape, so that their wire is known.
fn remember(body: &Body) -> Remember {
    match body {
        Body::Reasoning { .. } => Remember::Kind,
        Body::ToolCall(call) => match call.kind {
            CallKind::Hosted => Remember::Kind,
            CallKind::Function | CallKind::Custom | CallKind::LocalShell | CallKind::ToolSearch => {
                Remember::Difference
            }
        },
        Body::Image(media) | Body::Document(media) => match media.source {
            Source::File(_) | Source::Other(_) => Remember::Kind,
            Source::Base64 { .. } | Source::Url(_) => Remember::Difference,
        },
        Body::Text(_) | Body::ToolResult(_) | Body::Unknown(_) => Remember::Difference,
    }
}
