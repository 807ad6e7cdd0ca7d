//! P4, collapse: early spans are folded, each into one placeholder with its summary.
//!
//! [`stage`] chooses spans and has them summarised before they are needed; [`commit`] folds them as pressure rises,
//! oldest first and only as many as needed. What is staged is kept in a [`Snapshot`].

mod placeholder;
mod span;
mod subjects;

pub use span::{Span, choose, spans};

use super::{Proposal, Scene};
use crate::profile::CollapseLimits;
use crate::tokens::Counter;
use crate::{Entry, MessageId, Op, Stage};
use serde::{Deserialize, Serialize};
use span::Ground;
use std::collections::HashMap;
use std::ops::Range;

/// The limits in tokens, for one window.
#[derive(Clone, Copy, Debug)]
pub struct Levels<'a> {
    /// The profile's.
    pub limits: &'a CollapseLimits,
    /// The size of the context at which it must shrink.
    pub threshold: u64,
}

impl Levels<'_> {
    fn share(&self, share: f64) -> u64 {
        (self.threshold as f64 * share) as u64
    }

    /// Over this, spans are staged.
    pub fn stage(&self) -> u64 {
        self.share(self.limits.stage_share)
    }

    /// Over this, staged spans are folded …
    pub fn commit(&self) -> u64 {
        self.share(self.limits.commit_share)
    }

    /// … until the context is at this or less.
    pub fn target(&self) -> u64 {
        self.share(self.limits.target_share).min(self.commit())
    }
}

/// A span that has its summary and waits to be folded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StagedSpan {
    /// Its first message.
    pub first: MessageId,
    /// Its last message.
    pub last: MessageId,
    /// How many messages it has: a span that was changed since is not folded.
    pub messages: usize,
    /// Tokens that folding it is expected to free.
    pub saves: u64,
    /// The summary.
    pub summary: String,
}

/// What is staged: the data of an event [`Snapshot::EVENT`]; the last one counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Snapshot {
    /// The spans, oldest first.
    pub staged: Vec<StagedSpan>,
    /// The context went over the limit, and is not under the target yet.
    pub armed: bool,
    /// The size of the context when spans were last staged.
    pub last_spawn_tokens: u64,
}

impl Snapshot {
    /// The name of the event that holds the snapshot.
    pub const EVENT: &'static str = "collapse.snapshot";

    /// Stages a span with its summary. What has no summary is not staged.
    pub fn add(&mut self, span: &Span, summary: &str) {
        let summary = summary.trim();
        if !summary.is_empty() {
            self.staged.push(span.staged(summary.to_owned()));
        }
    }

    /// Where the staged spans are now; those that the view no longer holds as they were are left out.
    fn places(&self, entries: &[Entry]) -> Vec<Range<usize>> {
        let places = places(entries);
        self.staged.iter().filter_map(|span| span.place(&places)).collect()
    }

    /// Drops spans that can't be folded any more, and says where the others are.
    fn settle(&mut self, entries: &[Entry], ground: &Ground) -> Vec<Range<usize>> {
        let places = places(entries);
        let mut found: Vec<(Range<usize>, StagedSpan)> = std::mem::take(&mut self.staged)
            .into_iter()
            .filter_map(|span| span.place(&places).map(|range| (range, span)))
            .filter(|(range, _)| ground.allows(range))
            .collect();
        found.sort_by_key(|(range, _)| range.start);
        let mut end = 0;
        found.retain(|(range, _)| {
            let is_apart = range.start >= end;
            end = end.max(range.end);
            is_apart
        });
        let (ranges, staged) = found.into_iter().unzip();
        self.staged = staged;
        ranges
    }
}

fn places(entries: &[Entry]) -> HashMap<&MessageId, usize> {
    entries.iter().enumerate().map(|(at, entry)| (&entry.message.id, at)).collect()
}

impl StagedSpan {
    fn place(&self, places: &HashMap<&MessageId, usize>) -> Option<Range<usize>> {
        let range = *places.get(&self.first)?..*places.get(&self.last)? + 1;
        (range.len() == self.messages).then_some(range)
    }
}

/// Spans to be summarised, when the context is over [`Levels::stage`] and has grown by a span since the last time.
pub fn wanted(
    scene: &Scene<'_>,
    levels: Levels<'_>,
    snapshot: &mut Snapshot,
    counter: &mut Counter,
) -> Vec<Span> {
    let total = scene.total();
    let last = snapshot.last_spawn_tokens;
    // A context that shrank by as much is another one; and where folds are wanted and none waits, none must be missed.
    let is_due = last == 0
        || total.abs_diff(last) >= levels.limits.span_tokens
        || (snapshot.armed && snapshot.staged.is_empty());
    if total <= levels.stage() || !is_due {
        return Vec::new();
    }
    snapshot.last_spawn_tokens = total;
    choose(scene, levels, snapshot, counter)
}

/// Has `write` summarise the spans that are [wanted]. Whether the snapshot changed.
pub fn stage(
    scene: &Scene<'_>,
    levels: Levels<'_>,
    snapshot: &mut Snapshot,
    counter: &mut Counter,
    write: &mut dyn FnMut(&[Entry]) -> String,
) -> bool {
    let (staged, last) = (snapshot.staged.len(), snapshot.last_spawn_tokens);
    for span in wanted(scene, levels, snapshot, counter) {
        let summary = write(&scene.entries[span.range.clone()]);
        snapshot.add(&span, &summary);
    }
    staged != snapshot.staged.len() || last != snapshot.last_spawn_tokens
}

/// Folds staged spans, oldest first, once the context is over [`Levels::commit`] and until it is at [`Levels::target`].
/// Each proposal is one fold, and each makes the context smaller.
pub fn commit(
    scene: &Scene<'_>,
    levels: Levels<'_>,
    snapshot: &mut Snapshot,
    counter: &mut Counter,
) -> Vec<Proposal> {
    let mut total = scene.total();
    snapshot.armed = total > levels.commit() || (snapshot.armed && total > levels.target());
    if !snapshot.armed || snapshot.staged.is_empty() {
        return Vec::new();
    }
    let ranges = snapshot.settle(scene.entries, &Ground::of(scene, levels.limits, counter));
    let mut proposals = Vec::new();
    let mut waiting = Vec::new();
    for (range, span) in ranges.into_iter().zip(std::mem::take(&mut snapshot.staged)) {
        if total <= levels.target() {
            waiting.push(span);
            continue;
        }
        let tokens: u64 = range.clone().map(|at| scene.tokens_at(at)).sum();
        let with = placeholder::message(scene, range, &span.summary, levels.limits, counter);
        let Some(freed) = tokens.checked_sub(counter.message(&with).total()).filter(|freed| *freed > 0)
        else {
            continue;
        };
        total = total.saturating_sub(freed);
        let reason = format!("{} early messages were folded", span.messages);
        let ops = vec![Op::Fold { first: span.first, last: span.last, with: Box::new(with) }];
        proposals.push(Proposal { stage: Stage::Collapse, reason, ops, freed: freed as i64 });
    }
    snapshot.staged = waiting;
    snapshot.armed = total > levels.target();
    proposals
}
