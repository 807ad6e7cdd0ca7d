//! What a message says, as a number: tells whether a compaction kept a message that the ledger has.

use std::hash::{DefaultHasher, Hasher};
use throughline_core::{Block, Body, Media, Message, Source, ToolInput};

/// Bytes at either end of a tool result that tell it from another of the same call.
const ENDS: usize = 512;

/// The same for messages that say the same, whatever their place, id and wire details. Good within one process.
pub(super) fn hash_of(message: &Message) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write_u8(message.role as u8);
    for block in &message.blocks {
        block_into(&mut hasher, block);
    }
    hasher.finish()
}

fn block_into(hasher: &mut DefaultHasher, block: &Block) {
    match &block.body {
        Body::Text(text) => part(hasher, 0, text),
        Body::Reasoning { text, seal } => {
            part(hasher, 1, text);
            part(hasher, 1, seal.as_deref().unwrap_or_default());
        }
        Body::ToolCall(call) => {
            part(hasher, 2, call.id.as_str());
            part(hasher, 2, &call.name);
            match &call.input {
                ToolInput::Json(value) => part(hasher, 2, &value.to_string()),
                ToolInput::JsonText(text) | ToolInput::Text(text) => part(hasher, 2, text),
            }
        }
        // Results are long and many, and their call names them: length and ends tell one from a shortened one.
        Body::ToolResult(result) => {
            part(hasher, 3, result.call.as_str());
            let text = result.content.to_text();
            let bytes = text.as_bytes();
            hasher.write_usize(bytes.len());
            hasher.write(&bytes[..bytes.len().min(ENDS)]);
            hasher.write(&bytes[bytes.len().saturating_sub(ENDS)..]);
        }
        Body::Image(Media { source }) | Body::Document(Media { source }) => match source {
            Source::Base64 { data, .. } => part(hasher, 4, data),
            Source::Url(at) | Source::File(at) => part(hasher, 4, at),
            Source::Other(value) => part(hasher, 4, &value.to_string()),
        },
        Body::Unknown(value) => part(hasher, 5, &value.to_string()),
    }
}

/// Kind and length first, so that no two sequences of parts run together.
fn part(hasher: &mut DefaultHasher, kind: u8, text: &str) {
    hasher.write_u8(kind);
    hasher.write_usize(text.len());
    hasher.write(text.as_bytes());
}
