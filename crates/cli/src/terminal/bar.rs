//! The window of the model as a bar, by part.

use super::Look;
use super::status::short;
use super::style::{Colour, Line, Span, Style};
use super::wrap::fit;

/// What fills a part of the window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// For people.
    pub(crate) name: String,
    /// Tokens.
    pub(crate) tokens: u64,
}

/// A window and what is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    /// In the order in which they are sent.
    pub(crate) parts: Vec<Part>,
    /// Tokens that the model takes.
    pub(crate) tokens: u64,
    /// Tokens at which the view is replaced by itself.
    pub(crate) threshold: Option<u64>,
}

/// Letters for the parts: they tell them apart without colour.
const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ";

const COLOURS: [Colour; 6] =
    [Colour::Cyan, Colour::Green, Colour::Yellow, Colour::Magenta, Colour::Blue, Colour::Red];

/// The widest bar.
const WIDEST: usize = 76;

/// The bar, a mark under the threshold, and what each part is.
pub(crate) fn draw(window: &Window, look: Look) -> Vec<Line> {
    let used: u64 = window.parts.iter().map(|part| part.tokens).sum();
    let width = look.width.saturating_sub(2).clamp(1, WIDEST);
    // More in it than the model takes: the bar shows all of it.
    let whole = window.tokens.max(used).max(1);
    let cells = cells(&window.parts, whole, width);
    let mut lines = vec![heading(window, used, look)];
    let mut bar = Line::from(Span::dim("["));
    let filled: usize = cells.iter().sum();
    for (at, count) in cells.iter().enumerate() {
        bar.push(cell(at, *count, look));
    }
    bar.push(Span::dim(if look.unicode { "·" } else { "." }.repeat(width.saturating_sub(filled))));
    bar.push(Span::dim("]"));
    lines.push(bar);
    if let Some(threshold) = window.threshold {
        lines.push(mark(threshold, whole, width));
    }
    lines.push(Line::new());
    lines.extend(legend(window, used, look));
    lines
}

fn heading(window: &Window, used: u64, look: Look) -> Line {
    let share = percent(used, window.tokens);
    let line = Line::from(Span::bold(format!("{} of {} tokens", short(used), short(window.tokens))))
        .with(Span::plain(format!(" ({share})")));
    fit(&line, look.width)
}

/// Where the view is replaced by itself, below the bar.
fn mark(threshold: u64, whole: u64, width: usize) -> Line {
    let column = 1 + scale(threshold, whole, width).min(width.saturating_sub(1));
    let words = format!("compacts at {}", short(threshold));
    let line = if column > words.len() + 1 {
        format!("{}{words} ▲", " ".repeat(column - words.len() - 1))
    } else {
        format!("{}▲ {words}", " ".repeat(column))
    };
    fit(&Line::from(Span::dim(line)), width + 2)
}

fn legend(window: &Window, used: u64, look: Look) -> Vec<Line> {
    let free = window.tokens.saturating_sub(used);
    let name_width = (look.width.saturating_sub(22)).clamp(4, 40);
    let row = |mark: Span, name: &str, tokens: u64, style: Style| {
        let mut line = Line::from(Span::plain("  ")).with(mark).with(Span::plain(" "));
        let mut name = fit(&Line::from(Span::new(super::clean::on_one_line(name), style)), name_width);
        name.pad(name_width);
        line.extend(&name);
        line.push(Span::new(format!(" {:>7} {:>6}", short(tokens), percent(tokens, window.tokens)), style));
        fit(&line, look.width)
    };
    let mut lines: Vec<Line> = window
        .parts
        .iter()
        .enumerate()
        .map(|(at, part)| row(cell(at, 1, look), &part.name, part.tokens, Style::PLAIN))
        .collect();
    lines.push(row(Span::dim(if look.unicode { "·" } else { "." }), "free", free, Style::DIM));
    lines
}

/// A part of the bar: a letter each, in colour on a terminal that has it.
fn cell(at: usize, count: usize, look: Look) -> Span {
    let letter = char::from(LETTERS[at % LETTERS.len()]);
    let colour = Style { colour: Some(COLOURS[at % COLOURS.len()]), reverse: look.colour, ..Style::PLAIN };
    Span::new(letter.to_string().repeat(count), colour)
}

/// How many cells each part takes: at least one if there is anything, and as many as all of them together should.
fn cells(parts: &[Part], whole: u64, width: usize) -> Vec<usize> {
    let used: u64 = parts.iter().map(|part| part.tokens).sum();
    let mut cells: Vec<usize> =
        parts.iter().map(|part| scale(part.tokens, whole, width).max(usize::from(part.tokens > 0))).collect();
    // What small parts took too much is taken from the largest.
    let target = scale(used, whole, width).max(cells.iter().filter(|count| **count > 0).count()).min(width);
    while cells.iter().sum::<usize>() > target {
        let Some(largest) = (0..cells.len()).max_by_key(|at| cells[*at]) else { break };
        cells[largest] -= 1;
    }
    cells
}

/// `tokens` of `whole` in cells of `width`, rounded.
fn scale(tokens: u64, whole: u64, width: usize) -> usize {
    let cells = (u128::from(tokens) * width as u128 + u128::from(whole) / 2) / u128::from(whole.max(1));
    usize::try_from(cells).unwrap_or(width).min(width)
}

fn percent(tokens: u64, of: u64) -> String {
    format!("{:.1}%", tokens as f64 * 100.0 / of.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::style::paint;
    use proptest::prelude::*;

    const PLAIN: Look = Look { colour: false, unicode: true, moves: false, width: 80 };

    fn window() -> Window {
        let part = |name: &str, tokens| Part { name: name.to_owned(), tokens };
        Window {
            parts: vec![
                part("system prompt", 3_200),
                part("tools", 11_800),
                part("AGENTS.md", 900),
                part("conversation", 62_000),
                part("tool results", 31_400),
            ],
            tokens: 200_000,
            threshold: Some(167_000),
        }
    }

    fn shown(window: &Window, look: Look) -> String {
        paint(&draw(window, look), look).join("\n").replace('\u{1b}', "␛")
    }

    #[test]
    fn parts_can_be_told_apart_in_any_look() {
        insta::assert_snapshot!("80", shown(&window(), PLAIN));
        insta::assert_snapshot!("40", shown(&window(), PLAIN.with_width(40)));
        insta::assert_snapshot!("colour", shown(&window(), Look { colour: true, ..PLAIN }));
        insta::assert_snapshot!("ascii", shown(&window(), Look { unicode: false, ..PLAIN }.with_width(40)));
    }

    #[test]
    fn a_window_that_is_over_full_or_empty_is_drawn() {
        assert!(shown(&Window { tokens: 50_000, ..window() }, PLAIN).contains("218.6%"));
        let empty = Window { parts: Vec::new(), tokens: 0, threshold: None };
        assert!(shown(&empty, PLAIN).contains("0 of 0 tokens"));
    }

    proptest! {
        #[test]
        fn a_bar_fits_whatever_is_in_it(
            tokens in proptest::collection::vec(0u64..10_000_000, 0..40),
            whole: u64,
            threshold: Option<u64>,
            width in 20usize..200,
        ) {
            let parts = tokens.into_iter().map(|tokens| Part { name: "part 日本".to_owned(), tokens }).collect();
            let window = Window { parts, tokens: whole, threshold };
            for line in draw(&window, PLAIN.with_width(width)) {
                prop_assert!(line.width() <= width, "{} > {width}", line.width());
            }
        }
    }
}
