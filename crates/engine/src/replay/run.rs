//! One profile's way through a recorded session.

use super::guarantee::{Outgoing, Watch};
use super::report::{CompactionReport, Fates, Mark, Run, Sent};
use super::{Judge, Plan, Recording, TOOLS};
use std::sync::Arc;
use throughline_core::cost::{CacheSim, Piece, Request, Totals};
use throughline_core::pipeline::{Moment, Pass, Pipeline, Settings, Unrecorded};
use throughline_core::profile::Profile;
use throughline_core::tokens::Breakdown;
use throughline_core::{Entry, Message, SharedKnowledge, Stage, Wire, invariants};

/// A request of the recording.
pub(super) struct Asked<'a> {
    pub(super) number: usize,
    pub(super) upto: usize,
    /// What was said since the request before, with its tokens.
    pub(super) fresh: &'a [(&'a Arc<Message>, Breakdown)],
    /// Tokens of the answer.
    pub(super) answer: u64,
    pub(super) plan: &'a Plan,
}

/// One profile's view of the session.
pub(super) struct Lane {
    pipeline: Pipeline,
    sim: CacheSim,
    /// Everything that was said, in tokens.
    said: u64,
    hidden: Fates,
    /// Whether the recording itself breaks rules, as far as it is in the view.
    broken: bool,
    /// Whether the guarantee (G) is kept, where the profile asks for it.
    watch: Option<Watch>,
    run: Run,
}

impl Lane {
    pub(super) fn new(
        profile: Profile,
        recording: &Recording,
        plan: &Plan,
        model: &str,
        knowledge: &SharedKnowledge,
    ) -> Self {
        let run = Run { profile: profile.name.clone(), ..Run::default() };
        let watch = profile.guarantee.then(|| Watch::new(&plan.expected));
        let mut settings = Settings::for_model(model);
        settings.window = plan.window;
        settings.overhead = recording.overhead;
        settings.ttl = plan.ttl;
        settings.tools = TOOLS;
        let sim = CacheSim::new(settings.price.clone(), plan.ttl);
        let pipeline = Pipeline::sharing(profile, settings, knowledge.clone());
        Self { pipeline, sim, said: 0, hidden: Fates::default(), broken: false, watch, run }
    }

    pub(super) fn request(&mut self, asked: &Asked<'_>, judge: Option<&mut Judge>) {
        let before = self.pipeline.view().entries().len();
        for (message, count) in asked.fresh {
            self.said += count.total();
            if let Some(watch) = &mut self.watch {
                watch.push(message);
            }
            self.pipeline.push_counted(Entry::of((*message).clone(), Default::default()), *count);
        }
        let last = asked.fresh.iter().rev().find_map(|(message, _)| message.at);
        let moment = Moment { now: last, ..Moment::default() };
        let pass = match self.pipeline.prepare(&moment, &mut Unrecorded) {
            Ok(pass) => pass,
            Err(never) => match never {},
        };
        self.account(asked, &pass, before);
        self.check(&pass, asked);
        self.check_guarantee(&pass, asked);
        self.note(asked, &pass, judge);
    }

    /// What the request costs: the front that did not change is read from the cache, the rest is written.
    fn account(&mut self, asked: &Asked<'_>, pass: &Pass, before: usize) {
        let entries = self.pipeline.view().entries();
        let tokens = self.pipeline.entry_tokens();
        let kept = pass.unchanged.min(before).min(entries.len());
        let at = if asked.plan.timed {
            asked.fresh.iter().rev().find_map(|(message, _)| message.at)
        } else {
            None
        };
        let overhead = Piece::new(b"system prompt and tools", self.pipeline.settings().overhead);
        let rest = entries.iter().zip(tokens).skip(kept).map(|(entry, tokens)| piece(entry, *tokens));
        let first = self.run.series.is_empty();
        let pieces: Vec<Piece> = first.then_some(overhead).into_iter().chain(rest).collect();
        let kept = if first { 0 } else { kept + 1 };
        let charge = self.sim.push(&Request { kept, rest: &pieces, at, output: asked.answer });
        self.run.peak = self.run.peak.max(charge.prompt());
        self.run.series.push(Sent {
            tokens: charge.prompt(),
            cached: charge.read,
            weight: charge.weight,
            cost: self.sim.totals().dollars,
            hidden: self.hidden,
        });
    }

    /// The rules of the API, after each change: in between only whole recorded messages are added.
    fn check(&mut self, pass: &Pass, asked: &Asked<'_>) {
        if let Some(threshold) = self.pipeline.threshold()
            && pass.tokens_after > threshold
        {
            self.run.over_threshold += 1;
        }
        if !pass.changed() && asked.number > 0 {
            return;
        }
        let shown = self.pipeline.messages();
        self.broken = !invariants::check(&shown).is_empty();
        if !self.broken && !asked.plan.check_wires {
            return;
        }
        let mut messages: Vec<Message> = shown.iter().map(|message| (**message).clone()).collect();
        if self.broken {
            let (repaired, repairs) = invariants::repair(messages);
            self.run.repairs += repairs.len();
            self.run.violations += invariants::check(&repaired).len();
            messages = repaired;
        }
        if asked.plan.check_wires {
            let wires = [Wire::Anthropic, Wire::Responses, Wire::Chat];
            self.run.violations += wires.map(|wire| broken_on(wire, &messages)).iter().sum::<usize>();
        }
    }

    fn check_guarantee(&mut self, pass: &Pass, asked: &Asked<'_>) {
        let Some(watch) = &mut self.watch else { return };
        watch.count(asked.number, pass);
        let shown = self.pipeline.messages();
        let known = self.pipeline.knowledge().read();
        let check_wires = asked.plan.check_wires;
        watch.check(&Outgoing {
            number: asked.number,
            pass,
            facts: &known.facts,
            shown: &shown,
            check_wires,
        });
    }

    fn note(&mut self, asked: &Asked<'_>, pass: &Pass, judge: Option<&mut Judge>) {
        for change in &pass.changes {
            let freed = change.freed.max(0) as u64;
            match change.stage {
                Stage::Budget => self.hidden.persisted += freed,
                Stage::Snip => self.hidden.snipped += freed,
                Stage::Microcompact => self.hidden.cleared += freed,
                Stage::Collapse => self.hidden.collapsed += freed,
                Stage::Autocompact => {
                    let sent = pass.tokens_after.saturating_sub(self.pipeline.settings().overhead);
                    self.hidden = Fates { summarised: self.said.saturating_sub(sent), ..Fates::default() };
                }
                Stage::User | Stage::Import => {}
            }
            self.run.edits.push(Mark {
                request: asked.number,
                stage: change.stage,
                reason: change.reason.clone(),
                freed: change.freed,
            });
        }
        for notice in &pass.notices {
            let text = notice.to_string();
            if self.run.notices.last().is_none_or(|(_, last)| *last != text) {
                self.run.notices.push((asked.number, text));
            }
        }
        if let Some(last) = self.run.series.last_mut() {
            last.hidden = self.hidden;
        }
        let Some(compacted) = pass.changes.iter().find_map(|change| change.compacted.as_ref()) else {
            return;
        };
        let needed = judge.and_then(|judge| judge.judge(asked.upto, &self.shown()));
        self.run.compactions.push(CompactionReport {
            request: asked.number,
            strategy: compacted.strategy,
            trigger: compacted.trigger,
            tokens_before: compacted.tokens_before,
            tokens_after: compacted.tokens_after,
            check: compacted.check.as_ref().map(|verdict| verdict.score),
            needed,
        });
    }

    /// Everything that the model can see.
    fn shown(&self) -> Vec<Arc<Message>> {
        self.pipeline.view().messages().collect()
    }

    pub(super) fn finish(mut self) -> Run {
        self.run.totals = Totals { ..*self.sim.totals() };
        self.run.guarantee = self.watch.map(|watch| watch.report);
        self.run
    }
}

/// API rules that messages break once they are written for a provider.
fn broken_on(wire: Wire, messages: &[Message]) -> usize {
    let (_, rest) = throughline_wire::split_instructions(messages);
    let written = throughline_wire::encode_messages(wire, rest);
    let mut read: Vec<Message> =
        written.into_iter().map(|value| throughline_wire::decode_message(wire, value)).collect();
    throughline_wire::chain(None, &mut read);
    invariants::check(&read).len()
}

/// An entry as the provider's cache sees it: its bytes are those of the message and of what stands in place of its blocks.
fn piece(entry: &Entry, tokens: u64) -> Piece {
    let mut key = entry.message.id.as_str().to_owned();
    for overlay in &entry.overlays {
        key.push('/');
        key.push_str(overlay.edit.as_str());
    }
    Piece::new(key.as_bytes(), tokens)
}
