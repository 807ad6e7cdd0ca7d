//! What is kept of the book so far: what people and models worded, and that what they took out stays out.

use super::Book;
use super::consolidate::{Draft, named};
use super::entry::{Entry, Print, Wording};
use super::grounds::Grounds;
use super::rank::{Ranked, Worth};
use crate::topics::opposites::Statement;
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use throughline_core::SessionId;

/// The share of words at which a draft is what somebody else worded on the same evidence.
const MEANT: f64 = 0.3;

/// What the new book is made of.
pub(super) struct Kept {
    pub(super) ranked: Vec<Ranked>,
    /// Wordings that were taken out by hand, as far as code would write them still.
    pub(super) removed: BTreeSet<Print>,
}

impl Kept {
    pub(super) fn of(
        before: Option<&Book>,
        drafts: Vec<Draft>,
        grounds: &Grounds,
        used: &BTreeMap<&SessionId, u64>,
    ) -> Self {
        // A book that is empty was deleted: nothing in it was decided.
        let Some(before) = before.filter(|before| !before.is_empty()) else {
            let ranked = drafts.into_iter().map(|draft| Ranked::new(draft.entry, &draft.worth)).collect();
            return Self { ranked, removed: BTreeSet::new() };
        };
        let mut theirs: Vec<Theirs> =
            before.entries.iter().filter_map(|entry| Theirs::of(entry, grounds)).collect();
        let mut ranked = Vec::new();
        let mut removed = BTreeSet::new();
        for draft in drafts {
            let prints: Vec<Print> = draft
                .wordings
                .iter()
                .map(|text| Print::of(draft.entry.kind, text))
                .chain([draft.entry.print()])
                .collect();
            let was_removed = prints.iter().any(|print| before.grounds.removed.contains(print));
            if let Some(meant) = meant(&mut theirs, &draft, was_removed) {
                removed.extend(prints.into_iter().filter(|print| before.grounds.removed.contains(print)));
                meant.more.extend(draft.keys);
            } else if before.grounds.removed.contains(&draft.entry.print()) {
                removed.insert(draft.entry.print());
            } else {
                ranked.push(Ranked::new(draft.entry, &draft.worth));
            }
        }
        ranked.extend(theirs.into_iter().map(|theirs| theirs.ranked(grounds, used)));
        Self { ranked, removed }
    }
}

/// A statement that a person or a model worded, and what bears it out today.
struct Theirs {
    entry: Entry,
    statement: Statement,
    more: Vec<(Timestamp, super::EvidenceKey, Option<SessionId>)>,
}

impl Theirs {
    /// `None` where code worded it, or its evidence is gone.
    fn of(entry: &Entry, grounds: &Grounds) -> Option<Self> {
        let mut entry = entry.clone();
        entry.evidence.retain(|key| grounds.get(key).is_some());
        let stays = entry.wording == Wording::Theirs && !entry.evidence.is_empty();
        stays.then(|| Self { statement: Statement::of(&entry.text), more: Vec::new(), entry })
    }

    fn ranked(mut self, grounds: &Grounds, used: &BTreeMap<&SessionId, u64>) -> Ranked {
        let own = self.entry.evidence.iter().filter_map(|key| {
            let ground = grounds.get(key)?;
            Some((ground.at.unwrap_or(Timestamp::MIN), key.clone(), ground.evidence.session().cloned()))
        });
        let mut keys: Vec<_> = own.chain(self.more).collect();
        keys.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        let mut seen = BTreeSet::new();
        keys.retain(|(_, key, _)| seen.insert(key.clone()));
        let sessions: BTreeSet<&SessionId> =
            keys.iter().filter_map(|(_, _, session)| session.as_ref()).collect();
        let worth = Worth {
            support: sessions.len(),
            used: sessions.iter().filter_map(|session| used.get(*session)).sum(),
            last: keys.first().map_or(Timestamp::MIN, |(at, _, _)| *at),
        };
        // What they named stays named.
        if keys.len() > self.entry.evidence.len() {
            self.entry.evidence = named(&keys);
        }
        self.entry.support = sessions.len();
        Ranked::new(self.entry, &worth)
    }
}

/// The statement on the same evidence that a draft would only repeat.
fn meant<'a>(theirs: &'a mut [Theirs], draft: &Draft, was_removed: bool) -> Option<&'a mut Theirs> {
    let keys: BTreeSet<_> = draft.keys.iter().map(|(_, key, _)| key).collect();
    let wordings: Vec<Statement> = draft.wordings.iter().map(|text| Statement::of(text)).collect();
    let overlap = |theirs: &Theirs| {
        let of = |one: &Statement| {
            let common = one.subject.common(&theirs.statement.subject);
            common as f64 / one.subject.0.len().min(theirs.statement.subject.0.len()).max(1) as f64
        };
        wordings.iter().map(of).fold(0.0, f64::max)
    };
    let shares = |theirs: &Theirs| {
        theirs.entry.kind == draft.entry.kind && theirs.entry.evidence.iter().any(|key| keys.contains(key))
    };
    let near = theirs.iter_mut().filter(|theirs| shares(theirs)).map(|theirs| (overlap(theirs), theirs));
    let near = near.filter(|(overlap, _)| was_removed || *overlap >= MEANT);
    near.max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, theirs)| theirs)
}
