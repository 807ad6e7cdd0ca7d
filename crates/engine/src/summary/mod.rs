//! Summaries by a model: what it is asked, in how many requests, and what its answer holds.

mod writer;

pub(crate) use writer::{Subject, SummaryWriter};

use std::sync::Arc;
use throughline_core::compaction::retry_note;
use throughline_core::profile::Strategy;
use throughline_core::{Block, Body, Entry, Flags, Message, ResultContent, Role, prompt};

const SUMMARY: &str = include_str!("../../../../prompts/summary.md");
const HANDOFF: &str = include_str!("../../../../prompts/handoff.md");

/// The request for a text that will stand in the conversation's place.
pub(crate) fn ask(strategy: Strategy, tokens: u64, instructions: Option<&str>) -> Message {
    let source = match strategy {
        Strategy::Handoff => HANDOFF,
        Strategy::Summary | Strategy::Notes => SUMMARY,
    };
    let wishes = instructions.map(str::trim).filter(|wishes| !wishes.is_empty());
    let wishes = wishes.map(|wishes| format!("\n\nFor this one the user asks: {wishes}")).unwrap_or_default();
    let text = prompt(source).replace("{{tokens}}", &tokens.to_string()).replace("{{instructions}}", &wishes);
    let mut message = Message::text(Role::User, text);
    message.flags = Flags { meta: true, ..Flags::default() };
    message
}

/// What is to be kept of an answer: the summary without the scratchpad. `None` if nothing is left.
pub(crate) fn read(answer: &str) -> Option<String> {
    let answer = throughline_core::citation::strip(answer);
    let without = strip(&answer, "<analysis>", "</analysis>");
    let text = match without.split_once("<summary>") {
        // An answer that was cut has no end mark.
        Some((_, rest)) => rest.split_once("</summary>").map_or(rest, |(text, _)| text).to_owned(),
        None => without,
    };
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// A text without what stands between two marks; what was opened and never closed goes to the end.
fn strip(text: &str, open: &str, close: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, inside)) = rest.split_once(open) {
        kept.push_str(before);
        rest = inside.split_once(close).map_or("", |(_, after)| after);
    }
    kept.push_str(rest);
    kept
}

/// Messages for a summary request of their own, where the parent's prefix is of no use (P5b, P5d): pictures and documents
/// stand as words, what we put back after earlier compactions is left out, and reasoning stays behind.
pub(crate) fn plain(entries: &[Entry]) -> Vec<Arc<Message>> {
    let kept = entries.iter().filter(|entry| !is_attachment(&entry.message));
    let mut messages: Vec<Arc<Message>> = retry_note(entries.first()).into_iter().map(Arc::new).collect();
    messages.extend(
        kept.map(|entry| Arc::new(in_words((*entry.shown()).clone()))).filter(|m| !m.blocks.is_empty()),
    );
    messages
}

fn is_attachment(message: &Message) -> bool {
    message.flags.meta && !message.flags.summary && message.results().next().is_none()
}

fn in_words(mut message: Message) -> Message {
    message.blocks.retain(|block| !matches!(block.body, Body::Reasoning { .. }));
    message.blocks.iter_mut().for_each(block_in_words);
    message
}

fn block_in_words(block: &mut Block) {
    let words = match &mut block.body {
        Body::Image(_) => "[image]",
        Body::Document(_) => "[document]",
        Body::ToolResult(result) => {
            if let ResultContent::Parts(parts) = &mut result.content {
                parts.iter_mut().for_each(block_in_words);
            }
            return;
        }
        Body::Text(_) | Body::Reasoning { .. } | Body::ToolCall(_) | Body::Unknown(_) => return,
    };
    *block = Block::text(words);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p5b_the_scratchpad_is_stripped_and_the_summary_kept() {
        for (answer, kept) in [
            ("<analysis>think</analysis>\n<summary>\n1. Fix it\n</summary>", Some("1. Fix it")),
            ("<analysis>a</analysis>x<analysis>b</analysis> y", Some("x y")),
            ("<summary>cut off in the mid", Some("cut off in the mid")),
            ("<analysis>never closed", None),
            ("plain words", Some("plain words")),
            ("<summary> </summary>", None),
            ("", None),
        ] {
            assert_eq!(read(answer).as_deref(), kept, "{answer}");
        }
    }
}
