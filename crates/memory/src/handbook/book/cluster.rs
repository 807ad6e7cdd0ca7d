//! Items that say the same, found without comparing each with each; and those that say the opposite.

use super::item::{Item, codes};
use crate::handbook::FindingKind;
use crate::topics::prints::Band;
use std::collections::HashMap;

/// Of clusters that share a probe with an item, so many are looked at: those nearest in time.
const NEIGHBOURS: usize = 32;
/// Clusters that an item is compared with: those that share most probes with it. So the work grows with the items, and no faster.
pub const MOST_COMPARED: usize = 48;
/// Statements with fewer words of subject than this say the same if they have the same words.
const FEWEST: usize = 4;

/// What a consolidation took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// Statements that were given: findings, and parts of notes.
    pub statements: usize,
    /// Pairs of them that were compared.
    pub comparisons: u64,
    /// Statements that came of it, before the bounds.
    pub entries: usize,
}

/// Items that say the same, the newest first.
pub(super) struct Cluster {
    pub(super) items: Vec<Item>,
    /// The newer cluster that says the opposite.
    pub(super) opposed_by: Option<usize>,
}

impl Cluster {
    /// The newest: others are compared with it.
    fn leader(&self) -> Option<&Item> {
        self.items.first()
    }
}

/// Where a cluster may be found.
#[derive(PartialEq, Eq, Hash)]
enum Probe {
    /// The same words.
    Words(String),
    /// The same commands.
    Codes(Vec<String>),
    /// The same few words of subject.
    Subject(Vec<u64>),
    /// Words in common.
    Band(Band),
    /// A pair of opposite words.
    Pair(u64),
}

enum Relation {
    /// They say the same, so surely.
    Same(f64),
    Opposed,
    Other,
}

/// Clusters of items that are sorted newest first: clusters come in the order of their newest item.
pub(super) fn clusters(items: Vec<Item>, effort: &mut Effort) -> Vec<Cluster> {
    let mut clusters: Vec<Cluster> = Vec::new();
    let mut places: HashMap<(FindingKind, Probe), Vec<usize>> = HashMap::new();
    for item in items {
        let probes = probes(&item);
        let near = near(&probes, &places);
        let mut best: Option<(f64, usize)> = None;
        let mut opposed_by = None;
        for at in near {
            let Some(leader) = clusters[at].leader() else { continue };
            effort.comparisons += 1;
            match relation(&item, leader) {
                Relation::Same(how) if best.is_none_or(|(most, _)| how > most) => best = Some((how, at)),
                Relation::Opposed if opposed_by.is_none() => opposed_by = Some(at),
                Relation::Same(_) | Relation::Opposed | Relation::Other => {}
            }
        }
        match best {
            Some((_, at)) => clusters[at].items.push(item),
            None => {
                for probe in probes {
                    places.entry(probe).or_default().push(clusters.len());
                }
                clusters.push(Cluster { items: vec![item], opposed_by });
            }
        }
    }
    clusters
}

/// The clusters that may be alike, or opposed: those that share most come first; of two, the one nearest in time.
fn near(probes: &[(FindingKind, Probe)], places: &HashMap<(FindingKind, Probe), Vec<usize>>) -> Vec<usize> {
    let mut shared: HashMap<usize, usize> = HashMap::new();
    for found in probes.iter().filter_map(|probe| places.get(probe)) {
        for at in found.iter().rev().take(NEIGHBOURS) {
            *shared.entry(*at).or_default() += 1;
        }
    }
    let mut near: Vec<(usize, usize)> = shared.into_iter().map(|(at, count)| (count, at)).collect();
    near.sort_unstable_by(|a, b| b.cmp(a));
    near.into_iter().take(MOST_COMPARED).map(|(_, at)| at).collect()
}

fn probes(item: &Item) -> Vec<(FindingKind, Probe)> {
    let mut probes = vec![Probe::Words(item.plain.clone())];
    if item.kind == FindingKind::Procedure && !item.codes.is_empty() {
        probes.push(Probe::Codes(item.codes.clone()));
    }
    for statement in std::iter::once(&item.statement).chain(&item.clauses) {
        let subject = &statement.subject;
        if subject.0.len() >= FEWEST {
            probes.extend(subject.bands().map(Probe::Band));
        } else if !subject.0.is_empty() {
            probes.push(Probe::Subject(subject.0.clone()));
        }
        probes.extend(statement.pair_probes().into_iter().map(Probe::Pair));
    }
    probes.into_iter().map(|probe| (item.kind, probe)).collect()
}

/// The share of words at which statements of a kind say the same.
fn alike(kind: FindingKind) -> f64 {
    match kind {
        FindingKind::Preference | FindingKind::Procedure | FindingKind::Pitfall => 0.7,
        FindingKind::Environment => 0.8,
        // What was asked twice in much the same words was mostly two things.
        FindingKind::Task => 0.9,
    }
}

fn relation(older: &Item, newer: &Item) -> Relation {
    let (a, b) = (&older.statement, &newer.statement);
    if older.plain == newer.plain {
        return Relation::Same(2.0);
    }
    if older.kind == FindingKind::Procedure && !older.codes.is_empty() && older.codes == newer.codes {
        return Relation::Same(1.5);
    }
    let may_oppose = may_oppose(older, newer);
    if may_oppose && a.opposes(b).is_some() {
        return Relation::Opposed;
    }
    let overlap = a.subject.jaccard(&b.subject);
    let agrees = a.is_negated == b.is_negated && has_same_names(older, newer);
    let is_long = a.subject.0.len() >= FEWEST && b.subject.0.len() >= FEWEST;
    let enough = if is_long { alike(older.kind) } else { 1.0 };
    if agrees && overlap >= enough {
        Relation::Same(overlap)
    } else if may_oppose && is_denied(older, newer) {
        Relation::Opposed
    } else {
        Relation::Other
    }
}

/// Whether two items name the same figures and code. What went wrong is the same with other counts and line numbers, whatever was
/// changed to put it right.
fn has_same_names(older: &Item, newer: &Item) -> bool {
    if older.kind != FindingKind::Pitfall {
        return older.statement.figures == newer.statement.figures && older.codes == newer.codes;
    }
    let named = |item: &Item| -> Vec<String> {
        let figures = item.statement.figures.iter();
        figures.filter(|figure| figure.contains(char::is_alphabetic)).cloned().collect()
    };
    let wrong = |item: &Item| codes(item.text.split(" — ").next().unwrap_or_default());
    named(older) == named(newer) && wrong(older) == wrong(newer)
}

/// Whether a clause of what is newer denies what is older. Of an older one with several clauses not all would be denied, so it stays.
fn is_denied(older: &Item, newer: &Item) -> bool {
    older.clauses.is_empty() && newer.clauses.iter().any(|clause| older.statement.opposes(clause).is_some())
}

/// Whether two statements could deny each other: said of how things are to be done, at different times.
fn may_oppose(older: &Item, newer: &Item) -> bool {
    let is_rule = match older.kind {
        FindingKind::Preference => true,
        // Other commands are another procedure.
        FindingKind::Procedure => older.codes == newer.codes,
        FindingKind::Pitfall | FindingKind::Environment | FindingKind::Task => false,
    };
    is_rule && !older.keys.iter().any(|key| newer.keys.contains(key))
}
