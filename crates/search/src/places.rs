/// Finds entries by their place. Places are hashes already, so a table with linear probing is all it takes.
pub(crate) struct Places {
    slots: Vec<(u64, u32)>,
    mask: usize,
}

const EMPTY: u32 = u32::MAX;

impl Places {
    /// A table of places, each numbered in order; of equal ones the first is kept.
    pub(crate) fn new(keys: impl ExactSizeIterator<Item = u64>) -> Self {
        let size = (keys.len() * 2).next_power_of_two().max(8);
        let mut table = Self { slots: vec![(0, EMPTY); size], mask: size - 1 };
        for (n, key) in keys.enumerate() {
            let slot = table.slot(key);
            if table.slots[slot].1 == EMPTY {
                table.slots[slot] = (key, u32::try_from(n).unwrap_or(EMPTY));
            }
        }
        table
    }

    /// The number of a place.
    pub(crate) fn get(&self, key: u64) -> Option<usize> {
        let (_, n) = self.slots[self.slot(key)];
        (n != EMPTY).then_some(n as usize)
    }

    fn slot(&self, key: u64) -> usize {
        let mut slot = (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize & self.mask;
        while self.slots[slot].1 != EMPTY && self.slots[slot].0 != key {
            slot = (slot + 1) & self.mask;
        }
        slot
    }
}

#[cfg(test)]
mod tests {
    use super::Places;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_place_is_found_and_no_other(keys in proptest::collection::hash_set(any::<u64>(), 0..200), other: u64) {
            let keys: Vec<u64> = keys.into_iter().collect();
            let places = Places::new(keys.iter().copied());
            for (n, &key) in keys.iter().enumerate() {
                prop_assert_eq!(places.get(key), Some(n));
            }
            prop_assert_eq!(places.get(other).is_some(), keys.contains(&other));
        }
    }
}
