//! Facts: what a session's messages show, derived without a model, message by message.
//!
//! Facts carry the work through a compaction: the user's words (verbatim, with ids), what they forbade, corrected and
//! decided, the files and their last state, commands and how they ended, tests, the list of tasks, open errors. From them the
//! [`Frontier`]: what is done, in flight, and next. The same messages give the same facts, whole or one by one.
//!
//! ```
//! use throughline_core::facts::Facts;
//! use throughline_core::{Message, Role};
//!
//! let mut facts = Facts::default();
//! facts.push(&Message::text(Role::User, "Fix the login. Never touch the lockfile."));
//! assert_eq!(facts.directives()[0].sentence, "Never touch the lockfile.");
//! assert_eq!(facts.frontier().in_flight, ["Fix the login. Never touch the lockfile."]);
//! ```

mod action;
mod checks;
mod directive;
mod frontier;
mod outcome;
mod work;

pub use action::{Action, Status, Todo};
pub use checks::{ErrorFact, TestRun, error_lines, read_tests, runs_tests};
pub use directive::{Directive, DirectiveKind, directives};
pub use frontier::Frontier;
pub use outcome::Outcome;
pub use work::{CommandFact, FileFact, Touch};

use crate::text::{middle_cut, one_line};
use crate::{Body, CallId, Fragment, Message, MessageId, Role, Speaker, ToolResult};
use jiff::Timestamp;
use std::collections::HashMap;
use work::Work;

/// What the user said, once.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    /// The message.
    pub id: MessageId,
    /// When.
    pub at: Option<Timestamp>,
    /// Their words; of very long ones the middle is cut.
    pub text: String,
    /// Position in the session.
    pub seen: u64,
}

/// One turn: what was asked and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnFact {
    /// The user message that began it.
    pub id: MessageId,
    /// Its words in one line.
    pub asked: String,
    /// The last thing the model said in it.
    pub answer: Option<String>,
    /// Files it changed, each once.
    pub changed: Vec<String>,
    /// Commands and tools it used.
    pub calls: u32,
    /// Position of its beginning.
    pub seen: u64,
}

/// Everything derived so far. Memory is bounded: see the constants of this module.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Messages taken in.
    seen: u64,
    words: Vec<Said>,
    directives: Vec<Directive>,
    turns: Vec<TurnFact>,
    work: Work,
    tests: Vec<TestRun>,
    errors: Vec<ErrorFact>,
    todos: Vec<Todo>,
    plan: Option<String>,
    answers: Vec<Said>,
    /// Calls whose results are still to come, with what they are about.
    open: HashMap<CallId, (Action, MessageId)>,
    last_answer: Option<Said>,
    cwd: Option<String>,
}

/// How Claude Code begins the result of a call that a person declined. A tool could write the same: what follows is told as
/// said by way of a tool, and binds nobody.
const DECLINED: &str = "The user doesn't want to proceed with this tool use.";
/// Words of one message that are kept whole.
const LONGEST_WORDS: usize = 24_000;
/// User messages, directives and turns remembered; the first ones and the newest stay.
const MOST_WORDS: usize = 4_000;
const MOST_TESTS: usize = 200;
const MOST_ERRORS: usize = 400;
const MOST_OPEN: usize = 20_000;

impl Facts {
    /// Takes in one more message.
    pub fn push(&mut self, message: &Message) {
        self.seen += 1;
        if message.flags.display_only || message.flags.summary {
            return;
        }
        match message.role {
            Role::User | Role::Tool => {
                for result in message.results() {
                    self.result(message, result);
                }
                if message.is_real_user() {
                    self.user(message);
                }
            }
            Role::Assistant => self.assistant(message),
            Role::System | Role::Developer => {}
        }
    }

    /// Says where the session runs: paths below it are told relative to it.
    pub fn set_cwd(&mut self, cwd: &str) {
        self.cwd = Some(cwd.trim_end_matches('/').to_owned()).filter(|cwd| !cwd.is_empty());
    }

    fn user(&mut self, message: &Message) {
        let text = message.user_words();
        if text.trim().is_empty() {
            return;
        }
        self.directives.extend(directive::of_words(&message.id, &text));
        self.turns.push(TurnFact {
            id: message.id.clone(),
            asked: one_line(&text, 200),
            answer: None,
            changed: Vec::new(),
            calls: 0,
            seen: self.seen,
        });
        self.words.push(Said {
            id: message.id.clone(),
            at: message.at,
            text: middle_cut(&text, LONGEST_WORDS),
            seen: self.seen,
        });
        trim_middle(&mut self.words, MOST_WORDS);
        trim_middle(&mut self.directives, MOST_WORDS);
        trim_middle(&mut self.turns, MOST_WORDS);
    }

    fn assistant(&mut self, message: &Message) {
        for block in &message.blocks {
            match &block.body {
                Body::Text(_) => {
                    let text = message.text_of(block);
                    if !text.trim().is_empty() {
                        self.answer(message, &text);
                    }
                }
                Body::ToolCall(call) => {
                    let action = Action::of(call);
                    self.call(&action, &message.id);
                    if call.kind.needs_result() {
                        if self.open.len() >= MOST_OPEN {
                            self.open.clear();
                        }
                        self.open.insert(call.id.clone(), (action, message.id.clone()));
                    }
                }
                Body::Reasoning { .. }
                | Body::ToolResult(_)
                | Body::Image(_)
                | Body::Document(_)
                | Body::Unknown(_) => {}
            }
        }
    }

    fn answer(&mut self, message: &Message, text: &str) {
        let text = match Fragment::recognise(Speaker::Assistant, text) {
            Some(Fragment::ProposedPlan) => {
                self.plan = Some(middle_cut(text, LONGEST_WORDS));
                return;
            }
            Some(_) | None => text,
        };
        self.last_answer = Some(Said {
            id: message.id.clone(),
            at: message.at,
            text: middle_cut(text, LONGEST_WORDS),
            seen: self.seen,
        });
        if let Some(turn) = self.turns.last_mut() {
            turn.answer = Some(middle_cut(text, 2_000));
        }
    }

    fn call(&mut self, action: &Action, message: &MessageId) {
        if let Some(turn) = self.turns.last_mut() {
            turn.calls += 1;
        }
        match action {
            Action::Read { path } => self.touch(path, Touch::Read, message),
            Action::Edit { paths } => {
                for path in paths {
                    self.touch(path, Touch::Edited, message);
                }
            }
            Action::Write { path } => self.touch(path, Touch::Written, message),
            Action::Shell { command } => {
                let command = middle_cut(command.trim(), 600);
                self.work.run(&command, self.seen);
            }
            Action::Todos(todos) => self.todos.clone_from(todos),
            Action::AddTodo(todo) => self.todos.push(todo.clone()),
            Action::ChangeTodo { number, status } => {
                let at = number.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
                if let (Some(status), Some(todo)) = (status, at.and_then(|at| self.todos.get_mut(at))) {
                    todo.status = *status;
                }
            }
            Action::Plan(plan) => self.plan = Some(middle_cut(plan, LONGEST_WORDS)),
            Action::Search { .. }
            | Action::Delegate { .. }
            | Action::Web { .. }
            | Action::Ask
            | Action::Other => {}
        }
    }

    fn touch(&mut self, path: &str, touch: Touch, message: &MessageId) {
        let path = self.relative(path).to_owned();
        self.work.touch(&path, touch, self.seen, message);
        let changed = match touch {
            Touch::Edited | Touch::Written => true,
            Touch::Read => false,
        };
        if changed
            && let Some(turn) = self.turns.last_mut()
            && !turn.changed.contains(&path)
        {
            turn.changed.push(path);
        }
    }

    /// A path as people would write it in the session's folder.
    fn relative<'a>(&self, path: &'a str) -> &'a str {
        self.cwd
            .as_deref()
            .and_then(|cwd| path.strip_prefix(cwd)?.strip_prefix('/'))
            .filter(|rest| !rest.is_empty())
            .unwrap_or(path)
    }

    fn result(&mut self, message: &Message, result: &ToolResult) {
        let Some((action, _)) = self.open.remove(&result.call) else { return };
        let text = result.content.to_text();
        let outcome = Outcome::of_text(result, &text);
        // A person who declined a call may have said why: these are their words, not an error of the tool.
        if outcome.failed
            && text.starts_with(DECLINED)
            && let Some((_, words)) = text.split_once("the user said:")
        {
            self.answered(message, words.trim());
            return;
        }
        match action {
            Action::Shell { command } => {
                let command = middle_cut(command.trim(), 600);
                if let Some(known) = self.work.commands.get_mut(&command) {
                    known.outcome = Some(outcome);
                }
                if checks::runs_tests(&command) {
                    self.test_run(&command, outcome, &text);
                }
                self.errors(&command, outcome, &text);
            }
            Action::Read { path } => {
                if !outcome.failed {
                    let path = self.relative(&path).to_owned();
                    if let Some(file) = self.work.files.get_mut(&path) {
                        file.shown_by = Some(message.id.clone());
                    }
                }
            }
            Action::Edit { paths } => {
                let source = format!("edit {}", paths.join(" "));
                self.errors(&source, outcome, &text);
            }
            Action::Write { path } => self.errors(&format!("write {path}"), outcome, &text),
            Action::Ask => {
                if !outcome.failed {
                    self.answered(message, &text);
                }
            }
            Action::Todos(_)
            | Action::AddTodo(_)
            | Action::ChangeTodo { .. }
            | Action::Plan(_)
            | Action::Search { .. }
            | Action::Delegate { .. }
            | Action::Web { .. }
            | Action::Other => {}
        }
    }

    /// The person said something by way of a tool.
    fn answered(&mut self, message: &Message, text: &str) {
        if text.is_empty() {
            return;
        }
        let said =
            Said { id: message.id.clone(), at: message.at, text: middle_cut(text, 4_000), seen: self.seen };
        self.answers.push(said);
        trim_middle(&mut self.answers, MOST_WORDS);
    }

    fn test_run(&mut self, command: &str, outcome: Outcome, output: &str) {
        let (summary, failing) = checks::read_tests(output);
        let passed = !outcome.failed && failing.is_empty();
        self.tests.retain(|run| run.command != command);
        self.tests.push(TestRun { command: command.to_owned(), passed, summary, failing, seen: self.seen });
        trim_front(&mut self.tests, MOST_TESTS);
    }

    fn errors(&mut self, source: &str, outcome: Outcome, output: &str) {
        if !outcome.failed {
            // The same thing worked now.
            for error in self.errors.iter_mut().filter(|error| error.source == source) {
                error.open = false;
            }
            return;
        }
        for line in checks::error_lines(output, 3) {
            self.errors.retain(|known| known.line != line);
            self.errors.push(ErrorFact { line, source: source.to_owned(), open: true, seen: self.seen });
        }
        trim_front(&mut self.errors, MOST_ERRORS);
    }

    /// Messages taken in so far: positions are counted in these.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// What the user said, oldest first.
    pub fn words(&self) -> &[Said] {
        &self.words
    }

    /// Their binding sentences, oldest first.
    pub fn directives(&self) -> &[Directive] {
        &self.directives
    }

    /// What the user answered when a tool asked them, oldest first.
    pub fn answers(&self) -> &[Said] {
        &self.answers
    }

    /// Turns, oldest first.
    pub fn turns(&self) -> &[TurnFact] {
        &self.turns
    }

    /// Files, the one last touched first.
    pub fn files(&self) -> Vec<&FileFact> {
        self.work.files.newest(|file| file.seen)
    }

    /// Files that were changed, the one last touched first.
    pub fn changed_files(&self) -> Vec<&FileFact> {
        self.files().into_iter().filter(|file| file.changes > 0).collect()
    }

    /// Commands, the one last run first.
    pub fn commands(&self) -> Vec<&CommandFact> {
        self.work.commands.newest(|command| command.seen)
    }

    /// The last run of each test command, newest last.
    pub fn tests(&self) -> &[TestRun] {
        &self.tests
    }

    /// Errors, newest last.
    pub fn errors_seen(&self) -> &[ErrorFact] {
        &self.errors
    }

    /// Errors that still stand, newest last.
    pub fn open_errors(&self) -> impl Iterator<Item = &ErrorFact> {
        self.errors.iter().filter(|error| error.open)
    }

    /// The model's list of tasks.
    pub fn todos(&self) -> &[Todo] {
        &self.todos
    }

    /// The plan last put forward.
    pub fn plan(&self) -> Option<&str> {
        self.plan.as_deref()
    }

    /// The last thing the model said.
    pub fn last_answer(&self) -> Option<&Said> {
        self.last_answer.as_ref()
    }

    /// Done, in flight, next.
    pub fn frontier(&self) -> Frontier {
        Frontier::of(self)
    }
}

/// Keeps the first quarter and the newest of a list that grew too long: beginnings hold the task, ends the state.
fn trim_middle<T>(list: &mut Vec<T>, most: usize) {
    if list.len() > most {
        list.drain(most / 4..most / 2);
    }
}

fn trim_front<T>(list: &mut Vec<T>, most: usize) {
    if list.len() > most {
        list.drain(..most / 2);
    }
}
