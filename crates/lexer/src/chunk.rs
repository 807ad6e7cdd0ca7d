//! What stands together without a space, and where it comes apart.

use super::cjk::is_cjk;

/// Leaves longer than this are encoded data, not words.
pub(super) const MAX_LEAF: usize = 64;
/// Spans longer than this are not looked for as a whole.
const MAX_SPAN: usize = 128;
/// A chunk with more leaves is cut.
const MAX_LEAVES: usize = 64;

/// What separates two leaves, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sep {
    /// `parseConfig`
    Hump,
    /// `parse_config`, `parse-config`
    Joint,
    /// `config.toml`
    Dot,
    /// `src/main`
    Slash,
    /// `std::fs`, `user@host`, `main.rs:12`
    Colon,
}

/// One part of a chunk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf {
    pub(super) from: usize,
    pub(super) to: usize,
    /// What stands before it; of no meaning on the first.
    before: Sep,
}

/// Several leaves that stand together.
pub(super) struct Span {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) first_leaf: usize,
}

/// The chunk read last.
#[derive(Default)]
pub(super) struct Chunk {
    pub(super) leaves: Vec<Leaf>,
}

impl Chunk {
    /// Reads the chunk that begins at `start`, a letter or digit; returns where it ends.
    pub(super) fn read(&mut self, source: &str, start: usize) -> usize {
        self.leaves.clear();
        let mut at = start;
        let mut before = Sep::Hump;
        loop {
            let end = run_end(source, at);
            self.push_run(source, at, end, before);
            if self.leaves.len() >= MAX_LEAVES {
                return end;
            }
            let rest = &source.as_bytes()[end..];
            if let Some(skip) = contraction(rest) {
                return end + skip;
            }
            if let Some(sign) = language_sign(rest)
                && end - at <= 2
                && self.leaves.len() == 1
            {
                self.leaves[0].to = end + sign;
                return end + sign;
            }
            match connector(rest) {
                Some((sep, len)) if starts_run(source, end + len) => {
                    before = sep;
                    at = end + len;
                }
                Some(_) | None => return end,
            }
        }
    }

    /// Splits a run of letters and digits at its humps.
    fn push_run(&mut self, source: &str, from: usize, to: usize, before: Sep) {
        let bytes = &source.as_bytes()[from..to];
        let mut start = 0;
        let mut before = before;
        if to - from <= MAX_LEAF {
            for n in 1..bytes.len() {
                if is_hump(bytes, n) {
                    self.leaves.push(Leaf { from: from + start, to: from + n, before });
                    before = Sep::Hump;
                    start = n;
                }
            }
        }
        self.leaves.push(Leaf { from: from + start, to, before });
    }

    /// Calls `found` for each span: the chunk as a whole, and each piece of it that has parts itself.
    pub(super) fn spans(&self, mut found: impl FnMut(Span)) {
        if self.leaves.len() < 2 {
            return;
        }
        for level in [Sep::Hump, Sep::Joint, Sep::Dot, Sep::Slash, Sep::Colon] {
            let mut first = 0;
            for next in 1..=self.leaves.len() {
                if next < self.leaves.len() && self.leaves[next].before <= level {
                    continue;
                }
                let inner = &self.leaves[first..next];
                // Only where this level is the strongest inside: weaker ones gave this span already.
                let strongest = inner.iter().skip(1).map(|leaf| leaf.before).max();
                let (from, to) = (inner[0].from, inner[inner.len() - 1].to);
                if strongest == Some(level) && to - from <= MAX_SPAN {
                    found(Span { from, to, first_leaf: first });
                }
                if level == Sep::Slash {
                    self.path_end(first, next, &mut found);
                }
                first = next;
            }
        }
    }

    /// The last two steps of a longer path: `src/main.rs` is what people remember of it.
    fn path_end(&self, first: usize, next: usize, found: &mut impl FnMut(Span)) {
        let leaves = &self.leaves[first..next];
        let steps: Vec<usize> =
            (1..leaves.len()).rev().filter(|&n| leaves[n].before == Sep::Slash).take(2).collect();
        if let [_, start] = steps[..] {
            let (from, to) = (leaves[start].from, leaves[leaves.len() - 1].to);
            if to - from <= MAX_SPAN {
                found(Span { from, to, first_leaf: first + start });
            }
        }
    }

    /// Whether this is encoded data: long, of both cases, and changing between letters and digits all the time.
    pub(super) fn is_blob(&self, source: &str) -> bool {
        let (Some(first), Some(last)) = (self.leaves.first(), self.leaves.last()) else { return true };
        let bytes = &source.as_bytes()[first.from..last.to];
        if bytes.len() < 40 {
            return false;
        }
        let changes = |class: fn(u8) -> u8| bytes.windows(2).filter(|w| class(w[0]) != class(w[1])).count();
        let digits = changes(|b| u8::from(b.is_ascii_digit()));
        let classes = changes(|b| u8::from(b.is_ascii_digit()) + 2 * u8::from(b.is_ascii_uppercase()));
        let upper = bytes.iter().any(u8::is_ascii_uppercase);
        let lower = bytes.iter().any(u8::is_ascii_lowercase);
        upper && lower && digits >= 4 && classes * 3 > bytes.len()
    }
}

/// The end of the letters and digits at `at`.
fn run_end(source: &str, at: usize) -> usize {
    let bytes = source.as_bytes();
    let mut end = at;
    while let Some(&byte) = bytes.get(end) {
        if byte.is_ascii() {
            if !byte.is_ascii_alphanumeric() {
                break;
            }
            end += 1;
        } else {
            match source[end..].chars().next() {
                Some(c) if c.is_alphanumeric() && !is_cjk(c) => end += c.len_utf8(),
                // Combining marks belong to the letter before them.
                Some(c @ '\u{0300}'..='\u{036F}') => end += c.len_utf8(),
                Some(_) | None => break,
            }
        }
    }
    end
}

fn starts_run(source: &str, at: usize) -> bool {
    source.get(at..).and_then(|rest| rest.chars().next()).is_some_and(|c| c.is_alphanumeric() && !is_cjk(c))
}

/// What may join two runs.
const JOINTS: &[u8] = b"_-./:\\@#+~";

/// What a byte may be in a chunk, as far as one byte tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// A small letter or a digit.
    Lower,
    /// A capital letter: a leaf may begin with it.
    Upper,
    /// May join two leaves.
    Joint,
    /// Ends a chunk.
    End,
    /// Part of a character that is not ASCII.
    Foreign,
}

/// What a byte may be in a chunk.
pub(super) fn sign(byte: u8) -> Sign {
    SIGNS[byte as usize]
}

const SIGNS: [Sign; 256] = {
    let mut signs = [Sign::Foreign; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        signs[byte as usize] = match byte {
            b'a'..=b'z' | b'0'..=b'9' => Sign::Lower,
            b'A'..=b'Z' => Sign::Upper,
            b'\'' => Sign::Joint,
            _ => Sign::End,
        };
        byte += 1;
    }
    let mut n = 0;
    while n < JOINTS.len() {
        signs[JOINTS[n] as usize] = Sign::Joint;
        n += 1;
    }
    signs
};

/// What joins the run before it to a run after it, and its length.
fn connector(rest: &[u8]) -> Option<(Sep, usize)> {
    let len = rest.iter().take(4).take_while(|b| JOINTS.contains(b)).count();
    let joint = &rest[..len];
    let sep = match joint {
        b"" => return None,
        _ if joint.iter().all(|&b| b == b'_') => Sep::Joint,
        b"-" | b"--" => Sep::Joint,
        b"." | b".." => Sep::Dot,
        b"..." | b"...." | b"---" | b"----" => return None,
        b"/" | b"\\" | b"\\\\" => Sep::Slash,
        _ => Sep::Colon,
    };
    (len < 4 || sep == Sep::Joint).then_some((sep, len))
}

/// The rest of `don't`, `it's`, `we've`, which adds nothing to what the word says.
fn contraction(rest: &[u8]) -> Option<usize> {
    let after = rest.strip_prefix(b"'").or_else(|| rest.strip_prefix("’".as_bytes()))?;
    let len = after.iter().take_while(|b| b.is_ascii_alphanumeric()).count();
    let known = matches!(
        after[..len].to_ascii_lowercase().as_slice(),
        b"s" | b"t" | b"d" | b"m" | b"re" | b"ve" | b"ll"
    );
    known.then_some(rest.len() - after.len() + len)
}

/// The sign of `C++`, `C#`, `F#`.
fn language_sign(rest: &[u8]) -> Option<usize> {
    let len = if rest.starts_with(b"++") {
        2
    } else if rest.starts_with(b"#") {
        1
    } else {
        return None;
    };
    (!rest.get(len).is_some_and(u8::is_ascii_alphanumeric)).then_some(len)
}

/// Whether a new word begins at `n`: `parse|Config`, `HTTP|Server`, but not `ID|s`.
fn is_hump(bytes: &[u8], n: usize) -> bool {
    let (before, here) = (bytes[n - 1], bytes[n]);
    if !here.is_ascii_uppercase() || !before.is_ascii_alphanumeric() {
        return false;
    }
    if before.is_ascii_lowercase() {
        return true;
    }
    let next_is_lower = bytes.get(n + 1).is_some_and(u8::is_ascii_lowercase);
    let plural = bytes.len() == n + 2 && bytes[n + 1] == b's';
    before.is_ascii_uppercase() && next_is_lower && !plural
}
