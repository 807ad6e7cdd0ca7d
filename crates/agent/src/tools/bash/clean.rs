//! What a command prints, as text: without the orders to a terminal that it is mixed with.

/// A line longer than this is passed on in pieces.
const LINE: usize = 16 << 10;
/// A title or a link for the terminal that is longer than this is none: it never ended.
const ORDER: usize = 4096;

/// Makes text of bytes as they come. Colours, cursor movements, titles and other control characters are removed; what a
/// progress bar overwrites is dropped; bytes that are not UTF-8 become U+FFFD. How the bytes are split into pieces makes no
/// difference.
#[derive(Debug, Default)]
pub(super) struct Cleaner {
    /// The beginning of a character.
    carry: Vec<u8>,
    state: State,
    line: String,
    /// A carriage return came: what comes next overwrites the line.
    returned: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    /// Behind ESC.
    Escape,
    /// In an order with numbers, such as a colour.
    Numbers,
    /// In an order with a text, such as a title; so many characters of it.
    Words(usize),
    /// Behind an ESC in there: it may end it.
    WordsEscape(usize),
    /// One more character belongs to it.
    Last,
}

impl Cleaner {
    /// Takes bytes; whole lines are appended to `out`.
    pub(super) fn push(&mut self, bytes: &[u8], out: &mut String) {
        let joined;
        let mut rest = if self.carry.is_empty() {
            bytes
        } else {
            self.carry.extend_from_slice(bytes);
            joined = std::mem::take(&mut self.carry);
            joined.as_slice()
        };
        loop {
            match std::str::from_utf8(rest) {
                Ok(text) => return self.take_all(text, out),
                Err(error) => {
                    let (valid, bad) = rest.split_at(error.valid_up_to());
                    self.take_all(&String::from_utf8_lossy(valid), out);
                    let Some(length) = error.error_len() else {
                        self.carry = bad.to_vec();
                        return;
                    };
                    self.take(char::REPLACEMENT_CHARACTER, out);
                    rest = bad.get(length..).unwrap_or_default();
                }
            }
        }
    }

    /// Nothing comes any more: what is left is appended to `out`.
    pub(super) fn finish(&mut self, out: &mut String) {
        if !std::mem::take(&mut self.carry).is_empty() {
            self.take(char::REPLACEMENT_CHARACTER, out);
        }
        out.push_str(&std::mem::take(&mut self.line));
        self.returned = false;
    }

    /// The line that is not finished.
    pub(super) fn unfinished(&self) -> &str {
        &self.line
    }

    /// Character by character, but for runs of plain text.
    fn take_all(&mut self, text: &str, out: &mut String) {
        let mut rest = text;
        loop {
            if self.state == State::Text && !self.returned {
                let plain = rest.find(char::is_control).unwrap_or(rest.len());
                let (run, after) = rest.split_at(plain);
                self.put_all(run, out);
                rest = after;
            }
            let Some(c) = rest.chars().next() else { return };
            self.take(c, out);
            rest = rest.get(c.len_utf8()..).unwrap_or_default();
        }
    }

    fn take(&mut self, c: char, out: &mut String) {
        match self.state {
            State::Text => self.text(c, out),
            State::Escape => match c {
                '[' => self.state = State::Numbers,
                ']' | 'P' | 'X' | '^' | '_' => self.state = State::Words(0),
                ' '..='/' => self.state = State::Last,
                '0'..='~' => self.state = State::Text,
                _ => self.abandon(c, out),
            },
            State::Numbers => match c {
                ' '..='?' => {}
                '@'..='~' => self.state = State::Text,
                _ => self.abandon(c, out),
            },
            State::Words(count) => match c {
                '\x07' => self.state = State::Text,
                '\x1b' => self.state = State::WordsEscape(count),
                '\n' | '\r' => self.abandon(c, out),
                _ if count >= ORDER => self.abandon(c, out),
                _ => self.state = State::Words(count + 1),
            },
            State::WordsEscape(count) => match c {
                '\\' => self.state = State::Text,
                _ => {
                    self.state = State::Words(count + 1);
                    self.take(c, out);
                }
            },
            State::Last => self.state = State::Text,
        }
    }

    /// It was no order after all.
    fn abandon(&mut self, c: char, out: &mut String) {
        self.state = State::Text;
        self.text(c, out);
    }

    fn text(&mut self, c: char, out: &mut String) {
        match c {
            '\x1b' => self.state = State::Escape,
            '\n' => {
                self.returned = false;
                out.push_str(&self.line);
                out.push('\n');
                self.line.clear();
            }
            '\r' => self.returned = true,
            '\x08' => drop(self.line.pop()),
            '\t' => self.put(c, out),
            _ if c.is_control() => {}
            _ => self.put(c, out),
        }
    }

    fn put(&mut self, c: char, out: &mut String) {
        if std::mem::take(&mut self.returned) {
            self.line.clear();
        }
        self.put_all(c.encode_utf8(&mut [0; 4]), out);
    }

    fn put_all(&mut self, mut text: &str, out: &mut String) {
        while !text.is_empty() {
            let (piece, after) = text.split_at(text.ceil_char_boundary(LINE - self.line.len()));
            self.line.push_str(piece);
            if self.line.len() >= LINE {
                out.push_str(&self.line);
                self.line.clear();
            }
            text = after;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn clean(pieces: &[&[u8]]) -> String {
        let (mut cleaner, mut out) = (Cleaner::default(), String::new());
        pieces.iter().for_each(|piece| cleaner.push(piece, &mut out));
        cleaner.finish(&mut out);
        out
    }

    #[test]
    fn orders_to_the_terminal_are_removed() {
        assert_eq!(clean(&[b"\x1b[1;31mred\x1b[0m plain"]), "red plain");
        assert_eq!(clean(&[b"\x1b]0;a title\x07text \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\"]), "text link");
        assert_eq!(clean(&[b"\x1b(Bascii \x1b=keys \x1bMup \x07bell\x00"]), "ascii keys up bell");
        assert_eq!(clean(&[b"\x1b]never ends\nnext line"]), "\nnext line");
        assert_eq!(clean(&[b"\x1b[12", b";3", b"4Hsplit"]), "split");
    }

    #[test]
    fn progress_bars_leave_their_last_state() {
        assert_eq!(clean(&[b"10%\r50%\r\x1b[K100%\ndone\n"]), "100%\ndone\n");
        assert_eq!(clean(&[b"windows\r\nline ends\r\n"]), "windows\nline ends\n");
        assert_eq!(clean(&[b"windows\r", b"\nline ends\r\r\n"]), "windows\nline ends\n");
        assert_eq!(clean(&[b"kept\r"]), "kept");
        assert_eq!(clean(&[b"ab\x08c |\x08/\x08-"]), "ac -");
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        assert_eq!(clean(&[b"a\xff\xfeb"]), "a\u{fffd}\u{fffd}b");
        assert_eq!(
            clean(&["ä€".as_bytes().get(..1).unwrap(), "ä€".as_bytes().get(1..4).unwrap(), b"\xac"]),
            "ä€"
        );
        assert_eq!(clean(&[b"cut \xe2\x82"]), "cut \u{fffd}");
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference_and_no_control_character_is_left(
            bytes in proptest::collection::vec(
                prop_oneof![any::<u8>(), Just(0x1b), Just(b'['), Just(b']'), Just(b'\r'), Just(b'\n'), Just(7), b'0'..b'z'],
                0..400,
            ),
            cuts in proptest::collection::vec(1_usize..40, 0..40),
        ) {
            let whole = clean(&[&bytes]);
            let mut pieces = Vec::new();
            let mut rest = bytes.as_slice();
            for cut in cuts {
                let (piece, after) = rest.split_at(cut.min(rest.len()));
                pieces.push(piece);
                rest = after;
            }
            pieces.push(rest);
            prop_assert_eq!(&clean(&pieces), &whole);
            prop_assert!(whole.chars().all(|c| c == '\n' || c == '\t' || !c.is_control()));
        }

        #[test]
        fn plain_text_stays_as_it_is(text in "[a-zA-Zäöü€ \t\n.,;-]{0,2000}") {
            prop_assert_eq!(clean(&[text.as_bytes()]), text);
        }
    }
}
