//! Parts of a message's content, and of a tool's output.

use super::WIRE;
use crate::media::{address, from_address};
use crate::object::{self, Reader, Remember, Writer, unknown};
use serde_json::Value;
use throughline_core::{Block, Body, Media, Source};

/// Who speaks decides what text is called.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Side {
    /// `input_text`.
    Input,
    /// `output_text`.
    Output,
}

impl Side {
    pub(crate) fn of(role: throughline_core::Role) -> Self {
        use throughline_core::Role;
        match role {
            Role::Assistant => Self::Output,
            Role::User | Role::System | Role::Developer | Role::Tool => Self::Input,
        }
    }
}

/// Reads one part.
pub(crate) fn decode(raw: Value, side: Side) -> Block {
    let Value::Object(map) = raw else { return unknown(WIRE, raw) };
    let mut r = Reader::new(WIRE, map);
    let body = match r.kind() {
        "input_text" | "output_text" => r.string("text").map(Body::Text),
        "refusal" => match r.string("refusal") {
            Some(text) => {
                return r
                    .finish_as(Body::Text(text), Remember::Kind, |w, body| write(w, body, side, "refusal"));
            }
            None => None,
        },
        "input_image" => source(&mut r, &["image_url"]).map(|source| Body::Image(Media { source })),
        "input_file" => {
            source(&mut r, &["file_data", "file_url"]).map(|source| Body::Document(Media { source }))
        }
        _ => None,
    };
    match body {
        Some(body) => r.finish(body, |w, body| write(w, body, side, "")),
        None => unknown(WIRE, r.into_raw()),
    }
}

fn source(r: &mut Reader, addresses: &[&'static str]) -> Option<Source> {
    for key in addresses {
        // A key that holds the other kind of address would be written under the other name: leave such a part raw.
        if let Some(text) = r.get(key).and_then(Value::as_str)
            && key_of(text, addresses) != *key
        {
            return None;
        }
        if let Some(text) = r.string(key) {
            return Some(from_address(text));
        }
    }
    r.string("file_id").map(Source::File)
}

/// Files have one key for bytes and one for addresses, pictures one for both.
fn key_of(address: &str, keys: &[&'static str]) -> &'static str {
    let is_data = address.starts_with("data:") && address.contains(";base64,");
    match keys {
        [_, url] if !is_data => url,
        [first, ..] => first,
        [] => "",
    }
}

/// Writes one part.
pub(crate) fn encode(block: &Block, side: Side) -> Value {
    object::write_block(WIRE, block, |w, body, kind| write(w, body, side, kind))
}

fn write(w: &mut Writer<'_>, body: &Body, side: Side, kind: &str) {
    match body {
        Body::Text(text) if kind == "refusal" => {
            w.str("type", "refusal");
            w.str("refusal", text);
        }
        Body::Text(text) => {
            w.str(
                "type",
                match side {
                    Side::Input => "input_text",
                    Side::Output => "output_text",
                },
            );
            w.str("text", text);
            if side == Side::Output {
                w.with("annotations", || Value::Array(Vec::new()));
            }
        }
        Body::Image(media) => {
            w.str("type", "input_image");
            write_source(w, &media.source, "image_url", "image_url");
        }
        Body::Document(media) => {
            w.str("type", "input_file");
            if let Source::Base64 { .. } = media.source {
                w.str("filename", "document");
            }
            write_source(w, &media.source, "file_data", "file_url");
        }
        // Not parts: items of their own, or raw.
        Body::Reasoning { .. } | Body::ToolCall(_) | Body::ToolResult(_) | Body::Unknown(_) => {}
    }
}

fn write_source(w: &mut Writer<'_>, source: &Source, data: &'static str, url: &'static str) {
    match source {
        Source::Base64 { .. } => w.with(data, || address(source).into()),
        Source::Url(_) => w.with(url, || address(source).into()),
        Source::File(id) => w.str("file_id", id),
        Source::Other(raw) => w.value("file_id", raw),
    }
}
