//! The strings that work hangs on: paths, symbols, error codes, ids, numbers, flags, quoted words.
//!
//! One pass over the bytes, no tables built, no allocation. Letters outside ASCII separate words, so that a path in
//! the middle of Chinese or Japanese prose is found as it stands.

mod forms;
mod runs;

/// What sort of string it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A file, a directory or an address: `src/main.rs`, `Cargo.toml`.
    Path,
    /// A name in code: `snake_case`, `camelCase`, `a::b`, `x.y`.
    Symbol,
    /// A failure by its name or code: `TypeError`, `E0308`, `exit code 2`.
    Error,
    /// A hash, a UUID, an issue: `8235d5f`, `#123`, `ABC-12`.
    Id,
    /// A number that is not small: three digits, a decimal, a version.
    Number,
    /// A long option: `--no-verify`.
    Flag,
    /// What stood between quotation marks or backquotes on one line.
    Quoted,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 7] =
        [Self::Path, Self::Symbol, Self::Error, Self::Id, Self::Number, Self::Flag, Self::Quoted];
}

/// A string found in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entity<'a> {
    /// What sort it is.
    pub kind: Kind,
    /// The string, as it stood.
    pub text: &'a str,
    /// The byte at which it begins.
    pub at: usize,
}

/// The shortest and longest string between quotation marks that counts.
const QUOTED: std::ops::RangeInclusive<usize> = 4..=80;
/// Longer strings are data, not names.
const LONGEST: usize = 200;

/// Hands every entity of `text` to `found`, in the order in which they begin, up to a few bytes: what stands between
/// quotation marks comes before what it consists of.
///
/// ```
/// use throughline_core::entity::{Kind, scan};
///
/// let mut found = Vec::new();
/// scan("请看 src/lib.rs 里的 parse_json，E0308", |entity| found.push((entity.kind, entity.text)));
/// assert_eq!(found, [(Kind::Path, "src/lib.rs"), (Kind::Symbol, "parse_json"), (Kind::Error, "E0308")]);
/// ```
pub fn scan<'a>(text: &'a str, mut found: impl FnMut(Entity<'a>)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut quoted_until = 0;
    while let Some(&byte) = bytes.get(at) {
        match CLASS[usize::from(byte)] {
            Class::Other if byte == b'\\' => at += escape(&bytes[at..]),
            Class::Other => at += 1,
            Class::Quote => {
                if at >= quoted_until
                    && let Some(inner) = quoted(text, at)
                {
                    quoted_until = at + inner.len() + 2;
                    if is_telling(inner) {
                        found(Entity { kind: Kind::Quoted, text: inner, at: at + 1 });
                    }
                }
                at += 1;
            }
            Class::Word | Class::Joint => {
                let start = at;
                let mut marks = Marks::default();
                while let Some(&byte) = bytes.get(at) {
                    match CLASS[usize::from(byte)] {
                        Class::Word => marks.word(byte),
                        Class::Joint => marks.joint(byte),
                        // Route folders: `app/[id]/page.tsx`.
                        Class::Other if is_route(bytes, at, byte) => {}
                        Class::Other | Class::Quote => break,
                    }
                    at += 1;
                }
                // Prose is mostly plain words: nothing in them can be an entity.
                if marks.is_plain() {
                    at = phrase(text, start, at, &mut found);
                } else if !is_line_number(bytes, start, at) {
                    runs::read(text, start, at, marks, &mut found);
                }
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Word,
    Joint,
    Quote,
    Other,
}

const CLASS: [Class; 256] = {
    let mut table = [Class::Other; 256];
    let mut byte = 0;
    while byte < 128 {
        let b = byte as u8;
        table[byte] = match b {
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'_' => Class::Word,
            b'.' | b'/' | b'-' | b':' | b'@' | b'+' | b'~' | b'#' => Class::Joint,
            b'"' | b'`' => Class::Quote,
            _ => Class::Other,
        };
        byte += 1;
    }
    table
};

/// What a run of bytes contains, gathered while it is read.
#[derive(Clone, Copy, Default)]
struct Marks {
    slash: bool,
    joint: bool,
    digit: bool,
    upper: bool,
    underscore: bool,
}

impl Marks {
    fn word(&mut self, byte: u8) {
        self.digit |= byte.is_ascii_digit();
        self.upper |= byte.is_ascii_uppercase();
        self.underscore |= byte == b'_';
    }

    fn joint(&mut self, byte: u8) {
        self.joint = true;
        self.slash |= byte == b'/';
    }

    fn is_plain(self) -> bool {
        !(self.joint || self.digit || self.upper || self.underscore)
    }
}

/// The length of what a backslash begins: in JSON inside text, `\n` and `\u003c` before a word are no part of it, and
/// `\"` opens nothing.
fn escape(bytes: &[u8]) -> usize {
    match bytes.get(1) {
        Some(b'n' | b't' | b'r' | b'"') => 2,
        Some(b'u') if bytes.get(2..6).is_some_and(|code| code.iter().all(u8::is_ascii_hexdigit)) => 6,
        Some(_) | None => 1,
    }
}

/// Whether a run is a number that a tool put before a line of a file: `  123→text`, with an arrow or a tab.
fn is_line_number(bytes: &[u8], start: usize, end: usize) -> bool {
    let rest = &bytes[end..];
    (rest.starts_with(b"\t") || rest.starts_with("→".as_bytes()))
        && bytes[start..end].iter().all(u8::is_ascii_digit)
        && bytes[..start].iter().rev().find(|byte| **byte != b' ').is_none_or(|byte| *byte == b'\n')
}

fn is_route(bytes: &[u8], at: usize, byte: u8) -> bool {
    match byte {
        b'[' => at > 0 && bytes[at - 1] == b'/',
        b']' => bytes.get(at + 1).is_none_or(|&b| b == b'/' || b == b'.'),
        _ => false,
    }
}

/// The string between the mark at `at` and the next one like it, if both stand on one line and it is neither short nor
/// long.
fn quoted(text: &str, at: usize) -> Option<&str> {
    let mark = text.as_bytes()[at];
    let rest = &text.as_bytes()[at + 1..];
    let window = &rest[..rest.len().min(*QUOTED.end() * 4 + 1)];
    let end = window.iter().position(|&b| b == mark || b == b'\n')?;
    if window[end] == b'\n' {
        return None;
    }
    let inner = &text[at + 1..at + 1 + end];
    let long_enough = inner.len() >= *QUOTED.start();
    let short_enough = inner.len() <= *QUOTED.end() || inner.chars().count() <= *QUOTED.end();
    (long_enough && short_enough).then_some(inner)
}

/// Whether a quoted string says something: what stands between two of them (`", which "`) does not.
fn is_telling(inner: &str) -> bool {
    let starts =
        inner.chars().next().is_some_and(|c| !c.is_whitespace() && !matches!(c, ',' | ';' | ')' | ']' | '}'));
    let ends = inner.chars().next_back().is_some_and(|c| !c.is_whitespace() && !matches!(c, '(' | '[' | '{'));
    starts && ends && inner.chars().filter(|c| c.is_alphanumeric()).take(3).count() == 3
}

/// Failures that are written in several words; returns where reading goes on.
fn phrase<'a>(text: &'a str, start: usize, end: usize, found: &mut impl FnMut(Entity<'a>)) -> usize {
    if &text[start..end] != "exit" {
        return end;
    }
    let rest = &text[end..];
    let Some(tail) = rest.strip_prefix(" code ").or_else(|| rest.strip_prefix(" status ")) else {
        return end;
    };
    let digits = tail.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return end;
    }
    let end = text.len() - tail.len() + digits;
    found(Entity { kind: Kind::Error, text: &text[start..end], at: start });
    end
}
