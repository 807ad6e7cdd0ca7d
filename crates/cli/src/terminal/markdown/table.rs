//! Tables, in the room there is.

use crate::terminal::style::{Line, Span, Style};
use crate::terminal::wrap::{fit, wrap};
use pulldown_cmark::Alignment;

/// The least columns for the text of a cell. Where there is not even that, rows are drawn as lists.
const NARROWEST_CELL: usize = 4;

/// A table that is being read.
pub(super) struct Table {
    alignments: Vec<Alignment>,
    /// The first one is the heading.
    rows: Vec<Vec<Line>>,
    row: Vec<Line>,
}

impl Table {
    pub(super) fn new(alignments: Vec<Alignment>) -> Self {
        Self { alignments, rows: Vec::new(), row: Vec::new() }
    }

    /// The next cell of the row.
    pub(super) fn add(&mut self, cell: Line) {
        self.row.push(cell);
    }

    /// The row is whole.
    pub(super) fn end_row(&mut self) {
        let row = std::mem::take(&mut self.row);
        self.rows.push(row);
    }

    /// The table in at most `room` columns: cells are wrapped, or where that would be too narrow, rows become lists.
    pub(super) fn draw(self, room: usize) -> Vec<Line> {
        let columns = self.alignments.len();
        let natural = self.natural_widths();
        // A border and two spaces for each column, and the last border.
        let frame = columns * 3 + 1;
        let Some(widths) = room.checked_sub(frame).and_then(|room| share(&natural, room)) else {
            return self.draw_lists(room);
        };
        let mut lines = vec![rule(&widths, ['┌', '┬', '┐'])];
        for (at, row) in self.rows.iter().enumerate() {
            lines.extend(self.draw_row(row, &widths, at == 0));
            if at == 0 {
                lines.push(rule(&widths, ['├', '┼', '┤']));
            }
        }
        lines.push(rule(&widths, ['└', '┴', '┘']));
        lines
    }

    fn natural_widths(&self) -> Vec<usize> {
        let widest = |at: usize| self.rows.iter().filter_map(|row| row.get(at)).map(Line::width).max();
        (0..self.alignments.len()).map(|at| widest(at).unwrap_or(0).max(1)).collect()
    }

    fn draw_row(&self, row: &[Line], widths: &[usize], is_heading: bool) -> Vec<Line> {
        let cells: Vec<Vec<Line>> = widths
            .iter()
            .enumerate()
            .map(|(at, width)| {
                row.get(at).map_or_else(Vec::new, |cell| wrap(&heading(cell, is_heading), *width))
            })
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0).max(1);
        (0..height)
            .map(|y| {
                let mut line = Line::new();
                for (at, width) in widths.iter().enumerate() {
                    line.push(Span::dim(if at == 0 { "│ " } else { " │ " }));
                    let cell = cells[at].get(y).cloned().unwrap_or_default();
                    let missing = width.saturating_sub(cell.width());
                    let before = match self.alignments.get(at) {
                        Some(Alignment::Right) => missing,
                        Some(Alignment::Center) => missing / 2,
                        Some(Alignment::Left | Alignment::None) | None => 0,
                    };
                    line.push(Span::plain(" ".repeat(before)));
                    line.extend(&cell);
                    line.push(Span::plain(" ".repeat(missing - before)));
                }
                line.push(Span::dim(" │"));
                line
            })
            .collect()
    }

    /// Each row as its heading's words with its values.
    fn draw_lists(&self, room: usize) -> Vec<Line> {
        let Some((headings, rows)) = self.rows.split_first() else { return Vec::new() };
        if rows.is_empty() {
            return headings.iter().flat_map(|cell| wrap(&heading(cell, true), room)).collect();
        }
        let mut lines = Vec::new();
        for (at, row) in rows.iter().enumerate() {
            if at > 0 {
                lines.push(fit(&Line::from(Span::dim("─".repeat(room))), room));
            }
            for (name, value) in headings.iter().zip(row) {
                let mut line = heading(name, true);
                line.push(Span::dim(": "));
                line.extend(value);
                lines.extend(wrap(&line, room));
            }
        }
        lines
    }
}

fn heading(cell: &Line, is_heading: bool) -> Line {
    if !is_heading {
        return cell.clone();
    }
    cell.spans().iter().map(|span| Span::new(span.text(), Style { bold: true, ..span.style() })).collect()
}

fn rule(widths: &[usize], [left, cross, right]: [char; 3]) -> Line {
    let parts: Vec<String> = widths.iter().map(|width| "─".repeat(width + 2)).collect();
    Line::from(Span::dim(format!("{left}{}{right}", parts.join(&cross.to_string()))))
}

/// Widths that add up to at most `room`: what is narrow stays as it is, what is wide shares the rest. `None`: there is too little.
fn share(natural: &[usize], room: usize) -> Option<Vec<usize>> {
    if natural.iter().sum::<usize>() <= room {
        return Some(natural.to_vec());
    }
    let mut widths = vec![0; natural.len()];
    let mut open: Vec<usize> = (0..natural.len()).collect();
    let mut left = room;
    loop {
        let fair = left / open.len().max(1);
        let fits: Vec<usize> = open.iter().copied().filter(|at| natural[*at] <= fair).collect();
        if fits.is_empty() {
            if fair < NARROWEST_CELL {
                return None;
            }
            for at in open {
                widths[at] = fair;
            }
            return Some(widths);
        }
        for at in &fits {
            widths[*at] = natural[*at];
            left -= natural[*at];
        }
        open.retain(|at| !fits.contains(at));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_columns_share_what_narrow_ones_leave() {
        assert_eq!(share(&[3, 5], 20), Some(vec![3, 5]));
        assert_eq!(share(&[3, 50, 40], 43), Some(vec![3, 20, 20]));
        assert_eq!(share(&[30, 30, 30], 9), None);
    }
}
