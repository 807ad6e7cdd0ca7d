//! What stands between two strings of a block, where it is short: with it, lines read like what was said.

/// A place in [`Gaps`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gap {
    at: u32,
    length: u8,
    /// Bytes as they stood; 0 where nothing is kept.
    raw: u8,
}

/// All gaps, one behind the other.
#[derive(Debug, Default)]
pub(super) struct Gaps(String);

impl Gaps {
    /// Keeps what stands between two strings, white space made single and marks of formatting left out, if that takes
    /// at most `most` bytes.
    pub(super) fn keep(&mut self, between: &str, most: usize) -> Gap {
        let Ok(raw) = u8::try_from(between.len()) else { return Gap::default() };
        let start = self.0.len();
        // On both sides of a gap stands a string, as good as a letter.
        let (mut space, mut dropped, mut letter) = (false, false, true);
        for c in between.chars() {
            if matches!(c, '`' | '*') {
                dropped = true;
                continue;
            }
            space |= c.is_whitespace() || c.is_control() || (dropped && letter && !joins(c));
            dropped = false;
            if c.is_whitespace() || c.is_control() {
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
        let length = self.0.len() - start;
        if length > most || raw == 0 {
            self.0.truncate(start);
            return Gap::default();
        }
        Gap { at: start as u32, length: length as u8, raw }
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

/// Whether a character may follow a word without a space.
fn joins(c: char) -> bool {
    matches!(c, ',' | '.' | ';' | ':' | '/' | '=' | ')')
}

impl Gap {
    /// Bytes it takes in a line.
    pub(super) fn len(self) -> usize {
        usize::from(self.length)
    }
}
