//! What comes back after a compaction (P5e): recently read files, the plan, skills.

use super::Compaction;
use crate::tokens::Counter;
use crate::{Entry, Flags, Fragment, Message, Role, Speaker, text};

/// The attachments that apply, in order: files, the plan, skills. Each is within its limit, and marked as the client's.
pub fn files(of: &Compaction<'_>, start: usize, counter: &mut Counter) -> Vec<Message> {
    let mut attached = Vec::new();
    let limits = of.limits;
    let mut left = limits.files_tokens;
    for file in of.facts.files().into_iter().filter(|file| file.shown_by.is_some()) {
        if attached.len() >= limits.files {
            break;
        }
        let shown_by =
            of.scene.entries.iter().position(|entry| Some(&entry.message.id) == file.shown_by.as_ref());
        // Visible in the kept messages, or no longer in the view: nothing to bring back.
        let Some(at) = shown_by.filter(|&at| at < start && of.scene.entries[at].pinned.is_none()) else {
            continue;
        };
        let Some(content) = read_text(&of.scene.entries[at]) else { continue };
        let body = format!("<attachment: {}>\n{}", file.path, within(&content, limits.file_tokens, counter));
        let message = attachment(body);
        let cost = counter.message(&message).total();
        if cost <= left {
            left -= cost;
            attached.push(message);
        }
    }
    if limits.files > 0 {
        attached.extend(of.facts.plan().map(|plan| {
            attachment(format!("<plan>\n{}\n</plan>", within(plan, limits.file_tokens, counter)))
        }));
        attached.extend(skills(of, start, counter));
    }
    attached
}

/// The text of a read that was not replaced since.
fn read_text(entry: &Entry) -> Option<String> {
    if !entry.overlays.is_empty() {
        return None;
    }
    let result = entry.message.results().next()?;
    Some(result.content.to_text().into_owned()).filter(|text| !text.trim().is_empty())
}

/// Skills that the client put into the part that goes, newest first.
fn skills(of: &Compaction<'_>, start: usize, counter: &mut Counter) -> Vec<Message> {
    let mut left = of.limits.skills_tokens;
    let mut found = Vec::new();
    for entry in of.scene.entries[..start].iter().rev() {
        for block in &entry.message.blocks {
            let text = block.to_text();
            if Fragment::recognise(Speaker::User, &text) != Some(Fragment::Skill) {
                continue;
            }
            let message = attachment(within(&text, of.limits.skill_tokens, counter));
            let cost = counter.message(&message).total();
            if cost <= left && !found.iter().any(|known: &Message| known.blocks == message.blocks) {
                left -= cost;
                found.push(message);
            }
        }
    }
    found.reverse();
    found
}

fn attachment(body: String) -> Message {
    let mut message = Message::text(Role::User, Fragment::SystemReminder.render(&body));
    message.flags = Flags { meta: true, ..Flags::default() };
    message
}

/// The beginning of a text in `most` tokens.
fn within(content: &str, most: u64, counter: &mut Counter) -> String {
    let mut bytes = content.len();
    loop {
        let cut = text::head(content, bytes);
        if counter.text(cut) <= most {
            return if cut.len() < content.len() {
                format!("{cut}\n[… cut to fit]")
            } else {
                cut.to_owned()
            };
        }
        bytes = bytes * 3 / 4;
    }
}
