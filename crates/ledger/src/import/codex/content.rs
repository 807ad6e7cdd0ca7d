//! What a message says, as a number: tells whether a compaction kept a message that the ledger has.

use std::hash::Hasher;
use throughline_core::{Block, Body, Media, Message, Source, ToolInput};

/// Bytes at either end of a tool result that tell it from another of the same call.
const ENDS: usize = 512;

/// The same for messages that say the same, whatever their place, id and wire details.
pub(super) fn hash_of(message: &Message) -> u64 {
    let mut hasher = Mixer::default();
    hasher.write_u8(message.role as u8);
    for block in &message.blocks {
        block_into(&mut hasher, block);
    }
    hasher.finish()
}

/// Mixes eight bytes at a time. Ids in ledgers are made with it, so it is the same for ever, which the standard library
/// does not promise of its own; and it need not withstand an enemy, who could only confuse their own transcript.
#[derive(Default)]
pub(super) struct Mixer(u64);

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.0 = (self.0 ^ u64::from_le_bytes(word)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
        }
        self.0 ^= bytes.len() as u64;
    }

    fn write_u64(&mut self, n: u64) {
        self.write(&n.to_le_bytes());
    }

    fn finish(&self) -> u64 {
        let mixed = (self.0 ^ (self.0 >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        mixed ^ (mixed >> 32)
    }
}

fn block_into(hasher: &mut Mixer, block: &Block) {
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
            hasher.write_u64(bytes.len() as u64);
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
fn part(hasher: &mut Mixer, kind: u8, text: &str) {
    hasher.write_u8(kind);
    hasher.write_u64(text.len() as u64);
    hasher.write(text.as_bytes());
}
