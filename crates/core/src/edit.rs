use crate::{Block, EditId, Message, MessageId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// One recorded change of the view. History never changes; an edit is one more line in the ledger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Edit {
    /// Names the edit, so that it can be undone.
    pub id: EditId,
    /// When it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// Who proposed it.
    pub stage: Stage,
    /// Why, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Tokens that the view lost by it (negative: gained), where they were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freed: Option<i64>,
    /// What it does, in order.
    pub ops: Vec<Op>,
}

impl Edit {
    /// The [reason](Self::reason) of a rewind that nobody asked for: a client's history went on from elsewhere, as it does after the client
    /// compacted by itself.
    pub const GOES_ON_ELSEWHERE: &str = "the client's history goes on from an earlier message";
    /// The [reason](Self::reason) of a rewind that nobody asked for: the file that a session was imported from is another one now.
    pub const FILE_REPLACED: &str = "the file was replaced";

    /// The edits and checkpoints that this one takes back.
    pub fn undoes(&self) -> impl Iterator<Item = &EditId> {
        self.ops.iter().filter_map(|op| match op {
            Op::Undo { edit } => Some(edit),
            Op::Replace { .. }
            | Op::Remove { .. }
            | Op::Fold { .. }
            | Op::Rewind { .. }
            | Op::Pin { .. }
            | Op::Unpin { .. } => None,
        })
    }
}

/// Who proposed an edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Tool result budget (P1).
    Budget,
    /// The model dropped turns (P2).
    Snip,
    /// Old tool results cleared (P3).
    Microcompact,
    /// Spans folded into placeholders (P4).
    Collapse,
    /// The view was replaced (P5).
    Autocompact,
    /// The person, by hand.
    User,
    /// The client whose session was imported.
    Import,
}

/// A primitive change of the view. Everything that stages, people and importers do is made of these.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// Show another block in place of one block of a message.
    Replace {
        /// The message.
        message: MessageId,
        /// Which of its blocks.
        block: usize,
        /// What to show.
        with: Box<Block>,
    },
    /// Leave messages out.
    Remove {
        /// Which.
        messages: Vec<MessageId>,
    },
    /// Show one message in place of a span.
    Fold {
        /// First message of the span.
        first: MessageId,
        /// Last message of the span.
        last: MessageId,
        /// What stands for it.
        with: Box<Message>,
    },
    /// Go back: leave out everything after a message, or everything.
    Rewind {
        /// The last message to keep.
        to: Option<MessageId>,
    },
    /// Protect messages: no stage removes, folds or replaces them, and a compaction keeps them.
    Pin {
        /// Which.
        messages: Vec<MessageId>,
    },
    /// Protect messages no longer.
    Unpin {
        /// Which.
        messages: Vec<MessageId>,
    },
    /// Take back an earlier edit or checkpoint.
    Undo {
        /// Which.
        edit: EditId,
    },
}

/// A [`Op::Replace`] in force on one message, and the edit that put it there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Overlay {
    /// The edit that made it: undoing that edit takes it away again.
    pub edit: EditId,
    /// Which block.
    pub block: usize,
    /// What is shown.
    pub with: Box<Block>,
    /// The edit did more than replace, so that it can't be undone from this alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_part: bool,
}
