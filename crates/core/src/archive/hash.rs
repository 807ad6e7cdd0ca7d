//! A quick hash for the archive's own tables: a multiplication for every eight bytes.

/// The hash of a string.
pub(super) fn of_bytes(bytes: &[u8]) -> u64 {
    let length = bytes.len() as u64;
    let Some(end) = bytes.last_chunk::<8>() else { return mix(length, short(bytes)) };
    // The last word may overlap the one before: that costs less than a shorter one.
    let (words, _) = bytes[..bytes.len() - 1].as_chunks::<8>();
    let hash = words.iter().fold(length, |hash, word| mix(hash, u64::from_le_bytes(*word)));
    mix(hash, u64::from_le_bytes(*end))
}

/// Fewer than eight bytes as a number: no two strings of one length give the same.
fn short(bytes: &[u8]) -> u64 {
    match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        (Some(start), Some(end)) => {
            u64::from(u32::from_le_bytes(*start)) | u64::from(u32::from_le_bytes(*end)) << 32
        }
        (_, _) => bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)),
    }
}

/// Takes a number into a hash: both halves of the product count, so that no bit is lost.
pub(super) fn mix(hash: u64, n: u64) -> u64 {
    let product = u128::from(hash ^ n ^ 0x2545_f491_4f6c_dd1d) * 0x9e37_79b9_7f4a_7c15;
    product as u64 ^ (product >> 64) as u64
}

/// Hashes for sets of numbers; they come from our own count, so nobody can choose them.
#[derive(Clone, Default)]
pub(super) struct BuildMix;

impl std::hash::BuildHasher for BuildMix {
    type Hasher = Mix;

    fn build_hasher(&self) -> Mix {
        Mix(0)
    }
}

pub(super) struct Mix(u64);

impl std::hash::Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = mix(self.0, of_bytes(bytes));
    }

    fn write_u64(&mut self, n: u64) {
        self.0 = mix(self.0, n);
    }
}
