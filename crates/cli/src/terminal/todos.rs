//! The todo list.

use super::Look;
use super::style::{Colour, Line, Span, Style};
use super::wrap::wrap;
use throughline_agent::{Todo, TodoState};

/// The list, an item a line or more. Readable without colour.
pub(crate) fn draw(todos: &[Todo], look: Look) -> Vec<Line> {
    let mut lines = Vec::new();
    for todo in todos {
        let (mark, style) = match todo.status {
            TodoState::Pending => ("☐ ", Style::PLAIN),
            TodoState::InProgress => ("▶ ", Style::colour(Colour::Cyan).bold()),
            TodoState::Completed => ("☑ ", Style { strike: true, ..Style::DIM }),
        };
        let text = Line::from(Span::new(super::clean::on_one_line(todo.content.trim()), style));
        for (at, part) in wrap(&text, look.width.saturating_sub(4).max(1)).iter().enumerate() {
            let mark = Span::new(if at == 0 { mark } else { "  " }, Style { strike: false, ..style });
            let mut line = Line::from(Span::plain("  ")).with(mark);
            line.extend(part);
            lines.push(line);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::style::paint;

    #[test]
    fn how_far_each_item_is_can_be_seen_without_colour() {
        let todo = |content: &str, status| Todo { content: content.to_owned(), status };
        let todos = [
            todo("Read the parser", TodoState::Completed),
            todo("Write a test that fails before the change and passes after it", TodoState::InProgress),
            todo("Clean\nup", TodoState::Pending),
        ];
        let look = Look { colour: false, unicode: true, moves: false, width: 40 };
        insta::assert_snapshot!(paint(&draw(&todos, look), look).join("\n"), @r"
          ☑ Read the parser
          ▶ Write a test that fails before the
            change and passes after it
          ☐ Clean⏎up
        ");
        let ascii = Look { unicode: false, ..look };
        let marks: Vec<String> = paint(&draw(&todos, ascii), ascii);
        assert!(marks[0].starts_with("  x ") && marks[1].starts_with("  > ") && marks[3].starts_with("  . "));
    }
}
