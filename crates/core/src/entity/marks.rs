//! What bytes are, as bits: joined over a run, they say what it holds without reading it again.

use std::ops::{BitOr, BitOrAssign};

/// A set of sorts of byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks(u16);

impl Marks {
    pub(super) const LOWER: Self = Self(1);
    pub(super) const UPPER: Self = Self(1 << 1);
    pub(super) const DIGIT: Self = Self(1 << 2);
    pub(super) const UNDERSCORE: Self = Self(1 << 3);
    pub(super) const DOT: Self = Self(1 << 4);
    pub(super) const COLON: Self = Self(1 << 5);
    pub(super) const HYPHEN: Self = Self(1 << 6);
    pub(super) const SLASH: Self = Self(1 << 7);
    /// `@`, `+`, `~` and `#`: they join only in paths.
    pub(super) const SEAM: Self = Self(1 << 8);
    /// `[` and `]`: they belong to a run only around the folder of a route.
    pub(super) const BRACKET: Self = Self(1 << 9);
    pub(super) const QUOTE: Self = Self(1 << 10);
    pub(super) const ESCAPE: Self = Self(1 << 11);

    pub(super) const LETTER: Self = Self(Self::LOWER.0 | Self::UPPER.0);
    /// What words consist of.
    pub(super) const WORD: Self = Self(Self::LETTER.0 | Self::DIGIT.0 | Self::UNDERSCORE.0);
    /// What runs consist of.
    pub(super) const RUN: Self =
        Self(Self::WORD.0 | Self::DOT.0 | Self::COLON.0 | Self::HYPHEN.0 | Self::SLASH.0 | Self::SEAM.0);
    /// What prose lacks, by and large: without any of it there is no entity.
    pub(super) const TELLING: Self = Self((Self::RUN.0 & !Self::LOWER.0) | Self::QUOTE.0 | Self::ESCAPE.0);

    pub(super) const fn of(byte: u8) -> Self {
        TABLE[byte as usize]
    }

    /// All that some bytes hold.
    pub(super) fn over(bytes: &[u8]) -> Self {
        bytes.iter().fold(Self::default(), |all, &byte| all | Self::of(byte))
    }

    /// Whether any of `some` is there.
    pub(super) const fn has(self, some: Self) -> bool {
        self.0 & some.0 != 0
    }

    /// Whether there is nothing but `these`.
    pub(super) const fn only(self, these: Self) -> bool {
        self.0 & !these.0 == 0
    }
}

impl BitOr for Marks {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Marks {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

const TABLE: [Marks; 256] = {
    let mut table = [Marks(0); 256];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = match byte as u8 {
            b'a'..=b'z' => Marks::LOWER,
            b'A'..=b'Z' => Marks::UPPER,
            b'0'..=b'9' => Marks::DIGIT,
            b'_' => Marks::UNDERSCORE,
            b'.' => Marks::DOT,
            b':' => Marks::COLON,
            b'-' => Marks::HYPHEN,
            b'/' => Marks::SLASH,
            b'@' | b'+' | b'~' | b'#' => Marks::SEAM,
            b'[' | b']' => Marks::BRACKET,
            b'"' | b'`' => Marks::QUOTE,
            b'\\' => Marks::ESCAPE,
            _ => Marks(0),
        };
        byte += 1;
    }
    table
};
