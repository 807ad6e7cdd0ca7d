//! Values that are JSON, but that `serde_json` can't hold.

use serde_json::Value;
use std::borrow::Cow;
use throughline_core::parse_json;

/// Reads a text that was found to be valid JSON. Half of a surrogate pair is read as U+FFFD, a number beyond a
/// double as the nearest one.
pub(super) fn read(text: &[u8]) -> Value {
    parse_json(text)
        .or_else(|_| parse_json(&mend(text)))
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(text).into_owned()))
}

fn mend(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    let mut in_string = false;
    while let [first, ..] = *rest {
        let (taken, written): (usize, Cow<'_, [u8]>) = match first {
            b'\\' if in_string => escape(rest),
            b'-' | b'0'..=b'9' if !in_string => number(rest),
            _ => {
                in_string ^= first == b'"';
                (1, Cow::Borrowed(&rest[..1]))
            }
        };
        out.extend_from_slice(&written);
        rest = rest.get(taken..).unwrap_or_default();
    }
    out
}

/// An escape, or both of a pair: how long it is, and what to write for it.
fn escape(rest: &[u8]) -> (usize, Cow<'_, [u8]>) {
    let taken = match (unit(rest), rest.get(6..).and_then(unit)) {
        (None, _) => 2,
        (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
        (Some(0xD800..=0xDFFF), _) => return (6, Cow::Borrowed(b"\\ufffd")),
        (Some(_), _) => 6,
    };
    (taken, Cow::Borrowed(rest.get(..taken).unwrap_or(rest)))
}

/// The UTF-16 unit that an escape names.
fn unit(rest: &[u8]) -> Option<u16> {
    let digits = rest.strip_prefix(b"\\u")?.get(..4)?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

fn number(rest: &[u8]) -> (usize, Cow<'_, [u8]>) {
    let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
    let end = rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
    let text = &rest[..end];
    let value = std::str::from_utf8(text).ok().and_then(|text| text.parse::<f64>().ok());
    match value {
        Some(value) if value.is_infinite() => {
            (end, Cow::Owned(format!("{:e}", f64::MAX.copysign(value)).into_bytes()))
        }
        Some(_) | None => (end, Cow::Borrowed(text)),
    }
}
