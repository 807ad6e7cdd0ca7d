//! Ids for messages that arrive without one.

use crate::{Block, Body, Message, MessageId, ResultContent, Source, ToolInput};

/// An id derived from what a message says and from the message before it.
///
/// Providers' requests carry no ids, and clients resend the whole history each time, so the same history must
/// get the same ids again. Only the *typed* content counts: string or list, key order, `cache_control` and other
/// wire details do not, because clients change them from one request to the next.
pub fn content_id(parent: Option<&MessageId>, message: &Message) -> MessageId {
    let mut hasher = blake3::Hasher::new();
    part(&mut hasher, parent.map_or("", |id| id.as_str()));
    part(&mut hasher, &format!("{:?}", message.role));
    for block in &message.blocks {
        hash_block(&mut hasher, block);
    }
    let hash = hasher.finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash.as_bytes()[..16]);
    MessageId::new(uuid::Builder::from_custom_bytes(bytes).into_uuid().to_string())
}

fn hash_block(hasher: &mut blake3::Hasher, block: &Block) {
    match &block.body {
        Body::Text(text) => {
            part(hasher, "text");
            part(hasher, text);
        }
        Body::Reasoning { text, seal } => {
            part(hasher, "reasoning");
            part(hasher, text);
            part(hasher, seal.as_deref().unwrap_or(""));
        }
        Body::ToolCall(call) => {
            part(hasher, "call");
            part(hasher, call.id.as_str());
            part(hasher, &call.name);
            match &call.input {
                ToolInput::Json(value) => part(hasher, &value.to_string()),
                ToolInput::JsonText(text) | ToolInput::Text(text) => part(hasher, text),
            }
        }
        Body::ToolResult(result) => {
            part(hasher, "result");
            part(hasher, result.call.as_str());
            match &result.content {
                // A lone text part and a bare string say the same.
                ResultContent::Text(text) => {
                    part(hasher, "text");
                    part(hasher, text);
                }
                ResultContent::Parts(parts) => parts.iter().for_each(|p| hash_block(hasher, p)),
            }
        }
        Body::Image(media) | Body::Document(media) => {
            part(hasher, "media");
            match &media.source {
                Source::Base64 { data, .. } => part(hasher, data),
                Source::Url(at) | Source::File(at) => part(hasher, at),
                Source::Other(value) => part(hasher, &value.to_string()),
            }
        }
        Body::Unknown(value) => {
            part(hasher, "unknown");
            part(hasher, &value.to_string());
        }
    }
}

/// Length first, so that no two sequences of parts run together.
fn part(hasher: &mut blake3::Hasher, text: &str) {
    hasher.update(&(text.len() as u64).to_le_bytes());
    hasher.update(text.as_bytes());
}
