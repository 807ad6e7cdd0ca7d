//! The findings of many sessions as one book, without a model.

use super::cluster::{Cluster, Effort, clusters};
use super::entry::{Entry, MOST_EVIDENCE, MOST_KEYWORDS, MOST_TEXT, Wording, cut};
use super::fold::folded;
use super::grounds::Grounds;
use super::item::{Item, gather};
use super::keep::Kept;
use super::rank::{Worth, fitted};
use super::{Book, Material, global};
use crate::handbook::{Basis, EvidenceKey, FindingKind, Scope};
use crate::recall::terms;
use crate::topics::sentences::key;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use throughline_core::SessionId;

/// A statement that code worded, with all that it was made of.
pub(super) struct Draft {
    pub(super) entry: Entry,
    /// All places, the newest first; the entry names some.
    pub(super) keys: Vec<(Timestamp, EvidenceKey, Option<SessionId>)>,
    pub(super) worth: Worth,
    /// Every wording that was at hand.
    pub(super) wordings: Vec<String>,
    /// Whether it tells what held before, too.
    pub(super) is_amended: bool,
}

/// Makes a book of what sessions taught and people noted. The same material gives the same book, in whatever order it is given;
/// every statement names evidence of the material; nothing of another project is in it.
pub fn consolidate(material: &Material<'_>) -> Book {
    consolidate_with_effort(material).0
}

/// The same, and what it took.
pub fn consolidate_with_effort(material: &Material<'_>) -> (Book, Effort) {
    let Drafted { drafts, grounds, updated, effort } = drafted(material);
    let used: BTreeMap<&SessionId, u64> =
        material.outputs.iter().map(|output| (&output.source.session, output.used)).collect();
    let kept = Kept::of(material.before, drafts, &grounds, &used);
    let mut book = Book::new(material.scope.clone(), updated, fitted(kept.ranked), grounds);
    book.grounds.removed = kept.removed;
    book.loose = material.before.map(|before| before.loose.clone()).unwrap_or_default();
    (book, effort)
}

/// All evidence that a book of this material may name, for whoever else writes it: a model's text is read over it with
/// [`Book::parse_over`]. Of the global book that is only what holds everywhere.
pub fn evidence_of(material: &Material<'_>) -> Grounds {
    let mut grounds = drafted(material).grounds;
    if let Some(before) = material.before {
        grounds.written.clone_from(&before.grounds.written);
        grounds.removed.clone_from(&before.grounds.removed);
    }
    grounds
}

struct Drafted {
    drafts: Vec<Draft>,
    grounds: Grounds,
    updated: Option<Timestamp>,
    effort: Effort,
}

fn drafted(material: &Material<'_>) -> Drafted {
    let (items, mut grounds) = gather(material);
    let mut effort = Effort { statements: items.len(), ..Effort::default() };
    let drafts = match material.scope {
        Scope::Global => {
            let drafts = drafts(global::promoted(items, material.outputs, &mut effort), material.scope);
            // What one project alone bears out is not even evidence here.
            grounds.retain(
                &drafts.iter().flat_map(|draft| draft.keys.iter().map(|(_, key, _)| key.clone())).collect(),
            );
            drafts
        }
        Scope::Project(_) => drafts(clusters(items, &mut effort), material.scope),
    };
    effort.entries = drafts.len();
    let updated = drafts.iter().map(|draft| draft.worth.last).max();
    Drafted { drafts, grounds, updated, effort }
}

/// A draft of each cluster that stands; those that it took the place of are told in it.
fn drafts(clusters: Vec<Cluster>, scope: &Scope) -> Vec<Draft> {
    let stands: Vec<usize> = (0..clusters.len())
        .map(|mut at| {
            // Clusters are opposed by newer ones only, so this ends.
            while let Some(newer) = clusters[at].opposed_by {
                at = newer;
            }
            at
        })
        .collect();
    let mut former: BTreeMap<usize, &Cluster> = BTreeMap::new();
    let is_told = |cluster: &Cluster| *scope != Scope::Global || global::is_borne_out(&cluster.items);
    let opposed = clusters.iter().enumerate().filter(|(at, cluster)| stands[*at] != *at && is_told(cluster));
    for (at, cluster) in opposed {
        // The newest of those that were opposed: it is what held just before.
        former.entry(stands[at]).or_insert(cluster);
    }
    let standing = clusters.iter().enumerate().filter(|(at, cluster)| stands[*at] == *at && is_told(cluster));
    folded(standing.filter_map(|(at, cluster)| draft(cluster, former.get(&at).copied(), scope)).collect())
}

fn draft(cluster: &Cluster, former: Option<&Cluster>, scope: &Scope) -> Option<Draft> {
    let best = best(&cluster.items)?;
    let mut entry = Entry::new(best.kind, &best.text);
    entry.wording = Wording::Ours;
    entry.basis = best.basis;
    entry.outcome = best.outcome;
    entry.noted = cluster.items.iter().any(|item| item.noted);
    let said_of = former.and_then(|former| former.items.first());
    if let Some(old) = said_of {
        // The day on which it was first said otherwise.
        let since = cluster.items.iter().map(|item| item.at).filter(|at| *at > old.at).min();
        let until = since.unwrap_or(best.at).to_zoned(TimeZone::UTC).date();
        entry.text = cut(&format!("{} (before {until}: {})", entry.text, old.text), MOST_TEXT);
    }
    let quotes = std::iter::once(best).chain(&cluster.items).filter_map(|item| item.quote.as_ref());
    let plain = key(&entry.text);
    entry.quote = quotes.into_iter().next().filter(|quote| !plain.contains(&key(quote))).cloned();
    entry.keywords = keywords(&cluster.items, &entry, scope);
    let items = || cluster.items.iter().chain(said_of);
    let mut keys: Vec<(Timestamp, EvidenceKey, Option<SessionId>)> = Vec::new();
    let mut seen = BTreeSet::new();
    for item in items() {
        for key in item.keys.iter().filter(|key| seen.insert((*key).clone())) {
            keys.push((item.at, key.clone(), item.session.clone()));
        }
    }
    entry.evidence = named(&keys);
    let sessions: BTreeMap<&SessionId, u64> =
        cluster.items.iter().filter_map(|item| Some((item.session.as_ref()?, item.used))).collect();
    entry.support = sessions.len();
    let last = cluster.items.iter().map(|item| item.at).max()?;
    let worth = Worth { support: sessions.len(), used: sessions.values().sum(), last };
    let wordings = items().map(|item| item.text.clone()).collect();
    Some(Draft { entry, keys, worth, wordings, is_amended: said_of.is_some() })
}

/// The item whose words are told: a note's; the newest of a preference or a task; else the one that says most.
fn best(items: &[Item]) -> Option<&Item> {
    if let Some(note) = items.iter().find(|item| item.noted) {
        return Some(note);
    }
    let standing = |item: &Item| match item.basis {
        Basis::Said => 0,
        Basis::Observed => 1,
        Basis::Concluded => 2,
    };
    let first = items.first()?;
    match first.kind {
        FindingKind::Preference | FindingKind::Task => Some(first),
        FindingKind::Procedure | FindingKind::Pitfall | FindingKind::Environment => {
            items.iter().min_by_key(|item| (standing(item), Reverse(told(item)), item.text.len()))
        }
    }
}

/// How many words an item says of its code.
fn told(item: &Item) -> usize {
    item.text.split('`').step_by(2).map(|prose| prose.split_whitespace().count()).sum()
}

/// The words that most of the items name, and that are not in the statement anyway.
fn keywords(items: &[Item], entry: &Entry, scope: &Scope) -> Vec<String> {
    let mut counts: BTreeMap<String, (usize, usize, &str)> = BTreeMap::new();
    for word in items.iter().flat_map(|item| &item.keywords) {
        let next = counts.len();
        counts.entry(word.to_lowercase()).or_insert((0, next, word)).0 += 1;
    }
    let said = format!("{} {}", entry.text, entry.quote.as_deref().unwrap_or_default()).to_lowercase();
    let mut words: Vec<_> = counts.into_iter().filter(|(lower, _)| !said.contains(lower.as_str())).collect();
    words.sort_by_key(|(_, (count, first, _))| (Reverse(*count), *first));
    let words = words.into_iter().map(|(_, (_, _, word))| word.to_owned());
    // Words that every text has lead nowhere.
    let words = words.filter(|word| !terms(word).is_empty());
    words.filter(|word| *scope != Scope::Global || global::is_keyword(word)).take(MOST_KEYWORDS).collect()
}

/// The places that are named: the newest of each session and the oldest of all, then more of the newest. Newest first.
pub(super) fn named(keys: &[(Timestamp, EvidenceKey, Option<SessionId>)]) -> Vec<EvidenceKey> {
    let mut seen = BTreeSet::new();
    let (mut firsts, further): (Vec<usize>, Vec<usize>) =
        (0..keys.len()).partition(|at| keys[*at].2.as_ref().is_none_or(|session| seen.insert(session)));
    if firsts.len() > MOST_EVIDENCE {
        let oldest = firsts.split_off(firsts.len() - 1);
        firsts.truncate(MOST_EVIDENCE - 1);
        firsts.extend(oldest);
    }
    firsts.extend(further.into_iter().take(MOST_EVIDENCE.saturating_sub(firsts.len()).min(MOST_FURTHER)));
    firsts.sort_unstable();
    firsts.into_iter().map(|at| keys[at].1.clone()).collect()
}

/// Places of one session that are named besides its first.
const MOST_FURTHER: usize = 2;
