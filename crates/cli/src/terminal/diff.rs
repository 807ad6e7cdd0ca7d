//! What changed in a file, for people: line numbers, three lines of context, long changes folded.

use super::Look;
use super::style::{Colour, Line, Span, Style};
use super::wrap::{chop, fit};
use similar::{Algorithm, ChangeTag, DiffOp, TextDiff};
use std::path::Path;
use std::time::Duration;

/// Unchanged lines around a change.
const CONTEXT: usize = 3;

/// The time after which a diff is made by rougher means. It is still right, only longer.
const PATIENCE: Duration = Duration::from_millis(500);

/// A file before and after, and how much of the difference is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change<'a> {
    /// Which file.
    pub(crate) path: &'a Path,
    /// Its text before; `None`: it was not there.
    pub(crate) before: Option<&'a str>,
    /// Its text now.
    pub(crate) after: &'a str,
    /// Lines shown at most, beside the heading.
    pub(crate) rows: usize,
}

/// A line of a diff.
struct Row {
    sign: char,
    /// Its number, in the new file, or in the old one if it is gone.
    number: usize,
    text: String,
    /// It is the last line and has no line end.
    is_open: bool,
}

/// The lines of a change: a heading, then the diff.
pub(crate) fn draw(change: &Change<'_>, look: Look) -> Vec<Line> {
    let before = change.before.unwrap_or_default();
    let mut config = TextDiff::configure();
    let diff = config.algorithm(Algorithm::Patience).timeout(PATIENCE).diff_lines(before, change.after);
    let groups = diff.grouped_ops(CONTEXT);
    let (added, removed) = counts(diff.ops());
    let mut lines = vec![heading(change, (added, removed), look)];
    let digits = digits(diff.ops());
    let total: usize = groups.iter().flatten().map(rows_of).sum::<usize>() + groups.len().saturating_sub(1);
    // A fold that hides one line saves nothing.
    let shown = if total <= change.rows + 1 { total } else { change.rows };
    let mut count = 0;
    'all: for (at, group) in groups.iter().enumerate() {
        if at > 0 {
            if count == shown {
                break;
            }
            lines.push(Line::from(Span::dim(format!("{:>digits$}   ⋮", ""))));
            count += 1;
        }
        for op in group {
            for each in diff.iter_changes(op) {
                if count == shown {
                    break 'all;
                }
                count += 1;
                let (sign, number) = match each.tag() {
                    ChangeTag::Equal => (' ', each.new_index()),
                    ChangeTag::Insert => ('+', each.new_index()),
                    ChangeTag::Delete => ('-', each.old_index()),
                };
                let row = Row {
                    sign,
                    number: number.map_or(0, |at| at + 1),
                    text: each.value().trim_end_matches(['\n', '\r']).to_owned(),
                    is_open: each.missing_newline(),
                };
                lines.extend(draw_row(&row, digits, look));
            }
        }
    }
    if total > shown {
        let left = total - shown;
        lines.push(Line::from(Span::dim(format!("{:>digits$}   … {left} more lines", ""))));
    }
    lines
}

fn heading(change: &Change<'_>, (added, removed): (usize, usize), look: Look) -> Line {
    let path = change.path.to_string_lossy();
    let mut line = Line::from(Span::bold(super::clean::on_one_line(&path)));
    if change.before.is_none() {
        line.push(Span::dim(" (new)"));
    }
    if added == 0 && removed == 0 {
        line.push(Span::dim("  unchanged"));
        return fit(&line, look.width);
    }
    line.push(Span::plain("  "));
    line.push(Span::coloured(format!("+{added}"), Colour::Green));
    line.push(Span::plain(" "));
    line.push(Span::coloured(format!("-{removed}"), Colour::Red));
    fit(&line, look.width)
}

fn draw_row(row: &Row, digits: usize, look: Look) -> Vec<Line> {
    let style = match row.sign {
        '+' => Style::colour(Colour::Green),
        '-' => Style::colour(Colour::Red),
        _ => Style::PLAIN,
    };
    let margin = digits + 3;
    let text = super::clean::on_one_line(&row.text);
    let mut line = Line::from(Span::new(text, style));
    if row.is_open && row.sign != ' ' {
        line.push(Span::dim(" (no line end)"));
    }
    chop(&line, look.width.saturating_sub(margin).max(1))
        .iter()
        .enumerate()
        .map(|(at, part)| {
            let number = if at == 0 { row.number.to_string() } else { String::new() };
            let mut whole = Line::from(Span::dim(format!("{number:>digits$} ")));
            whole.push(Span::new(format!("{} ", row.sign), style));
            whole.extend(part);
            whole
        })
        .collect()
}

fn rows_of(op: &DiffOp) -> usize {
    match op {
        DiffOp::Equal { len, .. } => *len,
        DiffOp::Delete { old_len, .. } => *old_len,
        DiffOp::Insert { new_len, .. } => *new_len,
        DiffOp::Replace { old_len, new_len, .. } => old_len + new_len,
    }
}

fn counts(ops: &[DiffOp]) -> (usize, usize) {
    ops.iter().fold((0, 0), |(added, removed), op| match op {
        DiffOp::Equal { .. } => (added, removed),
        DiffOp::Delete { old_len, .. } => (added, removed + old_len),
        DiffOp::Insert { new_len, .. } => (added + new_len, removed),
        DiffOp::Replace { old_len, new_len, .. } => (added + new_len, removed + old_len),
    })
}

/// How wide line numbers are.
fn digits(ops: &[DiffOp]) -> usize {
    let last = ops.iter().map(|op| op.old_range().end.max(op.new_range().end)).max().unwrap_or(0);
    last.to_string().len().max(3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::style::paint;

    const PLAIN: Look = Look { colour: false, unicode: true, moves: false, width: 80 };

    fn shown(before: Option<&str>, after: &str, rows: usize, look: Look) -> String {
        let change = Change { path: Path::new("src/lib.rs"), before, after, rows };
        paint(&draw(&change, look), look).join("\n").replace('\u{1b}', "␛")
    }

    fn numbered(changes: &[(usize, &str)]) -> String {
        let line = |at: usize| {
            let changed = changes.iter().find(|(number, _)| *number == at);
            changed.map_or_else(|| format!("line {at}\n"), |(_, text)| (*text).to_owned())
        };
        (1..=60).map(line).collect()
    }

    #[test]
    fn a_change_with_its_surroundings() {
        let after = numbered(&[(10, "line ten, with words that take more than forty columns\n"), (50, "")]);
        insta::assert_snapshot!("80", shown(Some(&numbered(&[])), &after, 40, PLAIN));
        insta::assert_snapshot!("40", shown(Some(&numbered(&[])), &after, 40, PLAIN.with_width(40)));
        let colour = Look { colour: true, ..PLAIN };
        insta::assert_snapshot!("colour", shown(Some(&numbered(&[])), &after, 40, colour));
    }

    #[test]
    fn what_is_long_is_folded() {
        let text = shown(None, &numbered(&[]), 5, PLAIN);
        assert!(text.starts_with("src/lib.rs (new)  +60 -0\n  1 + line 1\n"), "{text}");
        assert!(text.ends_with("\n  5 + line 5\n      … 55 more lines"), "{text}");
        assert_eq!(shown(None, "a\nb\n", 1, PLAIN).lines().count(), 3, "a fold of one line saves nothing");
    }

    #[test]
    fn files_without_a_line_end_or_a_change_are_told() {
        insta::assert_snapshot!(shown(Some("a\nb"), "a\nb\n", 9, PLAIN), @r"
        src/lib.rs  +1 -1
          1   a
          2 - b (no line end)
          2 + b
        ");
        assert_eq!(shown(Some("a\n"), "a\n", 9, PLAIN), "src/lib.rs  unchanged");
    }

    #[test]
    fn a_file_can_not_control_the_terminal() {
        assert_eq!(shown(None, "\u{1b}[2J\r\n", 9, PLAIN), "src/lib.rs (new)  +1 -0\n  1 + ␛[2J");
    }
}
