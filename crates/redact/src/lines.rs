//! Text by lines: each decides for itself, and one that is too long is cut where no secret is.

use super::scan::{self, Find};
use super::stated;
use super::stream::Piece;
use memchr::{memchr, memrchr};

/// Bytes of a line that are looked at as a whole. A longer line is looked at in pieces of about this length.
pub const LONGEST_LINE: usize = 64 << 10;
/// Bytes of the longest secret that is seen as a whole where a long line is cut.
pub const LONGEST_SECRET: usize = 16 << 10;

/// A line of at least so many bytes is cut.
const CUT_AT: usize = LONGEST_LINE + LONGEST_SECRET;

/// Lines on their way through.
#[derive(Debug, Default)]
pub(super) struct Lines {
    held: Vec<u8>,
    /// Bytes of `held` that are known to have no line end.
    searched: usize,
    /// A secret was cut, and goes on until something that no token has.
    inside: bool,
}

impl Lines {
    pub(super) fn push(&mut self, bytes: &[u8], out: &mut Piece) {
        if bytes.is_empty() {
            return;
        }
        // Text in one go is not copied but for its last line.
        if self.held.is_empty() && !self.inside {
            let done = self.take(bytes, out);
            self.held.extend_from_slice(&bytes[done..]);
        } else {
            let mut held = std::mem::take(&mut self.held);
            held.extend_from_slice(bytes);
            let done = self.take(&held, out);
            held.drain(..done);
            self.held = held;
        }
    }

    pub(super) fn finish(&mut self, out: &mut Piece) {
        let held = std::mem::take(&mut self.held);
        let rest = if self.inside { behind_token(&held) } else { 0 };
        scan::clean(&held[rest..], out);
    }

    pub(super) fn held(&self) -> usize {
        self.held.len()
    }

    /// Lets go what is complete, and returns how much that was.
    fn take(&mut self, text: &[u8], out: &mut Piece) -> usize {
        let mut done = 0;
        loop {
            if self.inside {
                done += behind_token(&text[done..]);
                self.searched = 0;
                if done == text.len() {
                    return done;
                }
                self.inside = false;
            }
            let block = self.whole_lines(&text[done..]);
            let is_cut = text.len() - done - block >= CUT_AT;
            let open = if is_cut { 0 } else { open_tail(&text[done..done + block]) };
            if open > 0 {
                // What follows decides: these lines are read again.
                self.searched = 0;
            }
            scan::clean(&text[done..done + block - open], out);
            done += block - open;
            if !is_cut {
                return done;
            }
            let (cut, inside) = cut(&text[done..done + CUT_AT]);
            scan::clean(&text[done..done + cut], out);
            done += cut;
            self.inside = inside;
            self.searched = 0;
        }
    }

    /// The bytes of the lines that are complete, up to the first that is to be cut.
    fn whole_lines(&mut self, text: &[u8]) -> usize {
        let mut done = 0;
        let mut from = self.searched.min(text.len());
        loop {
            let reach = text.len().min(done + CUT_AT);
            match memchr(b'\n', &text[from..reach]) {
                Some(at) => {
                    done = from + at + 1;
                    from = done;
                }
                None => {
                    self.searched = reach - done;
                    return done;
                }
            }
        }
    }
}

/// Bytes of the lines at the end of a block whose secret may stand on the line that comes next.
fn open_tail(block: &[u8]) -> usize {
    let mut open = 0;
    loop {
        let mut rest = &block[..block.len() - open];
        let mut between = 0;
        loop {
            let Some(body) = rest.strip_suffix(b"\n") else { return open };
            let start = memrchr(b'\n', body).map_or(0, |at| at + 1);
            rest = &block[..start];
            let line = &body[start..];
            if scan::is_open(line) {
                // More than this is not waited for.
                if block.len() - start > CUT_AT {
                    return 0;
                }
                open = block.len() - start;
                break;
            }
            between += 1;
            if !stated::is_between(line) || between > stated::LINES_BETWEEN {
                return open;
            }
        }
    }
}

/// Where to cut a line that is too long, of which the beginning is given; and whether that is inside a secret.
fn cut(window: &[u8]) -> (usize, bool) {
    let finds = scan::find(window);
    let is_inside = |at: usize| finds.iter().any(|find: &Find| find.whole.start < at && at <= find.whole.end);
    let earliest = LONGEST_LINE - LONGEST_SECRET;
    let breaks = |wanted: fn(u8) -> bool| {
        (earliest..=LONGEST_LINE)
            .rev()
            .find(|at| wanted(window[at - 1]) && is_between(window, *at) && !is_inside(*at))
    };
    let best = breaks(|byte| byte.is_ascii_whitespace())
        .or_else(|| breaks(|byte| matches!(byte, b'"' | b'\'' | b',' | b';' | b'>' | b'}')))
        .or_else(|| breaks(|byte| !is_of_token(byte)));
    if let Some(best) = best {
        return (best, false);
    }
    let at = (earliest..=LONGEST_LINE).rev().find(|at| is_between(window, *at)).unwrap_or(LONGEST_LINE);
    (at, is_inside(at))
}

/// Whether a place is between two characters.
fn is_between(text: &[u8], at: usize) -> bool {
    text.get(at).is_none_or(|byte| byte & 0xc0 != 0x80)
}

/// Bytes that a token is written in.
fn is_of_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/' | b'+' | b'=' | b'~' | b'%')
}

fn behind_token(text: &[u8]) -> usize {
    text.iter().position(|byte| !is_of_token(*byte)).unwrap_or(text.len())
}
