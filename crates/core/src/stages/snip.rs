//! P2, snip: the model itself drops whole turns of the user.
//!
//! Each real user message ends with a tag in the sent copy alone, [`Tags`]. The [`Snip`](definition) tool takes tags,
//! and [`propose`] removes from each of those messages up to the next real user message.

mod calls;
mod nudge;
mod tags;
mod tool;

pub use calls::{SnipCall, edit_id, find_calls, is_called};
pub use nudge::nudge;
pub use tags::{Tags, marked, tag};
pub use tool::{NAME, Request, answer, definition, parse, tool};

use super::pairing::pairs;
use super::result::Shown;
use super::{Head, Proposal, Scene, is_setting, is_setting_block, repeated};
use crate::{Block, Body, Entry, GroupId, Message, MessageId, Op, Role, Stage};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use tags::KEPT;

/// Why turns can't be dropped. Nothing is dropped then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SnipError {
    /// The call has no ids, or is not of the form that the tool asks for.
    #[error("nothing was dropped: give `ids`, a list of tags such as those in [id:…]. {}", choices(.valid))]
    NoIds {
        /// What could be dropped.
        valid: Vec<String>,
    },
    /// There is no such message.
    #[error("nothing was dropped: no message of the user has the id {}. {}", .unknown.join(", "), choices(.valid))]
    Unknown {
        /// The ids that name nothing.
        unknown: Vec<String>,
        /// What could be dropped.
        valid: Vec<String>,
    },
    /// The turn is still going on.
    #[error("nothing was dropped: {id} is the message that you are working on. {}", choices(.valid))]
    Current {
        /// The id.
        id: String,
        /// What could be dropped.
        valid: Vec<String>,
    },
    /// The person wants these kept.
    #[error("nothing was dropped: the user pinned {}. {}", .ids.join(", "), choices(.valid))]
    Pinned {
        /// The ids.
        ids: Vec<String>,
        /// What could be dropped.
        valid: Vec<String>,
    },
    /// The turn shares an answer of the model, or the id of a message, with what would stay.
    #[error("nothing was dropped: {} can't be taken out without parting what belongs together", .ids.join(", "))]
    Entangled {
        /// The ids.
        ids: Vec<String>,
    },
}

/// A list of ids that fits in a tool result; the newest matter least, since they are in sight.
fn choices(valid: &[String]) -> String {
    const MOST: usize = 50;
    match valid {
        [] => "There is nothing that can be dropped.".to_owned(),
        ids if ids.len() <= MOST => format!("These can be dropped: {}.", ids.join(", ")),
        ids => {
            format!("These can be dropped: {}, and {} newer ones.", ids[..MOST].join(", "), ids.len() - MOST)
        }
    }
}

/// Drops the turns that begin with the messages tagged `ids`, each up to the next real user message.
///
/// Summaries, placeholders and what the system, the application or project files say stay. A result whose call stays
/// stays too; a result whose call goes goes too, and words of the user beside it stay. All ids must be valid, or nothing
/// is dropped.
pub fn propose(scene: &Scene<'_>, ids: &[String], reason: &str) -> Result<Proposal, SnipError> {
    let request = Request { ids: ids.to_vec(), reason: reason.to_owned() };
    drop_turns(scene, scene.entries.len(), &request)
}

/// As [`propose`], for a call found in the history; edits made since may have moved it.
///
/// It is judged by what was there when it was made. So a history that only grows always gives the same edits, with or
/// without a session that remembers them.
pub fn propose_call(scene: &Scene<'_>, call: &SnipCall) -> Result<Proposal, SnipError> {
    let makes_it = |entry: &Entry| entry.message.calls().any(|made| made.id == call.call);
    // A call that is gone went with its turn: what it names was decided there.
    let at = scene.entries.iter().rposition(makes_it).unwrap_or(0);
    drop_turns(scene, at, &call.request)
}

/// `upto`: only what comes before is there to be named.
fn drop_turns(scene: &Scene<'_>, upto: usize, request: &Request) -> Result<Proposal, SnipError> {
    let Request { ids, reason } = request;
    let tags = Tags::of(&scene.entries[..upto]);
    let entries = scene.entries;
    let starts = tags.places();
    let (&current, earlier) = starts.split_last().unwrap_or((&upto, &[]));
    let valid = || earlier.iter().filter_map(|&at| tags.get(at)).map(str::to_owned).collect();
    if ids.is_empty() {
        return Err(SnipError::NoIds { valid: valid() });
    }
    let unknown: Vec<String> = ids.iter().filter(|id| tags.find(id).is_none()).cloned().collect();
    if !unknown.is_empty() {
        return Err(SnipError::Unknown { unknown, valid: valid() });
    }
    let chosen: BTreeSet<usize> = ids.iter().filter_map(|id| tags.find(id)).collect();
    if chosen.contains(&current) {
        let id = tags.get(current).unwrap_or_default().to_owned();
        return Err(SnipError::Current { id, valid: valid() });
    }

    let mut gone = vec![false; entries.len()];
    for (n, &start) in earlier.iter().enumerate().filter(|(_, start)| chosen.contains(start)) {
        let end = starts[n + 1];
        for at in start..end {
            let message = &entries[at].message;
            gone[at] = !message.flags.summary && !is_setting(message);
        }
    }
    keep_answers_whole(entries, &mut gone);
    let trimmed = trim(entries, &mut gone);
    let is_pinned = |at: &usize| (gone[*at] || trimmed.contains_key(at)) && entries[*at].pinned.is_some();
    if let Some(first) = (0..entries.len()).find(is_pinned) {
        let turn = earlier.iter().rev().find(|&&start| start <= first);
        let ids = turn.and_then(|&at| tags.get(at)).map(str::to_owned).into_iter().collect();
        return Err(SnipError::Pinned { ids, valid: valid() });
    }
    let entangled = || SnipError::Entangled { ids: ids.to_vec() };
    if !begins_with_user(entries, &gone) {
        return Err(entangled());
    }
    let repeated = repeated(entries);
    let touched = |at: usize| gone[at] || trimmed.contains_key(&at);
    if (0..entries.len()).any(|at| touched(at) && repeated.contains(&entries[at].message.id)) {
        return Err(entangled());
    }

    let removed: Vec<usize> =
        (0..entries.len()).filter(|&at| gone[at] && !trimmed.contains_key(&at)).collect();
    let freed = removed.iter().map(|&at| scene.tokens_at(at) as i64).sum();
    let messages: Vec<MessageId> = removed.iter().map(|&at| entries[at].message.id.clone()).collect();
    let mut ops: Vec<Op> = Vec::new();
    if !messages.is_empty() {
        ops.push(Op::Remove { messages });
    }
    ops.extend(trimmed.into_iter().map(|(at, with)| {
        let id = entries[at].message.id.clone();
        Op::Fold { first: id.clone(), last: id, with: Box::new(with) }
    }));
    Ok(Proposal { stage: Stage::Snip, reason: reason.trim().to_owned(), ops, freed })
}

/// An answer of the model that goes on behind the turn stays, with everything that belongs to it.
fn keep_answers_whole(entries: &[Entry], gone: &mut [bool]) {
    let mut stays: HashMap<&GroupId, (bool, bool)> = HashMap::new();
    for (entry, &gone) in entries.iter().zip(gone.iter()) {
        if let Some(group) = &entry.message.group {
            let (goes, stays) = stays.entry(group).or_default();
            *(if gone { goes } else { stays }) = true;
        }
    }
    for (entry, gone) in entries.iter().zip(gone.iter_mut()) {
        if entry.message.group.as_ref().is_some_and(|group| stays.get(group) == Some(&(true, true))) {
            *gone = false;
        }
    }
}

/// Messages of which a part stays: results whose call stays, words beside results whose call goes, and project
/// instructions beside words of the user.
fn trim(entries: &[Entry], gone: &mut [bool]) -> BTreeMap<usize, Message> {
    // Per message, the blocks that fare differently from the message.
    let mut parts: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    let shown = Shown::of(entries);
    for pair in pairs(entries, &shown) {
        let (at, b) = pair.result;
        if gone[pair.call.0] != gone[at] {
            parts.entry(at).or_default().insert(b);
        }
    }
    let first = gone.iter().position(|gone| *gone).unwrap_or(0);
    let opens = entries[..first].iter().all(|entry| is_setting(&entry.message));
    for (at, entry) in entries.iter().enumerate().filter(|(at, _)| gone[*at]) {
        let message = &entry.message;
        let head = if opens && at == first { Head::Yes } else { Head::No };
        if message.is_real_user() {
            let blocks = message.blocks.iter().enumerate();
            let setting = blocks.filter(|(_, block)| is_setting_block(message, block, head)).map(|(b, _)| b);
            let setting: Vec<usize> = setting.collect();
            if !setting.is_empty() {
                parts.entry(at).or_default().extend(setting);
            }
        }
    }
    let mut trimmed = BTreeMap::new();
    for (at, blocks) in parts {
        let entry = &entries[at];
        let stays = |b: &usize| blocks.contains(b) == gone[at];
        let all = shown.blocks(at).len();
        let kept: Vec<Block> = shown
            .blocks(at)
            .iter()
            .enumerate()
            .filter(|(b, _)| stays(b))
            .map(|(_, block)| (*block).clone())
            .collect();
        if kept.len() == all {
            gone[at] = false;
        } else if kept.is_empty() {
            gone[at] = true;
        } else {
            let id = MessageId::new(format!("{}{KEPT}", entry.message.id));
            trimmed.insert(at, Message { id, blocks: kept, ..(*entry.message).clone() });
        }
    }
    trimmed
}

fn begins_with_user(entries: &[Entry], gone: &[bool]) -> bool {
    let is_said = |entry: &&Entry| match entry.message.role {
        Role::System | Role::Developer => false,
        Role::User | Role::Assistant | Role::Tool => true,
    };
    let first = |entry: &Entry| entry.message.role;
    let before = entries.iter().find(is_said).map(first);
    let after = entries.iter().zip(gone).filter(|(_, gone)| !**gone).map(|(entry, _)| entry);
    let after = after.into_iter().find(is_said).map(first);
    before != Some(Role::User) || matches!(after, Some(Role::User) | None)
}

/// Whether a block is words of a person, in a message that is real.
fn is_word(message: &Message, block: &Block) -> bool {
    match &block.body {
        Body::Text(text) => {
            !text.trim().is_empty()
                && (message.flags.typed || crate::Fragment::recognise(crate::Speaker::User, text).is_none())
        }
        Body::Reasoning { .. }
        | Body::ToolCall(_)
        | Body::ToolResult(_)
        | Body::Image(_)
        | Body::Document(_)
        | Body::Unknown(_) => false,
    }
}
