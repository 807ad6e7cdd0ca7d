//! Markdown on a terminal, while it is being written.
//!
//! A block is drawn when it is whole, and never changes after that; code comes line by line. What is drawn depends on the text
//! alone, not on the pieces in which it came.

mod render;
mod split;
mod table;
#[cfg(test)]
mod tests;

use super::style::{Line, Span, Style};
use super::wrap::{chop, fit, wrap};
use super::{Look, clean};
use split::{Piece, Splitter};

/// Draws a text while it comes in.
#[derive(Debug)]
pub(crate) struct Markdown {
    look: Look,
    splitter: Splitter,
    has_begun: bool,
}

impl Markdown {
    /// For a terminal.
    pub(crate) fn new(look: Look) -> Self {
        Self { look, splitter: Splitter::default(), has_begun: false }
    }

    /// The next characters; the lines that are final now.
    pub(crate) fn push(&mut self, text: &str) -> Vec<Line> {
        let pieces = self.splitter.push(text);
        self.draw(pieces)
    }

    /// The text is whole; the rest of the lines.
    pub(crate) fn finish(&mut self) -> Vec<Line> {
        let pieces = self.splitter.finish();
        self.draw(pieces)
    }

    /// The end of what is not final yet, as it was written, in at most `rows` lines, behind an empty one
    /// where its block will be.
    pub(crate) fn tail(&self, rows: usize) -> Vec<Line> {
        let tail = self.splitter.tail(rows * self.look.width * 4);
        let lines = tail.lines().rev().take(rows).collect::<Vec<_>>();
        let mut shown: Vec<Line> = lines
            .into_iter()
            .rev()
            .flat_map(|line| wrap(&Line::from(Span::dim(line)), self.look.width))
            .collect();
        let mut shown = shown.split_off(shown.len().saturating_sub(rows));
        // As it will be once its block is whole.
        if self.has_begun && !shown.is_empty() && !self.splitter.is_in_code() {
            shown.insert(0, Line::new());
        }
        shown
    }

    fn draw(&mut self, pieces: Vec<Piece>) -> Vec<Line> {
        let mut lines = Vec::new();
        for piece in pieces {
            let begins = matches!(piece, Piece::Block(_) | Piece::CodeStart(_));
            let drawn = match piece {
                Piece::Block(text) => render::render(&text, self.look),
                Piece::CodeStart(info) => vec![code_top(&info, self.look.width)],
                Piece::CodeLine(text) => code_line(&text, self.look.width),
                Piece::CodeEnd => vec![code_bottom()],
            };
            if begins && self.has_begun && !drawn.is_empty() {
                lines.push(Line::new());
            }
            self.has_begun |= !drawn.is_empty();
            lines.extend(drawn);
        }
        lines
    }
}

/// All of a text.
pub(crate) fn render(text: &str, look: Look) -> Vec<Line> {
    let mut markdown = Markdown::new(look);
    let mut lines = markdown.push(text);
    lines.extend(markdown.finish());
    lines
}

/// The border above code, with its language.
fn code_top(info: &str, width: usize) -> Line {
    let language = info.split([' ', ',', '{']).next().unwrap_or_default();
    let border = if language.is_empty() { "╭─".to_owned() } else { format!("╭─ {language}") };
    fit(&Line::from(Span::dim(border)), width)
}

/// A line of code, as it is, in as many lines as it needs.
fn code_line(text: &str, width: usize) -> Vec<Line> {
    let code = Line::from(Span::new(clean::on_one_line(text), Style::PLAIN));
    let inner = width.saturating_sub(2).max(1);
    chop(&code, inner)
        .iter()
        .map(|line| {
            let mut bordered = Line::from(Span::dim("│ "));
            bordered.extend(line);
            bordered
        })
        .collect()
}

/// The border below code.
fn code_bottom() -> Line {
    Line::from(Span::dim("╰─"))
}
