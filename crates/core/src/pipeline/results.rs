//! The tool result budget: when results are put aside.

use super::{Due, Journal, Moment, Pass, Pipeline};
use crate::compaction::Trigger;
use crate::profile::{BudgetLimits, BudgetTrigger};
use crate::stages::Scene;
use crate::stages::budget::{self, SavedFiles};
use crate::tokens::Counter;
use crate::{ResultContent, Role, ToolResult};

impl Pipeline {
    /// P1, by size: long results are put aside.
    pub(super) fn budget_stage<J: Journal>(
        &mut self,
        moment: &Moment,
        journal: &mut J,
        pass: &mut Pass,
    ) -> Result<(), J::Error> {
        let Some(limits) = self.profile.budget.clone() else { return Ok(()) };
        if limits.when != BudgetTrigger::Size || !self.may_be_over(&limits) {
            return Ok(());
        }
        let outcome = self
            .look(moment, journal, |scene, saved, counter| budget::propose(scene, &limits, saved, counter));
        self.put_aside(outcome, moment, journal, pass)
    }

    /// P1, by window: results that the model has not seen are cut where the request would not fit even if the view were
    /// replaced. A replacement keeps those that fit, so that they are left whole for it.
    pub(super) fn window_stage<J: Journal>(
        &mut self,
        moment: &Moment,
        journal: &mut J,
        pass: &mut Pass,
    ) -> Result<(), J::Error> {
        let limits = self.profile.budget.clone().filter(|limits| limits.when == BudgetTrigger::Window);
        let Some(limits) = limits else { return Ok(()) };
        let excess = match (moment.compact, self.excess()) {
            (Some(Trigger::TooLong), _) => self.unseen_excess(moment),
            (_, 0) => return Ok(()),
            (_, excess) => excess.min(self.unseen_excess(moment)),
        };
        self.fit(&limits, excess, moment, journal, pass)
    }

    /// P1, whichever way the profile goes: results that the model has not seen are cut where the request would not fit after
    /// everything else was tried.
    pub(super) fn last_resort<J: Journal>(
        &mut self,
        moment: &Moment,
        journal: &mut J,
        pass: &mut Pass,
    ) -> Result<(), J::Error> {
        let Some(limits) = self.profile.budget.clone() else { return Ok(()) };
        let excess = self.excess();
        self.fit(&limits, excess, moment, journal, pass)
    }

    fn fit<J: Journal>(
        &mut self,
        limits: &BudgetLimits,
        excess: u64,
        moment: &Moment,
        journal: &mut J,
        pass: &mut Pass,
    ) -> Result<(), J::Error> {
        if excess == 0 {
            return Ok(());
        }
        let is_refused = moment.compact == Some(Trigger::TooLong);
        let outcome = self.look(moment, journal, |scene, saved, counter| {
            // What a provider refused no model has seen.
            let scene = Scene { sent: if is_refused { 0 } else { scene.sent }, ..*scene };
            budget::fit(&scene, limits, saved, excess, counter)
        });
        self.put_aside(outcome, moment, journal, pass)
    }

    /// Tokens, by our own count, that must go so that the request fits and leaves room to go on; 0 if it fits.
    fn excess(&self) -> u64 {
        let threshold = self.threshold().unwrap_or(self.settings.window);
        let tokens = self.tokens();
        if tokens <= threshold {
            return 0;
        }
        let early = self.profile.compact.as_ref().and_then(|limits| limits.early_share);
        let level = early.map_or(threshold, |share| (threshold as f64 * share) as u64);
        ((tokens - level) as f64 / self.state.correction.ratio()).ceil() as u64
    }

    /// Tokens by which what the model has not seen is larger than what a replacement of the view can keep.
    fn unseen_excess(&mut self, moment: &Moment) -> u64 {
        let trigger = moment.compact.unwrap_or(Trigger::MidTurn);
        let threshold = self.threshold().unwrap_or(self.settings.window);
        let due = Due { trigger, tokens: self.tokens(), threshold };
        let excess = self.consider(moment, Some(due), |compaction, _, _| Ok(compaction.unseen_excess()));
        // Nothing can be replaced: everything must fit as it is.
        excess.unwrap_or(u64::MAX)
    }

    /// Shows the budget the view, and where texts are saved.
    fn look<J: Journal, R>(
        &mut self,
        moment: &Moment,
        journal: &J,
        look: impl FnOnce(&Scene<'_>, SavedFiles<'_>, &mut Counter) -> R,
    ) -> R {
        let path = |file_name: &str| journal.place(file_name);
        let saved = SavedFiles { path: &path, are_readable: self.settings.reads_saved_files };
        let (scene, counter) = self.scene(moment);
        look(&scene, saved, counter)
    }

    fn put_aside<J: Journal>(
        &mut self,
        outcome: Option<budget::Outcome>,
        moment: &Moment,
        journal: &mut J,
        pass: &mut Pass,
    ) -> Result<(), J::Error> {
        let Some(outcome) = outcome else { return Ok(()) };
        for file in &outcome.persist {
            journal.persist(file)?;
        }
        self.apply(outcome.proposal, None, moment, journal, pass)
    }

    /// Whether what is new can break a limit at all: the results since the last answer, in characters or more.
    fn may_be_over(&self, limits: &BudgetLimits) -> bool {
        let entries = self.view.entries();
        let from =
            entries[..self.sent].iter().rposition(|entry| entry.message.role == Role::Assistant).unwrap_or(0);
        let bytes = |result: &ToolResult| match &result.content {
            ResultContent::Text(text) => text.len(),
            ResultContent::Parts(_) => result.content.to_text().len(),
        };
        let results = entries[from..].iter().flat_map(|entry| entry.message.results());
        results.map(bytes).sum::<usize>() > limits.result_chars.min(limits.message_chars)
    }
}
