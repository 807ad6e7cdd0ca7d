//! What a tool did: a line, and the beginning of what came of it.

use super::Look;
use super::clean::on_one_line;
use super::style::{Colour, Line, Span, Style};
use super::wrap::{fit, wrap};

/// Lines of an outcome that are shown.
pub(crate) const PREVIEW: usize = 6;

/// Lines of a failure that are shown: it is what people look for.
const PREVIEW_OF_ERROR: usize = 10;

/// How a call went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Went {
    /// It worked.
    Well,
    /// It failed, or was refused.
    Wrong,
}

/// `● Read src/main.rs  42 lines`
pub(crate) fn headline(summary: &str, note: Option<&str>, went: Went, look: Look) -> Line {
    let (mark, style) = match went {
        Went::Well => ("● ", Style::colour(Colour::Green)),
        Went::Wrong => ("✗ ", Style::colour(Colour::Red)),
    };
    let summary = on_one_line(summary);
    // The tool's name stands out from what it was called with.
    let (name, rest) = summary.split_at(summary.find([' ', '(']).unwrap_or(summary.len()));
    let mut line = Line::from(Span::new(mark, style)).with(Span::bold(name)).with(Span::plain(rest));
    if let Some(note) = note {
        line.push(Span::dim(format!("  {}", on_one_line(note))));
    }
    fit(&line, look.width)
}

/// The beginning of an outcome, behind `⎿`. Of a failure more is shown.
pub(crate) fn preview(output: &str, went: Went, look: Look) -> Vec<Line> {
    let (rows, style) = match went {
        Went::Well => (PREVIEW, Style::DIM),
        Went::Wrong => (PREVIEW_OF_ERROR, Style::colour(Colour::Red)),
    };
    let lines: Vec<&str> = output.trim_end().lines().collect();
    let shown = if lines.len() <= rows + 1 { lines.len() } else { rows };
    let mut parts: Vec<Line> = lines[..shown]
        .iter()
        .map(|line| fit(&Line::from(Span::new(on_one_line(line), style)), inner(look)))
        .collect();
    if lines.len() > shown {
        parts.push(Line::from(Span::dim(format!("… {} more lines", lines.len() - shown))));
    }
    hang(parts)
}

/// Lines that belong to the line above.
pub(crate) fn hang(lines: Vec<Line>) -> Vec<Line> {
    let indent = |(at, line): (usize, Line)| {
        let mut whole = Line::from(Span::dim(if at == 0 { "  ⎿ " } else { "    " }));
        whole.extend(&line);
        whole
    };
    lines.into_iter().enumerate().map(indent).collect()
}

/// Columns for what hangs.
pub(crate) fn inner(look: Look) -> usize {
    look.width.saturating_sub(4).max(1)
}

/// Something that people should know, on as many lines as it needs.
pub(crate) fn notice(text: &str, look: Look) -> Vec<Line> {
    let text = Line::from(Span::coloured(text, Colour::Yellow));
    let parts = wrap(&text, look.width.saturating_sub(2).max(1));
    let indent = |(at, line): (usize, &Line)| {
        let mut whole = Line::from(Span::coloured(if at == 0 { "⚠ " } else { "  " }, Colour::Yellow));
        whole.extend(line);
        whole
    };
    parts.iter().enumerate().map(indent).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::style::paint;

    const PLAIN: Look = Look { colour: false, unicode: true, moves: false, width: 40 };

    #[test]
    fn a_call_is_a_line_and_a_preview() {
        let mut lines = vec![headline("Bash cargo test", None, Went::Well, PLAIN)];
        let output: String =
            (1..=20).map(|at| format!("test {at} … ok, as it was before the change\n")).collect();
        lines.extend(preview(&output, Went::Well, PLAIN));
        lines.push(headline("Read src/main.rs", Some("42 lines"), Went::Well, PLAIN));
        lines.push(headline("Edit src/main.rs", None, Went::Wrong, PLAIN));
        lines.extend(preview("the text is there twice", Went::Wrong, PLAIN));
        insta::assert_snapshot!(paint(&lines, PLAIN).join("\n"), @r"
        ● Bash cargo test
          ⎿ test 1 … ok, as it was before the c…
            test 2 … ok, as it was before the c…
            test 3 … ok, as it was before the c…
            test 4 … ok, as it was before the c…
            test 5 … ok, as it was before the c…
            test 6 … ok, as it was before the c…
            … 14 more lines
        ● Read src/main.rs  42 lines
        ✗ Edit src/main.rs
          ⎿ the text is there twice
        ");
    }

    #[test]
    fn a_summary_of_many_lines_is_one_line() {
        let line = headline("Bash echo a\n\u{1b}[2Jrm -rf /", None, Went::Well, PLAIN);
        assert_eq!(line.paint(PLAIN), "● Bash echo a⏎␛[2Jrm -rf /");
    }

    #[test]
    fn a_notice_keeps_all_of_its_words() {
        let lines = notice("the hook said something that takes more than one line", PLAIN);
        assert_eq!(paint(&lines, PLAIN), ["⚠ the hook said something that takes", "  more than one line"]);
    }
}
