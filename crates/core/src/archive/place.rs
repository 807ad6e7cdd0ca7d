//! Which strings stand in which lines, at a price.

use super::{Archive, Mark};
use crate::entity::Kind;
use std::collections::{HashMap, HashSet};

/// Bytes within which two strings of a block stand together.
pub(super) const WINDOW: usize = 300;
/// What it adds that two strings stand together, next to what each is worth: where they were written so, and where a
/// tool gave them so.
const WRITTEN_BOND: f64 = 0.2;
const GIVEN_BOND: f64 = 0.1;
/// How much of that counts while the other string is not chosen yet.
const EXPECTED: f64 = 0.5;
/// A string that stands elsewhere already must be worth more to stand here too.
const AGAIN: f64 = 1.3;
/// Repeated numbers are mostly limits and times that a tool is called with.
const NUMBER_AGAIN: f64 = 3.0;
/// Bytes of a gap that count towards a string's cost: the rest is for the reader.
const COUNTED_GAP: usize = 8;
/// Neighbours on either side that count.
const NEIGHBOURS: usize = 12;
/// How many bonds a string may hope for: without a limit every string would have to be looked at.
const MOST_BONDS: f64 = 6.0;

/// What is known before prices are tried.
pub(super) struct Stakes {
    /// By name: the chance that it is needed.
    pub(super) chance: Vec<f64>,
    /// By name: it stands in the result anyway.
    pub(super) said: Vec<bool>,
    /// By name: shorter names that it contains.
    pub(super) within: HashMap<u32, Vec<u32>>,
}

/// The strings chosen from one block, in order.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) item: usize,
    pub(super) marks: Vec<Mark>,
}

/// Chooses strings whose worth is at least `price` for each byte: what a string is worth by itself where it stands
/// nowhere yet, and what it adds by standing next to others that it stood with.
///
/// Newest blocks come first, and what was written before what was given, so that a string stands where it was last used.
pub(super) fn place(archive: &Archive, stakes: &Stakes, price: f64) -> Vec<Line> {
    let mut state = State {
        archive,
        stakes,
        price,
        placed: stakes.said.clone(),
        together: HashSet::default(),
        lines: Vec::new(),
    };
    for written in [true, false] {
        for (at, item) in archive.items.iter().enumerate().rev() {
            if item.voice.is_written() == written {
                state.item(at);
            }
        }
    }
    state.lines.sort_by_key(|line| line.item);
    state.lines
}

/// A string in its place, with what it is worth and what it costs.
#[derive(Clone, Copy)]
struct Candidate {
    mark: Mark,
    name: u32,
    chance: f64,
    cost: f64,
}

impl Candidate {
    fn is_near(&self, other: &Self) -> bool {
        self.mark.at.abs_diff(other.mark.at) as usize <= WINDOW
    }
}

struct State<'a> {
    archive: &'a Archive,
    stakes: &'a Stakes,
    price: f64,
    placed: Vec<bool>,
    together: HashSet<u64, BuildMix>,
    lines: Vec<Line>,
}

impl State<'_> {
    fn item(&mut self, at: usize) {
        let item = &self.archive.items[at];
        let bond = if item.voice.is_written() { WRITTEN_BOND } else { GIVEN_BOND };
        let worthy: Vec<Candidate> = self.archive.marks[item.marks.clone()]
            .iter()
            .map(|mark| {
                let chance = self.stakes.chance[mark.name as usize];
                Candidate { mark: *mark, name: mark.name, chance, cost: self.price * self.length(mark) }
            })
            .filter(|one| one.chance * (1.0 + MOST_BONDS * bond) >= one.cost)
            .collect();
        let mut chosen: Vec<Candidate> = Vec::new();
        for (i, one) in worthy.iter().enumerate() {
            let before = || chosen.iter().rev().take_while(|other| one.is_near(other)).take(NEIGHBOURS);
            if before().any(|other| other.name == one.name || self.contains(other.name, one.name)) {
                continue;
            }
            let again = match (self.placed[one.name as usize], self.archive.names.get(one.name).kind) {
                (false, _) => 1.0,
                (true, Kind::Number) => NUMBER_AGAIN,
                (true, Kind::Path | Kind::Symbol | Kind::Error | Kind::Id | Kind::Flag | Kind::Quoted) => {
                    AGAIN
                }
            };
            let mut worth = self.own_worth(one);
            let is_new = |other: &Candidate| !self.together.contains(&key(one.name, other.name));
            let joined: Vec<u32> = before().filter(|other| is_new(other)).map(|other| other.name).collect();
            worth +=
                joined.iter().map(|n| bond * one.chance.min(self.stakes.chance[*n as usize])).sum::<f64>();
            let behind = worthy[i + 1..].iter().take_while(|other| one.is_near(other)).take(NEIGHBOURS);
            worth += behind
                .filter(|other| other.name != one.name && !self.placed[other.name as usize])
                .filter(|other| other.chance >= other.cost && is_new(other))
                .map(|other| bond * EXPECTED * one.chance.min(other.chance))
                .sum::<f64>();
            if worth < again * one.cost {
                continue;
            }
            chosen.push(*one);
            self.placed[one.name as usize] = true;
            for part in self.stakes.within.get(&one.name).into_iter().flatten() {
                self.placed[*part as usize] = true;
            }
            self.together.extend(joined.into_iter().map(|other| key(one.name, other)));
        }
        if !chosen.is_empty() {
            self.lines.push(Line { item: at, marks: chosen.iter().map(|one| one.mark).collect() });
        }
    }

    /// What a string and the strings within it are worth where they stand nowhere yet.
    fn own_worth(&self, one: &Candidate) -> f64 {
        let parts = self.stakes.within.get(&one.name).into_iter().flatten();
        std::iter::once(&one.name)
            .chain(parts)
            .filter(|name| !self.placed[**name as usize])
            .map(|name| self.stakes.chance[*name as usize])
            .sum()
    }

    fn length(&self, mark: &Mark) -> f64 {
        let gap = mark.gap.len().clamp(1, COUNTED_GAP);
        (self.archive.names.get(mark.name).text.len() + gap) as f64
    }

    fn contains(&self, longer: u32, shorter: u32) -> bool {
        self.stakes.within.get(&longer).is_some_and(|parts| parts.contains(&shorter))
    }
}

fn key(a: u32, b: u32) -> u64 {
    u64::from(a.min(b)) << 32 | u64::from(a.max(b))
}

/// A quick hash for pairs of numbers; they come from our own count, so nobody can choose them.
#[derive(Clone, Default)]
struct BuildMix;

impl std::hash::BuildHasher for BuildMix {
    type Hasher = Mix;

    fn build_hasher(&self) -> Mix {
        Mix(0)
    }
}

struct Mix(u64);

impl std::hash::Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte.into());
        }
    }

    fn write_u64(&mut self, n: u64) {
        let mixed = (self.0 ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }
}
