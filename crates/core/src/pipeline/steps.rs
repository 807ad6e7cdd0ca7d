//! The cheap stages, and how a decision takes effect.

use super::{Change, Journal, Moment, Notice, Pass, Pipeline};
use crate::compaction::Scaffold;
use crate::guarantee::{Required, Retold, Violation};
use crate::stages::microcompact::{self, CachedState};
use crate::stages::{Proposal, snip};
use crate::{EditId, Entry, Event, Message, MessageId, Op, Origin, Record, View};
use std::collections::HashSet;
use std::sync::Arc;

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
                Ok(proposal) => {
                    let proposal = self.spare_requests(proposal);
                    self.apply(proposal, Some(id), moment, journal, pass)?;
                }
                // Said once: the model saw the refusal as the result of its call.
                Err(error) if call.at >= self.sent => pass.notices.push(Notice::Snip(error.to_string())),
                Err(_) => {}
            }
        }
        Ok(())
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
            if !self.state.cached.deleted.is_empty() {
                self.state.cached.reset();
                self.record_cached(moment, journal)?;
            }
            return self.apply(proposal, None, moment, journal, pass);
        }
        if self.settings.cache_edits {
            let state = std::mem::take(&mut self.state.cached);
            let (scene, counter) = self.scene(moment);
            let edit = microcompact::propose_cached(&scene, &limits, &state, counter);
            self.state.cached = state;
            if let Some(edit) = edit {
                self.state.cached.extend(&edit);
                return self.record_cached(moment, journal);
            }
        }
        let (scene, counter) = self.scene(moment);
        match microcompact::propose_pressure(&scene, &limits, counter) {
            Some(proposal) => self.apply(proposal, None, moment, journal, pass),
            None => Ok(()),
        }
    }

    /// Writes down which results the provider's cache is told to forget, and counts them.
    fn record_cached<J: Journal>(&mut self, moment: &Moment, journal: &mut J) -> Result<(), J::Error> {
        self.count_forgotten();
        let data = serde_json::to_value(&self.state.cached).unwrap_or_default();
        let event = Event { at: moment.now, name: CachedState::EVENT.to_owned(), data };
        journal.append(Record::Event(Box::new(event)))?;
        Ok(())
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

    /// What of the guarantee (G) the view would lack with a proposal, beyond what it lacks already.
    fn would_break(&mut self, proposal: &Proposal) -> Vec<Violation> {
        if !self.profile.guarantee {
            return Vec::new();
        }
        let retold = match self.settings.scaffold {
            Scaffold::Keep => Retold::Nothing,
            Scaffold::LeaveOut => Retold::Fragments,
        };
        let known = self.knowledge.read();
        let required = Required::read(&known.facts, self.view.entries(), retold);
        let check = |view: &View| {
            let shown: Vec<Arc<Message>> = view.messages().collect();
            required.check(&shown.iter().map(|message| &**message).collect::<Vec<&Message>>())
        };
        let mut after = View::from_entries(self.view.entries().to_vec());
        after.edit(proposal.clone().into_edit(EditId::fresh(), None), Origin::default());
        let mut broken = check(&after);
        if !broken.is_empty() {
            let before = check(&self.view);
            broken.retain(|violation| !before.contains(violation));
        }
        broken
    }

    /// A proposal to drop turns, without the requests that are in force: what was done for them goes, what was asked stays (G).
    fn spare_requests(&self, mut proposal: Proposal) -> Proposal {
        if !self.profile.guarantee {
            return proposal;
        }
        let known = self.knowledge.read();
        let in_force: HashSet<&MessageId> =
            known.facts.requests().in_force().map(|request| &request.ask.message).collect();
        for op in &mut proposal.ops {
            if let Op::Remove { messages } = op {
                messages.retain(|message| !in_force.contains(message));
            }
        }
        proposal.ops.retain(|op| !matches!(op, Op::Remove { messages } if messages.is_empty()));
        proposal
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
        if proposal.ops.is_empty() {
            return Ok(());
        }
        let first = self.scene(moment).0.first_touched(&proposal.ops);
        if let Some(worst) = self.would_break(&proposal).into_iter().next() {
            let Violation { need, missing, .. } = worst;
            pass.notices.push(Notice::Withheld { stage: proposal.stage, need, missing });
            return Ok(());
        }
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
