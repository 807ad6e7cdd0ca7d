//! Choosing one of a list.

use super::Look;
use super::clean::on_one_line;
use super::editor::Editor;
use super::keys::{Key, Keys};
use super::screen::{Live, Screen};
use super::style::{Line, Span, Style};
use super::wrap::fit;
use std::io::BufRead;

/// Rows of the list that are shown at once.
const ROWS: usize = 10;

/// One of the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Item {
    /// What it is called.
    pub(crate) label: String,
    /// More about it.
    pub(crate) detail: String,
}

/// A list that somebody chooses from.
#[derive(Clone, Debug)]
pub(crate) struct Picker {
    title: String,
    items: Vec<Item>,
    filter: Editor,
    /// The items that the filter lets through.
    shown: Vec<usize>,
    /// Which of those is marked.
    at: usize,
}

/// What came of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Nothing is decided.
    Open,
    /// This one.
    Chosen(usize),
    /// None of them.
    Left,
}

impl Picker {
    /// The first item is marked.
    pub(crate) fn new(title: impl Into<String>, items: Vec<Item>) -> Self {
        let shown = (0..items.len()).collect();
        Self { title: title.into(), items, filter: Editor::default(), shown, at: 0 }
    }

    /// Takes a key.
    pub(crate) fn key(&mut self, key: &Key) -> Outcome {
        match key {
            Key::Esc | Key::Interrupt | Key::EndOfInput => return Outcome::Left,
            Key::Enter => {
                return self.shown.get(self.at).map_or(Outcome::Open, |item| Outcome::Chosen(*item));
            }
            Key::Up | Key::BackTab => {
                self.at = self.at.checked_sub(1).unwrap_or(self.shown.len().saturating_sub(1))
            }
            Key::Down | Key::Tab => self.at = if self.at + 1 < self.shown.len() { self.at + 1 } else { 0 },
            Key::AltEnter
            | Key::Backspace
            | Key::Delete
            | Key::DeleteWord
            | Key::DeleteLine
            | Key::Left
            | Key::Right
            | Key::Home
            | Key::End
            | Key::Char(_)
            | Key::Paste(_)
            | Key::Resize => {
                let before = self.filter.text().to_owned();
                self.filter.edit(key);
                if self.filter.text() != before {
                    self.sift();
                }
            }
        }
        Outcome::Open
    }

    /// Every word of the filter is in what is shown of an item.
    fn sift(&mut self) {
        let filter = self.filter.text().to_lowercase();
        let fits = |item: &Item| {
            let text = format!("{} {}", item.label, item.detail).to_lowercase();
            filter.split_whitespace().all(|word| text.contains(word))
        };
        self.shown = (0..self.items.len()).filter(|at| fits(&self.items[*at])).collect();
        self.at = 0;
    }

    /// The list around the marked item, and the filter.
    pub(crate) fn draw(&self, look: Look) -> Live {
        let mut lines = vec![fit(
            &Line::from(Span::bold(&self.title)).with(Span::dim("  (↑↓, type to filter, enter, esc)")),
            look.width,
        )];
        let from = self.at.saturating_sub(ROWS / 2).min(self.shown.len().saturating_sub(ROWS));
        if from > 0 {
            lines.push(Line::from(Span::dim(format!("    … {from} above"))));
        }
        for (row, item) in self.shown.iter().enumerate().skip(from).take(ROWS) {
            lines.push(self.draw_item(&self.items[*item], row == self.at, look));
        }
        if self.shown.is_empty() {
            lines.push(Line::from(Span::dim("    nothing fits")));
        }
        let below = self.shown.len().saturating_sub(from + ROWS);
        if below > 0 {
            lines.push(Line::from(Span::dim(format!("    … {below} below"))));
        }
        let (filter, cursor) = self.filter.draw("  / ", look);
        lines.push(filter);
        Live { lines, cursor: Some(cursor) }
    }

    fn draw_item(&self, item: &Item, is_marked: bool, look: Look) -> Line {
        let (mark, style) = if is_marked { ("❯ ", Style::CHOSEN) } else { ("  ", Style::PLAIN) };
        let mut line = Line::from(Span::plain(format!("  {mark}")));
        line.push(Span::new(on_one_line(&item.label), style));
        if !item.detail.is_empty() {
            line.push(Span::dim(format!("  {}", on_one_line(&item.detail))));
        }
        fit(&line, look.width)
    }

    /// Lets somebody choose at a terminal. Blocks.
    pub(crate) fn run(mut self, screen: &Screen) -> std::io::Result<Option<usize>> {
        let mut keys = Keys::start()?;
        let chosen = loop {
            screen.live(self.draw(screen.live_look()));
            let Some(key) = keys.wait() else { break None };
            match self.key(&key) {
                Outcome::Open => {}
                Outcome::Chosen(item) => break Some(item),
                Outcome::Left => break None,
            }
        };
        screen.clear();
        Ok(chosen)
    }

    /// Lets somebody choose by number, where keys can't be read one by one. Nothing, or no number, is no choice.
    pub(crate) fn run_by_number(
        self,
        screen: &Screen,
        input: &mut dyn BufRead,
    ) -> std::io::Result<Option<usize>> {
        let look = screen.look();
        let mut lines = vec![Line::from(Span::bold(&self.title))];
        for (at, item) in self.items.iter().enumerate() {
            let mut line = Line::from(Span::plain(format!("{:>4}  {}", at + 1, on_one_line(&item.label))));
            if !item.detail.is_empty() {
                line.push(Span::dim(format!("  {}", on_one_line(&item.detail))));
            }
            lines.push(fit(&line, look.width));
        }
        lines.push(Line::from(Span::plain("Its number, or nothing:")));
        screen.print(&lines);
        let mut answer = String::new();
        input.read_line(&mut answer)?;
        let number: Option<usize> = answer.trim().parse().ok();
        Ok(number.and_then(|number| number.checked_sub(1)).filter(|at| *at < self.items.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::style::paint;

    const LOOK: Look = Look { colour: false, unicode: true, moves: true, width: 60 };

    fn picker(count: usize) -> Picker {
        let item = |at| Item { label: format!("session {at}"), detail: format!("{at} messages") };
        Picker::new("Resume", (1..=count).map(item).collect())
    }

    fn after(mut picker: Picker, keys: &[Key]) -> (Picker, Outcome) {
        let outcome = keys.iter().map(|key| picker.key(key)).last().unwrap_or(Outcome::Open);
        (picker, outcome)
    }

    #[test]
    fn arrows_mark_and_enter_chooses() {
        assert_eq!(after(picker(3), &[Key::Down, Key::Enter]).1, Outcome::Chosen(1));
        assert_eq!(after(picker(3), &[Key::Up, Key::Enter]).1, Outcome::Chosen(2));
        assert_eq!(after(picker(3), &[Key::Down, Key::Esc]).1, Outcome::Left);
        assert_eq!(after(picker(0), &[Key::Down, Key::Enter]).1, Outcome::Open);
    }

    #[test]
    fn what_is_typed_filters_by_words() {
        let (picker, _) = after(picker(20), &[Key::Paste("MESS 12".to_owned())]);
        insta::assert_snapshot!(paint(&picker.draw(LOOK).lines, LOOK).join("\n"), @r"
        Resume  (↑↓, type to filter, enter, esc)
          ❯ session 12  12 messages
          / MESS 12
        ");
        assert_eq!(after(picker, &[Key::Enter]).1, Outcome::Chosen(11));
    }

    #[test]
    fn a_long_list_moves_with_the_mark() {
        insta::assert_snapshot!(paint(&after(picker(30), &[const { Key::Down }; 14]).0.draw(LOOK).lines, LOOK).join("\n"), @r"
        Resume  (↑↓, type to filter, enter, esc)
            … 9 above
            session 10  10 messages
            session 11  11 messages
            session 12  12 messages
            session 13  13 messages
            session 14  14 messages
          ❯ session 15  15 messages
            session 16  16 messages
            session 17  17 messages
            session 18  18 messages
            session 19  19 messages
            … 11 below
          /
        ");
    }

    #[test]
    fn without_keys_a_number_chooses() {
        let screen = Screen::new(Box::new(std::io::sink()), LOOK, || None);
        let choose = |mut text: &[u8]| picker(3).run_by_number(&screen, &mut text).unwrap();
        assert_eq!(
            [choose(b"2\n"), choose(b"\n"), choose(b"9\n"), choose(b"0\n"), choose(b"x")],
            [Some(1), None, None, None, None]
        );
    }
}
