//! Summaries by a model: what it is asked, in how many requests, and what its answer holds.

mod writer;

pub(crate) use writer::{Subject, SummaryWriter};

use std::sync::Arc;
use throughline_core::compaction::retry_note;
use throughline_core::profile::Strategy;
use throughline_core::{Block, Body, Entry, Flags, Message, ResultContent, Role, ToolCall, prompt};
use throughline_model::{Forked, Toolbox};

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

/// Why an answer is no summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoSummary {
    /// The model called a tool.
    #[error("the answer calls a tool")]
    ToolCall,
    /// The answer has no `<summary>`, or nothing in it.
    #[error("the answer has no <summary>")]
    Missing,
    /// The answer says nothing.
    #[error("the answer is empty")]
    Empty,
}

/// Reads the summary in a fork's answer, without the scratchpad.
pub(crate) fn read(forked: &Forked) -> Result<String, NoSummary> {
    summary_in(text_of(forked)?).ok_or(NoSummary::Missing)
}

/// Reads all words of a fork's answer, without the scratchpad.
pub(crate) fn read_words(forked: &Forked) -> Result<String, NoSummary> {
    words_in(text_of(forked)?).ok_or(NoSummary::Empty)
}

/// The text of a fork that called no tool.
fn text_of(forked: &Forked) -> Result<&str, NoSummary> {
    match forked.messages.iter().any(|message| message.calls().next().is_some()) {
        true => Err(NoSummary::ToolCall),
        false => Ok(&forked.text),
    }
}

fn summary_in(answer: &str) -> Option<String> {
    let text = words_in(answer)?;
    let (_, rest) = text.split_once("<summary>")?;
    // An answer that was cut has no end mark.
    let text = rest.split_once("</summary>").map_or(rest, |(text, _)| text).trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Returns the words of an answer without the scratchpad; `None` if nothing is left.
fn words_in(answer: &str) -> Option<String> {
    let answer = throughline_core::citation::strip(answer);
    let text = strip(&answer, "<analysis>", "</analysis>");
    (!text.trim().is_empty()).then(|| text.trim().to_owned())
}

/// Refuses every tool and ends the fork at the first call: an answer that calls one is lost, and asking again costs a whole
/// request.
pub(crate) struct TextOnly;

impl Toolbox for TextOnly {
    fn call(&mut self, call: &ToolCall) -> Result<String, String> {
        Err(format!("{} was not called: only text is wanted here", call.name))
    }

    fn is_done(&mut self) -> bool {
        true
    }
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
            ("<analysis>a</analysis><summary>x<analysis>b</analysis> y</summary>", Some("x y")),
            ("<analysis>the <summary> comes later</analysis>", None),
            ("<summary>cut off in the mid", Some("cut off in the mid")),
            ("<analysis>never closed", None),
            ("Let me look at the file first.", None),
            ("<summary> </summary>", None),
            ("", None),
        ] {
            assert_eq!(summary_in(answer).as_deref(), kept, "{answer}");
        }
        assert_eq!(words_in("<analysis>a</analysis> x").as_deref(), Some("x"));
    }
}
