//! Runs of letters, digits and joints, taken apart.

use super::forms::{is_error, is_file_name, is_hash, is_number, is_symbol, is_ticket, is_uuid};
use super::marks::Marks;
use super::{Entity, Kind, LONGEST, SHORTEST};

/// A run or a part of one, with exactly the marks that it holds.
#[derive(Clone, Copy)]
pub(super) struct Run {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) marks: Marks,
}

impl Run {
    pub(super) fn len(self) -> usize {
        self.to - self.from
    }

    fn of(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.from..self.to]
    }

    /// A part of it. Nothing is read again where that is all of it.
    fn part(self, bytes: &[u8], from: usize, to: usize) -> Self {
        if (from, to) == (self.from, self.to) {
            return self;
        }
        Self { from, to, marks: Marks::over(&bytes[from..to]) }
    }

    /// Without what stands at its ends and is one of these.
    fn trim(self, bytes: &[u8], ends: Marks) -> Self {
        if !self.marks.has(ends) {
            return self;
        }
        let (mut from, mut to) = (self.from, self.to);
        while from < to && Marks::of(bytes[from]).has(ends) {
            from += 1;
        }
        while from < to && Marks::of(bytes[to - 1]).has(ends) {
            to -= 1;
        }
        self.part(bytes, from, to)
    }

    /// The parts between any of `joints`.
    fn split(self, bytes: &[u8], joints: Marks) -> impl Iterator<Item = Self> {
        let mut at = self.from;
        std::iter::from_fn(move || {
            while at < self.to && Marks::of(bytes[at]).has(joints) {
                at += 1;
            }
            let mut part = Self { from: at, to: at, marks: Marks::default() };
            while at < self.to && !Marks::of(bytes[at]).has(joints) {
                part.marks |= Marks::of(bytes[at]);
                at += 1;
            }
            part.to = at;
            (part.len() > 0).then_some(part)
        })
    }
}

/// Reads the runs of one text.
pub(super) struct Reader<'a, F> {
    pub(super) text: &'a str,
    pub(super) found: F,
}

impl<'a, F: FnMut(Entity<'a>)> Reader<'a, F> {
    pub(super) fn give(&mut self, kind: Kind, from: usize, to: usize) {
        (self.found)(Entity { kind, text: &self.text[from..to], at: from });
    }

    fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }

    /// A run that is more than a plain word.
    pub(super) fn read(&mut self, run: Run) {
        if run.marks.only(Marks::WORD) {
            return self.name(run);
        }
        if !run.marks.has(Marks::SLASH) {
            return self.joined(run);
        }
        if !run.marks.has(Marks::COLON) {
            return self.path(run);
        }
        if let Some(scheme) = run.of(self.bytes()).windows(3).position(|three| three == b"://") {
            return self.address(run, run.from + scheme);
        }
        for part in run.split(self.bytes(), Marks::COLON) {
            if part.marks.has(Marks::SLASH) {
                self.path(part);
            } else {
                self.joined(part);
            }
        }
    }

    /// A URL, from its scheme to the first byte that no path has.
    fn address(&mut self, run: Run, scheme: usize) {
        let bytes = self.bytes();
        let (mut from, mut to) = (scheme, run.to);
        while from > run.from && bytes[from - 1].is_ascii_alphabetic() {
            from -= 1;
        }
        while to > scheme + 3 && matches!(bytes[to - 1], b'.' | b'/' | b':' | b'-' | b'#') {
            to -= 1;
        }
        if from < scheme && to > scheme + 3 && to - from <= LONGEST {
            self.give(Kind::Path, from, to);
        }
    }

    fn path(&mut self, run: Run) {
        if !run.marks.has(Marks::LETTER) {
            return;
        }
        let bytes = self.bytes();
        let (mut from, mut to) = (run.from, run.to);
        while from < to && matches!(bytes[to - 1], b'.' | b'/' | b'-' | b'+' | b'~' | b'#') {
            to -= 1;
        }
        // `./x` and `//host` are `x` and `host`; `/x`, `~/x` and `../x` say where to start.
        while from < to && (matches!(bytes[from], b'-' | b'+' | b'#') || starts_nowhere(&bytes[from..to])) {
            from += 1;
        }
        // What `grep` writes before a line of context: `src/a.rs-12-let b`.
        if let Some(end) = context_line(&bytes[from..to]) {
            self.path(run.part(bytes, from, from + end));
            return self.joined(run.part(bytes, from + end, to));
        }
        let body = &bytes[from..to];
        if body.len() < 4 || body.len() > LONGEST {
            return;
        }
        // `/word` is a command or the end of a tag.
        if !matches!(body[0], b'~' | b'.') && !has_inner_slash(body) {
            return self.joined(run.part(bytes, from + usize::from(body[0] == b'/'), to));
        }
        if body != b"/dev/null" {
            self.give(Kind::Path, from, to);
        }
    }

    /// A run without slashes: flags, ids with hyphens, file names, then names one by one.
    fn joined(&mut self, mut run: Run) {
        let bytes = self.bytes();
        if run.of(bytes).starts_with(b"--")
            && let Some(to) = flag_end(bytes, run)
        {
            return self.give(Kind::Flag, run.from, to);
        }
        if !run.marks.has(Marks::SEAM) {
            return self.coloned(run);
        }
        if bytes[run.from] == b'#' {
            let digits = bytes[run.from + 1..run.to].iter().take_while(|b| b.is_ascii_digit()).count();
            if (2..=6).contains(&digits) {
                let to = run.from + 1 + digits;
                self.give(Kind::Id, run.from, to);
                run.from = to;
            }
        }
        for part in run.split(bytes, Marks::SEAM) {
            self.coloned(part);
        }
    }

    /// Single colons separate (`file.rs:12`), double ones join (`a::b`).
    fn coloned(&mut self, run: Run) {
        let bytes = self.bytes();
        let run = run.trim(bytes, Marks::DOT | Marks::COLON);
        if !run.marks.has(NAMING) {
            return;
        }
        if !run.marks.has(Marks::COLON) {
            return self.hyphened(run);
        }
        let is_word = |at: usize| Marks::of(bytes[at]).has(Marks::WORD);
        let (mut from, mut at) = (run.from, run.from);
        while at < run.to {
            if bytes[at] == b':' {
                let joins = at > from
                    && at + 2 < run.to
                    && bytes[at + 1] == b':'
                    && is_word(at + 2)
                    && is_word(at - 1);
                if joins {
                    at += 2;
                    continue;
                }
                self.hyphened(run.part(bytes, from, at));
                from = at + 1;
            }
            at += 1;
        }
        self.hyphened(run.part(bytes, from, run.to));
    }

    fn hyphened(&mut self, run: Run) {
        let bytes = self.bytes();
        let run = run.trim(bytes, Marks::HYPHEN | Marks::DOT);
        if run.len() < SHORTEST || run.len() > LONGEST {
            return;
        }
        let body = run.of(bytes);
        let has_hyphen = run.marks.has(Marks::HYPHEN);
        if has_hyphen && (is_uuid(body) || is_ticket(body, run.marks)) {
            return self.give(Kind::Id, run.from, run.to);
        }
        if is_file_name(body, run.marks) {
            return self.give(Kind::Path, run.from, run.to);
        }
        if !has_hyphen {
            return self.name(run);
        }
        if !run.marks.has(NAMING) {
            return;
        }
        for part in run.split(bytes, Marks::HYPHEN) {
            // A digit next to a hyphen belongs to a date or a range.
            if !bytes[part.from].is_ascii_digit() {
                self.name(part);
            }
        }
    }

    /// One name: letters, digits, underscores, dots and double colons.
    fn name(&mut self, run: Run) {
        let bytes = self.bytes();
        let run = run.trim(bytes, Marks::DOT | Marks::COLON);
        if run.len() < SHORTEST || run.len() > LONGEST || !run.marks.has(NAMING) {
            return;
        }
        if let Some(kind) = kind_of(run.of(bytes), run.marks) {
            self.give(kind, run.from, run.to);
        }
    }
}

/// Without any of these a word is plain.
const NAMING: Marks = Marks::TELLING;

fn kind_of(body: &[u8], marks: Marks) -> Option<Kind> {
    if marks.has(Marks::DIGIT) {
        if is_number(body, marks) {
            return Some(Kind::Number);
        }
        if is_hash(body, marks) {
            return Some(Kind::Id);
        }
    }
    if body.len() < 4 {
        None
    } else if is_error(body, marks) {
        Some(Kind::Error)
    } else {
        is_symbol(body, marks).then_some(Kind::Symbol)
    }
}

/// Where a file's name ends before `-12-` or a `-12` that ends the run.
fn context_line(body: &[u8]) -> Option<usize> {
    (1..body.len()).filter(|&at| body[at] == b'-').find(|&at| {
        let digits = body[at + 1..].iter().take_while(|b| b.is_ascii_digit()).count();
        let closed = body.get(at + 1 + digits).is_none_or(|&b| b == b'-');
        digits > 0 && closed && is_file_name(&body[..at], Marks::DOT)
    })
}

fn starts_nowhere(bytes: &[u8]) -> bool {
    bytes.starts_with(b"./") || bytes.starts_with(b"//") || bytes == b"/"
}

/// Whether a slash stands behind what a path may begin with.
fn has_inner_slash(body: &[u8]) -> bool {
    body.iter().skip_while(|b| matches!(b, b'/' | b'~' | b'.')).any(|&b| b == b'/')
}

fn flag_end(bytes: &[u8], run: Run) -> Option<usize> {
    let first = *bytes.get(run.from + 2)?;
    if !first.is_ascii_lowercase() {
        return None;
    }
    let mut to = run.from + 3;
    while to < run.to && Marks::of(bytes[to]).has(Marks::WORD | Marks::HYPHEN) {
        to += 1;
    }
    while bytes[to - 1] == b'-' {
        to -= 1;
    }
    (to >= run.from + 4).then_some(to)
}
