//! Memories as sets of word hashes, to be compared with many.

use crate::recall::terms as words;

/// The share of words that two texts have in common at which they say the same.
const SAME: f64 = 0.8;
/// Texts with fewer words than this are not compared: they overlap by chance.
const FEWEST: usize = 4;

/// A memory, ready to be compared with many.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Print {
    /// Of the words of the name in their order; 0 if it has none.
    pub(super) name: u64,
    pub(super) description: Words,
    pub(super) body: Words,
}

/// A set of words, each by its hash, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Words(pub(crate) Vec<u64>);

/// Texts that share three least hashes are compared. With so many tries hardly any pair that is alike is missed
/// (6 of 100 that share half of their words, 1 of 2,000 that share 0.7), and hardly any other is looked at.
const BANDS: usize = 21;
const ROWS: usize = 3;

/// A few least hashes of a set, and which of several tries they are of.
pub(crate) type Band = (usize, [u64; ROWS]);

/// Which part of a memory a probe is of.
#[derive(Clone, Copy)]
enum Part {
    Name,
    Description,
    Body,
}

impl Words {
    pub(crate) fn of(text: &str) -> Self {
        let mut hashes: Vec<u64> = words(text).iter().map(|word| hash(word)).collect();
        hashes.sort_unstable();
        hashes.dedup();
        Self(hashes)
    }

    /// The share of words that both have, of all that either has; 0 where one is too short to tell.
    pub(super) fn overlap(&self, other: &Self) -> f64 {
        if self.0.len() < FEWEST || other.0.len() < FEWEST { 0.0 } else { self.jaccard(other) }
    }

    /// The share of words that both have, of all that either has.
    pub(crate) fn jaccard(&self, other: &Self) -> f64 {
        let common = self.common(other);
        let all = self.0.len() + other.0.len() - common;
        if all == 0 { 0.0 } else { common as f64 / all as f64 }
    }

    /// How many words both have.
    pub(crate) fn common(&self, other: &Self) -> usize {
        let (mut a, mut b, mut common) = (0, 0, 0);
        while let (Some(x), Some(y)) = (self.0.get(a), other.0.get(b)) {
            a += usize::from(x <= y);
            b += usize::from(y <= x);
            common += usize::from(x == y);
        }
        common
    }

    /// The least hashes under several mixings, in bands: sets that are alike have one in common.
    pub(crate) fn bands(&self) -> impl Iterator<Item = Band> + '_ {
        (0..BANDS).map(|band| {
            let row = |row: usize| {
                let seed = ((band * ROWS + row) as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                self.0.iter().map(|hash| mixed(hash ^ seed)).min().unwrap_or_default()
            };
            (band, std::array::from_fn(row))
        })
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|hash| hash.to_le_bytes()).collect()
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Self {
        let (chunks, _) = bytes.as_chunks::<8>();
        Self(chunks.iter().map(|chunk| u64::from_le_bytes(*chunk)).collect())
    }

    /// So many of the first hashes that two sets which are the same by [`SAME`] can't have all of them different.
    fn probes(&self) -> &[u64] {
        if self.0.len() < FEWEST {
            return &[];
        }
        let must = (SAME * self.0.len() as f64 - 1e-9).ceil() as usize;
        &self.0[..=self.0.len().saturating_sub(must)]
    }
}

impl Print {
    pub(super) fn of(name: &str, description: &str, body: &str) -> Self {
        let name = words(name);
        let name = if name.is_empty() { 0 } else { hash(&name.join(" ")) };
        Self { name, description: Words::of(description), body: Words::of(body) }
    }

    /// Whether two memories have one name, or say much the same.
    pub(super) fn is_near(&self, other: &Self) -> bool {
        (self.name != 0 && self.name == other.name)
            || self.description.overlap(&other.description) >= SAME
            || self.body.overlap(&other.body) >= SAME
    }

    /// Numbers of which two memories that are near share at least one.
    pub(super) fn probes(&self) -> Vec<i64> {
        let name = (self.name != 0).then(|| salted(Part::Name, self.name));
        let description = self.description.probes().iter().map(|hash| salted(Part::Description, *hash));
        let body = self.body.probes().iter().map(|hash| salted(Part::Body, *hash));
        name.into_iter().chain(description).chain(body).collect()
    }
}

fn salted(part: Part, hash: u64) -> i64 {
    hash.rotate_left(part as u32 * 7).wrapping_add(part as u64).cast_signed()
}

/// Spreads a number over all bits.
fn mixed(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

fn hash(word: &str) -> u64 {
    blake3::hash(word.as_bytes()).as_bytes().first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn overlap_is_the_share_of_common_words() {
        let overlap = |a: &str, b: &str| Words::of(a).overlap(&Words::of(b));
        assert!((overlap("one two three four", "one two three four") - 1.0).abs() < 1e-9);
        assert!((overlap("one two three four", "one two three five") - 0.6).abs() < 1e-9);
        assert!(overlap("one", "one").abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn who_is_near_shares_a_probe(a in "([a-h]{2} ){3,12}", b in "([a-h]{2} ){3,12}", cut in 0..5_usize) {
            // The other one is much the same, or whatever it is.
            let like: Vec<&str> = a.split(' ').skip(cut % 3).chain(b.split(' ').take(cut / 3)).collect();
            for other in [like.join(" "), b.clone()] {
                let (one, two) = (Print::of("", "x", &a), Print::of("", "x", &other));
                let (p, q) = (one.probes(), two.probes());
                prop_assert!(!one.is_near(&two) || p.iter().any(|probe| q.contains(probe)));
                prop_assert_eq!(Words::from_bytes(&one.body.to_bytes()), one.body);
            }
        }
    }
}
