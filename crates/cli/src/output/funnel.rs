//! The one way to standard output and standard error for text.
//!
//! Invariant: no control sequence reaches a terminal that this program did not make. Names, messages, memories, model output and errors of
//! others may hold any; [`Funnel`] makes them visible. Styles are made by the functions here, which write a mark instead of an escape
//! character: random for each process, so that no text from outside can hold it.
//!
//! Code that draws on a terminal by itself is in `terminal/` (`Span`s are clean too) and in progress bars.

use crate::terminal::clean::clean_keeping_tabs;
use std::fmt::Display;
use std::hash::{BuildHasher as _, Hasher as _};
use std::io::{self, IsTerminal as _, Write};
use std::sync::LazyLock;

/// Mark for the beginning of our own escape sequences: four characters of a private-use plane, 64 random bits.
static MARK: LazyLock<String> = LazyLock::new(|| {
    const PRIVATE_USE: u32 = 0xF_0000;
    let random = std::collections::hash_map::RandomState::new().build_hasher().finish();
    let units = (0..4).map(|at| (random >> (16 * at)) as u16);
    // The last two code points of a plane are no characters.
    units.filter_map(|unit| char::from_u32(PRIVATE_USE + u32::from(unit.min(0xFFFD)))).collect()
});

/// The beginning of an escape sequence.
const ESCAPE: &str = "\u{1b}[";

fn paint(codes: &str, text: impl Display) -> String {
    let mark = &*MARK;
    format!("{mark}{codes}m{text}{mark}0m")
}

pub(crate) fn red(text: impl Display) -> String {
    paint("1;31", text)
}

pub(crate) fn dim(text: impl Display) -> String {
    paint("2", text)
}

pub(crate) fn bold(text: impl Display) -> String {
    paint("1", text)
}

pub(crate) fn cyan(text: impl Display) -> String {
    paint("36", text)
}

pub(crate) fn green(text: impl Display) -> String {
    paint("32", text)
}

pub(crate) fn yellow(text: impl Display) -> String {
    paint("33", text)
}

pub(crate) fn magenta(text: impl Display) -> String {
    paint("35", text)
}

/// Text that was searched for.
pub(crate) fn highlight(text: impl Display) -> String {
    paint("1;33", text)
}

/// A text as it goes to a pipe: without styles.
pub(crate) fn plain(text: &str) -> String {
    anstream::adapter::strip_str(&render(text)).to_string()
}

/// A text as it goes to a terminal.
fn render(text: &str) -> String {
    clean_keeping_tabs(text).replace(&*MARK, ESCAPE)
}

/// A writer of text. Each `write` must hold whole characters, as those of `write!` do.
pub(crate) struct Funnel<W: Write>(W);

impl<W: Write> Write for Funnel<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_all(render(&String::from_utf8_lossy(bytes)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Standard output for people: styled on a terminal.
pub(crate) fn stdout() -> Funnel<impl Write> {
    Funnel(anstream::stdout().lock())
}

/// Standard error for people.
pub(crate) fn stderr() -> Funnel<impl Write> {
    Funnel(anstream::stderr().lock())
}

/// Standard output for data: byte for byte, unless it is a terminal.
pub(crate) fn data() -> Box<dyn Write> {
    if io::stdout().is_terminal() { Box::new(stdout()) } else { Box::new(io::stdout().lock()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> String {
        let mut funnel = Funnel(Vec::new());
        write!(funnel, "{text}").unwrap();
        String::from_utf8(funnel.0).unwrap()
    }

    #[test]
    fn passes_our_styles_and_no_others() {
        let title = "\u{1b}]0;title\u{7}\u{1b}[31mred\u{9b}2J";
        assert_eq!(
            written(&format!("{} {title}", bold("a"))),
            "\u{1b}[1ma\u{1b}[0m ␛]0;title␇␛[31mred<U+009B>2J"
        );
        assert_eq!(written(&dim("\u{1b}[8mhidden")), "\u{1b}[2m␛[8mhidden\u{1b}[0m");
        assert_eq!(written("a\tb\nc"), "a\tb\nc");
        assert_eq!(plain(&format!("{}-{}", red("a"), highlight("b"))), "a-b");
    }

    #[test]
    fn survives_bytes_that_are_no_text() {
        let mut funnel = Funnel(Vec::new());
        funnel.write_all(b"a\x9b\xff\x1b").unwrap();
        assert_eq!(String::from_utf8(funnel.0).unwrap(), "a\u{fffd}\u{fffd}␛");
    }
}
