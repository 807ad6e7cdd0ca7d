//! Collapse and autocompact: what happens when the context is full.

use super::{Change, Compacted, Due, Journal, Moment, Notice, Pass, Pipeline, Preparation, Settings};
use crate::compaction::{Compaction, Declined, Draft, Plan, Trigger, files_wanted};
use crate::cost::{self, Bounds, Horizon, Sawtooth};
use crate::guarantee::{Need, Violation};
use crate::profile::{CompactLimits, Strategy};
use crate::scribe::{self, DigestWanted};
use crate::stages::{Scene, collapse};
use crate::tokens::Counter;
use crate::{EditId, Entry, Event, Knowledge, Message, MessageId, Record, Role, Stage};
use jiff::Timestamp;
use std::collections::HashSet;

/// The event that holds how often in a row a model failed to write; the last one counts.
pub(super) const WRITER_EVENT: &str = "compact.writer";
/// The event that holds the messages whose instructions the last replacement of the view had no room for; the last one counts.
pub(super) const LEFT_OUT_EVENT: &str = "compact.left_out";

/// What came of asking a model for the text of a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriterOutcome {
    /// The text replaced the view.
    Used,
    /// There was no text, or it was declined.
    Failed,
}

/// Compactions after which people are told that accuracy suffers.
const OFTEN: u32 = 2;
/// A text that scores lower than this is refused, where the check missed more than a few things.
const POOR: f64 = 0.3;
const FEW: usize = 3;
/// A compaction that frees less than this share of the messages made no progress.
const IDLE_SHARE: f64 = 0.1;

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
        let elsewhere = self.settings.spans_elsewhere;
        let (scene, counter) = self.scene(moment);
        // Whoever else summarises spans may be too late: then there is no waiting.
        if !elsewhere || (scene.total() > levels.commit() && snapshot.staged.is_empty()) {
            let mut writer = Counter::for_model(&model);
            let mut write = |entries: &[Entry]| scribe::span(entries, limits.summary_tokens, &mut writer);
            collapse::stage(&scene, levels, &mut snapshot, counter, &mut write);
        }
        let proposals = collapse::commit(&scene, levels, &mut snapshot, counter);
        self.keep_snapshot(snapshot, moment, journal)?;
        for proposal in proposals {
            self.apply(proposal, None, moment, journal, pass)?;
        }
        Ok(())
    }

    /// Early spans that somebody is to summarise before they are needed (P4), each with its messages. They are asked for
    /// once; what is written is handed to [`stage_spans`](Self::stage_spans).
    pub fn spans_wanted(&mut self, moment: &Moment) -> Vec<(collapse::Span, Vec<Entry>)> {
        let (Some(limits), Some(threshold)) = (self.profile.collapse, self.threshold()) else {
            return Vec::new();
        };
        let levels = collapse::Levels { limits: &limits, threshold };
        let mut snapshot = self.state.collapse.clone();
        let (scene, counter) = self.scene(moment);
        let spans = collapse::wanted(&scene, levels, &mut snapshot, counter);
        let with_entries =
            spans.into_iter().map(|span| (span.clone(), scene.entries[span.range].to_vec())).collect();
        self.state.collapse = snapshot;
        with_entries
    }

    /// Spans have their summaries and wait to be folded. Those that the view no longer holds as they were are dropped when
    /// their time comes.
    pub fn stage_spans<J: Journal>(
        &mut self,
        spans: &[(collapse::Span, String)],
        moment: &Moment,
        journal: &mut J,
    ) -> Result<(), J::Error> {
        let mut snapshot = self.state.collapse.clone();
        spans.iter().for_each(|(span, summary)| snapshot.add(span, summary));
        self.keep_snapshot(snapshot, moment, journal)
    }

    fn keep_snapshot<J: Journal>(
        &mut self,
        snapshot: collapse::Snapshot,
        moment: &Moment,
        journal: &mut J,
    ) -> Result<(), J::Error> {
        if snapshot != self.state.collapse {
            let data = serde_json::to_value(&snapshot).unwrap_or_default();
            let event = Event { at: moment.now, name: collapse::Snapshot::EVENT.to_owned(), data };
            journal.append(Record::Event(Box::new(event)))?;
            self.state.collapse = snapshot;
        }
        Ok(())
    }

    /// Whether the view is to be replaced now (P5), and why.
    pub(super) fn due(&self, moment: &Moment, pass: &mut Pass) -> Option<Due> {
        let (limits, threshold) = (self.profile.compact.as_ref()?, self.threshold()?);
        let tokens = self.tokens();
        let trigger = match moment.compact {
            Some(trigger) => trigger,
            // While spans are folded, nothing is replaced unasked.
            None if self.profile.collapse.is_some() && tokens <= threshold => return None,
            None if tokens <= self.soft_threshold(limits, threshold) => return None,
            None if self.view.entries().last().is_some_and(|e| e.message.results().next().is_some()) => {
                Trigger::MidTurn
            }
            None => Trigger::PreTurn,
        };
        let due = Due { trigger, tokens, threshold };
        if !self.state.breaker.allows(limits.failures, due.is_asked()) {
            pass.notices.push(Notice::BreakerOpen(limits.failures));
            return None;
        }
        if self.state.idle >= limits.idle_compactions && !due.is_asked() {
            pass.notices.push(Notice::NoProgress { compactions: self.state.idle, tokens });
            return None;
        }
        Some(due)
    }

    /// The paths of files that a compaction may bring back, most recently read first. A host that can read files gives their
    /// content in [`HostContext::files`](crate::compaction::HostContext::files).
    pub fn files_wanted(&self) -> Vec<String> {
        let limits = self.profile.compact.as_ref();
        limits.map_or_else(Vec::new, |limits| files_wanted(&self.knowledge.read().facts, limits))
    }

    /// What a strategy keeps, and how long the text may be that somebody writes for it. To be handed to
    /// [`compact_with`](Self::compact_with) with the text, before anything else changes the view.
    pub fn plan(&mut self, preparation: &Preparation, strategy: Strategy) -> Result<Plan, Declined> {
        self.consider(&preparation.moment, preparation.due, |compaction, counter, _| {
            compaction.plan(strategy, counter)
        })
    }

    /// Like [`plan`](Self::plan), for a text that was written before it was needed and ends at the message `covers`.
    pub fn plan_covering(
        &mut self,
        preparation: &Preparation,
        strategy: Strategy,
        covers: Option<&MessageId>,
    ) -> Result<Plan, Declined> {
        self.consider(&preparation.moment, preparation.due, |compaction, counter, _| {
            compaction.plan_covering(strategy, covers, counter)
        })
    }

    /// Returns whether a model may be asked for a text: not after too many failures in a row, unless a person asks now.
    pub fn may_ask_writer(&self, due: Option<Due>) -> bool {
        let most = self.profile.compact.as_ref().map_or(0, |limits| limits.failures);
        self.state.writer.allows(most, due.is_some_and(|due| due.is_asked()))
    }

    /// Records what came of asking a model for a text: whether the text replaced the view. Failures count even if the offline
    /// scribe then writes, and across resumes.
    pub fn writer_ended<J: Journal>(
        &mut self,
        outcome: WriterOutcome,
        at: Option<Timestamp>,
        journal: &mut J,
    ) -> Result<(), J::Error> {
        let before = self.state.writer;
        match outcome {
            WriterOutcome::Used => self.state.writer.succeeded(),
            WriterOutcome::Failed => self.state.writer.failed(),
        }
        if self.state.writer != before {
            let data = serde_json::to_value(self.state.writer).unwrap_or_default();
            let event = Event { at, name: WRITER_EVENT.to_owned(), data };
            journal.append(Record::Event(Box::new(event)))?;
        }
        Ok(())
    }

    /// Replaces the view by a text that was written for a plan, if that is good enough. Whether it was. Where the profile
    /// wants ranked details they are told behind it.
    pub fn compact_with<J: Journal>(
        &mut self,
        preparation: &mut Preparation,
        plan: Plan,
        text: &str,
        journal: &mut J,
    ) -> Result<bool, J::Error> {
        let strategy = plan.strategy;
        let draft = self.consider(&preparation.moment, preparation.due, |compaction, counter, known| {
            let mut digest =
                |wanted: DigestWanted<'_>, counter: &mut Counter| known.archive.digest(&wanted, counter);
            let text = plan.with_details(compaction, text, counter, &mut digest);
            plan.finish(compaction, &text, counter).and_then(good_enough)
        });
        self.settle(preparation, strategy, draft, journal)
    }

    /// Replaces the view by what the offline scribe writes, by the first of the profile's strategies that works. Whether
    /// one did.
    pub fn compact_offline<J: Journal>(
        &mut self,
        preparation: &mut Preparation,
        journal: &mut J,
    ) -> Result<bool, J::Error> {
        if self.compact_by_strategies(preparation, journal)? {
            return Ok(true);
        }
        // What can't be sent at all is replaced even if the result leaves less room than it should.
        let limit = self.hard_limit();
        let is_too_large = self.profile.guarantee && self.tokens() > limit;
        if let Some(due) = preparation.due.filter(|due| is_too_large && due.threshold < limit) {
            preparation.due = Some(Due { threshold: limit, ..due });
            let done = self.compact_by_strategies(preparation, journal)?;
            preparation.due = Some(due);
            if done {
                return Ok(true);
            }
        }
        // Little is better than nothing; too often in a row it is not tried again.
        if let Some(draft) = preparation.little.take() {
            return self.take_effect(preparation, *draft, journal).map(|()| true);
        }
        // What lacks something required is sent only if the whole can't be.
        match preparation.degraded.take() {
            Some(draft) if self.tokens() > self.hard_limit() => {
                self.take_effect(preparation, *draft, journal).map(|()| true)
            }
            Some(_) | None => Ok(false),
        }
    }

    /// Tries the profile's strategies in their order. Returns true if one worked.
    fn compact_by_strategies<J: Journal>(
        &mut self,
        preparation: &mut Preparation,
        journal: &mut J,
    ) -> Result<bool, J::Error> {
        let strategies = self.profile.compact.as_ref().map(|limits| limits.strategies.clone());
        for strategy in strategies.unwrap_or_default() {
            let draft = self.consider(&preparation.moment, preparation.due, |compaction, counter, known| {
                let mut digest =
                    |wanted: DigestWanted<'_>, counter: &mut Counter| known.archive.digest(&wanted, counter);
                compaction.offline(strategy, counter, &mut digest)
            });
            if self.settle(preparation, strategy, draft, journal)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The most tokens that can be sent: the window less what an answer needs.
    fn hard_limit(&self) -> u64 {
        let Settings { window, max_output, .. } = self.settings;
        let output = max_output.unwrap_or(window / 16).min(window / 8);
        window.saturating_sub(output).max(self.threshold().unwrap_or(0))
    }

    fn settle<J: Journal>(
        &mut self,
        preparation: &mut Preparation,
        strategy: Strategy,
        draft: Result<Draft, Declined>,
        journal: &mut J,
    ) -> Result<bool, J::Error> {
        match draft {
            // The next rung may lack less.
            Ok(draft) if !draft.violations.is_empty() && !draft.is_tight => {
                let worst = &draft.violations[0];
                let why = Declined::Guarantee { need: worst.need, missing: worst.missing.clone() };
                preparation.declined.push(Notice::Declined { strategy, why });
                if preparation.degraded.as_ref().is_none_or(|best| severity(&draft) < severity(best)) {
                    preparation.degraded = Some(Box::new(draft));
                }
                Ok(false)
            }
            // The next rung may free more.
            Ok(draft) if draft.freed_share() < IDLE_SHARE => {
                if preparation.little.as_ref().is_none_or(|best| draft.tokens_after < best.tokens_after) {
                    preparation.little = Some(Box::new(draft));
                }
                Ok(false)
            }
            Ok(draft) => self.take_effect(preparation, draft, journal).map(|()| true),
            Err(why) => {
                preparation.declined.push(Notice::Declined { strategy, why });
                Ok(false)
            }
        }
    }

    fn take_effect<J: Journal>(
        &mut self,
        preparation: &mut Preparation,
        draft: Draft,
        journal: &mut J,
    ) -> Result<(), J::Error> {
        let Preparation { moment, pass, .. } = preparation;
        if !draft.violations.is_empty() {
            pass.notices.push(Notice::Degraded { lacks: lacks(&draft.violations) });
        }
        pass.lacks.clone_from(&draft.violations);
        let left_out = self.left_out_of(&draft);
        self.commit(draft, moment, journal, pass)?;
        if !(left_out.is_empty() && self.state.left_out.is_empty()) {
            let messages: Vec<&Message> = left_out.iter().map(|entry| &*entry.message).collect();
            let data = serde_json::to_value(messages).unwrap_or_default();
            let event = Event { at: moment.now, name: LEFT_OUT_EVENT.to_owned(), data };
            journal.append(Record::Event(Box::new(event)))?;
        }
        self.state.left_out = left_out;
        self.state.breaker.succeeded();
        preparation.is_done = true;
        preparation.little = None;
        Ok(())
    }

    /// The messages whose instructions a replacement has no room for. The next one may.
    fn left_out_of(&self, draft: &Draft) -> Vec<Entry> {
        let is_fragment = |violation: &&Violation| match violation.need {
            Need::ProjectInstructions | Need::Fragment => true,
            Need::NewestRequest | Need::Request | Need::Handle | Need::ApiRule | Need::UnseenResult => false,
        };
        let lacking = draft.violations.iter().filter(is_fragment);
        let lacking: HashSet<&MessageId> =
            lacking.filter_map(|violation| violation.message.as_ref()).collect();
        let known = self.state.left_out.iter().chain(self.view.entries());
        known.filter(|entry| lacking.contains(&entry.message.id)).cloned().collect()
    }

    /// What became of a compaction that was due.
    pub(super) fn conclude(&mut self, preparation: &mut Preparation) {
        let Some(due) = &preparation.due else { return };
        let declined = std::mem::take(&mut preparation.declined);
        if preparation.is_done {
            preparation.pass.notices.extend(declined);
        } else if due.tokens > due.threshold || due.is_asked() {
            self.state.breaker.failed();
            preparation.pass.notices.extend(declined);
            let (tokens, threshold) = (self.tokens(), due.threshold);
            if tokens > threshold {
                preparation.pass.notices.push(Notice::StillOver { tokens, threshold });
            }
        }
        // Else a refusal costs nothing: it is tried again when more has been said.
    }

    /// Looks at a compaction of the view as it stands.
    pub(super) fn consider<R>(
        &mut self,
        moment: &Moment,
        due: Option<Due>,
        look: impl FnOnce(&Compaction<'_>, &mut Counter, &Knowledge) -> Result<R, Declined>,
    ) -> Result<R, Declined> {
        let (Some(limits), Some(due)) = (&self.profile.compact, due) else {
            return Err(Declined::Nothing);
        };
        let scene = Scene {
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
            threshold: due.threshold,
            trigger: due.trigger,
            instructions: moment.instructions.as_deref(),
            notes: moment.notes.as_ref(),
            left_out: &self.state.left_out,
            scaffold: self.settings.scaffold,
            host: &moment.host,
            guarantee: self.profile.guarantee,
        };
        look(&compaction, &mut self.counter, &known)
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
        let is_idle = draft.freed_share() < IDLE_SHARE;
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
        self.drop_stale_deletions();
        self.state.collapse = collapse::Snapshot::default();
        self.state.compactions += 1;
        self.state.idle = if is_idle { self.state.idle + 1 } else { 0 };
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

/// How bad it is what a draft lacks: the most important need first, then how much.
fn severity(draft: &Draft) -> (std::cmp::Reverse<Option<Need>>, usize) {
    (std::cmp::Reverse(draft.violations.first().map(|violation| violation.need)), draft.violations.len())
}

/// What is missing, for people.
fn lacks(violations: &[Violation]) -> String {
    let mut needs: Vec<&str> = violations.iter().map(|violation| violation.need.name()).collect();
    needs.dedup();
    needs.join(", ")
}

/// Refuses a text that somebody else wrote and that says next to nothing of what must not be lost: the offline scribe says it.
fn good_enough(draft: Draft) -> Result<Draft, Declined> {
    match &draft.verdict {
        Some(verdict) if verdict.score < POOR && verdict.lost() >= FEW => {
            Err(Declined::Poor { percent: (verdict.score * 100.0) as u8 })
        }
        Some(_) | None => Ok(draft),
    }
}
