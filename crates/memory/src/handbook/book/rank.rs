//! What is worth most, and how much of it there may be.

use super::bullet;
use super::entry::{Entry, Wording};
use crate::handbook::{Basis, FindingKind, TaskOutcome};
use jiff::Timestamp;
use std::cmp::Reverse;
use throughline_core::tokens::Tokenizer;

/// Tokens of all statements of `MEMORY.md`, by OpenAI's newer table.
pub const MEMORY_TOKENS: u64 = 12_000;
/// Statements that are passed over because they are too long for what is left.
const TRIES: usize = 20;
const DAY: f64 = 86_400.0;

/// Statements of a section at most.
pub fn most_entries(kind: FindingKind) -> usize {
    match kind {
        FindingKind::Preference => 60,
        FindingKind::Procedure | FindingKind::Pitfall => 40,
        FindingKind::Environment => 30,
        FindingKind::Task => 40,
    }
}

/// Days in which what is not repeated comes to be worth half.
fn half_life(kind: FindingKind) -> f64 {
    match kind {
        FindingKind::Preference
        | FindingKind::Procedure
        | FindingKind::Pitfall
        | FindingKind::Environment => 45.0,
        // What was done last is what is gone on with.
        FindingKind::Task => 10.0,
    }
}

/// Percent of the tokens that are a section's own: what one leaves, the others get.
fn share(kind: FindingKind) -> u64 {
    match kind {
        FindingKind::Preference => 35,
        FindingKind::Procedure | FindingKind::Pitfall => 20,
        FindingKind::Environment => 10,
        FindingKind::Task => 15,
    }
}

/// What a statement is ranked by.
pub(super) struct Worth {
    /// Sessions that bear it out.
    pub(super) support: usize,
    /// Answers that used them.
    pub(super) used: u64,
    /// When it was last borne out.
    pub(super) last: Timestamp,
}

/// A statement and its worth, in thousandths of a doubling. It does not depend on the time of asking, so that what does not
/// change keeps its place.
pub(super) struct Ranked {
    pub(super) entry: Entry,
    pub(super) score: i64,
    last: Option<Timestamp>,
}

impl Ranked {
    pub(super) fn new(entry: Entry, worth: &Worth) -> Self {
        let doublings = |count: f64| (1.0 + count).log2();
        let days = worth.last.as_second() as f64 / DAY;
        let known = match entry.basis {
            Basis::Said => 1.0,
            Basis::Observed => 0.5,
            Basis::Concluded => -1.0,
        };
        let outcome = match entry.outcome {
            Some(TaskOutcome::Success | TaskOutcome::Failed) => 0.5,
            Some(TaskOutcome::Partial) | None => 0.0,
            Some(TaskOutcome::Uncertain) => -1.0,
        };
        let noted = if entry.noted { 2.0 } else { 0.0 };
        let score = doublings(worth.support as f64)
            + doublings(worth.used as f64)
            + days / half_life(entry.kind)
            + known
            + outcome
            + noted;
        Self { entry, score: (score * 1_000.0).round() as i64, last: Some(worth.last) }
    }

    fn order(&self) -> impl Ord + '_ {
        (self.entry.kind, Reverse(self.score), &self.entry.text)
    }
}

/// The statements that there is room for, section by section, those of most worth first. What a person or a model worded goes before what code did.
pub(super) fn fitted(mut ranked: Vec<Ranked>) -> Vec<Entry> {
    ranked.sort_by(|a, b| {
        let ours = |one: &Ranked| one.entry.wording == Wording::Ours;
        ours(a).cmp(&ours(b)).then_with(|| a.order().cmp(&b.order()))
    });
    let mut taken = vec![false; ranked.len()];
    let mut spare = 0;
    for kind in FindingKind::ALL {
        spare += take(&ranked, &mut taken, (kind, MEMORY_TOKENS * share(kind) / 100));
    }
    for kind in FindingKind::ALL {
        spare = take(&ranked, &mut taken, (kind, spare));
    }
    let mut kept: Vec<Ranked> =
        ranked.into_iter().zip(taken).filter(|(_, is_taken)| *is_taken).map(|(one, _)| one).collect();
    kept.sort_by(|a, b| {
        // Tasks are read in the order of time.
        let at = |one: &Ranked| Reverse(one.last.filter(|_| one.entry.kind == FindingKind::Task));
        a.entry
            .kind
            .cmp(&b.entry.kind)
            .then_with(|| at(a).cmp(&at(b)))
            .then_with(|| a.order().cmp(&b.order()))
    });
    kept.into_iter().map(|one| one.entry).collect()
}

/// Takes more of a section for so many tokens; says what is left of them.
fn take(ranked: &[Ranked], taken: &mut [bool], (kind, tokens): (FindingKind, u64)) -> u64 {
    let of_kind = || (0..ranked.len()).filter(|at| ranked[*at].entry.kind == kind);
    let mut room = most_entries(kind).saturating_sub(of_kind().filter(|at| taken[*at]).count());
    let mut left = tokens;
    let mut tries = TRIES;
    for at in of_kind() {
        if room == 0 || tries == 0 {
            break;
        }
        if taken[at] {
            continue;
        }
        // One that is too long for what is left leaves room for shorter ones; many of them end it.
        let cost = cost(&ranked[at].entry);
        if cost <= left {
            left -= cost;
            taken[at] = true;
            room -= 1;
        } else {
            tries -= 1;
        }
    }
    left
}

fn cost(entry: &Entry) -> u64 {
    Tokenizer::O200k.count(&bullet::render(entry, 0)) + 1
}
