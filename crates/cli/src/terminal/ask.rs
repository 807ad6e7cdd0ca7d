//! The question whether a tool may run.
//!
//! What is asked about comes from a model. It is shown whole, or with what is left out named, and nothing in it is invisible.

use super::Look;
use super::clean::strict;
use super::diff::{self, Change};
use super::editor::Editor;
use super::keys::Key;
use super::screen::Live;
use super::style::{Colour, Line, Span, Style};
use super::wrap::{chop, fit, wrap};
use throughline_agent::FileDiff;

/// Rows of a command that are shown whole; beyond that its middle is left out, and that is said.
const WHOLE: usize = 60;
/// Rows at the start of a longer one.
const HEAD: usize = 40;
/// Rows at its end.
const TAIL: usize = 15;
/// Rows of a diff.
const DIFF_ROWS: usize = 60;

/// What is asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Question<'a> {
    /// The tool.
    pub(crate) tool: &'a str,
    /// What the call does, on one line.
    pub(crate) summary: &'a str,
    /// Exactly what would run or be reached: a command, an address, paths.
    pub(crate) exact: Vec<String>,
    /// Why it is asked.
    pub(crate) reason: &'a str,
    /// What could be permitted for good, in words.
    pub(crate) offers: Vec<String>,
    /// What would change.
    pub(crate) diffs: &'a [FileDiff],
}

impl Question<'_> {
    /// What is written for good, above the answers.
    pub(crate) fn draw(&self, look: Look) -> Vec<Line> {
        let mut lines = vec![Line::new()];
        let mut title = Line::from(Span::new("Permission", Style::colour(Colour::Yellow).bold()));
        title.push(Span::plain(format!(" for {}", one_line(self.tool))));
        lines.push(fit(&title, look.width));
        let width = look.width.saturating_sub(2).max(1);
        let mut block = |text: &str, style: Style| {
            let rows = wrap(&Line::from(Span::new(text, style)), width);
            lines.extend(rows.iter().map(|row| behind("  ", row)));
        };
        if self.exact.is_empty() {
            block(&one_line(self.summary), Style::PLAIN);
        }
        if !self.reason.is_empty() {
            block(&one_line(self.reason), Style::DIM);
        }
        for text in &self.exact {
            lines.extend(exact(text, look));
        }
        for each in self.diffs {
            let change = Change {
                path: &each.path,
                before: each.before.as_deref(),
                after: &each.after,
                rows: DIFF_ROWS,
            };
            let rows = diff::draw(&change, look.with_width(width));
            lines.extend(rows.iter().map(|row| behind("  ", row)));
        }
        lines
    }
}

/// A text to the last character, behind a border.
pub(crate) fn exact(text: &str, look: Look) -> Vec<Line> {
    let text = strict(text);
    let width = look.width.saturating_sub(4).max(1);
    let rows: Vec<Line> = text.lines().flat_map(|line| chop(&Line::from(Span::plain(line)), width)).collect();
    let border = |row: &Line| {
        let mut line = Line::from(Span::coloured("  │ ", Colour::Yellow));
        line.extend(row);
        line
    };
    if rows.len() <= WHOLE {
        return rows.iter().map(border).collect();
    }
    let left_out = rows.len() - HEAD - TAIL;
    let said = format!("… {left_out} lines in the middle are not shown here …");
    let said = fit(&Line::from(Span::coloured(said, Colour::Yellow)), width);
    let (head, tail) = (&rows[..HEAD], &rows[rows.len() - TAIL..]);
    head.iter().chain([&said]).chain(tail).map(border).collect()
}

fn one_line(text: &str) -> String {
    strict(text).replace('\n', "⏎")
}

fn behind(margin: &str, row: &Line) -> Line {
    let mut line = Line::from(Span::plain(margin));
    line.extend(row);
    line
}

/// What somebody answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Yes, this once.
    Once,
    /// Yes, and the offer of this number holds for the session.
    Session(usize),
    /// Yes, and the offer of this number holds for the project.
    Project(usize),
    /// No; what to do instead, if that was said.
    No(Option<String>),
    /// No, and the turn is over.
    Stop,
}

/// The answers to choose from, and the choosing.
#[derive(Clone, Debug)]
pub(crate) struct Answers {
    options: Vec<(char, String, Choice)>,
    at: usize,
    /// What to do instead, while it is being written.
    instead: Option<Editor>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    Once,
    Session(usize),
    Project(usize),
    No,
    Instead,
}

impl Answers {
    /// For a question.
    pub(crate) fn to(question: &Question<'_>) -> Self {
        let mut options = vec![('y', "Yes, once".to_owned(), Choice::Once)];
        for (at, offer) in question.offers.iter().enumerate() {
            let offer = one_line(offer);
            // The first offer has letters; the others are reached by arrows and numbers.
            let key = |letter| if at == 0 { letter } else { ' ' };
            options.push((key('a'), format!("Yes, always in this session: {offer}"), Choice::Session(at)));
            options.push((key('p'), format!("Yes, always in this project: {offer}"), Choice::Project(at)));
        }
        options.push(('n', "No".to_owned(), Choice::No));
        options.push(('i', "No, and say what to do instead".to_owned(), Choice::Instead));
        Self { options, at: 0, instead: None }
    }

    /// Takes a key; an answer when there is one.
    pub(crate) fn key(&mut self, key: &Key) -> Option<Answer> {
        if let Some(instead) = &mut self.instead {
            return match key {
                Key::Enter | Key::AltEnter => {
                    let text = instead.take();
                    Some(Answer::No(Some(text).filter(|text| !text.trim().is_empty())))
                }
                Key::Esc => {
                    self.instead = None;
                    None
                }
                Key::Interrupt => Some(Answer::Stop),
                Key::EndOfInput
                | Key::Tab
                | Key::BackTab
                | Key::Backspace
                | Key::Delete
                | Key::DeleteWord
                | Key::DeleteLine
                | Key::Left
                | Key::Right
                | Key::Up
                | Key::Down
                | Key::Home
                | Key::End
                | Key::Char(_)
                | Key::Paste(_)
                | Key::Resize => {
                    instead.edit(key);
                    None
                }
            };
        }
        match key {
            Key::Up | Key::BackTab => self.at = self.at.checked_sub(1).unwrap_or(self.options.len() - 1),
            Key::Down | Key::Tab => self.at = (self.at + 1) % self.options.len(),
            Key::Enter => return self.choose(self.at),
            Key::Esc | Key::Interrupt | Key::EndOfInput => return Some(Answer::Stop),
            Key::Char(c) => return self.position(*c).and_then(|at| self.choose(at)),
            // Pasted text is not an answer.
            Key::Paste(_)
            | Key::AltEnter
            | Key::Backspace
            | Key::Delete
            | Key::DeleteWord
            | Key::DeleteLine
            | Key::Left
            | Key::Right
            | Key::Home
            | Key::End
            | Key::Resize => {}
        }
        None
    }

    /// Whether a character is one of the answers.
    pub(crate) fn has(&self, c: char) -> bool {
        self.position(c).is_some()
    }

    /// Whether what to do instead is being written.
    pub(crate) fn is_writing(&self) -> bool {
        self.instead.is_some()
    }

    fn position(&self, c: char) -> Option<usize> {
        let c = c.to_ascii_lowercase();
        if let Some(number) = c.to_digit(10) {
            return (number as usize).checked_sub(1).filter(|at| *at < self.options.len());
        }
        self.options.iter().position(|(key, ..)| *key == c && c != ' ')
    }

    fn choose(&mut self, at: usize) -> Option<Answer> {
        let (_, _, choice) = self.options.get(at)?;
        Some(match choice {
            Choice::Once => Answer::Once,
            Choice::Session(offer) => Answer::Session(*offer),
            Choice::Project(offer) => Answer::Project(*offer),
            Choice::No => Answer::No(None),
            Choice::Instead => {
                self.at = at;
                self.instead = Some(Editor::default());
                return None;
            }
        })
    }

    /// The answers, as they are drawn in place.
    pub(crate) fn draw(&self, look: Look) -> Live {
        if let Some(instead) = &self.instead {
            let (line, cursor) = instead.draw("  instead: ", look);
            return Live { lines: vec![line], cursor: Some(cursor) };
        }
        let mut lines = Vec::new();
        for (at, (key, label, _)) in self.options.iter().enumerate() {
            let is_marked = at == self.at;
            let mut line = Line::from(Span::plain(if is_marked { "❯ " } else { "  " }));
            line.push(Span::coloured(format!("{key} "), Colour::Cyan));
            line.push(Span::new(label, if is_marked { Style::CHOSEN } else { Style::PLAIN }));
            lines.push(fit(&line, look.width));
        }
        lines.push(fit(&Line::from(Span::dim("  esc stops the turn")), look.width));
        Live { lines, cursor: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::style::paint;
    use std::path::PathBuf;

    const LOOK: Look = Look { colour: false, unicode: true, moves: true, width: 60 };

    fn question() -> Question<'static> {
        Question {
            tool: "Bash",
            summary: "Bash rm -rf build",
            exact: vec!["rm -rf build".to_owned()],
            reason: "it changes files",
            offers: vec!["Bash(rm -rf build)".to_owned(), "Bash(rm:*)".to_owned()],
            diffs: &[],
        }
    }

    #[test]
    fn a_question_with_its_answers() {
        let mut lines = question().draw(LOOK);
        lines.extend(Answers::to(&question()).draw(LOOK).lines);
        insta::assert_snapshot!(paint(&lines, LOOK).join("\n"), @r"

        Permission for Bash
          it changes files
          │ rm -rf build
        ❯ y Yes, once
          a Yes, always in this session: Bash(rm -rf build)
          p Yes, always in this project: Bash(rm -rf build)
            Yes, always in this session: Bash(rm:*)
            Yes, always in this project: Bash(rm:*)
          n No
          i No, and say what to do instead
          esc stops the turn
        ");
    }

    #[test]
    fn keys_answer() {
        let answer = |keys: &[Key]| {
            let mut answers = Answers::to(&question());
            keys.iter().filter_map(|key| answers.key(key)).next()
        };
        assert_eq!(answer(&[Key::Char('y')]), Some(Answer::Once));
        assert_eq!(answer(&[Key::Char('a')]), Some(Answer::Session(0)));
        assert_eq!(answer(&[Key::Char('P')]), Some(Answer::Project(0)));
        assert_eq!(answer(&[Key::Char('4')]), Some(Answer::Session(1)));
        assert_eq!(answer(&[Key::Char('n')]), Some(Answer::No(None)));
        assert_eq!(answer(&[Key::Up, Key::Up, Key::Enter]), Some(Answer::No(None)));
        assert_eq!(answer(&[Key::Esc]), Some(Answer::Stop));
        assert_eq!(answer(&[Key::Char(' '), Key::Char('x'), Key::Paste("y".to_owned())]), None);
        let say = |text: &str| [Key::Char('i'), Key::Paste(text.to_owned()), Key::Enter];
        assert_eq!(answer(&say("use cargo clean")), Some(Answer::No(Some("use cargo clean".to_owned()))));
        assert_eq!(answer(&say(" ")), Some(Answer::No(None)));
        assert_eq!(answer(&[Key::Char('i'), Key::Esc, Key::Char('y')]), Some(Answer::Once));
    }

    #[test]
    fn a_command_hides_nothing() {
        let command = "ls\u{1b}[8m;\u{202e}rm\u{a0}-rf ~\r\nx\u{200b}";
        let question = Question { exact: vec![command.to_owned()], ..question() };
        let shown = paint(&question.draw(LOOK), LOOK).join("\n");
        assert!(shown.contains("│ ls␛[8m;<U+202E>rm<U+00A0>-rf ~\n  │ x<U+200B>"), "{shown}");
        let wide = format!("echo {}; rm -rf ~", " ".repeat(200));
        let question = Question { exact: vec![wide], ..question };
        assert!(paint(&question.draw(LOOK), LOOK).join("\n").contains("; rm -rf ~"));
    }

    #[test]
    fn what_is_left_out_of_a_long_command_is_said() {
        let long: String = (1..=200).map(|at| format!("echo {at}\n")).collect();
        let question = Question { exact: vec![long], ..question() };
        let shown = paint(&question.draw(LOOK), LOOK).join("\n");
        assert!(shown.contains("… 145 lines in the middle are not shown here …"), "{shown}");
        assert!(shown.contains("│ echo 1\n") && shown.ends_with("│ echo 200"), "{shown}");
    }

    #[test]
    fn what_would_change_is_shown() {
        let diffs = [FileDiff {
            path: PathBuf::from("a.txt"),
            before: Some("one\n".to_owned()),
            after: "two\n".to_owned(),
        }];
        let question = Question { exact: Vec::new(), diffs: &diffs, summary: "Edit a.txt", ..question() };
        insta::assert_snapshot!(paint(&question.draw(LOOK), LOOK).join("\n"), @r"

        Permission for Bash
          Edit a.txt
          it changes files
          a.txt  +1 -1
            1 - one
            1 + two
        ");
    }
}
