//! The reminder that turns can be dropped.

use super::super::Scene;
use super::{NAME, Tags};
use crate::profile::SnipLimits;
use crate::{Body, Entry, Fragment, Message, Role, content_id, prompt};

/// A message to append to the view, when what was said since the last snip, reminder or compaction has at least
/// [`nudge_tokens`](SnipLimits::nudge_tokens). The view itself says how much that is: the same history always gives the
/// same answer, and each reminder comes once.
///
/// None without the tool, while there is nothing to drop, or where a user message can't stand next.
pub fn nudge(scene: &Scene<'_>, limits: &SnipLimits) -> Option<Message> {
    if !scene.tools.snip {
        return None;
    }
    let text = text();
    let last_time = scene
        .entries
        .iter()
        .rposition(|entry| is_nudge(entry, &text) || snips(entry) || entry.message.flags.summary);
    let grown: u64 =
        (last_time.map_or(0, |at| at + 1)..scene.entries.len()).map(|at| scene.tokens_at(at)).sum();
    let last = scene.entries.iter().rev().map(|entry| &entry.message).find(|message| match message.role {
        Role::System | Role::Developer => false,
        Role::User | Role::Assistant | Role::Tool => true,
    })?;
    if grown < limits.nudge_tokens
        || last.role == Role::Assistant
        || Tags::of(scene.entries).places().len() < 2
    {
        return None;
    }
    let mut message = Message::text(Role::User, text);
    message.flags.meta = true;
    message.parent = scene.entries.last().map(|entry| entry.message.id.clone());
    message.id = content_id(message.parent.as_ref(), &message);
    message.at = scene.now;
    Some(message)
}

fn text() -> String {
    Fragment::SystemReminder.render(prompt(include_str!("../../../../../prompts/snip_nudge.md")))
}

/// A person may quote the reminder: then it is no reminder.
fn is_nudge(entry: &Entry, text: &str) -> bool {
    let message = &entry.message;
    message.role == Role::User
        && !message.is_real_user()
        && matches!(message.blocks.as_slice(), [block] if matches!(&block.body, Body::Text(said) if said == text))
}

fn snips(entry: &Entry) -> bool {
    entry.message.calls().any(|call| call.name == NAME)
}
