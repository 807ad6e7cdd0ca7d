//! The offline scribe of phase 1: what one session taught, without a model, in one pass.
//!
//! Messages come one by one; calls are brought together with their results; and several gatherers look on, each bounded: what was run and
//! worked ([`ran`]), what failed and what put it right ([`trouble`], [`lint`]), what the user said ([`spoken`]), what the surroundings are
//! ([`around`]), and turn by turn what was asked and came of it ([`turns`], [`tasks`]).
//!
//! **Only typed words are quoted as the user's.** Everything else is told as something that was seen, and nothing of it that reads like an
//! order ([`voice`](super::voice)) is told at all.

mod around;
mod calls;
mod conclusion;
mod lint;
mod purpose;
mod ran;
mod shell;
mod spoken;
mod spot;
mod summary;
mod tasks;
mod tell;
mod trouble;
mod turns;
mod vocabulary;

use super::{Extraction, Finding, FindingKind};
use crate::extract::said::Said;
use around::Around;
use calls::{Calls, Deed, Done, looks_failed};
use lint::Lint;
use purpose::Purpose;
use ran::Ran;
use spoken::Spoken;
use spot::Spot;
use tell::Told;
use throughline_core::{Body, Fragment, Message, Role, SessionId, Speaker};
use trouble::Trouble;
use turns::Turns;

/// Findings of one session.
const MOST_FINDINGS: usize = 25;

/// Gathers what a session shows, message by message. Memory is bounded whatever the session's size.
///
/// The same messages give the same extraction.
///
/// ```
/// use throughline_core::{Message, Role, SessionId};
/// use throughline_memory::handbook::Gatherer;
///
/// let mut gatherer = Gatherer::new(Some("/home/me/app"));
/// gatherer.push(&Message::text(Role::User, "Hello!"));
/// // A greeting teaches nothing.
/// assert!(gatherer.finish(&SessionId::new("s")).is_empty());
/// ```
#[derive(Debug, Default)]
pub struct Gatherer {
    cwd: Option<String>,
    calls: Calls,
    seen: Seen,
    first: Option<Spot>,
    last: Option<Spot>,
}

/// The gatherers that look on.
#[derive(Debug, Default)]
struct Seen {
    ran: Ran,
    trouble: Trouble,
    lint: Lint,
    spoken: Spoken,
    around: Around,
    turns: Turns,
}

impl Gatherer {
    /// Nothing yet, of a session that ran in this folder.
    pub fn new(cwd: Option<&str>) -> Self {
        let cwd = cwd.map(|cwd| cwd.trim_end_matches('/').to_owned()).filter(|cwd| !cwd.is_empty());
        Self { cwd, ..Self::default() }
    }

    /// Takes in one more message: filtered and redacted, in order.
    pub fn push(&mut self, message: &Message) {
        if message.flags.display_only || message.flags.summary {
            return;
        }
        let spot = Spot::of(message);
        if self.first.is_none() {
            self.first = Some(spot.clone());
        }
        self.last = Some(spot.clone());
        match message.role {
            Role::User | Role::Tool => {
                for result in message.results() {
                    let (seen, cwd) = (&mut self.seen, self.cwd.as_deref());
                    self.calls.result(result, &spot, |done| seen.done(&done, cwd));
                }
                self.user(message, spot);
            }
            Role::Assistant => self.assistant(message, &spot),
            Role::System | Role::Developer => {}
        }
    }

    fn user(&mut self, message: &Message, spot: Spot) {
        if message.is_real_user() {
            let said = Said::of(message);
            self.seen.spoken.said(&said, &spot);
            self.seen.turns.begin(&said, &message.user_words(), spot);
            return;
        }
        let is_abort = |block: &throughline_core::Block| match &block.body {
            Body::Text(text) => matches!(
                Fragment::recognise(Speaker::User, text),
                Some(Fragment::Interrupted | Fragment::TurnAborted)
            ),
            Body::Reasoning { .. }
            | Body::ToolCall(_)
            | Body::ToolResult(_)
            | Body::Image(_)
            | Body::Document(_)
            | Body::Unknown(_) => false,
        };
        if message.blocks.iter().any(is_abort) {
            self.seen.turns.aborted();
        }
    }

    fn assistant(&mut self, message: &Message, spot: &Spot) {
        for block in &message.blocks {
            match &block.body {
                Body::Text(text) if !text.trim().is_empty() => self.seen.turns.answered(text, spot),
                Body::ToolCall(call) => {
                    self.seen.turns.called(spot);
                    self.calls.call(call, spot);
                }
                Body::Text(_)
                | Body::Reasoning { .. }
                | Body::ToolResult(_)
                | Body::Image(_)
                | Body::Document(_)
                | Body::Unknown(_) => {}
            }
        }
    }

    /// What the session taught; nothing at all, if that is nothing.
    pub fn finish(self, session: &SessionId) -> Extraction {
        let Seen { ran, trouble, lint, spoken, around, turns } = self.seen;
        let turns = turns.into_all();
        let tasks = tasks::of(&turns);
        let mut told: Vec<Told> = spoken.told();
        told.extend(ran.procedures());
        told.extend(trouble.pitfalls());
        told.extend(lint.pitfalls());
        told.extend(around.told());
        let task_told = tasks::told(&tasks);
        // Where nothing was tried and nothing laid down, nothing was learnt.
        let is_idle = !tasks.iter().any(|task| {
            !task.files.is_empty() || task.conclusion.is_some() || task.result.contains("committed")
        });
        let has_lesson = told.iter().any(|told| told.kind != FindingKind::Environment);
        if is_idle && !has_lesson {
            return Extraction::default();
        }
        told.extend(task_told);
        told.sort_by_key(|told| told.kind);
        let all = ran.all();
        let summary = summary::Session {
            cwd: self.cwd.as_deref(),
            first: self.first.as_ref(),
            last: self.last.as_ref(),
            tasks: &tasks,
            told: &told,
            runs: &all,
        };
        let (slug, summary) = (summary.slug(), summary.markdown());
        let findings: Vec<Finding> =
            chosen(told).into_iter().filter_map(|told| told.finding(session)).collect();
        if findings.is_empty() {
            return Extraction::default();
        }
        Extraction { findings, summary, slug }
    }
}

/// At most so many, the kinds that matter most first, and some of each.
fn chosen(told: Vec<Told>) -> Vec<Told> {
    let mut left = told.len().saturating_sub(MOST_FINDINGS);
    let mut kept: Vec<Told> = Vec::with_capacity(told.len());
    let mut kinds = std::collections::HashMap::<FindingKind, usize>::new();
    for told in told.iter() {
        *kinds.entry(told.kind).or_default() += 1;
    }
    // What there is most of is cut first, from its end.
    let mut most = kinds.clone();
    while left > 0 {
        let Some((_, count)) = most.iter_mut().max_by_key(|(kind, count)| (**count, **kind)) else { break };
        *count -= 1;
        left -= 1;
    }
    let mut taken = std::collections::HashMap::<FindingKind, usize>::new();
    for told in told {
        let so_far = taken.entry(told.kind).or_default();
        if *so_far < most.get(&told.kind).copied().unwrap_or_default() {
            *so_far += 1;
            kept.push(told);
        }
    }
    kept
}

impl Seen {
    fn done(&mut self, done: &Done<'_>, cwd: Option<&str>) {
        match done.deed {
            Deed::Change(paths) => {
                if done.worked == Some(true) {
                    for path in paths {
                        self.trouble.changed(spot::relative(path, cwd));
                        self.turns.changed(path, cwd, done.ends.call);
                    }
                }
            }
            Deed::Run(command) => self.ran(done, command, cwd),
            Deed::Other(tool) => self.around.used(tool, done.worked, done.ends.result),
        }
    }

    fn ran(&mut self, done: &Done<'_>, command: &str, cwd: Option<&str>) {
        let Some(worked) = done.worked else { return };
        let steps = shell::steps(command, cwd);
        let last = steps.len().saturating_sub(1);
        let is_masked = steps.iter().any(|step| step.is_masked) || !done.is_sure;
        let looks_bad = is_masked && worked && looks_failed(done.output);
        for (at, step) in steps.iter().enumerate() {
            // When a chain breaks, all that is known is that its end was not reached.
            if !worked && at != last {
                continue;
            }
            let is_bad = looks_bad && (step.is_masked || !done.is_sure);
            // A step of several whose output is shared can't be told apart.
            if is_bad && steps.len() > 1 && at != last {
                continue;
            }
            let (purpose, worked) = (purpose::of(step), worked && !is_bad);
            let (ends, output) = (done.ends, done.output);
            let is_alone = steps.len() == 1;
            self.around.run(&around::Run { step, purpose, worked, is_alone, output, spot: ends.result }, cwd);
            self.trouble.run(&trouble::Run { step, purpose, worked, output, ends, cwd });
            self.turns.run(&turns::Run { step, purpose, worked, output, ends });
            if !worked && purpose == Purpose::Lint {
                self.lint.failed(&step.told(), output, ends, cwd);
            }
            self.ran.run(step, purpose, worked, ends);
        }
    }
}
