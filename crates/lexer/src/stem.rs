use super::words::irregular;
use rust_stemmers::Algorithm;

/// Slots of the memory of stems. Text repeats its words: nearly every lookup is a hit.
const SLOTS: usize = 8192;
/// Longer words are not English.
const LONGEST: usize = 24;

/// English stems, with a bounded memory.
pub struct Stemmer {
    algorithm: rust_stemmers::Stemmer,
    slots: Vec<Option<(Box<str>, Box<str>)>>,
    scratch: String,
}

impl Default for Stemmer {
    fn default() -> Self {
        Self {
            algorithm: rust_stemmers::Stemmer::create(Algorithm::English),
            slots: vec![None; SLOTS],
            scratch: String::new(),
        }
    }
}

impl Stemmer {
    /// The stem of a word in lower-case ASCII letters: `running`, `runs` and `ran` have the same.
    pub fn stem(&mut self, word: &str) -> &str {
        if word.len() < 3 || word.len() > LONGEST {
            self.scratch.clear();
            self.scratch.push_str(word);
            return &self.scratch;
        }
        let slot = slot_of(word);
        if !matches!(&self.slots[slot], Some((known, _)) if **known == *word) {
            let stem = self.algorithm.stem(irregular(word)).into_owned();
            self.slots[slot] = Some((word.into(), stem.into()));
        }
        match &self.slots[slot] {
            Some((_, stem)) => stem,
            None => "",
        }
    }
}

fn slot_of(word: &str) -> usize {
    // FNV-1a: short keys, no adversary worth a stronger hash (a collision costs one stemming).
    let hash =
        word.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    ((hash ^ (hash >> 29)) as usize) % SLOTS
}
