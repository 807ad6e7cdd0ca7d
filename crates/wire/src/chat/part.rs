//! Parts of a message's content.

use super::WIRE;
use crate::media::{address, from_address};
use crate::object::{self, Reader, Remember, Writer, unknown};
use serde_json::Value;
use throughline_core::{Block, Body, Media, Source};

/// Reads one part.
pub(crate) fn decode(raw: Value) -> Block {
    let Value::Object(map) = raw else { return unknown(WIRE, raw) };
    let mut r = Reader::new(WIRE, map);
    let body = match r.kind() {
        "text" => r.string("text").map(Body::Text),
        "refusal" => match r.string("refusal") {
            Some(text) => {
                return r.finish_as(Body::Text(text), Remember::Kind, |w, body| write(w, body, "refusal"));
            }
            None => None,
        },
        "image_url" => image(&mut r),
        "file" => file(&mut r),
        _ => None,
    };
    match body {
        Some(body) => r.finish(body, |w, body| write(w, body, "")),
        None => unknown(WIRE, r.into_raw()),
    }
}

fn image(r: &mut Reader) -> Option<Body> {
    r.inner_string("image_url", "url")?;
    if !r.open("image_url") {
        return None;
    }
    Some(Body::Image(Media { source: from_address(r.string("image_url.url")?) }))
}

fn file(r: &mut Reader) -> Option<Body> {
    let data = r.inner_string("file", "file_data").is_some();
    let id = r.inner_string("file", "file_id").is_some();
    if !(data || id) || !r.open("file") {
        return None;
    }
    if !data {
        return Some(Body::Document(Media { source: Source::File(r.string("file.file_id")?) }));
    }
    let mut source = from_address(r.string("file.file_data")?);
    if let Source::Url(bytes) = source {
        // Bytes without a type, as some clients send them: no address, and nobody else's form.
        source = Source::Other(bytes.into());
    }
    Some(Body::Document(Media { source }))
}

/// Writes one part.
pub(crate) fn encode(block: &Block) -> Value {
    object::write_block(WIRE, block, write)
}

fn write(w: &mut Writer<'_>, body: &Body, kind: &str) {
    match body {
        Body::Text(text) if kind == "refusal" => {
            w.str("type", "refusal");
            w.str("refusal", text);
        }
        Body::Text(text) => {
            w.str("type", "text");
            w.str("text", text);
        }
        Body::Image(media) => {
            w.str("type", "image_url");
            w.inner("image_url");
            w.with("image_url.url", || address(&media.source).into());
        }
        Body::Document(media) => {
            w.str("type", "file");
            w.inner("file");
            match &media.source {
                Source::File(id) => w.str("file.file_id", id),
                Source::Other(raw) => w.value("file.file_data", raw),
                Source::Base64 { .. } | Source::Url(_) => {
                    w.str("file.filename", "document");
                    w.with("file.file_data", || address(&media.source).into());
                }
            }
        }
        // Not parts: they have keys of their own, or are raw.
        Body::Reasoning { .. } | Body::ToolCall(_) | Body::ToolResult(_) | Body::Unknown(_) => {}
    }
}
