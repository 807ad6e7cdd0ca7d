//! Pictures and documents: Anthropic's `source` objects and OpenAI's `data:` addresses.

use crate::object::{Reader, Writer};
use throughline_core::Source;

/// Reads Anthropic's `source`. `None`, and nothing taken, where there is none.
pub(crate) fn read_source(r: &mut Reader) -> Option<Source> {
    r.get("source")?;
    let key = match r.inner_string("source", "type") {
        Some("base64") if r.inner_string("source", "media_type").is_some() => Some("data"),
        Some("url") => Some("url"),
        Some("file") => Some("file_id"),
        Some(_) | None => None,
    };
    match key.filter(|key| r.inner_string("source", key).is_some() && r.open("source")) {
        Some("data") => {
            let media_type = r.string("source.media_type")?;
            Some(Source::Base64 { media_type, data: r.string("source.data")? })
        }
        Some("url") => r.string("source.url").map(Source::Url),
        Some(_) => r.string("source.file_id").map(Source::File),
        None => r.take("source").map(Source::Other),
    }
}

/// Writes Anthropic's `source`.
pub(crate) fn write_source(w: &mut Writer<'_>, source: &Source) {
    match source {
        Source::Base64 { media_type, data } => {
            w.inner("source");
            w.str("source.type", "base64");
            w.str("source.media_type", media_type);
            w.str("source.data", data);
        }
        Source::Url(url) => {
            w.inner("source");
            w.str("source.type", "url");
            w.str("source.url", url);
        }
        Source::File(id) => {
            w.inner("source");
            w.str("source.type", "file");
            w.str("source.file_id", id);
        }
        Source::Other(raw) => w.value("source", raw),
    }
}

const BASE64: &str = ";base64,";

/// What an address says: the bytes themselves, or where they are. [`address`] gives the same text back.
pub(crate) fn from_address(mut address: String) -> Source {
    let Some(at) = address.strip_prefix("data:").and_then(|rest| rest.find(BASE64)) else {
        return Source::Url(address);
    };
    let start = "data:".len();
    let media_type = address[start..start + at].to_owned();
    address.drain(..start + at + BASE64.len());
    Source::Base64 { media_type, data: address }
}

/// The address of bytes, where they have one.
pub(crate) fn address(source: &Source) -> Option<String> {
    match source {
        Source::Base64 { media_type, data } => Some(format!("data:{media_type}{BASE64}{data}")),
        Source::Url(url) => Some(url.clone()),
        Source::File(_) | Source::Other(_) => None,
    }
}
