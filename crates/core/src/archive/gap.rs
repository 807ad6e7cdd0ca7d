//! What stands between two strings of a block, where it is short: with it, lines read like what was said.

/// A place in [`Gaps`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gap {
    at: u32,
    length: u8,
    /// Bytes as they stood; 0 where nothing is kept.
    raw: u8,
    /// The escaped line break or tab that ends it, where one does.
    escape: Option<Escape>,
}

/// A line break or a tab inside a string of code: where a line of that code begins.
#[derive(Clone, Copy, Debug)]
enum Escape {
    Line,
    Tab,
}

impl Escape {
    /// The one that ends a text, where one does.
    fn at_end(text: &str) -> Option<Self> {
        let (before, escape) = match text.as_bytes() {
            [before @ .., b'n'] => (before, Self::Line),
            [before @ .., b't'] => (before, Self::Tab),
            _ => return None,
        };
        before.ends_with(b"\\").then_some(escape)
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Line => "\\n",
            Self::Tab => "\\t",
        }
    }
}

/// All gaps, one behind the other.
#[derive(Debug, Default)]
pub(super) struct Gaps(String);

impl Gaps {
    /// Keeps what stands between two strings, white space made single and marks of formatting left out, if that takes
    /// at most `most` bytes.
    pub(super) fn keep(&mut self, between: &str, most: usize) -> Gap {
        let nothing = Gap { escape: Escape::at_end(between), ..Gap::default() };
        let raw = match u8::try_from(between.len()) {
            Ok(0) | Err(_) => return nothing,
            Ok(raw) => raw,
        };
        let start = self.0.len();
        let kept = if between.len() <= most && is_tidy(between.as_bytes()) {
            self.0.push_str(between);
            true
        } else {
            usize::from(solid(between.as_bytes())) <= most && self.push_tidied(between, most)
        };
        if !kept {
            return nothing;
        }
        Gap { at: start as u32, length: (self.0.len() - start) as u8, raw, ..nothing }
    }

    /// Whether it was short enough: nothing is pushed otherwise.
    fn push_tidied(&mut self, between: &str, most: usize) -> bool {
        let start = self.0.len();
        // On both sides of a gap stands a string, as good as a letter.
        let (mut space, mut dropped, mut letter) = (false, false, true);
        for c in between.chars() {
            if matches!(c, '`' | '*') {
                dropped = true;
                continue;
            }
            let blank = c.is_whitespace() || c.is_control();
            space |= blank || (dropped && letter && !joins(c));
            dropped = false;
            if blank {
                continue;
            }
            if std::mem::take(&mut space) {
                self.0.push(' ');
            }
            self.0.push(c);
            letter = c.is_alphanumeric();
            if self.0.len() - start > most {
                break;
            }
        }
        if space || (dropped && letter) {
            self.0.push(' ');
        }
        let fits = self.0.len() - start <= most;
        if !fits {
            self.0.truncate(start);
        }
        fits
    }

    /// The gap, if it was kept and this many bytes lay between the two strings.
    pub(super) fn get(&self, gap: Gap, distance: usize) -> Option<&str> {
        let from = gap.at as usize;
        let kept = gap.raw > 0 && usize::from(gap.raw) == distance;
        kept.then(|| self.0.get(from..from + gap.len())).flatten()
    }

    /// Takes over a gap from another collection.
    pub(super) fn adopt(&mut self, other: &Self, gap: Gap) -> Gap {
        let from = gap.at as usize;
        let at = self.0.len() as u32;
        self.0.push_str(other.0.get(from..from + gap.len()).unwrap_or_default());
        Gap { at, ..gap }
    }
}

/// Whether a gap is kept as it stands: printable ASCII, no marks of formatting, single spaces.
fn is_tidy(between: &[u8]) -> bool {
    let mut before = 0;
    between.iter().all(|&byte| {
        let doubled = byte == b' ' && before == b' ';
        before = byte;
        (byte == b' ' && !doubled) || is_solid(byte)
    })
}

/// How many bytes of a gap are kept at least. A gap has at most 255 bytes, so the count does not overflow.
fn solid(between: &[u8]) -> u8 {
    between.iter().map(|&byte| u8::from(is_solid(byte))).sum()
}

/// Whether a byte is kept wherever it stands.
fn is_solid(byte: u8) -> bool {
    byte.is_ascii_graphic() && byte != b'`' && byte != b'*'
}

/// Whether a character may follow a word without a space.
fn joins(c: char) -> bool {
    matches!(c, ',' | '.' | ';' | ':' | '/' | '=' | ')')
}

impl Gap {
    /// Bytes it takes in a line.
    pub(super) fn len(self) -> usize {
        usize::from(self.length)
    }

    /// What stands for it where it is left out.
    pub(super) fn left_out(self) -> Option<&'static str> {
        self.escape.map(Escape::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_kept_by_the_short_way_is_what_the_long_way_keeps(
            between in "([ -~]|[ `*,.()\n\t]|\u{3000}|[\u{80}-\u{ff}]|漢){0,40}",
            most in 0..40usize,
        ) {
            let (mut gaps, mut long) = (Gaps::default(), Gaps::default());
            let gap = gaps.keep(&between, most);
            let fits = !between.is_empty() && long.push_tidied(&between, most);
            prop_assert_eq!(gaps.get(gap, between.len()), fits.then_some(long.0.as_str()));
        }
    }
}
