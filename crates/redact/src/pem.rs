//! Private keys over several lines, dropped as they pass.
//!
//! `-----BEGIN … PRIVATE KEY-----` with a line of key behind it is taken out up to `-----END …-----`, or, of a block that was cut
//! off, up to the last line that looks like key. Lines may be quoted, numbered, part of a diff or of code. A block within one
//! line is a rule like others.

use super::mark;
use memchr::{memchr, memmem};
use regex::bytes::{Regex, RegexBuilder};
use std::sync::LazyLock;

/// Placeholder for a key.
pub(super) const KIND: &str = "private-key";
/// What every block begins with.
const BEGIN: &[u8] = b"-----BEGIN ";
/// The longest line that belongs to a block.
const LINE: usize = 4 << 10;
/// Bytes of lines between the beginning and the key: names and values, and blank ones.
const HEADERS: usize = 4 << 10;
/// No key is longer. What follows is no key any more.
const BLOCK: usize = 64 << 10;

/// Whether a text could have a block.
pub(super) fn may_begin(text: &[u8]) -> bool {
    memmem::find(text, BEGIN).is_some()
}

/// Returns whether a text has a block.
pub(super) fn has_block(text: &str) -> bool {
    if !may_begin(text.as_bytes()) {
        return false;
    }
    let (mut pem, mut out, mut kinds) = (Pem::default(), Vec::new(), Vec::new());
    pem.push(text.as_bytes(), &mut out, &mut kinds);
    pem.finish(&mut out, &mut kinds);
    !kinds.is_empty()
}

/// Blocks on their way through.
#[derive(Debug, Default)]
pub(super) struct Pem {
    state: State,
    held: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Outside,
    /// `held` begins with a beginning; whether a key follows is not known.
    Begun,
    /// Inside of a block, of which so many bytes passed. `held` begins with the end of the last line that was dropped.
    Inside(usize),
}

/// What one step came to.
enum Step {
    /// So many bytes of what is held are done with.
    Done(usize),
    /// More must be known.
    Wait,
}

impl Pem {
    pub(super) fn push(&mut self, chunk: &[u8], out: &mut Vec<u8>, kinds: &mut Vec<&'static str>) {
        if self.state == State::Outside && self.held.is_empty() && memmem::find(chunk, b"-----").is_none() {
            let tail = chunk.iter().rev().take_while(|byte| **byte == b'-').count();
            let sure = chunk.len() - tail;
            out.extend_from_slice(&chunk[..sure]);
            self.held.extend_from_slice(&chunk[sure..]);
            return;
        }
        self.held.extend_from_slice(chunk);
        self.work(false, out, kinds);
    }

    pub(super) fn finish(&mut self, out: &mut Vec<u8>, kinds: &mut Vec<&'static str>) {
        self.work(true, out, kinds);
        out.append(&mut self.held);
    }

    pub(super) fn held(&self) -> usize {
        self.held.len()
    }

    fn work(&mut self, is_last: bool, out: &mut Vec<u8>, kinds: &mut Vec<&'static str>) {
        let held = std::mem::take(&mut self.held);
        let mut at = 0;
        while at < held.len() {
            let rest = &held[at..];
            let step = match self.state {
                State::Outside => self.outside(rest, is_last, out),
                State::Begun => self.begun(rest, is_last, out, kinds),
                State::Inside(bytes) => self.inside(rest, bytes, is_last),
            };
            match step {
                Step::Done(bytes) => at += bytes,
                Step::Wait => break,
            }
        }
        self.held = held[at..].to_vec();
    }

    fn outside(&mut self, rest: &[u8], is_last: bool, out: &mut Vec<u8>) -> Step {
        if let Some(at) = memmem::find(rest, BEGIN) {
            out.extend_from_slice(&rest[..at]);
            self.state = State::Begun;
            return Step::Done(at);
        }
        // What could be the first part of a beginning waits.
        let tail = if is_last { 0 } else { longest_tail(rest) };
        let sure = rest.len() - tail;
        out.extend_from_slice(&rest[..sure]);
        if sure == 0 { Step::Wait } else { Step::Done(sure) }
    }

    fn begun(
        &mut self,
        rest: &[u8],
        is_last: bool,
        out: &mut Vec<u8>,
        kinds: &mut Vec<&'static str>,
    ) -> Step {
        let Some((first, mut at)) = line(rest, is_last) else {
            return if rest.len() < LINE { Step::Wait } else { self.let_go(rest, out) };
        };
        if !begins(first) {
            return self.let_go(rest, out);
        }
        while at < HEADERS && at < rest.len() {
            let Some((next, length)) = line(&rest[at..], is_last) else { break };
            let is_key_line = if is_key(next, 40) {
                true
            } else if is_key(next, 4) {
                // A short key: it is one if more key or the end follows.
                let behind = &rest[at + length..];
                match line(behind, is_last) {
                    Some((last, _)) => end_of_mark(last).is_some() || is_key(last, 4),
                    None if behind.len() < LINE && !is_last => return Step::Wait,
                    None => is_key(next, 16),
                }
            } else {
                false
            };
            if is_key_line {
                mark(KIND, out);
                kinds.push(KIND);
                self.state = State::Inside(0);
                // The line end stays with what follows.
                return Step::Done(at + next.len());
            }
            if !is_header(next) {
                return self.let_go(rest, out);
            }
            at += length;
        }
        if is_last || at >= HEADERS || rest.len() - at >= LINE { self.let_go(rest, out) } else { Step::Wait }
    }

    /// It was no block: the words that looked like a beginning are text.
    fn let_go(&mut self, rest: &[u8], out: &mut Vec<u8>) -> Step {
        out.extend_from_slice(&rest[..BEGIN.len()]);
        self.state = State::Outside;
        Step::Done(BEGIN.len())
    }

    /// `rest` begins with the end of the last line of key.
    fn inside(&mut self, rest: &[u8], bytes: usize, is_last: bool) -> Step {
        let Some(end) = memchr(b'\n', rest) else {
            return if is_last { self.end() } else { Step::Wait };
        };
        let start = end + 1;
        if bytes > BLOCK {
            return self.end();
        }
        let Some((next, length)) = line(&rest[start..], is_last) else {
            return if rest.len() - start < LINE && !is_last { Step::Wait } else { self.end() };
        };
        if let Some(behind) = end_of_mark(next) {
            self.state = State::Outside;
            return Step::Done(start + behind);
        }
        if is_key(next, 16) {
            self.state = State::Inside(bytes + next.len());
            return Step::Done(start + next.len());
        }
        // The last line of a key can be short: it is one if the end follows.
        if is_key(next, 1) {
            let behind = &rest[start + length..];
            return match line(behind, is_last) {
                Some((last, _)) if end_of_mark(last).is_some() => {
                    self.state = State::Inside(bytes + next.len());
                    Step::Done(start + next.len())
                }
                Some(_) => self.end(),
                None if behind.len() < LINE && !is_last => Step::Wait,
                None => self.end(),
            };
        }
        self.end()
    }

    fn end(&mut self) -> Step {
        self.state = State::Outside;
        Step::Done(0)
    }
}

/// The first line without its end, and with it; `None` while it is not complete, or if it is too long for one of a key.
fn line(text: &[u8], is_last: bool) -> Option<(&[u8], usize)> {
    let reach = &text[..text.len().min(LINE)];
    let (end, length) = match memchr(b'\n', reach) {
        Some(end) => (end, end + 1),
        None if is_last && reach.len() < LINE && !reach.is_empty() => (reach.len(), reach.len()),
        None => return None,
    };
    let line = &text[..end];
    Some((line.strip_suffix(b"\r").unwrap_or(line), length))
}

/// Bytes at the end that are the first ones of a beginning.
fn longest_tail(text: &[u8]) -> usize {
    (1..BEGIN.len().min(text.len() + 1)).rev().find(|n| text.ends_with(&BEGIN[..*n])).unwrap_or(0)
}

struct Forms {
    begins: Regex,
    header: Regex,
    key: Regex,
    ends: Regex,
}

/// Patterns are constants; should one not compile, no block is seen, and the test below says so.
static FORMS: LazyLock<Option<Forms>> = LazyLock::new(|| {
    let pattern = |text: &str| RegexBuilder::new(text).unicode(false).build().ok();
    Some(Forms {
        begins: pattern(
            r#"^-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:\\+[nr]|["'`+,;.()\\\s]){0,16}$"#,
        )?,
        header: pattern(
            r#"^[\s\d:|>+*#"'/-]{0,24}(?:[A-Z][A-Za-z-]{1,30}: [^\n]{0,200})?(?:\\+[nr]|["'+,;\\\s]){0,12}$"#,
        )?,
        // In front: numbers of lines, arrows and bars behind them, marks of quotes, diffs and comments.
        key: pattern(
            r#"^(?:[\s\d:|>+*#"'/-]|\xe2\x86\x92|\xe2\x94\x82){0,24}?([A-Za-z0-9+/=]+)(?:\\+[nr]|["'`+,;.()\\\s]){0,16}$"#,
        )?,
        ends: pattern(r"-----END [A-Z0-9 ]{0,40}?PRIVATE KEY(?: BLOCK)?-----|-----END [A-Z0-9 ]{0,40}")?,
    })
});

fn begins(line: &[u8]) -> bool {
    FORMS.as_ref().is_some_and(|forms| forms.begins.is_match(line))
}

fn is_header(line: &[u8]) -> bool {
    FORMS.as_ref().is_some_and(|forms| forms.header.is_match(line))
}

/// Whether a line is key, with at least so many characters of it.
fn is_key(line: &[u8], least: usize) -> bool {
    let run = FORMS.as_ref().and_then(|forms| forms.key.captures(line)).and_then(|groups| groups.get(1));
    run.is_some_and(|run| run.len() >= least)
}

/// Where the mark of the end ends.
fn end_of_mark(line: &[u8]) -> Option<usize> {
    Some(FORMS.as_ref()?.ends.find(line)?.end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_patterns_compile_and_know_lines_of_key() {
        assert!(FORMS.is_some());
        let run = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7";
        for line in [
            run.to_owned(),
            format!("+{run}"),
            format!("  12\u{2192}{run}"),
            format!("    \"{run}\\n\" +"),
            format!("> {run}"),
        ] {
            assert!(is_key(line.as_bytes(), 40), "{line}");
        }
        assert!(!is_key(format!("so {run}").as_bytes(), 16));
        assert!(!is_key(format!("password=[redacted:x] {run}").as_bytes(), 16));
    }
}
