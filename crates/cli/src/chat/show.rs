//! What happens in a turn, on the screen.

use crate::output::count;
use crate::terminal::markdown::{self, Markdown};
use crate::terminal::screen::{Live, Screen};
use crate::terminal::status::{Status, short};
use crate::terminal::style::{Line, Span};
use crate::terminal::tool_line::{Went, hang, headline, inner, notice, preview};
use crate::terminal::{diff, todos};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use throughline_agent::{Event, FileDiff, Listener, Shown};

/// Lines of a change that are shown once it is made.
const DIFF_ROWS: usize = 24;

/// Lines of the answer that are shown before their block is whole.
const TAIL_ROWS: usize = 4;

/// Shows what it hears. Clones show on the same screen.
#[derive(Clone)]
pub(crate) struct Show {
    screen: Arc<Screen>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// The answer that is coming in.
    answer: Option<Markdown>,
    /// What was written last.
    last: Last,
    status: Status,
    /// Calls that run: id and summary.
    running: Vec<(String, String)>,
}

/// What was written last: an empty line parts what is different.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Last {
    #[default]
    Nothing,
    Text,
    Tool,
    Note,
}

impl Show {
    /// On a screen.
    pub(crate) fn new(screen: Arc<Screen>) -> Self {
        Self { screen, state: Arc::default() }
    }

    /// The screen.
    pub(crate) fn screen(&self) -> &Arc<Screen> {
        &self.screen
    }

    /// A turn begins, or something else that takes its time.
    pub(crate) fn begin(&self, doing: &str) {
        let mut state = self.lock();
        let context = state.status.context;
        let dollars = state.status.dollars;
        *state = State::default();
        state.status = Status { doing: doing.to_owned(), context, dollars, ..Status::default() };
    }

    /// A turn is over: what is not whole is shown as it is.
    pub(crate) fn end(&self) {
        self.finish_answer(&mut self.lock());
    }

    /// The part of the live area that says what goes on; whoever draws it knows the time and what waits.
    pub(crate) fn live(&self, with: impl FnOnce(&mut Status), frame: usize) -> Live {
        let look = self.screen.live_look();
        let mut state = self.lock();
        with(&mut state.status);
        let gap = (state.answer.is_some() || state.last != Last::Nothing).then(Line::new);
        let lines = gap.into_iter().chain([state.status.draw(frame, look)]).collect();
        Live { lines, cursor: None }
    }

    /// Something that people should know.
    pub(crate) fn note(&self, text: &str) {
        let mut state = self.lock();
        self.write(&mut state, Last::Note, &notice(text, self.screen.look()));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes lines, behind an empty one if what came before is something else.
    fn write(&self, state: &mut State, kind: Last, lines: &[Line]) {
        let mut tail = state.answer.as_ref().map(|answer| answer.tail(TAIL_ROWS)).unwrap_or_default();
        let is_apart = state.last != Last::Nothing && state.last != kind;
        let mut all: Vec<Line> = is_apart.then(Line::new).into_iter().collect();
        if lines.is_empty() {
            // What is not final stands apart too.
            tail.splice(0..0, all.drain(..).filter(|_| !tail.is_empty()).collect::<Vec<_>>());
        } else {
            all.extend_from_slice(lines);
            state.last = kind;
        }
        self.screen.print_before(&all, tail);
    }

    fn finish_answer(&self, state: &mut State) {
        if let Some(mut answer) = state.answer.take() {
            let lines = answer.finish();
            self.write(state, Last::Text, &lines);
        }
    }

    fn show(&self, event: Event) {
        let look = self.screen.look();
        let mut state = self.lock();
        let state = &mut *state;
        match event {
            Event::Asking { .. } => state.doing("Thinking"),
            Event::Thinking { .. } => state.doing("Thinking"),
            Event::Text { text } => {
                state.doing("Writing");
                if state.answer.is_none() {
                    // An answer behind another one is a text of its own.
                    if state.last == Last::Text {
                        state.last = Last::Note;
                    }
                    state.answer = Some(Markdown::new(look));
                }
                let lines = state.answer.as_mut().map(|answer| answer.push(&text)).unwrap_or_default();
                self.write(state, Last::Text, &lines);
            }
            Event::Answered { text, usage } => {
                state.status.sent += usage.prompt();
                state.status.received += usage.output;
                if state.answer.is_some() {
                    self.finish_answer(state);
                } else if !text.trim().is_empty() && state.last != Last::Text {
                    self.write(state, Last::Text, &markdown::render(&text, look));
                }
            }
            Event::Spent(spending) => {
                state.status.dollars = spending.dollars;
                state.status.context = (spending.window > 0)
                    .then(|| spending.context.saturating_mul(100).div_ceil(spending.window));
            }
            Event::ToolStarted { id, summary, .. } => {
                self.finish_answer(state);
                state.running.push((id, summary));
                state.tell_running(None);
            }
            Event::ToolProgress { id, text } => {
                let last = text.trim_end().rsplit('\n').next().unwrap_or_default().to_owned();
                state.tell_running(Some((&id, &last)));
            }
            Event::ToolEnded { id, summary, output, is_error, shown, .. } => {
                self.finish_answer(state);
                state.running.retain(|(running, _)| *running != id);
                state.tell_running(None);
                let went = if is_error { Went::Wrong } else { Went::Well };
                let lines = ended(&summary, &output, went, &shown, look);
                self.write(state, Last::Tool, &lines);
            }
            // The call that changed it shows it.
            Event::Todos { .. } => {}
            Event::Compacted { before, after, how } => {
                let how = if how.is_empty() { String::new() } else { format!(": {how}") };
                let text = format!("compacted, {} to {} tokens{how}", short(before), short(after));
                self.write(state, Last::Note, &notice(&text, look));
            }
            Event::Notice { notice: text } => self.write(state, Last::Note, &notice(&text.to_string(), look)),
            Event::Warning { text } => self.write(state, Last::Note, &notice(&text, look)),
            Event::Memory { text } => self.write(state, Last::Note, &aside("✎ ", &text, look.width)),
            Event::Steered { text } => {
                self.finish_answer(state);
                self.write(state, Last::Note, &said(&text, look.width));
            }
            Event::Sub { event, .. } => self.show_sub(state, *event),
            Event::Interrupted => {
                self.finish_answer(state);
                state.running.clear();
            }
        }
    }

    /// Of a sub-agent's work: what it runs, and what people should know.
    fn show_sub(&self, state: &mut State, event: Event) {
        let look = self.screen.look();
        match event {
            Event::ToolStarted { summary, .. } => {
                state.status.doing = format!("sub-agent: {summary}");
            }
            Event::ToolEnded { summary, is_error, .. } => {
                let went = if is_error { Went::Wrong } else { Went::Well };
                let line = headline(&summary, None, went, look.with_width(inner(look)));
                let mut whole = Line::from(Span::dim("    "));
                whole.extend(&line);
                self.write(state, Last::Tool, &[whole]);
            }
            Event::Warning { text } => self.write(state, Last::Note, &notice(&text, look)),
            Event::Memory { .. } => {}
            Event::Sub { event, .. } => self.show_sub(state, *event),
            Event::Answered { usage, .. } => {
                state.status.sent += usage.prompt();
                state.status.received += usage.output;
            }
            Event::Asking { .. }
            | Event::Text { .. }
            | Event::Thinking { .. }
            | Event::Spent(_)
            | Event::ToolProgress { .. }
            | Event::Todos { .. }
            | Event::Compacted { .. }
            | Event::Notice { .. }
            | Event::Steered { .. }
            | Event::Interrupted => {}
        }
    }
}

impl State {
    fn doing(&mut self, what: &str) {
        if self.status.doing != what {
            self.status.doing = what.to_owned();
        }
    }

    /// The newest call that runs, with what it said last.
    fn tell_running(&mut self, progress: Option<(&str, &str)>) {
        let Some((id, summary)) = self.running.last() else { return self.doing("Thinking") };
        let said = progress.filter(|(of, text)| of == id && !text.is_empty());
        let said = said.map(|(_, text)| format!(": {text}")).unwrap_or_default();
        let others = match self.running.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        self.status.doing = format!("{summary}{others}{said}");
    }
}

impl Listener for Show {
    fn hear(&self, event: Event) {
        self.show(event);
    }
}

/// What the user said, as it is repeated.
pub(crate) fn said(text: &str, width: usize) -> Vec<Line> {
    aside("❯ ", text, width)
}

/// Something beside the conversation, behind a mark of two columns.
fn aside(mark: &str, text: &str, width: usize) -> Vec<Line> {
    let text = Line::from(Span::dim(text));
    let mark = |(at, row): (usize, &Line)| {
        let mut line = Line::from(Span::dim(if at == 0 { mark } else { "  " }));
        line.extend(row);
        line
    };
    let rows = crate::terminal::wrap::wrap(&text, width.saturating_sub(2).max(1));
    rows.iter().enumerate().map(mark).collect()
}

/// A call that has ended.
fn ended(summary: &str, output: &str, went: Went, shown: &Shown, look: crate::terminal::Look) -> Vec<Line> {
    let narrow = look.with_width(inner(look));
    // Whatever it meant to show, of a failure the words matter.
    let shown = if went == Went::Wrong { &Shown::Plain } else { shown };
    let note = match shown {
        Shown::Line(text) => Some(text.clone()),
        Shown::Tools(names) => Some(count(names.len() as u64, "tool")),
        Shown::Plain | Shown::Diff(_) | Shown::Todos(_) | Shown::Plan(_) => None,
    };
    let mut lines = vec![headline(summary, note.as_deref(), went, look)];
    lines.extend(match shown {
        Shown::Line(_) | Shown::Tools(_) => Vec::new(),
        Shown::Plain => preview(output, went, look),
        Shown::Diff(diffs) => hang(diffs.iter().flat_map(|each| change(each, narrow)).collect()),
        Shown::Todos(list) => todos::draw(list, look),
        Shown::Plan(plan) => hang(markdown::render(plan, narrow)),
    });
    lines
}

fn change(each: &FileDiff, look: crate::terminal::Look) -> Vec<Line> {
    let change = diff::Change {
        path: &each.path,
        before: each.before.as_deref(),
        after: &each.after,
        rows: DIFF_ROWS,
    };
    diff::draw(&change, look)
}
