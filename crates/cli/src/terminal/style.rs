//! Styled text, and how it becomes bytes for a terminal.

use super::clean::clean;
use super::look::{Look, ascii};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// A colour of the terminal's own palette: it suits dark and light backgrounds alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colour {
    /// Errors, removed lines.
    Red,
    /// Done, added lines.
    Green,
    /// Warnings.
    Yellow,
    /// Links.
    Blue,
    /// Modes.
    Magenta,
    /// Code, names.
    Cyan,
}

impl Colour {
    fn code(self) -> &'static str {
        match self {
            Self::Red => "31",
            Self::Green => "32",
            Self::Yellow => "33",
            Self::Blue => "34",
            Self::Magenta => "35",
            Self::Cyan => "36",
        }
    }
}

/// How a piece of text looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Style {
    /// Its colour; `None`: the terminal's.
    pub(crate) colour: Option<Colour>,
    /// Bold.
    pub(crate) bold: bool,
    /// Less important.
    pub(crate) dim: bool,
    /// Slanted.
    pub(crate) italic: bool,
    /// Underlined.
    pub(crate) underline: bool,
    /// Struck through.
    pub(crate) strike: bool,
    /// Foreground and background exchanged: what is chosen.
    pub(crate) reverse: bool,
}

impl Style {
    /// As the terminal writes by itself.
    pub(crate) const PLAIN: Self = Self {
        colour: None,
        bold: false,
        dim: false,
        italic: false,
        underline: false,
        strike: false,
        reverse: false,
    };
    /// Bold.
    pub(crate) const BOLD: Self = Self { bold: true, ..Self::PLAIN };
    /// Less important.
    pub(crate) const DIM: Self = Self { dim: true, ..Self::PLAIN };
    /// What is chosen.
    pub(crate) const CHOSEN: Self = Self { reverse: true, ..Self::PLAIN };

    /// In a colour.
    pub(crate) const fn colour(colour: Colour) -> Self {
        Self { colour: Some(colour), ..Self::PLAIN }
    }

    /// Bold too.
    pub(crate) const fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    /// The numbers of the escape sequence.
    fn codes(self) -> String {
        let flags = [
            (self.bold, "1"),
            (self.dim, "2"),
            (self.italic, "3"),
            (self.underline, "4"),
            (self.reverse, "7"),
            (self.strike, "9"),
        ];
        let set = flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, code)| code);
        set.chain(self.colour.map(Colour::code)).collect::<Vec<_>>().join(";")
    }
}

/// A piece of text of one style. Its text is clean, whatever it was made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    text: String,
    style: Style,
}

impl Span {
    /// `text` in a style. What would act on the terminal is made visible.
    pub(crate) fn new(text: impl AsRef<str>, style: Style) -> Self {
        Self { text: clean(text.as_ref()).into_owned(), style }
    }

    /// `text` as the terminal writes by itself.
    pub(crate) fn plain(text: impl AsRef<str>) -> Self {
        Self::new(text, Style::PLAIN)
    }

    /// Less important text.
    pub(crate) fn dim(text: impl AsRef<str>) -> Self {
        Self::new(text, Style::DIM)
    }

    /// Bold text.
    pub(crate) fn bold(text: impl AsRef<str>) -> Self {
        Self::new(text, Style::BOLD)
    }

    /// Text in a colour.
    pub(crate) fn coloured(text: impl AsRef<str>, colour: Colour) -> Self {
        Self::new(text, Style::colour(colour))
    }

    /// The text, clean.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The style.
    pub(crate) fn style(&self) -> Style {
        self.style
    }

    /// Columns that it takes.
    pub(crate) fn width(&self) -> usize {
        self.text.width()
    }
}

/// A line of a terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    spans: Vec<Span>,
}

impl Line {
    /// Nothing.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// With one more piece.
    #[must_use]
    pub(crate) fn with(mut self, span: Span) -> Self {
        self.push(span);
        self
    }

    /// Adds a piece.
    pub(crate) fn push(&mut self, span: Span) {
        self.spans.push(span);
    }

    /// Adds the pieces of another line.
    pub(crate) fn extend(&mut self, other: &Self) {
        self.spans.extend_from_slice(&other.spans);
    }

    /// The pieces.
    pub(crate) fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Columns that it takes.
    pub(crate) fn width(&self) -> usize {
        // As one text: a mark may combine with the piece before.
        self.spans.iter().map(Span::text).collect::<String>().width()
    }

    /// Filled up with spaces to `width` columns.
    pub(crate) fn pad(&mut self, width: usize) {
        let missing = width.saturating_sub(self.width());
        if missing > 0 {
            self.push(Span::plain(" ".repeat(missing)));
        }
    }

    /// As it is written to the terminal. Escape sequences are only these: `ESC [ numbers m`.
    pub(crate) fn paint(&self, look: Look) -> String {
        let mut out = String::new();
        for span in &self.spans {
            if span.text.is_empty() {
                continue;
            }
            let codes = if look.colour { span.style.codes() } else { String::new() };
            if codes.is_empty() {
                put(&span.text, look, &mut out);
            } else {
                out.push_str("\u{1b}[");
                out.push_str(&codes);
                out.push('m');
                put(&span.text, look, &mut out);
                out.push_str("\u{1b}[0m");
            }
        }
        out.truncate(out.trim_end_matches(' ').len());
        out
    }
}

impl From<Span> for Line {
    fn from(span: Span) -> Self {
        Self { spans: vec![span] }
    }
}

impl FromIterator<Span> for Line {
    fn from_iter<T: IntoIterator<Item = Span>>(spans: T) -> Self {
        Self { spans: spans.into_iter().collect() }
    }
}

/// A line end inside a span would break whatever counts lines: it is a space here.
fn put(text: &str, look: Look, out: &mut String) {
    for grapheme in text.graphemes(true) {
        let mut chars = grapheme.chars();
        match (chars.next(), chars.next()) {
            (Some('\n'), _) => out.push(' '),
            _ if look.unicode || grapheme.is_ascii() => out.push_str(grapheme),
            (Some(c), None) => out.push_str(ascii(c, grapheme.width())),
            _ => out.extend(std::iter::repeat_n('?', grapheme.width())),
        }
    }
}

/// Lines as they are written.
#[cfg(test)]
pub(crate) fn paint(lines: &[Line], look: Look) -> Vec<String> {
    lines.iter().map(|line| line.paint(look)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOK: Look = Look { colour: true, unicode: true, moves: true, width: 80 };

    #[test]
    fn only_our_own_escapes_come_out() {
        let line = Line::from(Span::coloured("a\u{1b}[2Jb", Colour::Red));
        assert_eq!(line.paint(LOOK), "\u{1b}[31ma␛[2Jb\u{1b}[0m");
        assert_eq!(line.paint(Look { colour: false, ..LOOK }), "a␛[2Jb");
    }

    #[test]
    fn ascii_alone_keeps_the_columns() {
        let line = Line::from(Span::plain("● 日本 … │"));
        let plain = line.paint(Look { unicode: false, colour: false, ..LOOK });
        assert_eq!(plain, "* ???? ~ |");
        assert_eq!(plain.len(), line.width());
    }
}
