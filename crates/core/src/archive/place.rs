//! Which strings stand in which lines, at a price.

use super::hash::BuildMix;
use super::pool::{Block, Candidate, Known, Pool, is_worthy};
use super::{Archive, Mark};
use crate::entity::Kind;
use std::collections::HashSet;
use std::ops::Range;

/// Bytes within which two strings of a block stand together.
pub(super) const WINDOW: usize = 300;
/// What it adds that two strings stand together, next to what each is worth: where they were written so, and where a
/// tool gave them so.
pub(super) const WRITTEN_BOND: f64 = 0.2;
pub(super) const GIVEN_BOND: f64 = 0.1;
/// How many bonds a string may hope for: without a limit every string would have to be looked at.
pub(super) const MOST_BONDS: f64 = 6.0;
/// How much of that counts while the other string is not chosen yet.
const EXPECTED: f64 = 0.5;
/// A string that stands elsewhere already must be worth more to stand here too.
const AGAIN: f64 = 1.3;
/// Repeated numbers are mostly limits and times that a tool is called with.
const NUMBER_AGAIN: f64 = 3.0;
/// Neighbours on either side that count.
const NEIGHBOURS: usize = 12;

/// The strings chosen from all blocks.
#[derive(Default)]
pub(super) struct Lines {
    lines: Vec<(usize, Range<usize>)>,
    marks: Vec<Mark>,
}

impl Lines {
    /// Blocks in the order of the work, each with its strings in their order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &[Mark])> {
        self.lines.iter().map(|(item, marks)| (*item, &self.marks[marks.clone()]))
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
            let mut worth = self.own_worth(known, one);
            self.joined.clear();
            let mut bonds = 0.0;
            for other in before() {
                // Two strings can stand together only where each was chosen.
                let is_new =
                    !self.chosen[name as usize] || !self.together.contains(&key(name, other.mark.name));
                if is_new {
                    self.joined.push(other.mark.name);
                    bonds += bond * one.chance.min(other.chance);
                }
            }
            worth += bonds;
            let cost = self.again(name) * (price * one.length);
            // What is placed nowhere stands together with nothing.
            let behind = self.worthy[i + 1..].iter().take_while(|other| is_near(one, other)).take(NEIGHBOURS);
            worth += behind
                .filter(|other| other.mark.name != name && !self.placed[other.mark.name as usize])
                .filter(|other| other.chance >= price * other.length)
                .map(|other| bond * EXPECTED * one.chance.min(other.chance))
                .sum::<f64>();
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
            .map(|name| known.chance[*name as usize])
            .sum()
    }

    /// How much dearer a string is for standing elsewhere already.
    fn again(&self, name: u32) -> f64 {
        match (self.placed[name as usize], self.archive.names.get(name).kind) {
            (false, _) => 1.0,
            (true, Kind::Number) => NUMBER_AGAIN,
            (true, Kind::Path | Kind::Symbol | Kind::Error | Kind::Id | Kind::Flag | Kind::Quoted) => AGAIN,
        }
    }
}

fn is_near(one: &Candidate, other: &Candidate) -> bool {
    one.mark.at.abs_diff(other.mark.at) as usize <= WINDOW
}

fn key(a: u32, b: u32) -> u64 {
    u64::from(a.min(b)) << 32 | u64::from(a.max(b))
}
