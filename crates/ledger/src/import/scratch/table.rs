//! A map from keys to numbers that holds the newest keys.
//!
//! When there are too many, they are sorted and written as a run. Four runs of one size become one of the next, so that
//! there are few to search. A filter of fixed size tells nearly always which keys are in none, and those are most of what
//! an import asks for.

use super::{READ, Scratch, WRITE, write_all_at};
use crate::LedgerError;
use crate::lines::read_exact_at;
use std::collections::HashMap;
use std::fs::File;

/// Mixed, so that keys are spread evenly; the high half first.
type Key = [u64; 2];
type Entry = (Key, u64);

/// Bytes of an entry on disk.
const SIZE: usize = 24;
/// Runs of one level that become one of the next.
const FAN: usize = 4;
/// The most places in a run that are known without reading it.
const SIGNS: u64 = 4096;
/// Entries between two such places, unless the run is very long.
const STRIDE: u64 = 128;
/// Entries read or written at a time when runs are merged.
const CHUNK: usize = 2048;
/// Words of the filter that one key sets bits in: a cache line.
const BLOCK: usize = 8;

#[derive(Debug, Default)]
pub(in crate::import) struct Table {
    scratch: Scratch,
    recent: HashMap<Key, u64>,
    /// Oldest first. What a newer run says of a key counts.
    runs: Vec<Run>,
    /// Bits of the keys in all runs.
    filter: Vec<u64>,
}

impl Table {
    pub(in crate::import) fn new(scratch: &Scratch) -> Self {
        Self { scratch: scratch.clone(), ..Self::default() }
    }

    pub(in crate::import) fn get(&self, key: u128) -> Option<u64> {
        let key = mixed(key);
        if let Some(value) = self.recent.get(&key) {
            return Some(*value);
        }
        if self.runs.is_empty() || !self.may_be_in_runs(&key) {
            return None;
        }
        self.runs.iter().rev().find_map(|run| run.get(&key, &self.scratch))
    }

    pub(in crate::import) fn put(&mut self, key: u128, value: u64) {
        self.recent.insert(mixed(key), value);
        if self.scratch.limits().is_some_and(|limits| self.recent.len() > limits.keys) {
            self.put_away();
        }
    }

    /// Whether what it answered counts.
    pub(in crate::import) fn check(&self) -> Result<(), LedgerError> {
        self.scratch.check()
    }

    fn put_away(&mut self) {
        let Some(limits) = self.scratch.limits() else { return };
        if self.filter.is_empty() {
            self.filter = vec![0; 1 << (limits.filter - 6)];
        }
        let mut entries: Vec<Entry> = self.recent.drain().collect();
        entries.sort_unstable();
        for (key, _) in &entries {
            let (block, bits) = bits_of(key, self.filter.len());
            for (word, bit) in bits {
                self.filter[block + word] |= bit;
            }
        }
        let Some(mut new) = NewRun::begin(0, entries.len() as u64, &self.scratch) else { return };
        entries.into_iter().for_each(|entry| new.push(entry));
        self.runs.push(new.end());
        while let Some(at) = self.runs.len().checked_sub(FAN)
            && self.runs[at..].iter().all(|run| run.level == self.runs[at].level)
        {
            let merged = merge(&self.runs[at..], &self.scratch);
            self.runs.truncate(at);
            self.runs.extend(merged);
        }
    }

    fn may_be_in_runs(&self, key: &Key) -> bool {
        let (block, bits) = bits_of(key, self.filter.len());
        bits.iter().all(|(word, bit)| self.filter[block + word] & bit != 0)
    }

    #[cfg(test)]
    pub(in crate::import) fn held(&self) -> usize {
        let signs: usize = self.runs.iter().map(|run| run.signs.capacity()).sum();
        self.recent.capacity() * size_of::<Entry>() + (self.filter.capacity() + signs) * size_of::<u64>()
    }
}

/// Spreads keys evenly and keeps different ones different: each step can be undone.
fn mixed(key: u128) -> Key {
    const ODD: u128 = 0x2360_ED05_1FC6_5DA4_4385_DF64_9FCC_F645;
    let mut mixed = key;
    for _ in 0..2 {
        mixed = (mixed ^ (mixed >> 64)).wrapping_mul(ODD);
    }
    mixed ^= mixed >> 64;
    [(mixed >> 64) as u64, mixed as u64]
}

/// The block of the filter and the bits in it that stand for a key.
fn bits_of(key: &Key, words: usize) -> (usize, [(usize, u64); 4]) {
    let block = key[0] as usize % (words / BLOCK).max(1) * BLOCK;
    let bit = |n: u32| {
        let bits = (key[1] >> (n * 9)) as usize % (BLOCK * 64);
        (bits / 64, 1 << (bits % 64))
    };
    (block, [bit(0), bit(1), bit(2), bit(3)])
}

/// Entries in a file, sorted by key.
#[derive(Debug)]
struct Run {
    file: File,
    length: u64,
    level: u32,
    stride: u64,
    /// High halves of every so many keys, from the first.
    signs: Vec<u64>,
}

impl Run {
    fn get(&self, key: &Key, scratch: &Scratch) -> Option<u64> {
        // High halves may be equal across a sign: from the last sign that is smaller to the first that is greater.
        let from = self.signs.partition_point(|sign| *sign < key[0]).saturating_sub(1) as u64;
        let to = self.signs.partition_point(|sign| *sign <= key[0]) as u64;
        let (from, to) = (from * self.stride, (to * self.stride).min(self.length));
        let entries = self.read(from, to.checked_sub(from)?, scratch)?;
        let at = entries.binary_search_by(|(there, _)| there.cmp(key)).ok()?;
        entries.get(at).map(|(_, value)| *value)
    }

    fn read(&self, from: u64, count: u64, scratch: &Scratch) -> Option<Vec<Entry>> {
        let mut bytes = vec![0; count as usize * SIZE];
        scratch.noted(READ, read_exact_at(&self.file, &mut bytes, from * SIZE as u64))?;
        Some(bytes.chunks_exact(SIZE).map(decode).collect())
    }
}

fn decode(bytes: &[u8]) -> Entry {
    let word = |n: usize| bytes[n * 8..][..8].try_into().map_or(0, u64::from_le_bytes);
    ([word(0), word(1)], word(2))
}

/// A run that is being written.
struct NewRun<'a> {
    run: Run,
    scratch: &'a Scratch,
    buffer: Vec<u8>,
    written: u64,
}

impl<'a> NewRun<'a> {
    /// For at most so many entries.
    fn begin(level: u32, most: u64, scratch: &'a Scratch) -> Option<Self> {
        let stride = STRIDE.max(most.div_ceil(SIGNS));
        let run = Run { file: scratch.file()?, length: 0, level, stride, signs: Vec::new() };
        Some(Self { run, scratch, buffer: Vec::with_capacity(CHUNK * SIZE), written: 0 })
    }

    fn push(&mut self, (key, value): Entry) {
        if self.run.length.is_multiple_of(self.run.stride) {
            self.run.signs.push(key[0]);
        }
        self.run.length += 1;
        for word in [key[0], key[1], value] {
            self.buffer.extend_from_slice(&word.to_le_bytes());
        }
        if self.buffer.len() >= CHUNK * SIZE {
            self.write();
        }
    }

    fn write(&mut self) {
        self.scratch.noted(WRITE, write_all_at(&self.run.file, &self.buffer, self.written));
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
    }

    fn end(mut self) -> Run {
        self.write();
        self.run.signs.shrink_to_fit();
        self.run
    }
}

/// The entries of a run from its front.
struct Cursor<'a> {
    run: &'a Run,
    chunk: std::vec::IntoIter<Entry>,
    next: Option<Entry>,
    read: u64,
}

impl<'a> Cursor<'a> {
    fn new(run: &'a Run, scratch: &Scratch) -> Self {
        let mut cursor = Self { run, chunk: Vec::new().into_iter(), next: None, read: 0 };
        cursor.advance(scratch);
        cursor
    }

    fn advance(&mut self, scratch: &Scratch) {
        self.next = self.chunk.next();
        if self.next.is_none() && self.read < self.run.length {
            let count = (self.run.length - self.read).min(CHUNK as u64);
            self.chunk = self.run.read(self.read, count, scratch).unwrap_or_default().into_iter();
            self.read += count;
            self.next = self.chunk.next();
        }
    }
}

/// One run of several, oldest first: of equal keys the newest stays.
fn merge(runs: &[Run], scratch: &Scratch) -> Option<Run> {
    let level = runs.first()?.level + 1;
    let mut new = NewRun::begin(level, runs.iter().map(|run| run.length).sum(), scratch)?;
    let mut cursors: Vec<Cursor<'_>> = runs.iter().map(|run| Cursor::new(run, scratch)).collect();
    while let Some(least) = cursors.iter().filter_map(|c| c.next.map(|(key, _)| key)).min() {
        let mut newest = None;
        for cursor in &mut cursors {
            if let Some((key, value)) = cursor.next
                && key == least
            {
                newest = Some((key, value));
                cursor.advance(scratch);
            }
        }
        newest.into_iter().for_each(|entry| new.push(entry));
    }
    Some(new.end())
}
