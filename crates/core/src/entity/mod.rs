//! The strings that work hangs on: paths, symbols, error codes, ids, numbers, flags, quoted words.
//!
//! One pass over the bytes, no tables built, no allocation; plain words are passed over. Letters outside ASCII separate
//! words, so that a path in the middle of Chinese or Japanese prose is found as it stands.

mod forms;
mod marks;
mod runs;

use marks::Marks;
use runs::{Reader, Run};

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
/// Shorter strings say nothing.
const SHORTEST: usize = 3;
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
pub fn scan<'a>(text: &'a str, found: impl FnMut(Entity<'a>)) {
    let bytes = text.as_bytes();
    let mut reader = Reader { text, found };
    // Everything before `at` is read; `quoted_until` may lie beyond it.
    let (mut at, mut quoted_until) = (0, 0);
    // Prose is mostly plain words: nothing in them can be an entity, so they are passed over.
    while let Some(telling) = next_telling(bytes, at) {
        let mark = Marks::of(bytes[telling]);
        if let Some(opening) = quote_at(bytes, telling) {
            if opening >= quoted_until
                && let Some(inner) = quoted(text, opening)
                && inner.ends_with('\\') == (opening > telling)
            {
                quoted_until = opening + inner.len() + 2;
                if is_telling(inner) {
                    reader.give(Kind::Quoted, opening + 1, opening + 1 + inner.len());
                }
            }
            at = opening + 1;
        } else if mark == Marks::ESCAPE {
            at = telling + escape(&bytes[telling..]);
        } else if mark == Marks::DIGIT
            && let Some(exit) = exit_before(&bytes[at..telling])
        {
            let digits = bytes[telling..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            let end = telling + digits;
            reader.give(Kind::Error, at + exit, end);
            at = end;
        } else {
            let run = run_around(bytes, at, telling);
            at = run.to;
            if run.len() >= SHORTEST && run.marks.has(Marks::WORD) && !is_line_number(bytes, run) {
                reader.read(run);
            }
        }
    }
}

/// Where the next byte stands that prose lacks.
fn next_telling(bytes: &[u8], from: usize) -> Option<usize> {
    let ahead = bytes[from..].iter().position(|&byte| Marks::of(byte).has(Marks::TELLING))?;
    Some(from + ahead)
}

/// The run in which the byte at `telling` stands, the first in it that is no lower-case letter. Nothing before `floor`
/// belongs to it.
fn run_around(bytes: &[u8], floor: usize, telling: usize) -> Run {
    let mut run = Run { from: telling, to: telling, marks: Marks::default() };
    if let [.., b'a'..=b'z', b']'] = bytes[floor..telling]
        && is_route(bytes, telling - 1, b']')
    {
        run.from -= 1;
        run.marks |= Marks::BRACKET;
    }
    while run.from > floor && bytes[run.from - 1].is_ascii_lowercase() {
        run.from -= 1;
        run.marks |= Marks::LOWER;
    }
    while let Some(&byte) = bytes.get(run.to) {
        let mark = Marks::of(byte);
        // Route folders: `app/[id]/page.tsx`.
        if !mark.has(Marks::RUN) && !is_route(bytes, run.to, byte) {
            break;
        }
        run.marks |= mark;
        run.to += 1;
    }
    run
}

/// Where the quotation mark stands that begins at `at`, itself or behind a backslash: code inside a string of code or
/// JSON has `\"`.
fn quote_at(bytes: &[u8], at: usize) -> Option<usize> {
    match &bytes[at..] {
        [b'"' | b'`', ..] => Some(at),
        [b'\\', b'"', ..] => Some(at + 1),
        _ => None,
    }
}

/// The length of what a backslash begins: in JSON inside text, `\n` and `\u003c` before a word are no part of it.
fn escape(bytes: &[u8]) -> usize {
    match bytes.get(1) {
        Some(b'n' | b't' | b'r') => 2,
        Some(b'u') if bytes.get(2..6).is_some_and(|code| code.iter().all(u8::is_ascii_hexdigit)) => 6,
        Some(_) | None => 1,
    }
}

/// Whether a run is a number that a tool put before a line of a file: `  123→text`, with an arrow or a tab.
fn is_line_number(bytes: &[u8], run: Run) -> bool {
    let rest = &bytes[run.to..];
    run.marks.only(Marks::DIGIT)
        && (rest.starts_with(b"\t") || rest.starts_with("→".as_bytes()))
        && bytes[..run.from].iter().rev().find(|byte| **byte != b' ').is_none_or(|byte| *byte == b'\n')
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
    let end = memchr::memchr2(mark, b'\n', window)?;
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
    let inner = inner.strip_suffix('\\').unwrap_or(inner);
    let starts =
        inner.chars().next().is_some_and(|c| !c.is_whitespace() && !matches!(c, ',' | ';' | ')' | ']' | '}'));
    let ends = inner.chars().next_back().is_some_and(|c| !c.is_whitespace() && !matches!(c, '(' | '[' | '{'));
    starts && ends && inner.chars().filter(|c| c.is_alphanumeric()).take(3).count() == 3
}

/// Where a failure begins that is written in several words before its number: `exit code 2`. Nothing but plain words
/// stands in `before`.
fn exit_before(before: &[u8]) -> Option<usize> {
    let words = before.strip_suffix(b" code ").or_else(|| before.strip_suffix(b" status "))?;
    let rest = words.strip_suffix(b"exit")?;
    (!rest.last().is_some_and(u8::is_ascii_lowercase)).then_some(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(Kind, &str)> {
        let mut all = Vec::new();
        scan(text, |entity| all.push((entity.kind, entity.text)));
        all
    }

    #[test]
    fn an_exit_status_is_found_behind_what_is_passed_over() {
        use Kind::{Error, Symbol};
        assert_eq!(found("it ended: exit status 1."), [(Error, "exit status 1")]);
        assert_eq!(found(r"\nexit code 2"), [(Error, "exit code 2")]);
        assert_eq!(found("exit code 12ab_cd"), [(Error, "exit code 12"), (Symbol, "ab_cd")]);
        assert_eq!(found("exit code 1exit code 2"), [(Error, "exit code 1"), (Error, "exit code 2")]);
        assert!(found("an inexit code 2, an exit, a code 3, exit code x").is_empty());
    }

    #[test]
    fn a_run_begins_at_its_first_plain_letter() {
        assert_eq!(
            found("see snake_case,camelCase"),
            [(Kind::Symbol, "snake_case"), (Kind::Symbol, "camelCase")]
        );
        assert_eq!(found("(pages]/a.rs"), [(Kind::Path, "pages]/a.rs")]);
        assert_eq!(found("(pages]]/src/a.rs"), [(Kind::Path, "/src/a.rs")]);
    }
}
