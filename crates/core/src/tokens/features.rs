//! The text statistics that the estimate is a linear function of.

/// Names of the statistics, in the order of [`Features::counts`] and of a calibration's coefficients.
pub const FEATURES: [&str; 15] = [
    "words",
    "long",
    "capitals",
    "numbers",
    "marks",
    "mark_chars",
    "gaps",
    "tabs",
    "lines",
    "hash",
    "symbols",
    "repeats",
    "letters2",
    "cjk",
    "wide",
];

/// Statistics of a text, gathered in one pass over its bytes.
///
/// Everything is decided by a character and its near neighbours, so that cutting a text in two changes each
/// statistic by a small constant at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    counts: [u64; FEATURES.len()],
}

// A word as identifiers are read: `parseHTTPRequest` holds two, and capitals. Numbers are groups of three digits.
const WORDS: usize = 0;
const LONG: usize = 1; // letters after the fourth of a word
const CAPITALS: usize = 2;
const NUMBERS: usize = 3;
const MARKS: usize = 4; // runs of punctuation
const MARK_CHARS: usize = 5; // characters of those, repetitions aside
const GAPS: usize = 6; // blanks in runs of two or more: a single one belongs to the word after it
const TABS: usize = 7; // runs
const LINES: usize = 8; // runs of line ends
const HASH: usize = 9; // letters and digits that alternate, and letters after the 16th of a word
const SYMBOLS: usize = 10; // arrows, boxes, dashes: other characters of three bytes
const REPEATS: usize = 11; // a mark like the one before it, further tabs and line ends
const LETTERS2: usize = 12; // characters of two bytes: accented, Greek, Cyrillic, Arabic …
const CJK: usize = 13;
const WIDE: usize = 14; // characters of four bytes: mostly emoji

/// A short word beside a digit is taken for a piece of a hash.
const HASH_LETTERS: usize = 3;
/// A short number beside a letter too.
const HASH_DIGITS: usize = 8;
const LONG_FROM: usize = 4;
const UNBROKEN_FROM: usize = 16;

impl Features {
    /// The statistics of a text.
    ///
    /// ```
    /// use throughline_core::tokens::Features;
    ///
    /// let f = Features::of("fn parseRequest()");
    /// assert_eq!(f.get("words"), Some(3));
    /// assert_eq!(f.get("marks"), Some(1));
    /// ```
    pub fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut features = Self::default();
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            at = match byte {
                b'a'..=b'z' | b'A'..=b'Z' => features.letters(bytes, at),
                b'0'..=b'9' => features.digits(bytes, at),
                b' ' => {
                    let end = run(bytes, at, |b| b == b' ');
                    if end - at > 1 {
                        features.add(GAPS, end - at);
                    }
                    end
                }
                b'\t' => features.repeated(TABS, at, run(bytes, at, |b| b == b'\t')),
                b'\n' | b'\r' => features.repeated(LINES, at, run(bytes, at, |b| b == b'\n' || b == b'\r')),
                0..=0x7f => features.marks(bytes, at),
                0x80..=0xdf => features.one(LETTERS2, at + 2),
                0xe0..=0xef => features.one(if is_cjk(&bytes[at..]) { CJK } else { SYMBOLS }, at + 3),
                0xf0..=0xff => features.one(WIDE, at + 4),
            };
        }
        features
    }

    /// All statistics, in the order of [`FEATURES`].
    pub fn counts(&self) -> &[u64; FEATURES.len()] {
        &self.counts
    }

    /// One statistic, by its name.
    pub fn get(&self, name: &str) -> Option<u64> {
        let at = FEATURES.iter().position(|feature| *feature == name)?;
        self.counts.get(at).copied()
    }

    fn add(&mut self, feature: usize, n: usize) {
        self.counts[feature] += n as u64;
    }

    fn one(&mut self, feature: usize, end: usize) -> usize {
        self.add(feature, 1);
        end
    }

    fn repeated(&mut self, feature: usize, start: usize, end: usize) -> usize {
        self.add(feature, 1);
        self.add(REPEATS, end - start - 1);
        end
    }

    /// One piece of a run of letters: `Word`, `word`, or the capitals before one.
    fn letters(&mut self, bytes: &[u8], start: usize) -> usize {
        let capitals_end = run(bytes, start, |b| b.is_ascii_uppercase());
        let end = run(bytes, capitals_end, |b| b.is_ascii_lowercase());
        let capitals = capitals_end - start;
        if end == capitals_end || capitals > 1 {
            // The last capital before small letters begins the next word.
            let end = if end == capitals_end { end } else { capitals_end - 1 };
            let hash = end - start <= HASH_LETTERS && touches(bytes, start, end, u8::is_ascii_digit);
            self.add(if hash { HASH } else { CAPITALS }, end - start);
            return end;
        }
        let len = end - start;
        if len <= HASH_LETTERS && touches(bytes, start, end, u8::is_ascii_digit) {
            self.add(HASH, len);
        } else {
            self.add(WORDS, 1);
            self.add(LONG, len.min(UNBROKEN_FROM).saturating_sub(LONG_FROM));
            self.add(HASH, len.saturating_sub(UNBROKEN_FROM));
        }
        end
    }

    fn digits(&mut self, bytes: &[u8], start: usize) -> usize {
        let end = run(bytes, start, |b| b.is_ascii_digit());
        if end - start <= HASH_DIGITS && touches(bytes, start, end, u8::is_ascii_alphabetic) {
            self.add(HASH, end - start);
        } else {
            self.add(NUMBERS, (end - start).div_ceil(3));
        }
        end
    }

    fn marks(&mut self, bytes: &[u8], start: usize) -> usize {
        let end =
            run(bytes, start, |b| b.is_ascii() && !b.is_ascii_alphanumeric() && !b" \t\r\n".contains(&b));
        let repeats = bytes[start..end].windows(2).filter(|pair| pair[0] == pair[1]).count();
        self.add(MARKS, 1);
        self.add(MARK_CHARS, end - start - repeats);
        self.add(REPEATS, repeats);
        end
    }
}

/// Where the run of such bytes that begins at `start` ends.
fn run(bytes: &[u8], start: usize, is: impl Fn(u8) -> bool) -> usize {
    bytes[start..].iter().position(|&b| !is(b)).map_or(bytes.len(), |n| start + n)
}

fn touches(bytes: &[u8], start: usize, end: usize, is: impl Fn(&u8) -> bool) -> bool {
    bytes.get(end).is_some_and(&is) || start.checked_sub(1).and_then(|at| bytes.get(at)).is_some_and(&is)
}

/// Whether a character of three bytes is Chinese, Japanese or Korean, full-width forms included.
fn is_cjk(bytes: &[u8]) -> bool {
    let [a, b, c, ..] = *bytes else { return false };
    let code = u32::from(a & 0x0f) << 12 | u32::from(b & 0x3f) << 6 | u32::from(c & 0x3f);
    matches!(code, 0x1100..=0x11ff | 0x2e80..=0xd7ff | 0xf900..=0xfaff | 0xff00..=0xffef)
}
