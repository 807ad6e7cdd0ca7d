//! Tool results in place: what is shown of them, and how something else is shown instead.

use crate::{Block, Body, CallKind, Entry, MessageId, Op, ResultContent, ToolResult};

/// The place of a block: its entry, and its number there.
pub(super) type Place = (usize, usize);

/// What the model sees of each entry, block by block, in time linear in the blocks and replacements.
pub(super) struct Shown<'a>(Vec<Vec<&'a Block>>);

impl<'a> Shown<'a> {
    pub(super) fn of(entries: &'a [Entry]) -> Self {
        Self(entries.iter().map(blocks).collect())
    }

    /// The blocks of an entry.
    pub(super) fn blocks(&self, at: usize) -> &[&'a Block] {
        self.0.get(at).map_or(&[], Vec::as_slice)
    }

    /// Whether something else than was said is shown at a place of the entry.
    pub(super) fn is_replaced(&self, entry: &Entry, (at, b): Place) -> bool {
        match (self.blocks(at).get(b), entry.message.blocks.get(b)) {
            (Some(shown), Some(said)) => !std::ptr::eq(*shown, said),
            _ => false,
        }
    }

    /// The result at a place, with its block.
    pub(super) fn result(&self, (at, b): Place) -> Option<(&'a Block, &'a ToolResult)> {
        let block = *self.blocks(at).get(b)?;
        as_result(block).map(|result| (block, result))
    }

    /// Every result, in order.
    pub(super) fn results(&self, at: usize) -> impl Iterator<Item = (Place, &'a ToolResult)> {
        let blocks = self.blocks(at).iter().enumerate();
        blocks.filter_map(move |(b, block)| as_result(block).map(|result| ((at, b), result)))
    }
}

fn blocks(entry: &Entry) -> Vec<&Block> {
    let mut blocks: Vec<&Block> = entry.message.blocks.iter().collect();
    for overlay in &entry.overlays {
        if let Some(block) = blocks.get_mut(overlay.block) {
            *block = &overlay.with;
        }
    }
    blocks
}

fn as_result(block: &Block) -> Option<&ToolResult> {
    match &block.body {
        Body::ToolResult(result) => Some(result),
        Body::Text(_)
        | Body::Reasoning { .. }
        | Body::ToolCall(_)
        | Body::Image(_)
        | Body::Document(_)
        | Body::Unknown(_) => None,
    }
}

/// Whether words may stand in place of the result: the other kinds hold what only the provider reads.
pub(super) fn takes_words(result: &ToolResult) -> bool {
    match result.kind {
        CallKind::Function | CallKind::Custom | CallKind::LocalShell => true,
        CallKind::ToolSearch | CallKind::Hosted => false,
    }
}

/// The same result with other content. Call, kind, error flag and everything else about it stay.
pub(super) fn with_content(block: &Block, result: &ToolResult, content: ResultContent) -> Block {
    let is_error = result.is_error;
    let body =
        Body::ToolResult(ToolResult { call: result.call.clone(), kind: result.kind, content, is_error });
    let mut shape = block.shape.clone();
    if let Some(shape) = &mut shape {
        // Where the client wrote content that our model does not carry, the new content takes its place.
        shape.release("content");
        shape.release("output");
    }
    Block { body, shape }
}

/// Shows `with` at a block of a message.
pub(super) fn replace(message: &MessageId, block: usize, with: Block) -> Op {
    Op::Replace { message: message.clone(), block, with: Box::new(with) }
}
