//! What stands in a person's place in a message, without telling the request from what was pasted.

use super::elements::{self, Element};
use super::spans::{Layout, has_words, is_data, is_queued};
use super::table::Leads;
use super::{PartKind, lines};
use crate::compaction::is_handed_over;
use crate::{Body, Message};

/// Returns true if a text of a user message is not wholly the client's.
pub(crate) fn holds_person_text(message: &Message) -> bool {
    let mut found = false;
    visit(message, &mut |text| {
        found |= has_words(text) || text.chars().any(|c| !c.is_whitespace());
        found
    });
    found
}

/// The texts of a user message outside of what its client put there; `None` if there are none.
pub(crate) fn person_text(message: &Message) -> Option<String> {
    let mut texts: Vec<&str> = Vec::new();
    visit(message, &mut |text| {
        if !text.trim().is_empty() {
            texts.push(text.trim());
        }
        false
    });
    (!texts.is_empty()).then(|| texts.join("\n"))
}

/// Hands each passage of a person to `take` until that returns true.
fn visit<'a>(message: &'a Message, take: &mut dyn FnMut(&'a str) -> bool) {
    if is_handed_over(message) {
        return;
    }
    let mut follows_command = false;
    for block in &message.blocks {
        let text = match &block.body {
            Body::Text(text) => text,
            Body::Reasoning { .. }
            | Body::ToolCall(_)
            | Body::ToolResult(_)
            | Body::Image(_)
            | Body::Document(_)
            | Body::Unknown(_) => continue,
        };
        if message.flags.typed {
            if take(text) {
                return;
            }
            continue;
        }
        let was_command = std::mem::replace(&mut follows_command, elements::is_command(text));
        if !was_command && visit_text(text, take) {
            return;
        }
    }
}

fn visit_text<'a>(text: &'a str, take: &mut dyn FnMut(&'a str) -> bool) -> bool {
    let layout = Layout::of(text);
    let is_mixed = layout.is_mixed(text);
    for element in &layout.found {
        let is_taken = match person_of(text, element, is_mixed) {
            Some(words) => take(words),
            None => false,
        };
        if is_taken {
            return true;
        }
    }
    for range in layout.outside {
        let piece = &text[range];
        if piece.trim().is_empty() {
            continue;
        }
        let own = match Leads::find(piece) {
            Some(lead) => &piece[lead.end..],
            None => piece,
        };
        let own = &own[Leads::around(own).before..];
        if !own.trim().is_empty() && take(own) {
            return true;
        }
    }
    false
}

/// What of an element is a person's: typed words in a client's tag, and what they pasted beside their words.
fn person_of<'a>(text: &'a str, element: &Element<'_>, is_mixed: bool) -> Option<&'a str> {
    let inner = &text[element.inner.clone()];
    let names = element.names();
    let whole = &text[element.range.clone()];
    match names.kind {
        Some(PartKind::TypedRequest) => Some(inner),
        Some(PartKind::Reminder) if is_queued(inner) => Some(inner),
        Some(PartKind::PastedMaterial) => Some(whole),
        Some(PartKind::AgentTask) if names.is_known || is_data(inner) => None,
        Some(PartKind::AgentTask) => Some(whole),
        Some(
            PartKind::Harness
            | PartKind::LocalCommandOutput
            | PartKind::InstructionFile
            | PartKind::Reminder
            | PartKind::ToolResult,
        ) => None,
        None => (is_mixed || lines::is_prose(inner)).then_some(whole),
    }
}
