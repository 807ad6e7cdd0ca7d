//! Whether a place in Markdown is code.

/// Follows a text byte by byte.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fence {
    /// The mark and length of the fence that is open.
    open: Option<(u8, usize)>,
    line: Line,
    /// Whether the line has an odd number of backticks so far.
    is_ticked: bool,
}

/// What is known of the line so far.
#[derive(Clone, Copy, Debug, Default)]
enum Line {
    /// Only white space.
    #[default]
    Blank,
    /// So many of a mark.
    Marks(u8, usize),
    /// Marks, and something behind them that may be a language, or white space only.
    Behind { mark: u8, length: usize, is_blank: bool },
    /// Anything else.
    Other,
}

/// Marks that make a fence.
const LEAST: usize = 3;

impl Fence {
    /// Whether what comes next is code: in a fence, or behind a backtick of the line that has no other yet.
    pub(super) fn is_code(self) -> bool {
        self.open.is_some() || self.is_ticked
    }

    pub(super) fn read(&mut self, text: &str) {
        text.bytes().for_each(|byte| self.byte(byte));
    }

    fn byte(&mut self, byte: u8) {
        if byte == b'\n' {
            self.end_line();
            self.is_ticked = false;
            return;
        }
        self.is_ticked ^= byte == b'`';
        let is_space = byte.is_ascii_whitespace();
        self.line = match self.line {
            Line::Blank if is_space => Line::Blank,
            Line::Blank if matches!(byte, b'`' | b'~') => Line::Marks(byte, 1),
            Line::Blank => Line::Other,
            Line::Marks(mark, length) if byte == mark => Line::Marks(mark, length.saturating_add(1)),
            Line::Marks(mark, length) if length >= LEAST => Line::Behind { mark, length, is_blank: is_space },
            Line::Marks(..) => Line::Other,
            // "```code```" is no fence.
            Line::Behind { mark: b'`', .. } if byte == b'`' => Line::Other,
            Line::Behind { mark, length, is_blank } => {
                Line::Behind { mark, length, is_blank: is_blank && is_space }
            }
            Line::Other => Line::Other,
        };
    }

    fn end_line(&mut self) {
        let (mark, length, is_blank) = match std::mem::take(&mut self.line) {
            Line::Marks(mark, length) if length >= LEAST => (mark, length, true),
            Line::Behind { mark, length, is_blank } => (mark, length, is_blank),
            Line::Blank | Line::Marks(..) | Line::Other => return,
        };
        match self.open {
            None => self.open = Some((mark, length)),
            Some((open, least)) if open == mark && length >= least && is_blank => self.open = None,
            Some(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_code(text: &str) -> bool {
        let mut fence = Fence::default();
        fence.read(text);
        fence.is_code()
    }

    #[test]
    fn code_begins_and_ends_as_markdown_has_it() {
        for open in
            ["```\n", "a\n```rust\nlet x;\n", "  ~~~\n", "````\n```\n", "```\n~~~\n", "```\n``` x\n", "a `b"]
        {
            assert!(is_code(open), "{open:?}");
        }
        for closed in
            ["", "``\n", "```code```\n", "a ```\n", "```\nx\n```\n", "~~~ x\n~~~~  \n", "a `b\n", "a `b` c"]
        {
            assert!(!is_code(closed), "{closed:?}");
        }
    }
}
