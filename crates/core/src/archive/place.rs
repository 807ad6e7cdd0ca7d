//! Which strings stand in which lines, at a price.

use super::hash::BuildMix;
use super::pool::{Block, Candidate, Known, Pool, is_worthy};
use super::{Archive, Mark};
use crate::entity::Kind;
use std::collections::HashSet;
use std::ops::Range;

/// Bytes within which two strings of a block stand together.
pub(super) const WINDOW: usize = 370;
/// What it adds that two strings stand together, next to what each is worth: where they were written so, and where a
/// tool gave them so.
pub(super) const WRITTEN_BOND: f64 = 0.18;
pub(super) const GIVEN_BOND: f64 = 0.1;
/// How many bonds a string may hope for: without a limit every string would have to be looked at.
pub(super) const MOST_BONDS: f64 = 6.0;
/// How much of that counts while the other string is not chosen yet.
const EXPECTED: f64 = 0.7;
/// A string that stands elsewhere already must be worth more to stand here too.
const AGAIN: f64 = 1.55;
/// See [`Placer::weight`].
pub(super) const PATH_WEIGHT: f64 = 1.4;
/// Neighbours on either side that count.
const NEIGHBOURS: usize = 12;

/// The strings chosen from all blocks.
#[derive(Default)]
pub(super) struct Lines {
    lines: Vec<(usize, Range<usize>)>,
    marks: Vec<Mark>,
    /// By mark.
    values: Vec<Value>,
}

/// What a chosen string is worth for each byte, and its bytes.
#[derive(Clone, Copy)]
struct Value {
    rate: f64,
    length: f64,
}

impl Lines {
    /// Blocks in the order of the work, each with its strings in their order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &[Mark])> {
        self.lines.iter().map(|(item, marks)| (*item, &self.marks[marks.clone()]))
    }

    /// The strings from the one that is worth least to the one that is worth most; of two alike the older one first.
    pub(super) fn by_worth(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.marks.len()).collect();
        order.sort_unstable_by(|a, b| {
            self.values[*a].rate.total_cmp(&self.values[*b].rate).then_with(|| a.cmp(b))
        });
        order
    }

    /// The same without those that come first in `order`, so that about this share of the bytes stays.
    pub(super) fn best(&self, order: &[usize], share: f64) -> Self {
        let mut surplus = self.values.iter().map(|value| value.length).sum::<f64>() * (1.0 - share);
        let mut stays = vec![true; self.marks.len()];
        for at in order {
            surplus -= self.values[*at].length;
            if surplus < 0.0 {
                break;
            }
            stays[*at] = false;
        }
        let mut best = Self::default();
        for (item, marks) in &self.lines {
            let first = best.marks.len();
            best.marks.extend(marks.clone().filter(|at| stays[*at]).map(|at| self.marks[at]));
            if best.marks.len() > first {
                best.lines.push((*item, first..best.marks.len()));
            }
        }
        best
    }
}

/// Places strings, once for each price that is tried.
pub(super) struct Placer<'a> {
    archive: &'a Archive,
    /// By name: it stands somewhere.
    placed: Vec<bool>,
    /// By name: it was chosen itself, so that it may stand with others.
    chosen: Vec<bool>,
    together: HashSet<u64, BuildMix>,
    /// Scratch: the candidates of a block that can be worth the price, those chosen, and new neighbours of one.
    worthy: Vec<Candidate>,
    here: Vec<Candidate>,
    joined: Vec<u32>,
    lines: Lines,
}

impl<'a> Placer<'a> {
    pub(super) fn new(archive: &'a Archive) -> Self {
        Self {
            archive,
            placed: Vec::new(),
            chosen: Vec::new(),
            together: HashSet::default(),
            worthy: Vec::new(),
            here: Vec::new(),
            joined: Vec::new(),
            lines: Lines::default(),
        }
    }

    /// Chooses strings whose worth is at least `price` for each byte: what a string is worth by itself where it stands
    /// nowhere yet, and what it adds by standing next to others that it stood with.
    pub(super) fn place(&mut self, known: &Known<'_>, pool: &Pool, price: f64) -> &Lines {
        self.placed.clone_from(&known.is_said);
        self.chosen.clear();
        self.chosen.resize(self.placed.len(), false);
        self.together.clear();
        self.lines.lines.clear();
        self.lines.marks.clear();
        self.lines.values.clear();
        for block in &pool.blocks {
            self.worthy.clear();
            let all = &pool.candidates[block.candidates.clone()];
            self.worthy
                .extend(all.iter().filter(|one| is_worthy(one.chance, block.bond, price * one.length)));
            self.block(known, block, price);
        }
        self.lines.lines.sort_unstable_by_key(|(item, _)| *item);
        &self.lines
    }

    fn block(&mut self, known: &Known<'_>, block: &Block, price: f64) {
        let bond = block.bond;
        self.here.clear();
        for (i, one) in self.worthy.iter().enumerate() {
            let name = one.mark.name;
            let before = || self.here.iter().rev().take_while(|other| is_near(one, other)).take(NEIGHBOURS);
            if before().any(|other| other.mark.name == name || known.parts(other).contains(&name)) {
                continue;
            }
            let cost = self.again(name) * (price * one.length);
            let mut worth = self.own_worth(known, one);
            // Most strings stand elsewhere already: they are not looked at closely unless their company can be worth it.
            if worth + MOST_BONDS * bond * one.chance < cost {
                continue;
            }
            self.joined.clear();
            for other in before() {
                // Two strings can stand together only where each was chosen.
                let is_new =
                    !self.chosen[name as usize] || !self.together.contains(&key(name, other.mark.name));
                if is_new {
                    self.joined.push(other.mark.name);
                    worth += bond * one.chance.min(other.chance);
                }
            }
            let behind = self.worthy[i + 1..].iter().take_while(|other| is_near(one, other)).take(NEIGHBOURS);
            for other in behind {
                // What is placed nowhere stands together with nothing.
                let is_expected = other.mark.name != name
                    && !self.placed[other.mark.name as usize]
                    && other.chance >= price * other.length;
                if is_expected {
                    worth += bond * EXPECTED * one.chance.min(other.chance);
                }
            }
            if worth < cost {
                continue;
            }
            self.placed[name as usize] = true;
            self.chosen[name as usize] = true;
            for part in known.parts(one) {
                self.placed[*part as usize] = true;
            }
            self.together.extend(self.joined.iter().map(|other| key(name, *other)));
            self.here.push(*one);
            self.lines.values.push(Value { rate: worth / cost, length: one.length });
        }
        if !self.here.is_empty() {
            let first = self.lines.marks.len();
            self.lines.marks.extend(self.here.iter().map(|one| one.mark));
            self.lines.lines.push((block.item, first..self.lines.marks.len()));
        }
    }

    /// What a string and the strings within it are worth where they stand nowhere yet.
    fn own_worth(&self, known: &Known<'_>, one: &Candidate) -> f64 {
        std::iter::once(&one.mark.name)
            .chain(known.parts(one))
            .filter(|name| !self.placed[**name as usize])
            .map(|name| known.chance[*name as usize] * self.weight(*name))
            .sum()
    }

    /// What it matters that a string is there, next to others of the same chance: a path names its file, too.
    fn weight(&self, name: u32) -> f64 {
        match self.archive.names.get(name).kind {
            Kind::Path => PATH_WEIGHT,
            Kind::Symbol | Kind::Error | Kind::Id | Kind::Number | Kind::Flag | Kind::Quoted => 1.0,
        }
    }

    /// How much dearer a string is for standing elsewhere already.
    fn again(&self, name: u32) -> f64 {
        if self.placed[name as usize] { AGAIN } else { 1.0 }
    }
}

fn is_near(one: &Candidate, other: &Candidate) -> bool {
    one.mark.at.abs_diff(other.mark.at) as usize <= WINDOW
}

fn key(a: u32, b: u32) -> u64 {
    u64::from(a.min(b)) << 32 | u64::from(a.max(b))
}
