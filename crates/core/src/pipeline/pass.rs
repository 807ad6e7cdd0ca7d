//! What one pass of the pipeline did.

use crate::compaction::{Declined, Trigger, Verdict};
use crate::guarantee::{Need, Violation};
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
    /// What the request lacks of the guarantee (G), because not everything fits into the window; the most important first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<Violation>,
}

/// What was done so that a request keeps the guarantee (G), weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rung {
    /// Nothing was changed.
    Unchanged,
    /// Single blocks or turns were changed.
    Edited,
    /// The view was replaced.
    Compacted,
    /// The view was replaced, and not everything that is required fits into the window.
    Degraded,
}

impl Pass {
    /// Whether the view was changed.
    pub fn changed(&self) -> bool {
        !self.changes.is_empty()
    }

    /// What was done, in a word.
    pub fn rung(&self) -> Rung {
        match self.changes.iter().any(|change| change.compacted.is_some()) {
            true if !self.lacks.is_empty() => Rung::Degraded,
            true => Rung::Compacted,
            false if self.changed() => Rung::Edited,
            false => Rung::Unchanged,
        }
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
    /// An edit was not made: the request would have lacked what every request must contain (G).
    #[error("{stage:?} would have dropped {need} ({missing}); it was left out", need = .need.name())]
    Withheld {
        /// Who proposed it.
        stage: Stage,
        /// The most important thing that would have been missing.
        need: Need,
        /// The beginning of it.
        missing: String,
    },
    /// The window is too small for everything that is required (G).
    #[error("the window is too small for all that must be sent: the request lacks {lacks}")]
    Degraded {
        /// What it lacks.
        lacks: String,
    },
    /// No model is asked for a summary any more.
    #[error(
        "a model failed {0} times in a row to write a summary; the offline scribe writes until one succeeds. /compact asks \
         the model again"
    )]
    WriterPaused(u32),
    /// The model asked to snip something that can't be snipped.
    #[error("snip: {0}")]
    Snip(String),
    /// Repeated handoffs lose accuracy (P5c).
    #[error(
        "this session was compacted {0} times: long threads lose accuracy; start a new session where you can"
    )]
    CompactedOften(u32),
}

impl Notice {
    /// Whether people should be warned even where details are not shown: the context is worse than they may think.
    pub fn is_warning(&self) -> bool {
        match self {
            Self::StillOver { .. }
            | Self::BreakerOpen(_)
            | Self::NoProgress { .. }
            | Self::Degraded { .. }
            | Self::WriterPaused(_)
            | Self::CompactedOften(_) => true,
            Self::Declined { .. } | Self::Unwritten { .. } | Self::Withheld { .. } | Self::Snip(_) => false,
        }
    }
}

fn as_text<S: serde::Serializer>(why: &Declined, out: S) -> Result<S::Ok, S::Error> {
    out.collect_str(why)
}
