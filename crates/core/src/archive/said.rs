//! Whether a string stands in texts that are there anyway.

use super::hash;
use memchr::memmem;

/// Texts, with a filter for the strings that cannot stand in them.
pub(super) struct Said<'a> {
    texts: &'a [&'a str],
    /// One bit for each group of four bytes that stands somewhere, by its hash.
    groups: Vec<u64>,
}

const BITS: u32 = 17;

impl<'a> Said<'a> {
    pub(super) fn new(texts: &'a [&'a str]) -> Self {
        let mut groups = vec![0; 1 << (BITS - 6)];
        for group in texts.iter().flat_map(|text| text.as_bytes().windows(4)) {
            let (word, bit) = place(group);
            groups[word] |= bit;
        }
        Self { texts, groups }
    }

    pub(super) fn contains(&self, string: &str) -> bool {
        let possible = string.as_bytes().windows(4).all(|group| {
            let (word, bit) = place(group);
            self.groups[word] & bit != 0
        });
        possible && {
            let finder = memmem::Finder::new(string);
            self.texts.iter().any(|text| finder.find(text.as_bytes()).is_some())
        }
    }
}

fn place(group: &[u8]) -> (usize, u64) {
    let number = group.iter().fold(0, |number, &byte| number << 8 | u64::from(byte));
    let hash = hash::mix(0, number) >> (64 - BITS);
    ((hash >> 6) as usize, 1 << (hash & 63))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_found_where_they_stand_and_not_across_texts() {
        let said = Said::new(&["open src/main.rs", "404"]);
        for (string, stands) in
            [("main.rs", true), ("404", true), ("405", false), ("main.rs404", false), ("ma", true)]
        {
            assert_eq!(said.contains(string), stands, "{string}");
        }
        assert!(!Said::new(&[]).contains("a"));
    }
}
