//! Runs of letters, digits and joints, taken apart.

use super::forms::{is_error, is_file_name, is_hash, is_number, is_symbol, is_ticket, is_uuid, is_word};
use super::{Entity, Kind, LONGEST, Marks};

/// A run of letters, digits and joints that is more than a plain word.
pub(super) fn read<'a>(
    text: &'a str,
    start: usize,
    end: usize,
    marks: Marks,
    found: &mut impl FnMut(Entity<'a>),
) {
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
    // `/word` is a command or the end of a tag.
    if slashes == 0 && !body.starts_with(['~', '.']) {
        return joined(text, from + usize::from(body.starts_with('/')), to, found);
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
fn joined<'a>(text: &'a str, mut start: usize, end: usize, found: &mut impl FnMut(Entity<'a>)) {
    let bytes = text.as_bytes();
    if bytes[start..end].starts_with(b"--")
        && let Some(to) = flag_end(bytes, start, end)
    {
        found(Entity { kind: Kind::Flag, text: &text[start..to], at: start });
        return;
    }
    if bytes[start..end].starts_with(b"#") {
        let digits = bytes[start + 1..end].iter().take_while(|b| b.is_ascii_digit()).count();
        if (2..=6).contains(&digits) {
            let to = start + 1 + digits;
            found(Entity { kind: Kind::Id, text: &text[start..to], at: start });
            start = to;
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
            if at > from
                && at + 2 < end
                && bytes[at + 1] == b':'
                && is_word(bytes[at + 2])
                && is_word(bytes[at - 1])
            {
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
