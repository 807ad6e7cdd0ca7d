//! Collapse and autocompact: what happens when the context is full.

use super::{Change, Compacted, Journal, Moment, Notice, Pass, Pipeline};
use crate::compaction::{Compaction, Declined, Draft, Trigger};
use crate::cost::{self, Bounds, Horizon, Sawtooth};
use crate::profile::{CompactLimits, Strategy};
use crate::scribe;
use crate::stages::collapse;
use crate::tokens::Counter;
use crate::{EditId, Entry, Event, Record, Role, Stage};

/// Compactions after which people are told that accuracy suffers.
const OFTEN: u32 = 3;

impl Pipeline {
    /// P4: early spans are folded.
    pub(super) fn collapse_stage<J: Journal>(
        &mut self,
        moment: &Moment,
        journal: &mut J,
        pass: &mut Pass,
    ) -> Result<(), J::Error> {
        let (Some(limits), Some(threshold)) = (self.profile.collapse, self.threshold()) else {
            return Ok(());
        };
        let levels = collapse::Levels { limits: &limits, threshold };
        let before = self.state.collapse.clone();
        let mut snapshot = before.clone();
        let model = self.settings.model.clone();
        let (scene, counter) = self.scene(moment);
        let mut writer = Counter::for_model(&model);
        let mut write = |entries: &[Entry]| scribe::span(entries, limits.summary_tokens, &mut writer);
        collapse::stage(&scene, levels, &mut snapshot, counter, &mut write);
        let proposals = collapse::commit(&scene, levels, &mut snapshot, counter);
        if snapshot != before {
            let data = serde_json::to_value(&snapshot).unwrap_or_default();
            let event = Event { at: moment.now, name: collapse::Snapshot::EVENT.to_owned(), data };
            journal.append(Record::Event(Box::new(event)))?;
        }
        self.state.collapse = snapshot;
        for proposal in proposals {
            self.apply(proposal, None, moment, journal, pass)?;
        }
        Ok(())
    }

    /// P5: the view is replaced.
    pub(super) fn compact_stage<J: Journal>(
        &mut self,
        moment: &Moment,
        journal: &mut J,
        pass: &mut Pass,
    ) -> Result<(), J::Error> {
        let (Some(limits), Some(threshold)) = (self.profile.compact.clone(), self.threshold()) else {
            return Ok(());
        };
        let tokens = self.tokens();
        let trigger = match moment.compact {
            Some(trigger) => trigger,
            // While spans are folded, nothing is replaced unasked.
            None if self.profile.collapse.is_some() && tokens <= threshold => return Ok(()),
            None if tokens <= self.soft_threshold(&limits, threshold) => return Ok(()),
            None if self.view.entries().last().is_some_and(|e| e.message.results().next().is_some()) => {
                Trigger::MidTurn
            }
            None => Trigger::PreTurn,
        };
        let asked = trigger == Trigger::Manual;
        if !self.state.breaker.allows(limits.failures, asked) {
            pass.notices.push(Notice::BreakerOpen(limits.failures));
            return Ok(());
        }
        let mut declined = Vec::new();
        for &strategy in &limits.strategies {
            match self.draft(moment, &limits, threshold, trigger, strategy) {
                Ok(draft) => {
                    self.commit(draft, moment, journal, pass)?;
                    self.state.breaker.succeeded();
                    pass.notices.extend(declined);
                    return Ok(());
                }
                Err(why) => declined.push(Notice::Declined { strategy, why }),
            }
        }
        // Below the hard threshold a refusal costs nothing: it is tried again when more has been said.
        if tokens > threshold || asked {
            self.state.breaker.failed();
            pass.notices.extend(declined);
            if tokens > threshold {
                pass.notices.push(Notice::StillOver { tokens, threshold });
            }
        }
        Ok(())
    }

    fn draft(
        &mut self,
        moment: &Moment,
        limits: &CompactLimits,
        threshold: u64,
        trigger: Trigger,
        strategy: Strategy,
    ) -> Result<Draft, Declined> {
        let scene = crate::stages::Scene {
            entries: self.view.entries(),
            tokens: self.tally.tokens(),
            overhead: self.settings.overhead,
            now: moment.now,
            sent: self.sent,
            tools: self.settings.tools,
        };
        let known = self.knowledge.read();
        let compaction = Compaction {
            scene,
            facts: &known.facts,
            limits,
            threshold,
            trigger,
            instructions: moment.instructions.as_deref(),
            notes: moment.notes.as_ref(),
            scaffold: self.settings.scaffold,
        };
        let archive = &known.archive;
        compaction
            .offline(strategy, &mut self.counter, &mut |wanted, counter| archive.digest(&wanted, counter))
    }

    fn commit<J: Journal>(
        &mut self,
        draft: Draft,
        moment: &Moment,
        journal: &mut J,
        pass: &mut Pass,
    ) -> Result<(), J::Error> {
        let checkpoint = draft.to_checkpoint(EditId::fresh(), moment.now);
        let origin = journal.append(Record::Checkpoint(Box::new(checkpoint.clone())))?;
        let freed = draft.tokens_before as i64 - draft.tokens_after as i64;
        pass.changes.push(Change {
            id: checkpoint.id.clone(),
            stage: Stage::Autocompact,
            reason: format!(
                "{} ({}): {} → {} tokens",
                draft.strategy.name(),
                draft.trigger.name(),
                draft.tokens_before,
                draft.tokens_after
            ),
            freed,
            compacted: Some(Compacted {
                strategy: draft.strategy,
                trigger: draft.trigger,
                tokens_before: draft.tokens_before,
                tokens_after: draft.tokens_after,
                check: draft.verdict.clone(),
            }),
        });
        let scaffold = draft.entries.iter().take_while(|entry| match entry.message.role {
            Role::System | Role::Developer => true,
            Role::User | Role::Assistant | Role::Tool => false,
        });
        pass.unchanged = pass.unchanged.min(scaffold.count());
        self.view.replace(&checkpoint, draft.into_entries(&origin));
        self.tally.refresh(self.view.entries(), &mut self.counter);
        self.sent = 0;
        self.state.cached.retain(self.view.entries());
        self.count_forgotten();
        self.state.collapse = collapse::Snapshot::default();
        self.state.compactions += 1;
        self.state.pace.edited(self.tokens());
        if self.state.compactions >= OFTEN && checkpoint.strategy == Strategy::Handoff.name() {
            pass.notices.push(Notice::CompactedOften(self.state.compactions));
        }
        Ok(())
    }

    /// Where compacting is cheapest over the rest of the session (B9), within what the profile allows.
    fn soft_threshold(&self, limits: &CompactLimits, threshold: u64) -> u64 {
        let Some(share) = limits.early_share else { return threshold };
        let after = limits.result_tokens.unwrap_or(limits.notes_tokens + limits.keep_tokens);
        let saw =
            Sawtooth { fixed: self.settings.overhead, after, growth: self.state.pace.growth(), making: 0.0 };
        let bounds = Bounds { floor: (threshold as f64 * share) as u64, ceiling: threshold };
        let best = saw.best_threshold(&self.settings.price, self.settings.ttl, bounds).at;
        let tokens = self.tokens();
        if tokens <= best {
            return best;
        }
        // Earlier than it must be, it has to pay over what is expected of the session.
        let pass = cost::Pass {
            before: self.settings.overhead,
            rewritten: after,
            freed: tokens.saturating_sub(self.settings.overhead + after),
            ..cost::Pass::default()
        };
        let requests = self.state.pace.remaining(Horizon::default());
        let verdict = pass.judge(&self.settings.price, self.settings.ttl, requests);
        if verdict.pays { best } else { threshold }
    }
}
