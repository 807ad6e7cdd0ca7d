//! What one pass of the pipeline did.

use crate::compaction::{Declined, Trigger, Verdict};
use crate::profile::Strategy;
use crate::{EditId, Stage};
use serde::Serialize;

/// What one pass did, in the order in which it was done.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Pass {
    /// Changes of the view.
    pub changes: Vec<Change>,
    /// What did not work, or needs attention.
    pub notices: Vec<Notice>,
    /// Tokens of the context before and after, with what comes before the messages.
    pub tokens_before: u64,
    /// See `tokens_before`.
    pub tokens_after: u64,
    /// Entries at the front that are as they were in the request before.
    pub unchanged: usize,
}

impl Pass {
    /// Whether the view was changed.
    pub fn changed(&self) -> bool {
        !self.changes.is_empty()
    }
}

/// One change of the view.
#[derive(Clone, Debug, Serialize)]
pub struct Change {
    /// Names the edit or checkpoint, for undo.
    pub id: EditId,
    /// Who made it.
    pub stage: Stage,
    /// Why, for people.
    pub reason: String,
    /// Tokens that it freed.
    pub freed: i64,
    /// How the view was replaced, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compacted: Option<Compacted>,
}

/// How the view was replaced.
#[derive(Clone, Debug, Serialize)]
pub struct Compacted {
    /// How.
    pub strategy: Strategy,
    /// What set it off.
    pub trigger: Trigger,
    /// Tokens of the messages before and after.
    pub tokens_before: u64,
    /// See `tokens_before`.
    pub tokens_after: u64,
    /// What the check found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<Verdict>,
}

/// Something that people should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Notice {
    /// A strategy was tried and declined.
    #[error("{strategy}: {why}", strategy = .strategy.name())]
    Declined {
        /// Which.
        strategy: Strategy,
        /// Why.
        #[serde(serialize_with = "as_text")]
        why: Declined,
    },
    /// Nothing helped: the request is still over the threshold.
    #[error("the context has {tokens} tokens, over the threshold of {threshold}; nothing more can be freed")]
    StillOver {
        /// Tokens.
        tokens: u64,
        /// The threshold.
        threshold: u64,
    },
    /// No compaction is tried any more.
    #[error("compaction failed {0} times in a row; it is not tried again until you ask for it")]
    BreakerOpen(u32),
    /// No compaction is tried any more: the last ones freed next to nothing.
    #[error(
        "the last {compactions} compactions freed less than a tenth, and the context has {tokens} tokens: what is left is \
         mostly what must stay. Drop turns (Snip), raise the window, or start a new session; /compact tries again"
    )]
    NoProgress {
        /// How many.
        compactions: u32,
        /// Tokens of the context.
        tokens: u64,
    },
    /// Whoever writes the text could not.
    #[error("{strategy} by {who}: {why}", strategy = .strategy.name())]
    Unwritten {
        /// How.
        strategy: Strategy,
        /// The model.
        who: String,
        /// Why.
        why: String,
    },
    /// The model asked to snip something that can't be snipped.
    #[error("snip: {0}")]
    Snip(String),
    /// Repeated handoffs lose accuracy (P5c).
    #[error(
        "this session was compacted {0} times: long threads lose accuracy; start a new session where you can"
    )]
    CompactedOften(u32),
}

fn as_text<S: serde::Serializer>(why: &Declined, out: S) -> Result<S::Ok, S::Error> {
    out.collect_str(why)
}
