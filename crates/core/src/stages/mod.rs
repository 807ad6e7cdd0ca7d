//! The stages of the pipeline. Each is a function from what is there to the edit it proposes; none applies anything.
//!
//! | stage | when | what |
//! |---|---|---|
//! | [`budget`] | a result comes in; before each request | long tool results become previews |
//! | [`snip`] | the model asks | whole turns are dropped |
//! | [`microcompact`] | the cache is cold | old tool results are cleared |
//! | [`collapse`] | pressure rises | early spans are folded |
//! | [`crate::compaction`] | at the threshold | the view is replaced |

pub mod budget;
pub mod collapse;
pub mod microcompact;
mod pairing;
mod result;
pub mod snip;

use crate::tokens::Counter;
use crate::{Block, Body, Edit, EditId, Entry, Fragment, Message, MessageId, Op, Role, Speaker, Stage};
use jiff::Timestamp;
use std::collections::HashSet;

/// What a stage looks at.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// The view.
    pub entries: &'a [Entry],
    /// Tokens of each entry as it is shown.
    pub tokens: &'a [u64],
    /// Tokens that come before the messages: the system prompt and the tools.
    pub overhead: u64,
    /// The time of the request, where it is known.
    pub now: Option<Timestamp>,
    /// How many leading entries were sent before, in the form they have now: what was decided about them stands.
    pub sent: usize,
    /// Which of our own tools the model has.
    pub tools: OwnTools,
}

impl Scene<'_> {
    /// Tokens of the whole context.
    pub fn total(&self) -> u64 {
        self.overhead + self.tokens.iter().sum::<u64>()
    }

    /// The first entry that `ops` change: the provider's cache is lost from there on.
    pub fn first_touched(&self, ops: &[Op]) -> Option<usize> {
        let mut touched: HashSet<&MessageId> = HashSet::new();
        for op in ops {
            match op {
                Op::Replace { message, .. } => drop(touched.insert(message)),
                Op::Remove { messages } => touched.extend(messages),
                Op::Fold { first, .. } => drop(touched.insert(first)),
                Op::Rewind { .. } | Op::Pin { .. } | Op::Unpin { .. } | Op::Undo { .. } => {}
            }
        }
        self.entries.iter().position(|entry| touched.contains(&entry.message.id))
    }

    /// Tokens of one entry.
    fn tokens_at(&self, at: usize) -> u64 {
        self.tokens.get(at).copied().unwrap_or(0)
    }
}

/// Which of our own tools the model has. No handle and no id is shown unless the tool that opens it is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnTools {
    /// `Snip` (P2).
    pub snip: bool,
    /// `Recall` (B8).
    pub recall: bool,
}

/// An edit that a stage proposes, without an id or a time yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// Who proposes it.
    pub stage: Stage,
    /// Why, for people.
    pub reason: String,
    /// What it does.
    pub ops: Vec<Op>,
    /// Tokens that it frees.
    pub freed: i64,
}

impl Proposal {
    /// The edit to record.
    pub fn into_edit(self, id: EditId, at: Option<Timestamp>) -> Edit {
        Edit { id, at, stage: self.stage, reason: self.reason, freed: Some(self.freed), ops: self.ops }
    }
}

/// Tokens that showing `with` in place of `shown` frees.
fn freed_by(counter: &mut Counter, shown: &Block, with: &Block) -> i64 {
    counter.block(shown).total() as i64 - counter.block(with).total() as i64
}

/// How a placeholder names what it stands for, to a model that has `Recall`.
pub(crate) fn recall_handle(id: &MessageId) -> String {
    handle(id)
}

/// See [`recall_handle`].
fn handle(id: &MessageId) -> String {
    format!("[recall:{}]", snip::tag(id))
}

/// Ids that several entries share. Edits name messages by id, so such messages are left alone.
fn repeated(entries: &[Entry]) -> HashSet<&MessageId> {
    let mut seen = HashSet::with_capacity(entries.len());
    entries.iter().map(|entry| &entry.message.id).filter(|id| !seen.insert(*id)).collect()
}

/// The same result with other content.
pub(crate) fn with_result_content(
    block: &Block,
    result: &crate::ToolResult,
    content: crate::ResultContent,
) -> Block {
    result::with_content(block, result, content)
}

/// Whether a message sets the stage rather than tells the story: what the system, the application or project files say
/// holds beyond the turn that it stands in.
fn is_setting(message: &Message) -> bool {
    match message.role {
        Role::System | Role::Developer => true,
        Role::Assistant | Role::Tool => false,
        Role::User => {
            !message.blocks.is_empty()
                && message.blocks.iter().all(|block| is_setting_block(message, block, Head::No))
        }
    }
}

/// Whether a message opens the conversation: there, clients put project instructions into reminders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Head {
    Yes,
    No,
}

/// As [`is_setting`], for one block of a message of the user.
fn is_setting_block(message: &Message, block: &Block, head: Head) -> bool {
    match &block.body {
        Body::Text(text) if !message.flags.typed => match Fragment::recognise(Speaker::User, text) {
            Some(Fragment::AgentsMd | Fragment::UserInstructions | Fragment::Environment) => true,
            Some(Fragment::SystemReminder) => head == Head::Yes,
            Some(_) | None => false,
        },
        Body::Text(_)
        | Body::Reasoning { .. }
        | Body::ToolCall(_)
        | Body::ToolResult(_)
        | Body::Image(_)
        | Body::Document(_)
        | Body::Unknown(_) => false,
    }
}
