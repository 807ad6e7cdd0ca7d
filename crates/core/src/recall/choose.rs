//! Which units make an answer: the best ones that tell something new.

use super::index::Index;
use super::lexer::Term;
use super::rank::{Sieve, Words, rank, rarity};
use super::visible::{Visible, print};
use crate::MessageId;
use std::collections::hash_map::Entry;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::ops::Range;

/// Units that are looked at closely.
const POOL: usize = 400;
/// Of the same text in two places, the newer one is taken if it matches this well, compared with the older one.
const SAME_MATCH: f32 = 0.75;
/// What a plain word counts beside an identifier or a path, as news.
const PLAIN: f32 = 0.25;
/// What a term counts as news that the view shows somewhere.
const KNOWN: f32 = 0.1;
/// How much a better match counts, against news for its length.
const MATCH: f32 = 2.0;
/// The other side.
const NEWS: f32 = 0.6;

/// What a search is to bring.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Bytes of text, with what naming the places costs.
    pub bytes: usize,
    /// What the model sees already.
    pub visible: Option<&'a Visible>,
}

impl Default for Wanted<'_> {
    fn default() -> Self {
        Self { bytes: 6_000, visible: None }
    }
}

/// Bytes that naming a message costs in an answer.
pub(super) const NAMING: usize = 40;
/// Bytes that naming one more place in it costs.
pub(super) const PLACING: usize = 6;

/// A place that was found: consecutive lines of one block.
#[derive(Clone, Debug, PartialEq)]
pub struct Passage {
    /// The message.
    pub message: MessageId,
    /// Which of its blocks, counting from zero.
    pub block: usize,
    /// Bytes of the block's text.
    pub range: Range<usize>,
    /// How well it matches; comparable within one search only.
    pub score: f32,
}

impl Index {
    /// The places that answer a query best, best first.
    ///
    /// Chosen are units that match *and* tell something: what repeats another place, the query, or what the view
    /// shows already gives way to what is new. Together they take at most `wanted.bytes`.
    pub fn search(&self, query: &str, wanted: &Wanted<'_>) -> Vec<Passage> {
        self.look(query, wanted.visible).map_or_else(Vec::new, |look| look.passages(wanted.bytes))
    }

    /// Everything that does not depend on how much is wanted; `None` if nothing matches.
    pub(super) fn look(&self, query: &str, visible: Option<&Visible>) -> Option<Look<'_>> {
        let words = Words::of(query);
        if words.is_empty() || self.units.is_empty() {
            return None;
        }
        let scores = rank(self, &words);
        let pool = self.pool(&scores, visible);
        if pool.is_empty() {
            return None;
        }
        let chooser = Chooser::new(self, &scores, &pool, &Known { words: &words, visible });
        Some(Look { index: self, chooser, scores })
    }

    /// The units with the best scores, each text once: of those that say the same and match about as well, the newest.
    fn pool(&self, scores: &[f32], visible: Option<&Visible>) -> Vec<u32> {
        let score = |unit: u32| scores[unit as usize];
        let mut order: Vec<u32> = (0..scores.len() as u32).filter(|&unit| score(unit) > 0.0).collect();
        let better = |a: &u32, b: &u32| score(*b).total_cmp(&score(*a)).then(b.cmp(a));
        // Many may be seen already or the same: look at more than are wanted, but do not sort all.
        if order.len() > POOL * 8 {
            order.select_nth_unstable_by(POOL * 8, better);
            order.truncate(POOL * 8);
        }
        order.sort_unstable_by(better);
        let mut pool: Vec<u32> = Vec::with_capacity(POOL);
        let mut places: HashMap<u64, usize> = HashMap::new();
        for unit in order {
            let terms = self.terms_of(unit);
            if visible.is_some_and(|visible| visible.shows(terms)) {
                continue;
            }
            match places.entry(print(terms)) {
                Entry::Occupied(place) => {
                    let known = &mut pool[*place.get()];
                    if unit > *known && score(unit) > score(*known) * SAME_MATCH {
                        *known = unit;
                    }
                }
                Entry::Vacant(place) if pool.len() < POOL => {
                    place.insert(pool.len());
                    pool.push(unit);
                }
                Entry::Vacant(_) => {}
            }
        }
        pool
    }

    /// Joins chosen units that follow each other, and orders what comes out by its best unit.
    fn passages(&self, mut chosen: Vec<u32>, scores: &[f32]) -> Vec<Passage> {
        chosen.sort_unstable();
        let mut passages: Vec<(u32, Passage)> = Vec::new();
        for unit in chosen {
            let at = &self.units[unit as usize];
            let range = at.start as usize..at.end as usize;
            let score = scores[unit as usize];
            match passages.last_mut() {
                Some((last, passage))
                    if *last + 1 == unit && self.units[*last as usize].piece == at.piece =>
                {
                    *last = unit;
                    passage.range.end = range.end;
                    passage.score = passage.score.max(score);
                }
                Some(_) | None => {
                    let block = self.piece_of(unit).block as usize;
                    passages.push((
                        unit,
                        Passage { message: self.message_of(unit).clone(), block, range, score },
                    ));
                }
            }
        }
        passages.sort_by(|(_, a), (_, b)| b.score.total_cmp(&a.score));
        passages.into_iter().map(|(_, passage)| passage).collect()
    }
}

/// A search that can be asked for more or less.
pub(super) struct Look<'a> {
    index: &'a Index,
    chooser: Chooser<'a>,
    scores: Vec<f32>,
}

impl Look<'_> {
    /// The best places that take at most so many bytes together, best first.
    pub(super) fn passages(&self, bytes: usize) -> Vec<Passage> {
        self.index.passages(self.chooser.clone().choose(bytes), &self.scores)
    }
}

/// What is no news.
struct Known<'a> {
    words: &'a Words,
    visible: Option<&'a Visible>,
}

#[derive(Clone)]
struct Chooser<'a> {
    index: &'a Index,
    pool: Vec<Candidate>,
    news: HashMap<Term, f32>,
}

#[derive(Clone)]
struct Candidate {
    unit: u32,
    /// How well it matches, from 0 to 1.
    fit: f32,
    length: usize,
}

impl<'a> Chooser<'a> {
    fn new(index: &'a Index, scores: &[f32], pool: &[u32], known: &Known<'_>) -> Self {
        let best = pool.first().map_or(1.0, |&unit| scores[unit as usize]);
        let candidate = |&unit: &u32| {
            let bounds = &index.units[unit as usize];
            Candidate {
                unit,
                fit: scores[unit as usize] / best,
                length: (bounds.end - bounds.start) as usize,
            }
        };
        let mut news = holders(index, pool);
        for (term, weight) in &mut news {
            let seen = known.visible.is_some_and(|visible| visible.knows(*term));
            // What was asked with is no news.
            *weight = match known.words.has(*term) {
                true => 0.0,
                false => {
                    rarity(*weight as usize, index.units.len())
                        * if term.is_name() { 1.0 } else { PLAIN }
                        * if seen { KNOWN } else { 1.0 }
                }
            };
        }
        Self { index, pool: pool.iter().map(candidate).collect(), news }
    }

    /// Greedy: the best unit for its length, given what the ones before it told. A unit's news only gets less, so one
    /// that is still best when looked at again is best of all.
    fn choose(mut self, bytes: usize) -> Vec<u32> {
        let mut queue: BinaryHeap<Ranked> =
            (0..self.pool.len()).map(|at| Ranked { gain: self.gain(at), at, round: 0 }).collect();
        let mut chosen: HashSet<u32> = HashSet::new();
        let mut named: HashSet<u32> = HashSet::new();
        let (mut used, mut round) = (0, 0);
        while let Some(next) = queue.pop() {
            if next.round != round {
                queue.push(Ranked { gain: self.gain(next.at), round, ..next });
                continue;
            }
            let Candidate { unit, length, .. } = self.pool[next.at];
            let piece = self.index.units[unit as usize].piece;
            let beside =
                chosen.contains(&(unit + 1)) || unit.checked_sub(1).is_some_and(|u| chosen.contains(&u));
            let cost = length
                + match (named.contains(&piece), beside) {
                    (true, true) => 0,
                    (true, false) => PLACING,
                    (false, _) => NAMING,
                };
            if used + cost > bytes {
                continue;
            }
            used += cost;
            round += 1;
            named.insert(piece);
            chosen.insert(unit);
            for term in self.index.terms_of(unit) {
                if let Some(weight) = self.news.get_mut(term) {
                    *weight = 0.0;
                }
            }
        }
        chosen.into_iter().collect()
    }

    fn gain(&self, at: usize) -> f32 {
        let Candidate { unit, fit, length } = self.pool[at];
        let mut told: Vec<Term> = self.index.terms_of(unit).to_vec();
        told.sort_unstable();
        told.dedup();
        let news: f32 = told.iter().filter_map(|term| self.news.get(term)).sum();
        fit.powf(MATCH) * ((news + 1.0) / (length + 40) as f32).powf(NEWS)
    }
}

/// How many units of the whole session hold each term of the pool.
fn holders(index: &Index, pool: &[u32]) -> HashMap<Term, f32> {
    let mut holders: HashMap<Term, (f32, u32)> = HashMap::new();
    for &unit in pool {
        holders.extend(index.terms_of(unit).iter().map(|&term| (term, (0.0, u32::MAX))));
    }
    let sieve = Sieve::of(holders.keys().copied());
    let mut from = 0;
    for (unit, bounds) in index.units.iter().enumerate() {
        let to = bounds.terms_end as usize;
        for term in index.terms[from..to].iter().filter(|term| sieve.may_hold(**term)) {
            if let Some((count, last)) = holders.get_mut(term)
                && *last != unit as u32
            {
                (*count, *last) = (*count + 1.0, unit as u32);
            }
        }
        from = to;
    }
    holders.into_iter().map(|(term, (count, _))| (term, count)).collect()
}

#[derive(PartialEq)]
struct Ranked {
    gain: f32,
    at: usize,
    round: u32,
}

impl Eq for Ranked {}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.gain.total_cmp(&other.gain).then(other.at.cmp(&self.at))
    }
}
