//! Which blocks belong on a wire.
//!
//! Reasoning, calls that a provider ran itself, stored files and unknown blocks mean something to their own provider
//! only. On another wire they are left out, except where a user message or a tool result would silently lose
//! content: there a short text says what stood there. A provider's legible summary stays, as text.
//!
//! Decoders put the wire into the shape of all these. Without a shape, an unknown block is written as it is, a seal or a
//! hosted call never, and reasoning without a seal on Chat, whose form that is.

use crate::object::home;
use serde_json::Value;
use std::borrow::Cow;
use throughline_core::{Block, Body, CallKind, Message, ResultContent, Role, Source, ToolResult, Wire};

/// The blocks of a message that belong on `wire`, or `None` if the message has nothing to say there.
pub(crate) fn fitting<'a>(wire: Wire, message: &'a Message) -> Option<Vec<Cow<'a, Block>>> {
    if message.flags.display_only {
        return None;
    }
    let blocks: Vec<_> = message.blocks.iter().filter_map(|block| fit(wire, message.role, block)).collect();
    (!blocks.is_empty() || message.blocks.is_empty()).then_some(blocks)
}

fn fit<'a>(wire: Wire, role: Role, block: &'a Block) -> Option<Cow<'a, Block>> {
    let home = home(block);
    let substitute = || words_for(role, block).map(|words| Cow::Owned(Block::text(words)));
    match &block.body {
        // A seal of unknown origin could make a provider refuse the request; text without a seal is Chat's form.
        Body::Reasoning { seal, .. } => {
            let fits = match home {
                Some(home) => home == wire,
                None => seal.is_none() && wire == Wire::Chat,
            };
            fits.then_some(Cow::Borrowed(block))
        }
        Body::ToolCall(call) if call.kind == CallKind::Hosted => {
            (home == Some(wire)).then_some(Cow::Borrowed(block))
        }
        Body::Unknown(_) if home.is_some_and(|home| home != wire) => substitute(),
        Body::Image(media) | Body::Document(media) => match media.source {
            Source::File(_) | Source::Other(_) if home != Some(wire) => substitute(),
            // Chat has no documents by address.
            Source::Url(_) if wire == Wire::Chat && matches!(block.body, Body::Document(_)) => substitute(),
            // The model's own pictures exist on one wire only.
            _ if role == Role::Assistant && home.is_some_and(|home| home != wire) => None,
            Source::Base64 { .. } | Source::Url(_) | Source::File(_) | Source::Other(_) => {
                Some(Cow::Borrowed(block))
            }
        },
        Body::ToolResult(result) => Some(fit_result(wire, block, result)),
        Body::Text(_) | Body::ToolCall(_) | Body::Unknown(_) => Some(Cow::Borrowed(block)),
    }
}

fn fit_result<'a>(wire: Wire, block: &'a Block, result: &ToolResult) -> Cow<'a, Block> {
    let ResultContent::Parts(parts) = &result.content else { return Cow::Borrowed(block) };
    let fitted: Vec<_> = parts.iter().filter_map(|part| fit_part(wire, part)).collect();
    if fitted.iter().all(|part| matches!(part, Cow::Borrowed(_))) && fitted.len() == parts.len() {
        return Cow::Borrowed(block);
    }
    let content = ResultContent::Parts(fitted.into_iter().map(Cow::into_owned).collect());
    let body = Body::ToolResult(ToolResult { content, ..result.clone() });
    Cow::Owned(Block { body, shape: block.shape.clone() })
}

fn fit_part<'a>(wire: Wire, part: &'a Block) -> Option<Cow<'a, Block>> {
    match part.body {
        Body::Text(_) | Body::Image(_) | Body::Document(_) | Body::Unknown(_) => fit(wire, Role::Tool, part),
        // No decoder makes these here, and no wire has a place for them.
        Body::Reasoning { .. } | Body::ToolCall(_) | Body::ToolResult(_) => {
            Some(Cow::Owned(Block::text(part.to_text())))
        }
    }
}

/// The longest unknown part of a tool's answer that is shown as its JSON.
const SHOWN: usize = 2_000;

/// What stands for a block that another provider would not understand, if anything must.
fn words_for(role: Role, block: &Block) -> Option<String> {
    let (kind, at) = match &block.body {
        Body::Unknown(raw) => {
            let kind = raw.get("type").and_then(Value::as_str).unwrap_or("content");
            // The provider's own summary of what came before: without it the conversation has a hole.
            if let ("compaction", Some(Value::String(summary))) = (kind, raw.get("content"))
                && !summary.is_empty()
            {
                return Some(summary.clone());
            }
            if role == Role::Tool {
                let json = raw.to_string();
                if json.len() <= SHOWN {
                    return Some(json);
                }
            }
            (kind, None)
        }
        Body::Image(media) => ("image", address(&media.source)),
        Body::Document(media) => ("document", address(&media.source)),
        Body::Text(_) | Body::Reasoning { .. } | Body::ToolCall(_) | Body::ToolResult(_) => ("content", None),
    };
    match role {
        Role::User | Role::Tool => Some(match at {
            Some(at) => format!("[{kind} at {at}]"),
            None => format!("[{kind}: left out, this provider can't read it]"),
        }),
        Role::Assistant | Role::System | Role::Developer => None,
    }
}

/// An address that is short enough to be read.
fn address(source: &Source) -> Option<&str> {
    match source {
        Source::Url(url) if url.len() <= SHOWN => Some(url),
        Source::Url(_) | Source::Base64 { .. } | Source::File(_) | Source::Other(_) => None,
    }
}
