//! One line that is typed while something else goes on.

use super::Look;
use super::clean::on_one_line;
use super::keys::Key;
use super::style::{Colour, Line, Span};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// A line of text with a cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Editor {
    text: String,
    /// In bytes, between two characters as a person sees them.
    cursor: usize,
}

impl Editor {
    /// Begins with a text.
    #[cfg(test)]
    pub(crate) fn with(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { cursor: text.len(), text }
    }

    /// What was typed.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// What was typed; the line is empty then.
    pub(crate) fn take(&mut self) -> String {
        self.cursor = 0;
        std::mem::take(&mut self.text)
    }

    /// Whether a key is one that edits; then it did.
    pub(crate) fn edit(&mut self, key: &Key) -> bool {
        match key {
            Key::Char(c) => self.insert(&c.to_string()),
            Key::Paste(text) => self.insert(&text.replace("\r\n", "\n").replace('\r', "\n")),
            Key::Backspace => self.remove(self.before(), self.cursor),
            Key::Delete => self.remove(self.cursor, self.after()),
            Key::Left => self.cursor = self.before(),
            Key::Right => self.cursor = self.after(),
            Key::Home => self.cursor = 0,
            Key::End => self.cursor = self.text.len(),
            Key::DeleteWord => {
                let head = self.text[..self.cursor].trim_end();
                let from = head.rfind(char::is_whitespace).map_or(0, |at| head.ceil_char_boundary(at + 1));
                self.remove(from, self.cursor);
            }
            Key::DeleteLine => self.remove(0, self.cursor),
            Key::Esc
            | Key::Interrupt
            | Key::EndOfInput
            | Key::Enter
            | Key::AltEnter
            | Key::Tab
            | Key::BackTab
            | Key::Up
            | Key::Down
            | Key::Resize => return false,
        }
        true
    }

    /// The line behind `mark`, and the cursor's column: what is around the cursor where not all of it fits.
    pub(crate) fn draw(&self, mark: &str, look: Look) -> (Line, usize) {
        let mut line = Line::from(Span::coloured(mark, Colour::Cyan));
        let room = look.width.saturating_sub(line.width() + 1).max(1);
        let before = on_one_line(&self.text[..self.cursor]);
        let after = on_one_line(&self.text[self.cursor..]);
        let head = end_of(&before, room);
        let cursor = line.width() + head.width();
        let tail = start_of(&after, room - head.width().min(room));
        line.push(Span::plain(head));
        line.push(Span::plain(tail));
        (line, cursor)
    }

    fn insert(&mut self, text: &str) {
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
    }

    fn remove(&mut self, from: usize, to: usize) {
        self.text.replace_range(from..to, "");
        self.cursor = from;
    }

    fn before(&self) -> usize {
        let head = &self.text[..self.cursor];
        head.grapheme_indices(true).next_back().map_or(0, |(at, _)| at)
    }

    fn after(&self) -> usize {
        let next = self.text[self.cursor..].graphemes(true).next();
        self.cursor + next.map_or(0, str::len)
    }
}

/// As much of the end as fits.
fn end_of(text: &str, width: usize) -> &str {
    let mut used = 0;
    let mut from = text.len();
    for (at, grapheme) in text.grapheme_indices(true).rev() {
        used += grapheme.width();
        if used > width {
            break;
        }
        from = at;
    }
    &text[from..]
}

/// As much of the beginning as fits.
fn start_of(text: &str, width: usize) -> &str {
    let mut used = 0;
    let mut to = 0;
    for (at, grapheme) in text.grapheme_indices(true) {
        used += grapheme.width();
        if used > width {
            break;
        }
        to = at + grapheme.len();
    }
    &text[..to]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LOOK: Look = Look { colour: false, unicode: true, moves: true, width: 20 };

    fn typed(keys: &[Key]) -> Editor {
        let mut editor = Editor::default();
        for key in keys {
            assert!(editor.edit(key));
        }
        editor
    }

    #[test]
    fn keys_edit_where_the_cursor_is() {
        let paste = |text: &str| Key::Paste(text.to_owned());
        assert_eq!(typed(&[paste("helo"), Key::Left, Key::Char('l')]).text(), "hello");
        assert_eq!(typed(&[paste("one two "), Key::DeleteWord]).text(), "one ");
        assert_eq!(typed(&[paste("a👩‍👩‍👧"), Key::Backspace]).text(), "a");
        assert_eq!(typed(&[paste("ab"), Key::Home, Key::Delete]).text(), "b");
        assert_eq!(typed(&[paste("ab"), Key::Left, Key::DeleteLine]).text(), "b");
        assert_eq!(typed(&[paste("a\r\nb")]).text(), "a\nb");
    }

    #[test]
    fn what_is_around_the_cursor_is_shown() {
        let editor = Editor::with("a line that is longer than it may be");
        let (line, cursor) = editor.draw("› ", LOOK);
        assert_eq!(line.paint(LOOK), "› er than it may be");
        assert_eq!(cursor, 19);
        let (line, _) = Editor::with("one\ntwo\u{1b}").draw("› ", LOOK);
        assert_eq!(line.paint(LOOK), "› one⏎two␛");
    }

    fn any_key() -> impl Strategy<Value = Key> {
        prop_oneof![
            any::<char>().prop_map(Key::Char),
            ".{0,12}".prop_map(Key::Paste),
            proptest::sample::select(vec![
                Key::Backspace,
                Key::Delete,
                Key::Left,
                Key::Right,
                Key::Home,
                Key::End,
                Key::DeleteWord,
                Key::DeleteLine,
            ]),
        ]
    }

    proptest! {
        #[test]
        fn any_keys_leave_a_line_that_fits(keys in proptest::collection::vec(any_key(), 0..60)) {
            let mut editor = Editor::default();
            for key in keys {
                editor.edit(&key);
                let (line, cursor) = editor.draw("› ", LOOK);
                prop_assert!(line.width() <= LOOK.width, "{line:?}");
                prop_assert!(cursor < LOOK.width);
            }
        }
    }
}
