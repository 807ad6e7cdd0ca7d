//! The strings that work hangs on: paths, symbols, error codes, ids, numbers, flags, quoted words.
//!
//! One pass over the bytes, no tables built, no allocation. Letters outside ASCII separate words, so that a path in
//! the middle of Chinese or Japanese prose is found as it stands.

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
                    phrase(text, start, at, &mut found);
                } else {
                    run(text, start, at, marks, &mut found);
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
    let starts = inner.chars().next().is_some_and(|c| !c.is_whitespace() && !matches!(c, ',' | ';' | ')' | ']' | '}'));
    let ends = inner.chars().next_back().is_some_and(|c| !c.is_whitespace() && !matches!(c, '(' | '[' | '{'));
    starts && ends && inner.chars().filter(|c| c.is_alphanumeric()).take(3).count() == 3
}

/// Failures that are written in several words.
fn phrase<'a>(text: &'a str, start: usize, end: usize, found: &mut impl FnMut(Entity<'a>)) {
    if &text[start..end] != "exit" {
        return;
    }
    let rest = &text[end..];
    let Some(tail) = rest.strip_prefix(" code ").or_else(|| rest.strip_prefix(" status ")) else { return };
    let digits = tail.bytes().take_while(u8::is_ascii_digit).count();
    if digits > 0 {
        let end = text.len() - tail.len() + digits;
        found(Entity { kind: Kind::Error, text: &text[start..end], at: start });
    }
}

/// A run of letters, digits and joints that is more than a plain word.
fn run<'a>(text: &'a str, start: usize, end: usize, marks: Marks, found: &mut impl FnMut(Entity<'a>)) {
    if !marks.joint {
        return name(text, start, end, found);
    }
    if marks.slash {
        if let Some(scheme) = text[start..end].find("://") {
            return address(text, start, start + scheme, end, found);
        }
        for (from, to) in pieces(text, start, end, b":") {
            if text.as_bytes()[from..to].contains(&b'/') {
                path(text, from, to, found);
            } else {
                joined(text, from, to, found);
            }
        }
    } else {
        joined(text, start, end, found);
    }
}

/// The parts of `start..end` between any of `marks`.
fn pieces<'t>(
    text: &'t str,
    start: usize,
    end: usize,
    marks: &'t [u8],
) -> impl Iterator<Item = (usize, usize)> + 't {
    let bytes = &text.as_bytes()[..end];
    let mut at = start;
    std::iter::from_fn(move || {
        while at < end && marks.contains(&bytes[at]) {
            at += 1;
        }
        let from = at;
        while at < end && !marks.contains(&bytes[at]) {
            at += 1;
        }
        (from < at).then_some((from, at))
    })
}

/// A URL, from its scheme to the first byte that no path has.
fn address<'a>(text: &'a str, start: usize, scheme: usize, end: usize, found: &mut impl FnMut(Entity<'a>)) {
    let bytes = text.as_bytes();
    let mut from = scheme;
    while from > start && bytes[from - 1].is_ascii_alphabetic() {
        from -= 1;
    }
    let mut to = end;
    while to > scheme + 3 && matches!(bytes[to - 1], b'.' | b'/' | b':' | b'-' | b'#') {
        to -= 1;
    }
    if from < scheme && to > scheme + 3 && to - from <= LONGEST {
        found(Entity { kind: Kind::Path, text: &text[from..to], at: from });
    }
}

fn path<'a>(text: &'a str, start: usize, end: usize, found: &mut impl FnMut(Entity<'a>)) {
    let bytes = text.as_bytes();
    let (mut from, mut to) = (start, end);
    while from < to && matches!(bytes[to - 1], b'.' | b'/' | b'-' | b'+' | b'~' | b'#') {
        to -= 1;
    }
    // `./x` and `//host` are `x` and `host`; `/x`, `~/x` and `../x` say where to start.
    while from < to && (matches!(bytes[from], b'-' | b'+' | b'#') || starts_nowhere(&bytes[from..to])) {
        from += 1;
    }
    let body = &text[from..to];
    let slashes = body.trim_start_matches(['/', '~', '.']).bytes().filter(|&b| b == b'/').count();
    if body.len() < 4 || body.len() > LONGEST || !body.bytes().any(|b| b.is_ascii_alphabetic()) {
        return;
    }
    if slashes == 0 && !body.starts_with(['/', '~', '.']) {
        return joined(text, from, to, found);
    }
    if body == "/dev/null" {
        return;
    }
    found(Entity { kind: Kind::Path, text: body, at: from });
}

fn starts_nowhere(bytes: &[u8]) -> bool {
    bytes.starts_with(b"./") || bytes.starts_with(b"//") || (bytes.starts_with(b"/") && bytes.len() == 1)
}

/// A run without slashes: flags, ids with hyphens, file names, then names one by one.
fn joined<'a>(text: &'a str, start: usize, end: usize, found: &mut impl FnMut(Entity<'a>)) {
    let bytes = text.as_bytes();
    if bytes[start..end].starts_with(b"--") {
        if let Some(to) = flag_end(bytes, start, end) {
            found(Entity { kind: Kind::Flag, text: &text[start..to], at: start });
            return;
        }
    }
    if bytes[start] == b'#' {
        let digits = bytes[start + 1..end].iter().take_while(|b| b.is_ascii_digit()).count();
        if (2..=6).contains(&digits) {
            let to = start + 1 + digits;
            found(Entity { kind: Kind::Id, text: &text[start..to], at: start });
        }
    }
    for (from, to) in pieces(text, start, end, b"@+~#") {
        coloned(text, from, to, found);
    }
}

/// Single colons separate (`file.rs:12`), double ones join (`a::b`).
fn coloned<'a>(text: &'a str, start: usize, end: usize, found: &mut impl FnMut(Entity<'a>)) {
    let bytes = text.as_bytes();
    let mut from = start;
    let mut at = start;
    while at < end {
        if bytes[at] == b':' {
            if at > from && at + 2 < end && bytes[at + 1] == b':' && is_word(bytes[at + 2]) && is_word(bytes[at - 1]) {
                at += 2;
                continue;
            }
            hyphened(text, from, at, found);
            from = at + 1;
        }
        at += 1;
    }
    hyphened(text, from, end, found);
}

fn hyphened<'a>(text: &'a str, start: usize, end: usize, found: &mut impl FnMut(Entity<'a>)) {
    let bytes = text.as_bytes();
    let (mut from, mut to) = (start, end);
    while from < to && matches!(bytes[from], b'-' | b'.') {
        from += 1;
    }
    while from < to && matches!(bytes[to - 1], b'-' | b'.') {
        to -= 1;
    }
    let body = &bytes[from..to];
    if body.is_empty() || body.len() > LONGEST {
        return;
    }
    let has_hyphen = body.contains(&b'-');
    if has_hyphen && (is_uuid(body) || is_ticket(body)) {
        found(Entity { kind: Kind::Id, text: &text[from..to], at: from });
        return;
    }
    if is_file_name(body) {
        found(Entity { kind: Kind::Path, text: &text[from..to], at: from });
        return;
    }
    if !has_hyphen {
        return name(text, from, to, found);
    }
    for (a, b) in pieces(text, from, to, b"-") {
        // A digit next to a hyphen belongs to a date or a range.
        if !text.as_bytes()[a].is_ascii_digit() {
            name(text, a, b, found);
        }
    }
}

/// One name: letters, digits, underscores, dots and double colons.
fn name<'a>(text: &'a str, start: usize, end: usize, found: &mut impl FnMut(Entity<'a>)) {
    let bytes = text.as_bytes();
    let (mut from, mut to) = (start, end);
    while from < to && matches!(bytes[from], b'.' | b':') {
        from += 1;
    }
    while from < to && matches!(bytes[to - 1], b'.' | b':') {
        to -= 1;
    }
    let body = &bytes[from..to];
    if body.len() < 3 || body.len() > LONGEST {
        return;
    }
    let kind = if is_number(body) {
        Kind::Number
    } else if is_hash(body) {
        Kind::Id
    } else if body.len() < 4 {
        return;
    } else if is_error(body) {
        Kind::Error
    } else if is_symbol(body) {
        Kind::Symbol
    } else {
        return;
    };
    found(Entity { kind, text: &text[from..to], at: from });
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn flag_end(bytes: &[u8], start: usize, end: usize) -> Option<usize> {
    let first = *bytes.get(start + 2)?;
    if !first.is_ascii_lowercase() {
        return None;
    }
    let mut to = start + 3;
    while to < end && (bytes[to].is_ascii_alphanumeric() || matches!(bytes[to], b'-' | b'_')) {
        to += 1;
    }
    while bytes[to - 1] == b'-' {
        to -= 1;
    }
    (to >= start + 4).then_some(to)
}

fn is_uuid(body: &[u8]) -> bool {
    body.len() == 36
        && body.iter().enumerate().all(|(i, b)| match i {
            8 | 13 | 18 | 23 => *b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

fn is_ticket(body: &[u8]) -> bool {
    let letters = body.iter().take_while(|b| b.is_ascii_uppercase()).count();
    let rest = &body[letters..];
    (2..=6).contains(&letters)
        && (2..=6).contains(&rest.len())
        && rest[0] == b'-'
        && rest[1..].iter().all(u8::is_ascii_digit)
}

/// Whether a name without slashes is a file's: what follows the last dot is an extension in common use.
fn is_file_name(body: &[u8]) -> bool {
    let Some(dot) = body.iter().rposition(|&b| b == b'.') else { return false };
    dot > 0 && body.len() - dot <= 7 && !body.contains(&b':') && EXTENSIONS.contains(&&body[dot + 1..])
}

const EXTENSIONS: &[&[u8]] = &[
    b"rs", b"go", b"py", b"ts", b"tsx", b"js", b"jsx", b"mjs", b"cjs", b"json", b"jsonl", b"md", b"mdx", b"toml",
    b"yaml", b"yml", b"sh", b"bash", b"sql", b"html", b"css", b"scss", b"c", b"h", b"cc", b"cpp", b"hpp", b"java",
    b"kt", b"swift", b"rb", b"php", b"lua", b"lock", b"txt", b"cfg", b"ini", b"env", b"proto", b"vue", b"svelte",
    b"xml", b"csv", b"log", b"mod", b"sum", b"nix", b"dart", b"cs", b"zig", b"ex", b"exs", b"tf", b"ipynb", b"pdf",
    b"png", b"svg", b"gz", b"zip", b"db", b"sqlite", b"snap", b"tmpl", b"omp",
];

fn is_number(body: &[u8]) -> bool {
    let digits = body.strip_prefix(b"v").unwrap_or(body);
    if !digits.iter().all(|b| b.is_ascii_digit() || *b == b'.') || digits.is_empty() {
        return false;
    }
    if digits.contains(&b'.') {
        return !digits.windows(2).any(|two| two == b"..") && digits != b"0.0" && digits != b"1.0" && digits != b"2.0";
    }
    // Round hundreds are limits and status codes that stand everywhere.
    digits.len() == body.len() && !matches!(digits, b"100" | b"200" | b"1000")
}

fn is_hash(body: &[u8]) -> bool {
    (7..=40).contains(&body.len())
        && body.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        && body.iter().any(u8::is_ascii_digit)
        && body.iter().any(u8::is_ascii_lowercase)
}

fn is_error(body: &[u8]) -> bool {
    if !body[0].is_ascii_uppercase() {
        return false;
    }
    let letters = body.iter().take_while(|b| b.is_ascii_uppercase()).count();
    let rest = &body[letters..];
    if !rest.is_empty() && rest.iter().all(u8::is_ascii_digit) {
        return (letters == 1 && body[0] == b'E' && rest.len() == 4)
            || ((2..=6).contains(&letters) && (3..=5).contains(&rest.len()));
    }
    if rest.is_empty() {
        return body[0] == b'E' && body.len() >= 5;
    }
    let ends: [&[u8]; 4] = [b"Error", b"Exception", b"Panic", b"Failure"];
    body.iter().all(u8::is_ascii_alphabetic) && ends.iter().any(|end| body.len() > end.len() && body.ends_with(end))
}

fn is_symbol(body: &[u8]) -> bool {
    if body.iter().any(|b| matches!(b, b'.' | b':')) {
        let mut longest = 0;
        let fits = body.split(|b| matches!(b, b'.' | b':')).filter(|part| !part.is_empty()).all(|part| {
            longest = longest.max(part.len());
            !part[0].is_ascii_digit() && part.iter().all(|&b| is_word(b))
        });
        // `e.g` and `i.e` are prose.
        return fits && longest > 1 && !body.windows(2).any(|two| two == b"..");
    }
    let word = |b: &u8| is_word(*b);
    if !body.iter().all(word) {
        return false;
    }
    // An underscore between letters or digits; a lower-case letter before an upper-case one and more after it.
    let inner = body.windows(3).any(|w| w[1] == b'_' && w[0] != b'_' && w[2] != b'_');
    let hump = body.windows(3).any(|w| {
        (w[0].is_ascii_lowercase() || w[0].is_ascii_digit())
            && w[1].is_ascii_uppercase()
            && (w[2].is_ascii_lowercase() || w[2].is_ascii_digit() || w[2].is_ascii_uppercase())
    });
    (inner || hump) && body.iter().any(u8::is_ascii_alphabetic)
}
