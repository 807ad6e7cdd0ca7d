//! Which recent messages a compaction keeps (P5a).

use crate::profile::CompactLimits;
use crate::{Body, CallId, Entry, Role};
use std::collections::HashMap;

/// What the search for the kept messages starts from.
#[derive(Clone, Copy, Debug)]
pub struct Keep<'a> {
    /// The view.
    pub entries: &'a [Entry],
    /// Tokens of each entry.
    pub tokens: &'a [u64],
    /// The first message that the notes do not cover.
    pub from: usize,
    /// Where the previous boundary is: nothing before it may be kept.
    pub floor: usize,
}

impl Keep<'_> {
    /// The first message to keep: from the first that the notes do not cover, further back until there are enough tokens
    /// *and* enough messages with text, stopping at the cap or at the previous boundary, and then so that no pair of call
    /// and result and no reasoning group is split.
    pub fn start(&self, limits: &CompactLimits) -> usize {
        let mut start = self.from.min(self.entries.len());
        let mut tokens: u64 = self.tokens[start..].iter().sum();
        let mut texts = self.entries[start..].iter().filter(|entry| has_text(entry)).count();
        while start > self.floor && tokens < limits.keep_most {
            if tokens >= limits.keep_tokens && texts >= limits.keep_texts {
                break;
            }
            start -= 1;
            tokens += self.tokens[start];
            texts += usize::from(has_text(&self.entries[start]));
        }
        align(self.entries, start)
    }

    /// Like [`start`](Self::start), but never with more than `most` tokens: where pairs would burst the limit, less is
    /// kept, down to nothing.
    pub fn start_within(&self, limits: &CompactLimits, most: u64) -> usize {
        let mut start = self.start(limits);
        let mut tokens: u64 = self.tokens[start..].iter().sum();
        while start < self.entries.len() && (tokens > most || align(self.entries, start) != start) {
            tokens -= self.tokens[start];
            start += 1;
        }
        start
    }
}

fn has_text(entry: &Entry) -> bool {
    entry.message.blocks.iter().any(|block| match &block.body {
        Body::Text(text) => !text.trim().is_empty(),
        Body::Reasoning { .. }
        | Body::ToolCall(_)
        | Body::ToolResult(_)
        | Body::Image(_)
        | Body::Document(_)
        | Body::Unknown(_) => false,
    })
}

/// The nearest place at or before `start` where a conversation can be cut: no result is parted from its call, no record from
/// the others of its answer, no reasoning from what it led to.
pub fn align(entries: &[Entry], start: usize) -> usize {
    let mut start = start.min(entries.len());
    let mut made: HashMap<&CallId, usize> = HashMap::new();
    for (at, entry) in entries[..start].iter().enumerate() {
        for call in entry.message.calls() {
            made.insert(&call.id, at);
        }
    }
    // Everything from `checked` on is known to be whole.
    let mut checked = entries.len();
    loop {
        let before = start;
        for entry in &entries[start..checked] {
            for result in entry.message.results() {
                if let Some(&at) = made.get(&result.call) {
                    start = start.min(at);
                }
            }
        }
        checked = before;
        while start > 0 && start < entries.len() && belongs_together(&entries[start - 1], &entries[start]) {
            start -= 1;
        }
        if start == before {
            return start;
        }
    }
}

/// Whether two neighbours are records of one answer.
fn belongs_together(first: &Entry, second: &Entry) -> bool {
    if first.message.role != Role::Assistant || second.message.role != Role::Assistant {
        return false;
    }
    let reasoning_only =
        first.message.blocks.iter().all(|block| matches!(block.body, Body::Reasoning { .. }));
    let same_group = first.message.group.is_some() && first.message.group == second.message.group;
    // Parallel calls may be records without a common name: their results come after all of them.
    let calls = first.message.calls().next().is_some();
    reasoning_only || same_group || calls
}
