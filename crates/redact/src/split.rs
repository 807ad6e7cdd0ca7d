//! Tokens that are split: by a blank, a line break or the end of a string.

use crate::judge;
use std::ops::Range;

/// Parts of a token at most.
const PARTS: usize = 6;
/// Bytes of a token, with what stands between its parts, at most.
pub(crate) const LONGEST: usize = 600;
/// A first part of so many bytes is whole: what follows is something else.
const WHOLE: usize = 36;

/// Marks that end a string, join it to the next, or begin a quoted line.
const SIGNS: &[u8] = b"\"'`+\\>|";

/// A token whose parts were put together.
pub(crate) struct Joined {
    /// The token.
    pub(crate) text: Vec<u8>,
    /// The length of each part, and where it stands.
    parts: Vec<(usize, Range<usize>)>,
}

impl Joined {
    /// Returns where the first bytes of the token stand; `None` if they are the first part alone.
    pub(crate) fn source(&self, length: usize) -> Option<Range<usize>> {
        let (first, start) = self.parts.first().map(|(length, span)| (*length, span.start))?;
        if length <= first {
            return None;
        }
        let mut done = 0;
        for (part, span) in &self.parts {
            if done + part >= length {
                return Some(start..span.start + (length - done));
            }
            done += part;
        }
        None
    }
}

/// Puts together a token that begins with a known prefix, if it is split.
pub(crate) fn join(text: &[u8], start: usize) -> Option<Joined> {
    let text = &text[..text.len().min(start + LONGEST)];
    let mut end = part_end(text, start);
    if end - start >= WHOLE {
        return None;
    }
    let mut joined = Joined { text: text[start..end].to_vec(), parts: vec![(end - start, start..end)] };
    let mut lines = 0;
    while joined.parts.len() < PARTS {
        let Some(next) = behind_break(text, end, &mut lines) else { break };
        let next_end = part_end(text, next);
        let part = &text[next..next_end];
        if !is_random(part) {
            break;
        }
        joined.text.extend_from_slice(part);
        joined.parts.push((part.len(), next..next_end));
        end = next_end;
    }
    (joined.parts.len() > 1).then_some(joined)
}

/// Returns whether a token that begins here may go on behind the end of the line.
pub(crate) fn may_go_on(line: &[u8], start: usize) -> bool {
    let mut end = part_end(line, start);
    if end - start >= WHOLE {
        return false;
    }
    for _ in 0..PARTS {
        // No line end is in a line: it counts as seen.
        let Some(next) = behind_break(line, end, &mut 1) else { break };
        let next_end = part_end(line, next);
        if next_end == next || !is_random(&line[next..next_end]) {
            return false;
        }
        end = next_end;
    }
    let is_between = |byte: &u8| byte.is_ascii_whitespace() || SIGNS.contains(byte);
    line[end..].iter().all(is_between)
}

fn part_end(text: &[u8], start: usize) -> usize {
    let is_of_part =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/' | b'=');
    text[start..].iter().position(|byte| !is_of_part(byte)).map_or(text.len(), |length| start + length)
}

/// Returns where the next part begins: behind a blank, a line break with its indentation (one in all of a token), or the end of a
/// string and the beginning of the next.
fn behind_break(text: &[u8], end: usize, lines: &mut usize) -> Option<usize> {
    let mut at = end;
    let (mut blanks, mut signs) = (0, 0);
    while let Some(byte) = text.get(at) {
        match byte {
            b'\n' if *lines == 0 => (*lines, blanks) = (1, 0),
            b' ' | b'\t' | b'\r' if blanks < 12 => blanks += 1,
            byte if SIGNS.contains(byte) && signs < 5 => signs += 1,
            _ => break,
        }
        at += 1;
    }
    (at > end && at < text.len()).then_some(at)
}

/// Returns whether a part looks as if it were drawn by chance.
fn is_random(part: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(part) else { return false };
    let has_letter = text.contains(|c: char| c.is_ascii_alphabetic());
    let has_digit = text.contains(|c: char| c.is_ascii_digit());
    let humps = part.windows(2).filter(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    let is_version = text.contains('.') && text.len() < 12;
    text.len() >= 4
        && !judge::is_place(text)
        && !text.contains("--")
        && !is_version
        && (has_letter && has_digit && judge::changes(text) >= 2
            || judge::is_shuffled(text)
            || has_letter && humps.count() >= 2 && text.len() >= 8
            || !text.contains(|c: char| !c.is_ascii_uppercase() && !c.is_ascii_digit()))
}
