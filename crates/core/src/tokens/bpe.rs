//! Byte-pair counting, with a cap on what one merge may cost.

use tiktoken::CoreBpe;

/// No text handed to the byte-pair merge holds an unbroken run of letters, of marks or of blanks longer than this
/// many bytes: merging a run takes more than linear time, and a megabyte of one letter takes a third of a second.
pub const LONGEST_RUN: usize = 2 * WINDOW + 4;

/// Runs are looked for at every multiple of this many bytes, so ordinary text is hardly read at all.
const WINDOW: usize = 1024;

#[derive(Clone, Copy)]
pub(super) enum Table {
    O200k,
    Cl100k,
}

impl Table {
    /// The table, unpacked by its first use (a tenth of a second) and kept for the life of the process.
    fn get(self) -> Option<&'static CoreBpe> {
        tiktoken::get_encoding(match self {
            Self::O200k => "o200k_base",
            Self::Cl100k => "cl100k_base",
        })
    }
}

pub(super) fn count(table: Table, text: &str) -> u64 {
    // Both tables are compiled in; should a build leave one out, a rough count beats none.
    let Some(bpe) = table.get() else { return text.len().div_ceil(4) as u64 };
    let (mut last, mut tokens) = ("", 0);
    chunks(text)
        .map(|chunk| {
            // Inside a run of one character all chunks are alike.
            if chunk != last {
                (last, tokens) = (chunk, bpe.count(chunk) as u64);
            }
            tokens
        })
        .sum()
}

/// Cuts a text inside its over-long runs, and nowhere else: a text without one comes back whole, so its count is
/// exact. Each cut can change the count by a token or two.
///
/// ```
/// use throughline_core::tokens::chunks;
///
/// assert_eq!(chunks("ordinary text").collect::<Vec<_>>(), ["ordinary text"]);
/// assert!(chunks(&"a".repeat(1 << 20)).all(|chunk| chunk.len() < 4096));
/// ```
pub fn chunks(text: &str) -> impl Iterator<Item = &str> {
    let mut start = 0;
    let mut window = 0;
    let mut done = false;
    std::iter::from_fn(move || {
        if done {
            return None;
        }
        // A run of two windows' length or more fills at least one aligned window; cutting where such a window
        // begins leaves less than two windows of it in any chunk.
        while window + WINDOW <= text.len() {
            let (from, to) = (text.floor_char_boundary(window), text.floor_char_boundary(window + WINDOW));
            window += WINDOW;
            if from > start && is_run(&text[from..to]) {
                let chunk = &text[start..from];
                start = from;
                return Some(chunk);
            }
        }
        done = true;
        Some(&text[start..])
    })
}

/// Whether the tables' own splitting rules might leave a window in one piece: all letters, all marks or all blanks.
fn is_run(window: &str) -> bool {
    let mut kind = Class::Either;
    window.chars().enumerate().all(|(at, c)| match (kind, Class::of(c)) {
        (_, Class::Digit) => false,
        (Class::Either, Class::Blank) if at > 0 => false,
        (Class::Either, class) => {
            kind = class;
            true
        }
        (Class::Letter | Class::Mark, Class::Either) => true,
        (kind, class) => kind == class,
    })
}

/// How the tables' splitting rules see a character.
#[derive(Clone, Copy, PartialEq)]
enum Class {
    Letter,
    Mark,
    Blank,
    /// Always split from the rest, and into groups of three.
    Digit,
    /// Combining marks go with letters and with marks; for simplicity so does all that is not surely one of them.
    Either,
}

impl Class {
    fn of(c: char) -> Self {
        match c {
            'a'..='z' | 'A'..='Z' => Self::Letter,
            '0'..='9' => Self::Digit,
            c if c.is_whitespace() => Self::Blank,
            '\0'..='\x7f' => Self::Mark,
            // General, CJK and full-width punctuation.
            '\u{2010}'..='\u{2027}' | '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3011}' => Self::Mark,
            '\u{ff01}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}' => Self::Mark,
            // Kana, Han and Hangul.
            '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fa}' | '\u{3400}'..='\u{4dbf}' => Self::Letter,
            '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' => Self::Letter,
            _ => Self::Either,
        }
    }
}
