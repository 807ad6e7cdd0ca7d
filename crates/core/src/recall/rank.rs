//! How well each unit answers a query.

use super::index::Index;
use super::lexer::{Term, terms};
use std::collections::HashMap;

/// How fast further mentions of a word lose weight.
const SATURATION: f32 = 1.2;
/// What a mention counts one and two units away: words that belong together are seldom in one line.
const NEARBY: [f32; 2] = [0.5, 0.25];
/// What it counts in the message before or after.
const ACROSS: f32 = 0.2;
/// What a word counts that the call of a result mentions: its path, its command.
const CONTEXT: f32 = 0.1;
/// Words in more than a quarter of all units say nothing beside others that are not.
const COMMON: f32 = 0.25;
/// In a short session every word is in a good part of it.
const FEW: usize = 12;
/// Rare words count for more than their share: in a session of one subject, they are what tells places apart.
const RARITY: f32 = 1.75;
/// A query longer than this is running text rather than chosen words.
const RUNNING_TEXT: usize = 200;
/// How much more its end counts than its beginning: what is wanted belongs to what was said last.
const LATENESS: f32 = 4.0;

/// The words of a query, each with its weight.
#[derive(Debug, Default)]
pub(super) struct Words(Vec<(Term, f32)>);

impl Words {
    pub(super) fn of(query: &str) -> Self {
        let mut weights: HashMap<Term, f32> = HashMap::new();
        let total = query.len().max(1);
        let mut at = 0;
        for line in pieces(query) {
            let middle = (at + line.len() / 2) as f32 / total as f32;
            let weight = match total > RUNNING_TEXT {
                true => (1.0 + LATENESS * middle) / (1.0 + LATENESS),
                false => 1.0,
            };
            terms(line, |term| *weights.entry(term).or_default() += weight);
            at += line.len();
        }
        let mut words: Vec<(Term, f32)> = weights.into_iter().collect();
        words.sort_unstable_by_key(|(term, _)| *term);
        for (_, weight) in &mut words {
            *weight = 2.0 * *weight / (*weight + 1.0);
        }
        Self(words)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn has(&self, term: Term) -> bool {
        self.place(term).is_some()
    }

    fn place(&self, term: Term) -> Option<usize> {
        self.0.binary_search_by_key(&term, |(term, _)| *term).ok()
    }
}

/// A query in pieces of some hundred bytes, cut at blanks.
fn pieces(query: &str) -> impl Iterator<Item = &str> {
    let mut rest = query;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let enough = rest.floor_char_boundary(100);
        let cut = rest[enough..].find(char::is_whitespace).map_or(rest.len(), |at| enough + at);
        let (piece, after) = rest.split_at(cut);
        rest = after;
        Some(piece)
    })
}

/// Which terms are looked for, by their lowest bits: most terms of a session are passed over by one look.
pub(super) struct Sieve(Box<[u64; 1024]>);

impl Sieve {
    pub(super) fn of(terms: impl Iterator<Item = Term>) -> Self {
        let mut bits = Box::new([0; 1024]);
        for term in terms {
            bits[term.0 as usize >> 6 & 1023] |= 1 << (term.0 & 63);
        }
        Self(bits)
    }

    pub(super) fn may_hold(&self, term: Term) -> bool {
        self.0[term.0 as usize >> 6 & 1023] >> (term.0 & 63) & 1 == 1
    }
}

/// How rare a term is that `holders` of `all` units hold.
pub(super) fn rarity(holders: usize, all: usize) -> f32 {
    let (holders, all) = (holders as f32, all as f32);
    (1.0 + (all - holders + 0.5) / (holders + 0.5)).ln().powf(RARITY)
}

/// The score of every unit.
pub(super) fn rank(index: &Index, words: &Words) -> Vec<f32> {
    let all = index.units.len();
    let mut scores = vec![0.0; all];
    let mut near = vec![0.0f32; all];
    let mut touched: Vec<usize> = Vec::new();
    let mut weights: Vec<f32> = vec![0.0; words.0.len()];
    let mentions = mentions(index, words);
    let common = ((all as f32 * COMMON) as usize).max(FEW);
    let telling = |holders: usize| holders > 0 && holders <= common;
    let any_telling = mentions.iter().any(|mentions| telling(mentions.len()));
    for (at, mentions) in mentions.into_iter().enumerate() {
        if any_telling && !telling(mentions.len()) {
            continue;
        }
        let rarity = rarity(mentions.len(), all);
        weights[at] = rarity;
        for &(unit, count) in &mentions {
            spread(index, unit as usize, f32::from(count.min(3)), |place, share| {
                if near[place] == 0.0 {
                    touched.push(place);
                }
                near[place] += share;
            });
        }
        for place in touched.drain(..) {
            let count = std::mem::take(&mut near[place]);
            scores[place] += words.0[at].1 * rarity * count * (SATURATION + 1.0) / (count + SATURATION);
        }
    }
    add_contexts(index, words, &weights, &mut scores);
    scores
}

/// For each word, the units that mention it and how often.
fn mentions(index: &Index, words: &Words) -> Vec<Vec<(u32, u8)>> {
    let sieve = Sieve::of(words.0.iter().map(|(term, _)| *term));
    let mut mentions: Vec<Vec<(u32, u8)>> = vec![Vec::new(); words.0.len()];
    let mut from = 0;
    for (unit, bounds) in index.units.iter().enumerate() {
        let to = bounds.terms_end as usize;
        for &term in index.terms[from..to].iter().filter(|term| sieve.may_hold(**term)) {
            let Some(at) = words.place(term) else { continue };
            match mentions[at].last_mut() {
                Some((last, count)) if *last == unit as u32 => *count = count.saturating_add(1),
                Some(_) | None => mentions[at].push((unit as u32, 1)),
            }
        }
        from = to;
    }
    mentions
}

/// A mention counts in its unit, and less around it.
fn spread(index: &Index, unit: usize, count: f32, mut add: impl FnMut(usize, f32)) {
    add(unit, count);
    let home = index.units[unit].piece;
    for (away, share) in (1..).zip(NEARBY) {
        for place in [unit.checked_sub(away), Some(unit + away)].into_iter().flatten() {
            let Some(there) = index.units.get(place).map(|unit| unit.piece) else { continue };
            match there.abs_diff(home) {
                0 => add(place, count * share),
                1 | 2 => add(place, count * share * ACROSS),
                _ => {}
            }
        }
    }
}

/// Results are also about what their call mentions.
fn add_contexts(index: &Index, words: &Words, weights: &[f32], scores: &mut [f32]) {
    let mut last = (u32::MAX, 0.0);
    for (unit, score) in index.units.iter().zip(scores) {
        if last.0 != unit.piece {
            let mut met: Vec<usize> =
                index.context(unit.piece).iter().filter_map(|term| words.place(*term)).collect();
            met.sort_unstable();
            met.dedup();
            last = (unit.piece, met.into_iter().map(|at| weights[at]).sum());
        }
        *score += CONTEXT * last.1;
    }
}
