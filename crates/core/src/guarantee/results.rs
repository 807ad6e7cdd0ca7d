//! Whether a tool result reaches the model.

use crate::stages::budget::recognise;
use crate::text::{head, tail};
use crate::{Block, Body, ResultContent, ToolResult};

/// Of a result that is shown in part, at least this much of its beginning and of its end.
const LEAST_END: usize = 200;

/// Returns true if `shown` gives the result whole, or its beginning and end with a way to read the rest.
pub fn is_shown(result: &ToolResult, shown: &ToolResult) -> bool {
    if shown.content == result.content {
        return true;
    }
    let (whole, part) = (words(&result.content), words(&shown.content));
    let whole = whole.trim();
    if part.contains(whole) {
        return true;
    }
    let has_ends = part.contains(head(whole, LEAST_END).trim_end())
        && part.contains(tail(whole, LEAST_END).trim_start());
    recognise(&part).is_some() || (has_ends && names_way_back(&part))
}

/// Returns true if a shortened text says how to read the rest: a handle for `Recall`, or the call itself.
fn names_way_back(text: &str) -> bool {
    text.contains("[recall:") || text.contains("run the call again for a part")
}

/// The words of a result. Parts that are no text are written by each wire in its own way.
fn words(content: &ResultContent) -> String {
    let text = |block: &Block| match &block.body {
        Body::Text(text) => Some(text.clone()),
        Body::Reasoning { .. }
        | Body::ToolCall(_)
        | Body::ToolResult(_)
        | Body::Image(_)
        | Body::Document(_)
        | Body::Unknown(_) => None,
    };
    match content {
        ResultContent::Text(text) => text.clone(),
        ResultContent::Parts(parts) => parts.iter().filter_map(text).collect::<Vec<_>>().join("\n"),
    }
}
