//! The strings that can be worth a price, gathered before prices are tried.

use super::active;
use super::names::Name;
use super::place::{GIVEN_BOND, MOST_BONDS, PATH_WEIGHT, WRITTEN_BOND};
use super::said::Said;
use super::weigh::{self, Logs};
use super::{Archive, Mark};
use crate::entity::{self, Kind};
use std::ops::Range;

/// Bytes of a gap that count towards a string's cost: the rest is for the reader.
const COUNTED_GAP: usize = 8;
/// How much less a block counts for its age: the power of its distance from the end.
const BY_AGE: f64 = 0.6;
/// Joints of a string that are looked at.
const MOST_JOINTS: usize = 16;

/// A string in its place, with what it is worth and what it costs.
#[derive(Clone, Copy)]
pub(super) struct Candidate {
    pub(super) mark: Mark,
    /// Where the numbers of the shorter strings within it stand in [`Known::parts`].
    first_part: u32,
    parts: u32,
    pub(super) chance: f64,
    /// Bytes to be paid for.
    pub(super) length: f64,
}

/// What is known of the archive's strings at the moment of a digest.
pub(super) struct Known<'a> {
    archive: &'a Archive,
    said: Said<'a>,
    /// By name: the chance that it is needed.
    pub(super) chance: Vec<f64>,
    /// By name, as far as it was looked at: it stands in the result anyway.
    pub(super) is_said: Vec<bool>,
    looked_at: Vec<bool>,
    /// By name, as far as it was asked for: its place in `parts`.
    within: Vec<Option<(u32, u32)>>,
    /// Shorter names within longer ones.
    parts: Vec<u32>,
}

impl<'a> Known<'a> {
    pub(super) fn new(archive: &'a Archive, said: Said<'a>) -> Self {
        let now = archive.items.len() as u32;
        let logs = Logs::new(now);
        let names = archive.names.len();
        Self {
            archive,
            said,
            chance: archive
                .names
                .iter()
                .zip(active::around(archive))
                .map(|(name, active)| weigh::chance(name, active, now, &logs))
                .collect(),
            is_said: vec![false; names],
            looked_at: vec![false; names],
            within: vec![None; names],
            parts: Vec::new(),
        }
    }

    /// The shorter strings within a candidate.
    pub(super) fn parts(&self, of: &Candidate) -> &[u32] {
        &self.parts[of.first_part as usize..(of.first_part + of.parts) as usize]
    }

    fn within(&mut self, name: u32) -> (u32, u32) {
        if let Some(known) = self.within[name as usize] {
            return known;
        }
        let first = self.parts.len();
        find_parts(self.archive, self.archive.names.get(name), &mut self.parts);
        self.parts[first..].sort_unstable();
        let mut kept = first;
        for at in first..self.parts.len() {
            if at == first || self.parts[at] != self.parts[kept - 1] {
                self.parts[kept] = self.parts[at];
                kept += 1;
            }
        }
        self.parts.truncate(kept);
        self.look(name);
        for at in first..kept {
            self.look(self.parts[at]);
        }
        let known = (first as u32, (kept - first) as u32);
        self.within[name as usize] = Some(known);
        known
    }

    fn look(&mut self, name: u32) {
        let at = name as usize;
        if !std::mem::replace(&mut self.looked_at[at], true) {
            self.is_said[at] = self.said.contains(&self.archive.names.get(name).text);
        }
    }
}

/// The shorter strings of the archive that a string contains, as far as its own joints show them.
fn find_parts(archive: &Archive, name: &Name, parts: &mut Vec<u32>) {
    let mut add = |text: &str| {
        if text.len() < name.text.len() {
            parts.extend(archive.names.find(text));
        }
    };
    match name.kind {
        Kind::Quoted => entity::scan(&name.text, |entity| add(entity.text)),
        Kind::Path | Kind::Symbol | Kind::Error | Kind::Id | Kind::Number | Kind::Flag => {
            for (at, _) in name.text.match_indices(['/', '.', ':', '-']).take(MOST_JOINTS) {
                add(&name.text[..at]);
                add(&name.text[at + 1..]);
            }
        }
    }
}

/// Candidates by block, in the order in which they are placed: what was written before what was given, of each the block that
/// holds most of what may be needed, and of two alike the newer one. A string is placed in the company of most others, which
/// saves telling it twice.
pub(super) struct Pool {
    pub(super) blocks: Vec<Block>,
    pub(super) candidates: Vec<Candidate>,
}

pub(super) struct Block {
    pub(super) item: usize,
    /// What it adds that two strings stand together here.
    pub(super) bond: f64,
    pub(super) candidates: Range<usize>,
}

impl Pool {
    /// All that can be worth `price` or more for each byte.
    pub(super) fn new(known: &mut Known<'_>, price: f64) -> Self {
        let archive = known.archive;
        let mut pool = Self { blocks: Vec::new(), candidates: Vec::new() };
        for (written, bond) in [(true, WRITTEN_BOND), (false, GIVEN_BOND)] {
            let of_voice = pool.blocks.len();
            for (item, block) in archive.items.iter().enumerate().rev() {
                if block.voice.is_written() != written {
                    continue;
                }
                let first = pool.candidates.len();
                for mark in &archive.marks[block.marks.clone()] {
                    let chance = known.chance[mark.name as usize];
                    if !is_worthy(chance, bond, price) {
                        continue;
                    }
                    let gap = mark.gap.len().clamp(1, COUNTED_GAP);
                    let length = (archive.names.get(mark.name).text.len() + gap) as f64;
                    if is_worthy(chance, bond, price * length) {
                        let (first_part, parts) = known.within(mark.name);
                        pool.candidates.push(Candidate { mark: *mark, first_part, parts, chance, length });
                    }
                }
                if pool.candidates.len() > first {
                    pool.blocks.push(Block { item, bond, candidates: first..pool.candidates.len() });
                }
            }
            let Self { blocks, candidates } = &mut pool;
            let worth = |block: &Block| {
                let chances = candidates[block.candidates.clone()].iter().map(|one| one.chance);
                chances.sum::<f64>() / ((archive.items.len() - block.item) as f64).powf(BY_AGE)
            };
            blocks[of_voice..].sort_by_cached_key(|block| std::cmp::Reverse(worth(block).to_bits()));
        }
        pool
    }
}

/// Whether a string can be worth its cost if it finds as many others beside it as may count.
pub(super) fn is_worthy(chance: f64, bond: f64, cost: f64) -> bool {
    chance * (PATH_WEIGHT + MOST_BONDS * bond) >= cost
}
