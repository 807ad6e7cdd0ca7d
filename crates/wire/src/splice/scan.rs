//! Finds where JSON values end, without building them.
//!
//! Takes exactly what the JSON grammar allows, in valid UTF-8, nested at most [`MAX_DEPTH`] deep. That is a little more than
//! `serde_json` can hold: half of a surrogate pair, which JavaScript writes where it cut a text, and numbers beyond
//! a double. Such a request must still pass through whole.

use serde::de::Error as _;
use throughline_core::MAX_DEPTH;

/// Where a value stands in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Span {
    pub(super) fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    pub(super) fn of(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.start..self.end).unwrap_or_default()
    }
}

/// Why a text is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flaw {
    at: usize,
    why: &'static str,
}

impl Flaw {
    /// The flaw with its line and column, counted as `serde_json` does.
    pub(super) fn into_error(self, bytes: &[u8]) -> serde_json::Error {
        let before = &bytes[..self.at.min(bytes.len())];
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
        let column = (self.at + 1).min(bytes.len()) - start.min(bytes.len());
        serde_json::Error::custom(format!("{} at line {line} column {column}", self.why))
    }
}

/// A place in a text.
pub(super) struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// Which containers a place is in, outermost first: a bit each, set for objects.
#[derive(Default)]
struct Nest {
    kinds: [u64; MAX_DEPTH.div_ceil(64)],
    depth: usize,
}

impl Nest {
    fn push(&mut self, is_object: bool) {
        let (word, bit) = (self.depth / 64, self.depth % 64);
        self.kinds[word] = (self.kinds[word] & !(1 << bit)) | (u64::from(is_object) << bit);
        self.depth += 1;
    }

    fn in_object(&self) -> bool {
        let top = self.depth - 1;
        self.kinds[top / 64] >> (top % 64) & 1 == 1
    }
}

impl<'a> Scanner<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    pub(super) fn flaw<T>(&self, why: &'static str) -> Result<T, Flaw> {
        Err(Flaw { at: self.at, why })
    }

    /// Passes over white space, and tells what comes then.
    pub(super) fn next_token(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\n' | b'\t' | b'\r') = self.peek() {
            self.at += 1;
        }
        self.peek()
    }

    /// Passes over one byte of punctuation and the white space before it.
    pub(super) fn expect(&mut self, byte: u8, why: &'static str) -> Result<(), Flaw> {
        if self.next_token() != Some(byte) {
            return self.flaw(why);
        }
        self.at += 1;
        Ok(())
    }

    /// Passes over the comma between two items, or over what ends their list. True if there is one more.
    pub(super) fn another(&mut self, close: u8) -> Result<bool, Flaw> {
        match self.next_token() {
            Some(b',') => {
                self.at += 1;
                Ok(true)
            }
            Some(byte) if byte == close => {
                self.at += 1;
                Ok(false)
            }
            Some(_) | None if close == b'}' => self.flaw("expected `,` or `}`"),
            Some(_) | None => self.flaw("expected `,` or `]`"),
        }
    }

    /// Only white space may follow.
    pub(super) fn end(&mut self) -> Result<(), Flaw> {
        match self.next_token() {
            Some(_) => self.flaw("trailing characters"),
            None => Ok(()),
        }
    }

    /// Goes on behind what was found valid before.
    pub(super) fn skip_to(&mut self, at: usize) {
        self.at = at;
    }

    /// Passes over `known`, a value that was found valid before, if just that stands here.
    pub(super) fn known(&mut self, known: &[u8]) -> Option<Span> {
        let end = self.at + known.len();
        // Of a number, the beginning is a number too: only what ends here is the same value.
        let ends = matches!(self.bytes.get(end), Some(b',' | b'}' | b']' | b' ' | b'\n' | b'\t' | b'\r'));
        if !ends || known.is_empty() || self.bytes.get(self.at..end) != Some(known) {
            return None;
        }
        let span = Span::new(self.at, end);
        self.at = end;
        Some(span)
    }

    /// Passes over a key.
    pub(super) fn key(&mut self) -> Result<Span, Flaw> {
        if self.next_token() != Some(b'"') {
            return self.flaw("expected a key in quotes");
        }
        let start = self.at;
        self.string()?;
        self.valid_text(start)
    }

    /// Passes over a value that stands in `depth` containers.
    pub(super) fn value(&mut self, depth: usize) -> Result<Span, Flaw> {
        self.next_token();
        let start = self.at;
        self.walk(depth)?;
        self.valid_text(start)
    }

    fn valid_text(&self, start: usize) -> Result<Span, Flaw> {
        let span = Span::new(start, self.at);
        match std::str::from_utf8(span.of(self.bytes)) {
            Ok(_) => Ok(span),
            Err(error) => Err(Flaw { at: start + error.valid_up_to(), why: "invalid UTF-8" }),
        }
    }

    /// A loop and not a recursion: nesting can't exhaust the stack.
    fn walk(&mut self, depth: usize) -> Result<(), Flaw> {
        let mut nest = Nest::default();
        loop {
            let opened = match self.next_token() {
                Some(b'{') => Some(true),
                Some(b'[') => Some(false),
                Some(_) | None => None,
            };
            match opened {
                Some(_) if depth + nest.depth >= MAX_DEPTH => return self.flaw("nested too deep"),
                Some(is_object) => {
                    self.at += 1;
                    nest.push(is_object);
                    if self.next_token() == Some(if is_object { b'}' } else { b']' }) {
                        self.at += 1;
                        nest.depth -= 1;
                    } else {
                        if is_object {
                            self.key_and_colon()?;
                        }
                        continue;
                    }
                }
                None => self.scalar()?,
            }
            // A value has ended: so may have the containers around it.
            loop {
                if nest.depth == 0 {
                    return Ok(());
                }
                let in_object = nest.in_object();
                if self.another(if in_object { b'}' } else { b']' })? {
                    if in_object {
                        self.key_and_colon()?;
                    }
                    break;
                }
                nest.depth -= 1;
            }
        }
    }

    fn key_and_colon(&mut self) -> Result<(), Flaw> {
        if self.next_token() != Some(b'"') {
            return self.flaw("expected a key in quotes");
        }
        self.string()?;
        self.expect(b':', "expected `:`")
    }

    fn scalar(&mut self) -> Result<(), Flaw> {
        match self.peek() {
            Some(b'"') => self.string(),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word(b"true"),
            Some(b'f') => self.word(b"false"),
            Some(b'n') => self.word(b"null"),
            Some(_) => self.flaw("expected a value"),
            None => self.flaw("the text ends where a value should be"),
        }
    }

    fn word(&mut self, word: &[u8]) -> Result<(), Flaw> {
        if !self.bytes[self.at..].starts_with(word) {
            return self.flaw("expected a value");
        }
        self.at += word.len();
        Ok(())
    }

    fn number(&mut self) -> Result<(), Flaw> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), Flaw> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == start { self.flaw("expected a digit") } else { Ok(()) }
    }

    fn string(&mut self) -> Result<(), Flaw> {
        self.at += 1;
        loop {
            self.plain();
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.escape()?,
                Some(_) => return self.flaw("control character in a string"),
                None => return self.flaw("the text ends inside a string"),
            }
        }
    }

    /// Passes over what means itself in a string.
    fn plain(&mut self) {
        while let Some(chunk) = self.bytes.get(self.at..).and_then(<[u8]>::first_chunk) {
            let marked = special(u64::from_le_bytes(*chunk));
            if marked != 0 {
                self.at += (marked.trailing_zeros() / 8) as usize;
                return;
            }
            self.at += 8;
        }
        while self.peek().is_some_and(|byte| !matches!(byte, b'"' | b'\\' | 0..=0x1F)) {
            self.at += 1;
        }
    }

    fn escape(&mut self) -> Result<(), Flaw> {
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => {
                for _ in 0..4 {
                    self.at += 1;
                    if !self.peek().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                        return self.flaw("invalid escape");
                    }
                }
                self.at += 1;
            }
            Some(_) => return self.flaw("invalid escape"),
            None => return self.flaw("the text ends inside a string"),
        }
        Ok(())
    }
}

/// Marks the top bit of the first of eight bytes (the lowest) that is a quote, a backslash or a control character. Above
/// it others may be marked wrongly, by a borrow.
fn special(eight: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const TOP: u64 = 0x8080_8080_8080_8080;
    let zero_in = |x: u64| x.wrapping_sub(ONES) & !x;
    let control = eight.wrapping_sub(ONES * 0x20) & !eight;
    (control | zero_in(eight ^ (ONES * u64::from(b'"'))) | zero_in(eight ^ (ONES * u64::from(b'\\')))) & TOP
}
