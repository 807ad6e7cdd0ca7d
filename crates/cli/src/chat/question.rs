//! A question on the screen, beside a line that somebody may be typing.
//!
//! Who types a sentence while a question comes up must not answer it by the sentence's letters. So a letter answers only when
//! nothing was typed right before the question and nothing follows it; what is more than one letter is text.

use super::approve::Asked;
use crate::terminal::Look;
use crate::terminal::ask::{Answer, Answers};
use crate::terminal::editor::Editor;
use crate::terminal::keys::Key;
use crate::terminal::screen::Live;
use crate::terminal::style::{Line, Span};
use std::time::{Duration, Instant};

/// Keys so soon after the question came up were meant for something else.
const TOO_SOON: Duration = Duration::from_millis(500);

/// A letter alone for so long is an answer.
const ALONE: Duration = Duration::from_millis(300);

/// A question that is open.
#[derive(Debug)]
pub(super) struct Open {
    asked: Asked,
    answers: Answers,
    since: Instant,
    /// A letter that may be an answer, or the beginning of a sentence.
    letter: Option<(char, Instant)>,
}

/// What came of a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It is for the line.
    Line,
    /// The question stays open.
    Open,
    /// It is answered.
    Answered(Answer),
}

impl Open {
    /// A question came up.
    pub(super) fn new(asked: Asked, now: Instant) -> Self {
        let answers = Answers::to(&asked.question());
        Self { asked, answers, since: now, letter: None }
    }

    /// Takes a key. `line` is what is being typed beside the question; what turns out to be text is put there.
    pub(super) fn key(&mut self, key: &Key, line: &mut Editor, now: Instant) -> Step {
        if self.answers.is_writing() {
            return self.answers.key(key).map_or(Step::Open, Step::Answered);
        }
        // Stopping is always safe.
        if *key == Key::Interrupt {
            return Step::Answered(Answer::Stop);
        }
        if !line.text().is_empty() {
            if *key == Key::Esc {
                line.take();
                return Step::Open;
            }
            return Step::Line;
        }
        match key {
            Key::Char(c) => {
                if let Some((first, _)) = self.letter.take() {
                    line.edit(&Key::Char(first));
                    return Step::Line;
                }
                if now.duration_since(self.since) < TOO_SOON || !self.answers.has(*c) {
                    return Step::Line;
                }
                self.letter = Some((*c, now));
                Step::Open
            }
            Key::Paste(_) => Step::Line,
            Key::Enter | Key::Esc if now.duration_since(self.since) < TOO_SOON => Step::Open,
            Key::Esc
            | Key::Interrupt
            | Key::EndOfInput
            | Key::Enter
            | Key::AltEnter
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
            | Key::Resize => {
                self.letter = None;
                self.answers.key(key).map_or(Step::Open, Step::Answered)
            }
        }
    }

    /// Time has passed: a letter that stayed alone is an answer.
    pub(super) fn tick(&mut self, now: Instant) -> Step {
        match self.letter {
            Some((c, at)) if now.duration_since(at) >= ALONE => {
                self.letter = None;
                self.answers.key(&Key::Char(c)).map_or(Step::Open, Step::Answered)
            }
            Some(_) | None => Step::Open,
        }
    }

    /// What is written for good.
    pub(super) fn draw_question(&self, look: Look) -> Vec<Line> {
        self.asked.question().draw(look)
    }

    /// The answers, and the line if something is on it.
    pub(super) fn draw(&self, line: &Editor, look: Look) -> Live {
        let mut live = self.answers.draw(look);
        if !line.text().is_empty() && !self.answers.is_writing() {
            live.lines.push(Line::from(Span::dim("  enter sends this line, esc clears it; then answer")));
            let (drawn, cursor) = line.draw("❯ ", look);
            live.lines.push(drawn);
            live.cursor = Some(cursor);
        }
        live
    }

    /// Hands the answer to whoever asked.
    pub(super) fn close(self, answer: Answer) {
        // A turn that is over by now needs no answer.
        drop(self.asked.reply.send(answer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use throughline_agent::Access;

    fn open(now: Instant) -> Open {
        let (reply, _) = tokio::sync::oneshot::channel();
        let asked = Asked {
            tool: "Bash".to_owned(),
            summary: "Bash ls".to_owned(),
            access: Access::Inner,
            reason: "it is asked".to_owned(),
            offers: vec!["Bash(ls)".to_owned()],
            diffs: Vec::new(),
            reply,
        };
        Open::new(asked, now)
    }

    #[test]
    fn a_letter_alone_answers() {
        let now = Instant::now();
        let mut open = open(now);
        let mut line = Editor::default();
        let later = now + TOO_SOON;
        assert_eq!(open.key(&Key::Char('y'), &mut line, later), Step::Open);
        assert_eq!(open.tick(later), Step::Open);
        assert_eq!(open.tick(later + ALONE), Step::Answered(Answer::Once));
    }

    #[test]
    fn a_sentence_is_no_answer() {
        let now = Instant::now();
        let mut open = open(now);
        let mut line = Editor::default();
        let mut at = now + TOO_SOON;
        for c in "also check".chars() {
            let key = Key::Char(c);
            match open.key(&key, &mut line, at) {
                Step::Line => assert!(line.edit(&key)),
                Step::Open => {}
                Step::Answered(answer) => panic!("{answer:?}"),
            }
            at += Duration::from_millis(90);
            assert_eq!(open.tick(at), Step::Open);
        }
        assert_eq!(line.text(), "also check");
        assert_eq!(open.key(&Key::Enter, &mut line, at), Step::Line, "enter sends the line");
        assert_eq!(open.key(&Key::Esc, &mut line, at), Step::Open, "esc clears it");
        assert_eq!(line.text(), "");
    }

    #[test]
    fn what_was_on_its_way_is_no_answer() {
        let now = Instant::now();
        let mut open = open(now);
        let mut line = Editor::default();
        assert_eq!(open.key(&Key::Char('y'), &mut line, now), Step::Line);
        assert_eq!(open.key(&Key::Enter, &mut line, now), Step::Open);
        assert_eq!(open.key(&Key::Esc, &mut line, now), Step::Open);
        assert_eq!(open.key(&Key::Interrupt, &mut line, now), Step::Answered(Answer::Stop));
    }

    #[test]
    fn arrows_and_enter_answer() {
        let now = Instant::now();
        let mut open = open(now);
        let mut line = Editor::default();
        let later = now + TOO_SOON;
        assert_eq!(open.key(&Key::Down, &mut line, later), Step::Open);
        assert_eq!(open.key(&Key::Enter, &mut line, later), Step::Answered(Answer::Session(0)));
        assert_eq!(open.key(&Key::Esc, &mut line, later), Step::Answered(Answer::Stop));
    }
}
