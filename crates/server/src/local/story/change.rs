//! The changes of a view, and whether they can be taken back.

use jiff::Timestamp;
use std::sync::Arc;
use throughline_core::{Checkpoint, Edit, EditId, MessageId, Op, Stage, View};

/// A change of the view.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(super) what: What,
    /// Whether nobody took it back.
    pub(crate) is_live: bool,
    /// The messages that left the view by it, while it is in force.
    pub(super) took: Vec<MessageId>,
}

#[derive(Clone, Debug)]
pub(super) enum What {
    Edit(Arc<Edit>),
    Checkpoint(Arc<Checkpoint>),
}

/// Whether a change can be taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Undo {
    /// Yes.
    Possible,
    /// It took something back: taking that back does it again.
    Redo,
    /// It was already.
    Done,
    /// No, and why not.
    No(&'static str),
}

impl Undo {
    /// For scripts.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Possible => "possible",
            Self::Redo => "redo",
            Self::Done => "done",
            Self::No(_) => "no",
        }
    }
}

impl Change {
    pub(crate) fn id(&self) -> &EditId {
        match &self.what {
            What::Edit(edit) => &edit.id,
            What::Checkpoint(checkpoint) => &checkpoint.id,
        }
    }

    pub(crate) fn at(&self) -> Option<Timestamp> {
        match &self.what {
            What::Edit(edit) => edit.at,
            What::Checkpoint(checkpoint) => checkpoint.at,
        }
    }

    /// Who made it, in a word that scripts can rely on.
    pub(crate) fn stage(&self) -> &'static str {
        match &self.what {
            What::Edit(edit) => stage_name(edit.stage),
            What::Checkpoint(_) => stage_name(Stage::Autocompact),
        }
    }

    /// What it did, for people.
    pub(crate) fn title(&self) -> &'static str {
        match &self.what {
            What::Checkpoint(_) => "Condensed the conversation",
            What::Edit(edit) => match edit.stage {
                Stage::Budget => "Put a long result aside",
                Stage::Snip => "Dropped turns",
                Stage::Microcompact => "Cleared old results",
                Stage::Collapse => "Folded a span",
                Stage::Autocompact => "Condensed the conversation",
                Stage::Import => "Imported",
                Stage::User if self.undoes().is_some() => "Undone by hand",
                Stage::User if is_rewind(edit) => "The client went back",
                Stage::User => "Changed by hand",
            },
        }
    }

    /// Why, for people.
    pub(crate) fn reason(&self) -> String {
        match &self.what {
            What::Edit(edit) => edit.reason.clone(),
            What::Checkpoint(checkpoint) => match checkpoint.trigger.as_str() {
                "" => checkpoint.strategy.clone(),
                trigger => format!("{}: {trigger}", checkpoint.strategy),
            },
        }
    }

    /// Tokens that it freed, where they were counted.
    pub(crate) fn freed(&self) -> Option<i64> {
        match &self.what {
            What::Edit(edit) => edit.freed,
            What::Checkpoint(checkpoint) => {
                let (before, after) = (checkpoint.tokens_before?, checkpoint.tokens_after?);
                Some(before as i64 - after as i64)
            }
        }
    }

    /// What it took back.
    pub(crate) fn undoes(&self) -> Option<&EditId> {
        match &self.what {
            What::Edit(edit) => edit.undoes().next(),
            What::Checkpoint(_) => None,
        }
    }

    /// Whether it can be taken back, with the view as the ledger resumes it.
    pub(crate) fn undo(&self, resumed: &View) -> Undo {
        let is_clients = match &self.what {
            What::Edit(edit) => is_rewind(edit) || edit.stage == Stage::Import,
            What::Checkpoint(_) => false,
        };
        if is_clients {
            return Undo::No("The client did this; it decides what its history is.");
        }
        if !self.is_live {
            return Undo::Done;
        }
        if resumed.check_undo(self.id()).is_err() {
            return Undo::No("A later condensation rests on it; undo that one first.");
        }
        if self.undoes().is_some() { Undo::Redo } else { Undo::Possible }
    }
}

fn is_rewind(edit: &Edit) -> bool {
    edit.ops.iter().any(|op| matches!(op, Op::Rewind { .. }))
}

/// A stage, in the word that ledgers use.
pub(crate) fn stage_name(stage: Stage) -> &'static str {
    match stage {
        Stage::Budget => "budget",
        Stage::Snip => "snip",
        Stage::Microcompact => "microcompact",
        Stage::Collapse => "collapse",
        Stage::Autocompact => "autocompact",
        Stage::User => "user",
        Stage::Import => "import",
    }
}
