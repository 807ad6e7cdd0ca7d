//! A request that is being prepared.

use super::{Compacted, Moment, Notice, Pass};
use crate::compaction::{Draft, HostContext, Trigger};

/// A request that is being prepared: the cheap stages have run, and what is left is to replace the view if that is
/// [due](Self::due). From [`Pipeline::begin`](super::Pipeline::begin) to [`Pipeline::end`](super::Pipeline::end).
#[derive(Debug)]
pub struct Preparation {
    pub(super) moment: Moment,
    pub(super) pass: Pass,
    pub(super) due: Option<Due>,
    pub(super) declined: Vec<Notice>,
    pub(super) is_done: bool,
    /// The best replacement so far that frees next to nothing.
    pub(super) little: Option<Box<Draft>>,
    /// The replacement that lacks least of the guarantee (G), where none keeps it.
    pub(super) degraded: Option<Box<Draft>>,
    pub(super) sent_before: usize,
}

/// Why the view is to be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// What set it off.
    pub trigger: Trigger,
    /// Tokens of the context.
    pub tokens: u64,
    /// The most that it may have.
    pub threshold: u64,
}

impl Due {
    /// Whether a person asked.
    pub fn is_asked(&self) -> bool {
        self.trigger == Trigger::Manual
    }
}

impl Preparation {
    /// Why the view is to be replaced, if it is and was not yet.
    pub fn due(&self) -> Option<Due> {
        self.due.filter(|_| !self.is_done)
    }

    /// The circumstances.
    pub fn moment(&self) -> &Moment {
        &self.moment
    }

    /// Gives notes to build on, or takes them away.
    pub fn set_notes(&mut self, notes: Option<crate::compaction::Notes>) {
        self.moment.notes = notes;
    }

    /// Adds to what the text shall pay attention to.
    pub fn add_instructions(&mut self, more: &[String]) {
        if !more.is_empty() {
            let said = self.moment.instructions.take();
            let all: Vec<String> = said.into_iter().chain(more.iter().cloned()).collect();
            self.moment.instructions = Some(all.join("\n"));
        }
    }

    /// What the host supplies for a compaction, to be added to.
    pub fn host_mut(&mut self) -> &mut HostContext {
        &mut self.moment.host
    }

    /// How the view was replaced, if it was.
    pub fn compacted(&self) -> Option<&Compacted> {
        self.pass.changes.iter().find_map(|change| change.compacted.as_ref())
    }

    /// Says something that people should know.
    pub fn notice(&mut self, notice: Notice) {
        self.pass.notices.push(notice);
    }
}
