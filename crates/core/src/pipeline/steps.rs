//! The cheap stages, and how a decision takes effect.

use super::{Change, Journal, Moment, Notice, Pass, Pipeline};
use crate::profile::BudgetLimits;
use crate::stages::microcompact::{self, CachedState};
use crate::stages::{Proposal, budget, snip};
use crate::{CallId, EditId, Entry, Event, Record, ResultContent, Role, ToolResult};

impl Pipeline {
    /// P2: what the model asked to drop.
    pub(super) fn snip_stage<J: Journal>(
        &mut self,
        moment: &Moment,
        journal: &mut J,
        pass: &mut Pass,
    ) -> Result<(), J::Error> {
        if self.profile.snip.is_none() || !self.snips {
            return Ok(());
        }
        for call in snip::find_calls(self.view.entries()) {
            let id = snip::edit_id(&call.call);
            // Done before, and perhaps undone by a person.
            if self.view.edits().any(|(known, _)| *known == id) {
                continue;
            }
            match snip::propose_call(&self.scene(moment).0, &call) {
                Ok(proposal) => self.apply(proposal, Some(id), moment, journal, pass)?,
                // Said once: the model saw the refusal as the result of its call.
                Err(error) if call.at >= self.sent => pass.notices.push(Notice::Snip(error.to_string())),
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// P1: long results are put aside.
    pub(super) fn budget_stage<J: Journal>(
        &mut self,
        moment: &Moment,
        journal: &mut J,
        pass: &mut Pass,
    ) -> Result<(), J::Error> {
        let Some(limits) = self.profile.budget else { return Ok(()) };
        if !self.may_be_over(&limits) {
            return Ok(());
        }
        let outcome = {
            let place = |call: &CallId| journal.place(&budget::file_name(call));
            let (scene, counter) = self.scene(moment);
            budget::propose(&scene, &limits, counter, &place)
        };
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

    /// P3: old results are cleared; first hit wins.
    pub(super) fn microcompact_stage<J: Journal>(
        &mut self,
        moment: &Moment,
        journal: &mut J,
        pass: &mut Pass,
    ) -> Result<(), J::Error> {
        let Some(limits) = self.profile.microcompact.clone() else { return Ok(()) };
        let (scene, counter) = self.scene(moment);
        if let Some(proposal) = microcompact::propose_cold(&scene, &limits, counter) {
            self.state.cached.reset();
            self.state.forgotten = 0;
            return self.apply(proposal, None, moment, journal, pass);
        }
        if self.settings.cache_edits {
            let state = std::mem::take(&mut self.state.cached);
            let (scene, counter) = self.scene(moment);
            let edit = microcompact::propose_cached(&scene, &limits, &state, counter);
            self.state.cached = state;
            if let Some(edit) = edit {
                self.state.cached.extend(&edit);
                self.count_forgotten();
                let data = serde_json::to_value(&self.state.cached).unwrap_or_default();
                let event = Event { at: moment.now, name: CachedState::EVENT.to_owned(), data };
                journal.append(Record::Event(Box::new(event)))?;
                return Ok(());
            }
        }
        let (scene, counter) = self.scene(moment);
        match microcompact::propose_pressure(&scene, &limits, counter) {
            Some(proposal) => self.apply(proposal, None, moment, journal, pass),
            None => Ok(()),
        }
    }

    /// P2: reminds the model once that it can snip.
    pub(super) fn nudge_stage<J: Journal>(
        &mut self,
        moment: &Moment,
        journal: &mut J,
        pass: &mut Pass,
    ) -> Result<(), J::Error> {
        let Some(limits) = self.profile.snip else { return Ok(()) };
        let Some(reminder) = snip::nudge(&self.scene(moment).0, &limits) else { return Ok(()) };
        let origin = journal.append(Record::Message(Box::new(reminder.clone())))?;
        pass.unchanged = pass.unchanged.min(self.view.entries().len());
        self.push(Entry::new(reminder, origin));
        Ok(())
    }

    /// Writes a proposal down, then lets it take effect.
    pub(super) fn apply<J: Journal>(
        &mut self,
        proposal: Proposal,
        id: Option<EditId>,
        moment: &Moment,
        journal: &mut J,
        pass: &mut Pass,
    ) -> Result<(), J::Error> {
        let first = self.scene(moment).0.first_touched(&proposal.ops);
        let edit = proposal.into_edit(id.unwrap_or_else(EditId::fresh), moment.now);
        let origin = journal.append(Record::Edit(Box::new(edit.clone())))?;
        pass.changes.push(Change {
            id: edit.id.clone(),
            stage: edit.stage,
            reason: edit.reason.clone(),
            freed: edit.freed.unwrap_or_default(),
            compacted: None,
        });
        pass.unchanged = pass.unchanged.min(first.unwrap_or(usize::MAX));
        self.edit(edit, origin);
        Ok(())
    }
}
