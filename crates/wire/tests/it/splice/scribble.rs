//! JSON as nobody would write it, and what chance does to it.

use crate::arbitrary::any_request;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;
use throughline_core::Wire;

/// Writes JSON as nobody would: any white space, any escapes, keys that are repeated.
pub(super) struct Scribble<'a> {
    choices: std::iter::Cycle<std::slice::Iter<'a, u8>>,
    out: String,
}

impl Scribble<'_> {
    pub(super) fn write(value: &Value, choices: &[u8]) -> String {
        let mut scribble = Scribble { choices: choices.iter().cycle(), out: String::new() };
        scribble.space();
        scribble.value(value);
        scribble.space();
        scribble.out
    }

    fn choose(&mut self, of: u8) -> u8 {
        self.choices.next().unwrap() % of
    }

    fn space(&mut self) {
        let space = ["", "", "", " ", "\n\t", "\r\n  "][usize::from(self.choose(6))];
        self.out.push_str(space);
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.string(text),
            Value::Array(items) => {
                self.out.push('[');
                for (at, item) in items.iter().enumerate() {
                    self.comma(at);
                    self.value(item);
                }
                self.space();
                self.out.push(']');
            }
            Value::Object(map) => {
                self.out.push('{');
                let mut at = 0;
                for (key, value) in map {
                    if self.choose(12) == 0 {
                        self.member(at, key, &Value::from(vec!["]", "x"]));
                        at += 1;
                    }
                    self.member(at, key, value);
                    at += 1;
                }
                self.space();
                self.out.push('}');
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => self.out.push_str(&value.to_string()),
        }
    }

    fn comma(&mut self, at: usize) {
        if at > 0 {
            self.space();
            self.out.push(',');
        }
        self.space();
    }

    fn member(&mut self, at: usize, key: &str, value: &Value) {
        self.comma(at);
        self.string(key);
        self.space();
        self.out.push(':');
        self.space();
        self.value(value);
    }

    fn string(&mut self, text: &str) {
        self.out.push('"');
        for c in text.chars() {
            if c < ' ' || c == '"' || c == '\\' || self.choose(9) == 0 {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    self.out.push_str(&format!("\\u{unit:04x}"));
                }
            } else {
                self.out.push(c);
            }
        }
        self.out.push('"');
    }
}

pub(super) fn text_of_request() -> impl Strategy<Value = (Wire, String)> {
    (any_request(), vec(any::<u8>(), 1..64))
        .prop_map(|((wire, value), choices)| (wire, Scribble::write(&value, &choices)))
}

/// What is done to a text by chance.
#[derive(Clone, Debug)]
pub(super) struct Mutation {
    at: prop::sample::Index,
    remove: usize,
    insert: Vec<u8>,
}

impl Mutation {
    pub(super) fn apply(&self, text: &mut Vec<u8>) {
        let start = self.at.index(text.len() + 1);
        let end = (start + self.remove).min(text.len());
        text.splice(start..end, self.insert.iter().copied());
    }
}

pub(super) fn mutation() -> impl Strategy<Value = Mutation> {
    let token = prop::sample::select(vec![
        "",
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\\",
        "\\u12",
        "\\ud800",
        "0",
        "1",
        "-",
        ".",
        "e9",
        "1e999",
        " ",
        "tru",
        "null",
        "\n",
        "\u{1}",
        "é",
        "{}",
        "[]",
        "\"a\"",
        "\"messages\":",
        "{\"role\":\"user\"},",
    ]);
    let insert = prop_oneof![
        4 => token.prop_map(|token| token.as_bytes().to_vec()),
        1 => vec(any::<u8>(), 0..3),
    ];
    (any::<prop::sample::Index>(), 0..4usize, insert).prop_map(|(at, remove, insert)| Mutation {
        at,
        remove,
        insert,
    })
}
