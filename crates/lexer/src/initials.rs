//! The first letters of words that are looked for, to pass over all others without taking them apart.

use super::words::IRREGULAR;

/// Stems that do not begin like their word, beside those of irregular forms.
const OTHER_STEMS: [(&str, &str); 3] = [("dying", "die"), ("lying", "lie"), ("tying", "tie")];

/// Stems of at least so many letters begin with the first three of their word.
const LONG_STEM: usize = 5;

/// How the words that are looked for may begin. Words that begin otherwise are none of them; of the others some are.
#[derive(Clone, Debug)]
pub struct Initials {
    /// By the classes of the first two letters: bits for the class of the third.
    thirds: Box<[u32; CLASSES * CLASSES]>,
}

const CLASSES: usize = 32;

impl Initials {
    /// How a text may begin that has one of these terms as its stem, as itself or as its start.
    pub fn of<'a>(terms: impl Iterator<Item = &'a str>) -> Self {
        let mut plain = Self { thirds: Box::new([0; CLASSES * CLASSES]) };
        for term in terms {
            match *term.as_bytes() {
                [] => {}
                // What follows a short leaf may be anything: `xAxis` has the leaf `x`.
                [first] => plain.thirds[row(first, 0)..][..CLASSES].fill(u32::MAX),
                [first, second, third, ..] if term.len() >= LONG_STEM => plain.add(first, second, third),
                [first, second, ..] => plain.thirds[row(first, second)] = u32::MAX,
            }
        }
        let mut all = plain.clone();
        for (form, stem) in IRREGULAR.iter().chain(&OTHER_STEMS) {
            if let ([first, second, third, ..], true) = (form.as_bytes(), plain.may_begin(stem.as_bytes())) {
                all.add(*first, *second, *third);
            }
        }
        all
    }

    /// Whether one of the terms may begin like this text, which begins with a leaf; case does not matter.
    pub(super) fn may_begin(&self, text: &[u8]) -> bool {
        let at = |n: usize| text.get(n).copied().unwrap_or(0);
        self.thirds[row(at(0), at(1))] & (1 << CLASS[usize::from(at(2))]) != 0
    }

    fn add(&mut self, first: u8, second: u8, third: u8) {
        self.thirds[row(first, second)] |= 1 << CLASS[usize::from(third)];
    }
}

fn row(first: u8, second: u8) -> usize {
    usize::from(CLASS[usize::from(first)]) * CLASSES + usize::from(CLASS[usize::from(second)])
}

/// Letters by their place in the alphabet, all digits as one, all else as another.
const CLASS: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        classes[byte as usize] = match byte {
            b'a'..=b'z' => byte - b'a' + 1,
            b'A'..=b'Z' => byte - b'A' + 1,
            b'0'..=b'9' => 27,
            _ => 0,
        };
        byte += 1;
    }
    classes
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stemmer;
    use proptest::prelude::*;

    fn finds(stemmer: &mut Stemmer, word: &str) -> bool {
        let stem = stemmer.stem(word).to_owned();
        Initials::of([stem.as_str()].into_iter()).may_begin(word.as_bytes())
    }

    #[test]
    fn irregular_words_and_odd_stems_are_not_passed_over() {
        let stemmer = &mut Stemmer::default();
        for (form, _) in IRREGULAR.iter().chain(&OTHER_STEMS) {
            assert!(finds(stemmer, form), "{form}");
        }
        assert!(!Initials::of(["parser"].into_iter()).may_begin(b"table"));
    }

    proptest! {
        #[test]
        fn no_word_is_passed_over_whose_stem_is_looked_for(
            word in "[a-z]{1,8}(y|ies|ied|s|es|ed|ing|ying|ly|edly|ization|ness|)",
        ) {
            prop_assert!(finds(&mut Stemmer::default(), &word));
        }

        #[test]
        fn short_words_keep_their_letters_too(word in "[a-z]{1,2}(ying|ies|ied|ing|ed|s|y)") {
            prop_assert!(finds(&mut Stemmer::default(), &word));
        }
    }
}
