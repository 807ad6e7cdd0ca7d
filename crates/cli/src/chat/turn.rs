//! While the agent works: keys, the status, questions.

use super::approve::Asked;
use super::question::{Open, Step};
use super::show::Show;
use crate::terminal::ask::Answer;
use crate::terminal::editor::Editor;
use crate::terminal::keys::{Key, Keys, terminated};
use crate::terminal::style::{Line, Span};
use std::time::{Duration, Instant};
use throughline_agent::agent::{CurrentMode, Inbox};
use throughline_model::CancelToken;
use tokio::sync::mpsc::UnboundedReceiver;

/// How often the status is drawn.
const FRAME: Duration = Duration::from_millis(100);

/// What a turn needs of whoever is at the terminal.
pub(crate) struct Watch<'a> {
    /// What is shown.
    pub(crate) show: &'a Show,
    /// Where what is typed goes.
    pub(crate) inbox: &'a Inbox,
    /// Stops the turn.
    pub(crate) cancel: CancelToken,
    /// The permission mode, which can be changed meanwhile.
    pub(crate) mode: CurrentMode,
    /// Questions that come up.
    pub(crate) questions: &'a mut UnboundedReceiver<Asked>,
}

/// How the watch over a turn ended.
#[derive(Debug)]
pub(crate) struct Watched<T> {
    /// What came of the turn; nothing if the user did not wait for its end.
    pub(crate) outcome: Option<T>,
    /// What was typed and not sent.
    pub(crate) typed: String,
    /// The user wants to end altogether.
    pub(crate) wants_out: bool,
}

impl Watch<'_> {
    /// Watches over a turn where keys can't be read: only Ctrl-C stops it, and a second one ends it.
    pub(crate) async fn elsewhere<T>(self, turn: impl Future<Output = T>) -> Watched<T> {
        tokio::pin!(turn);
        let mut wants_out = false;
        let outcome = loop {
            tokio::select! {
                outcome = &mut turn => break Some(outcome),
                _ = tokio::signal::ctrl_c() => {
                    if self.cancel.is_cancelled() {
                        wants_out = true;
                        break None;
                    }
                    self.cancel.cancel();
                }
            }
        };
        self.show.end();
        Watched { outcome, typed: String::new(), wants_out }
    }

    /// Watches over a turn at a terminal until it is over. What is typed steers it, waits for the next, or stops it.
    pub(crate) async fn at_terminal<T>(self, turn: impl Future<Output = T>) -> std::io::Result<Watched<T>> {
        let mut keys = Some(Keys::start()?);
        let mut editor = Editor::default();
        let mut open: Option<Open> = None;
        let mut wants_out = false;
        let begun = Instant::now();
        let mut frame = 0;
        let mut ticks = tokio::time::interval(FRAME);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
        let terminated = terminated();
        tokio::pin!(turn, terminated);
        let outcome = loop {
            if let Some(Step::Answered(answer)) = open.as_mut().map(|open| open.tick(Instant::now())) {
                self.answered(open.take(), answer);
            }
            self.draw(&editor, open.as_ref(), begun.elapsed(), frame);
            tokio::select! {
                outcome = &mut turn => break Some(outcome),
                () = &mut terminated => {
                    wants_out = true;
                    break None;
                }
                _ = ticks.tick() => frame += 1,
                Some(asked) = self.questions.recv(), if open.is_none() => {
                    let question = Open::new(asked, Instant::now());
                    let screen = self.show.screen();
                    screen.print(&question.draw_question(screen.look()));
                    open = Some(question);
                }
                key = next(&mut keys) => {
                    let Some(key) = key else {
                        // The terminal is gone: nobody can steer this any more.
                        keys = None;
                        wants_out = true;
                        self.cancel.cancel();
                        continue;
                    };
                    let step = open.as_mut().map(|open| open.key(&key, &mut editor, Instant::now()));
                    match step {
                        None | Some(Step::Line) => {
                            if self.take(&mut editor, &key) {
                                wants_out = true;
                                break None;
                            }
                        }
                        Some(Step::Open) => {}
                        Some(Step::Answered(answer)) => self.answered(open.take(), answer),
                    }
                }
            }
        };
        self.show.end();
        self.show.screen().clear();
        Ok(Watched { outcome, typed: editor.take(), wants_out })
    }

    /// A question is answered: that stays on the screen.
    fn answered(&self, open: Option<Open>, answer: Answer) {
        if answer == Answer::Stop {
            self.cancel.cancel();
        }
        self.show.screen().print(&[Line::from(Span::dim(format!("  {}", in_words(&answer))))]);
        if let Some(open) = open {
            open.close(answer);
        }
    }

    /// A key while the agent works; whether the user wants to end altogether.
    fn take(&self, editor: &mut Editor, key: &Key) -> bool {
        match key {
            Key::Interrupt if self.cancel.is_cancelled() => return true,
            Key::Esc | Key::Interrupt => self.cancel.cancel(),
            Key::Enter => self.send(editor, |text| self.inbox.steer(text)),
            Key::AltEnter | Key::Tab => self.send(editor, |text| self.inbox.queue(text)),
            Key::BackTab => self.show.note(&format!("the mode is {} now", self.mode.cycle())),
            Key::EndOfInput
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
                editor.edit(key);
            }
        }
        false
    }

    fn send(&self, editor: &mut Editor, to: impl FnOnce(String)) {
        if !editor.text().trim().is_empty() {
            to(editor.take());
        }
    }

    fn draw(&self, editor: &Editor, open: Option<&Open>, elapsed: Duration, frame: usize) {
        let screen = self.show.screen();
        let look = screen.live_look();
        if let Some(open) = open {
            return screen.live(open.draw(editor, look));
        }
        let waiting = self.inbox.waiting();
        let is_stopping = self.cancel.is_cancelled();
        let mut live = self.show.live(
            |status| {
                status.elapsed = elapsed;
                status.queued = waiting.len();
                if is_stopping {
                    status.doing = "Stopping".to_owned();
                }
            },
            frame,
        );
        for text in &waiting {
            live.lines.push(Line::from(Span::dim(format!("  waiting: {}", crate::output::fit(text, 200)))));
        }
        let (line, cursor) = editor.draw("❯ ", look);
        live.lines.push(line);
        live.cursor = Some(cursor);
        screen.live(live);
    }
}

async fn next(keys: &mut Option<Keys>) -> Option<Key> {
    match keys {
        Some(keys) => keys.next().await,
        None => std::future::pending().await,
    }
}

/// What was answered, as it stays on the screen.
fn in_words(answer: &Answer) -> String {
    match answer {
        Answer::Once => "Yes, once".to_owned(),
        Answer::Session(_) => "Yes, always in this session".to_owned(),
        Answer::Project(_) => "Yes, always in this project".to_owned(),
        Answer::No(None) => "No".to_owned(),
        Answer::No(Some(instead)) => format!("No: {instead}"),
        Answer::Stop => "No, and stop".to_owned(),
    }
}
