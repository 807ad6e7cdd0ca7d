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
//! assert_eq!(facts.requests().directives().next().unwrap().sentence, "Never touch the lockfile.");
//! assert_eq!(facts.frontier().in_flight, ["Fix the login. Never touch the lockfile."]);
//! ```

mod action;
mod failures;
mod frontier;
mod handles;
mod outcome;
mod requests;
mod script;
mod work;

pub use action::{Action, ShellStatus, Status, Todo};
pub use failures::{ErrorFact, TestRun, error_lines, runs_tests};
pub use frontier::Frontier;
pub use handles::Handle;
pub use outcome::Outcome;
pub use requests::{Request, Requests};
pub use work::{CommandFact, FileFact, Touch};

use crate::classify::{PartKind, classify};
use crate::text::{middle_cut, one_line, tail};
use crate::{Body, CallId, Fragment, Message, MessageId, Role, Speaker, ToolResult};
use failures::{Failures, ShellResult};
use handles::{HandleCall, HandleSource};
use jiff::Timestamp;
use outcome::{ResultFrame, was_not_carried_out};
use std::collections::{HashMap, HashSet};
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
    requests: Requests,
    turns: Vec<TurnFact>,
    work: Work,
    failures: Failures,
    todos: Vec<Todo>,
    /// The message that last changed the list of tasks.
    todos_message: Option<MessageId>,
    plan: Option<String>,
    answers: Vec<Said>,
    /// Calls whose results are still to come, with what they are about.
    open: HashMap<CallId, Action>,
    /// Calls whose results are still to come, in their own words.
    described: HashMap<CallId, (String, String)>,
    handles: handles::Handles,
    /// Commands that go on running, by the client's id, with what they printed so far.
    running: HashMap<String, RunningCommand>,
    last_answer: Option<Said>,
    cwd: Option<String>,
}

/// A command that goes on running.
#[derive(Clone, Debug)]
struct RunningCommand {
    action: Action,
    output: String,
}

/// How Claude Code begins the result of a call that a person declined. A tool could write the same: what follows is told as
/// said by way of a tool, and binds nobody.
const DECLINED: &str = "The user doesn't want to proceed with this tool use.";
/// Words of one message that are kept whole.
const LONGEST_WORDS: usize = 24_000;
/// User messages, directives and turns remembered; the first ones and the newest stay.
const MOST_WORDS: usize = 4_000;
const MOST_OPEN: usize = 20_000;
const MOST_RUNNING: usize = 64;
/// Output of a running command that is kept.
const LONGEST_RUNNING: usize = 64 << 10;

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
                self.user(message);
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
        for part in classify(message).iter().filter(|part| part.kind == PartKind::Harness) {
            for id in self.handles.notice(part.text(message)) {
                self.stopped(&id);
            }
        }
        let Some(ask) = self.requests.push(message, self.seen) else { return };
        self.turns.push(TurnFact {
            id: message.id.clone(),
            asked: one_line(ask.headline(), 200),
            answer: None,
            changed: Vec::new(),
            calls: 0,
            seen: self.seen,
        });
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
                            self.described.clear();
                        }
                        let what = middle_cut(&handles::describe(call), 400);
                        self.described.insert(call.id.clone(), (call.name.clone(), what));
                        self.open.insert(call.id.clone(), action);
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
        if matches!(action, Action::Todos(_) | Action::AddTodo(_) | Action::ChangeTodo { .. }) {
            self.todos_message = Some(message.clone());
        }
        match action {
            Action::Read { path } => self.touch(path, Touch::Read, message),
            Action::Edit { paths } => {
                for path in paths {
                    self.touch(path, Touch::Edited, message);
                }
            }
            Action::Write { path } => self.touch(path, Touch::Written, message),
            Action::Shell { command, .. } => {
                let command = middle_cut(command.trim(), 600);
                self.work.run(&command, self.seen);
            }
            Action::Script(actions) => actions.iter().for_each(|action| self.call(action, message)),
            Action::Todos(todos) => self.todos.clone_from(todos),
            Action::AddTodo(todo) => self.todos.push(todo.clone()),
            Action::ChangeTodo { number, status } => {
                let at = number.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
                if let (Some(status), Some(todo)) = (status, at.and_then(|at| self.todos.get_mut(at))) {
                    todo.status = *status;
                }
            }
            // A plan is in force once its call was answered well: a person may refuse it.
            Action::Plan(_)
            | Action::Search { .. }
            | Action::Continue { .. }
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
    pub(crate) fn relative<'a>(&self, path: &'a str) -> &'a str {
        self.cwd
            .as_deref()
            .and_then(|cwd| path.strip_prefix(cwd)?.strip_prefix('/'))
            .filter(|rest| !rest.is_empty())
            .unwrap_or(path)
    }

    fn result(&mut self, message: &Message, result: &ToolResult) {
        let Some(action) = self.open.remove(&result.call) else { return };
        let text = result.content.to_text();
        if let Some((name, what)) = self.described.remove(&result.call) {
            let call = HandleCall { name: &name, what: &what, gives: HandleSource::of(&action, &text) };
            let ended = self.handles.result(&call, &message.id, &text);
            // The result of a call that waits for a command says more about its end.
            if !matches!(action, Action::Continue { .. }) {
                ended.iter().for_each(|id| self.stopped(id));
            }
        }
        if let Some(words) = crate::classify::said_behind_result(&text) {
            self.answered(message, words);
        }
        let outcome = Outcome::of_text(result, &text);
        let frame = ResultFrame::read(&text);
        if outcome.failed && was_not_carried_out(frame.output) {
            // A person who declined a call may have said why: these are their words.
            if text.starts_with(DECLINED)
                && let Some((_, words)) = text.split_once("the user said:")
            {
                self.answered(message, words.trim());
            }
            return;
        }
        let (id, mut command) = if let Action::Continue { session } = action {
            let Some(running) = self.running.remove(&session) else { return };
            (Some(session), running)
        } else {
            (frame.running.map(str::to_owned), RunningCommand { action, output: String::new() })
        };
        command.output.push_str(frame.output);
        match id.filter(|_| frame.running.is_some()) {
            Some(id) => self.keep_running(id, command),
            None => self.ended(&command.action, outcome, &command.output, message),
        }
    }

    fn keep_running(&mut self, id: String, mut running: RunningCommand) {
        if self.running.len() >= MOST_RUNNING {
            self.running.clear();
        }
        running.output = tail(&running.output, LONGEST_RUNNING).to_owned();
        self.running.insert(id, running);
    }

    /// Takes in that a running command ended, without a word on how.
    fn stopped(&mut self, id: &str) {
        let Some(RunningCommand { action: Action::Shell { command, .. }, .. }) = self.running.remove(id)
        else {
            return;
        };
        if let Some(known) = self.work.commands.get_mut(&middle_cut(command.trim(), 600)) {
            known.outcome.get_or_insert(Outcome { failed: false, exit: None, is_known: false });
        }
    }

    /// Takes in how a call ended.
    fn ended(&mut self, action: &Action, outcome: Outcome, output: &str, message: &Message) {
        let result = |command| ShellResult {
            command,
            folder: None,
            status: ShellStatus::Reported,
            outcome,
            output,
            seen: self.seen,
            message: &message.id,
        };
        match action {
            Action::Shell { command, folder, status } => {
                let result = ShellResult { folder: folder.as_deref(), status: *status, ..result(command) };
                let has_failed = self.failures.shell(&result, self.cwd.as_deref());
                if let Some(known) = self.work.commands.get_mut(&middle_cut(command.trim(), 600)) {
                    let failed = outcome.failed || has_failed == Some(true);
                    let is_known = failed || has_failed.is_some();
                    known.outcome = Some(Outcome { failed, is_known, ..outcome });
                }
            }
            Action::Script(actions) => {
                for action in actions {
                    self.ended(action, outcome, output, message);
                }
            }
            Action::Read { path } => {
                if !outcome.failed {
                    let path = self.relative(path).to_owned();
                    if let Some(file) = self.work.files.get_mut(&path) {
                        file.shown_by = Some(message.id.clone());
                    }
                }
            }
            Action::Edit { paths } => self.failures.edit(paths, &result("")),
            Action::Write { path } => self.failures.edit(std::slice::from_ref(path), &result("")),
            Action::Ask => {
                if !outcome.failed {
                    self.answered(message, output);
                }
            }
            Action::Plan(plan) => {
                if !outcome.failed && !output.starts_with(DECLINED) {
                    self.plan = Some(middle_cut(plan, LONGEST_WORDS));
                }
            }
            Action::Todos(_)
            | Action::AddTodo(_)
            | Action::ChangeTodo { .. }
            | Action::Continue { .. }
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

    /// Messages taken in so far: positions are counted in these.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// What was asked for, and what of it is in force.
    pub fn requests(&self) -> &Requests {
        &self.requests
    }

    /// See [`Requests::withdraw`].
    pub(crate) fn withdraw(&mut self, gone: &HashSet<MessageId>, present: &HashSet<MessageId>) {
        self.requests.withdraw(gone, present);
    }

    /// Ids of what is still running, oldest first: later calls will name them.
    pub fn open_handles(&self) -> &[Handle] {
        self.handles.open()
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

    /// Files whose text the model has seen, the one most recently read first.
    pub fn read_files(&self) -> Vec<&FileFact> {
        let files = self.work.files.newest(|file| file.read_order).into_iter();
        files.filter(|file| file.shown_by.is_some()).collect()
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
        &self.failures.tests
    }

    /// Errors, newest last.
    pub fn errors_seen(&self) -> &[ErrorFact] {
        self.failures.errors()
    }

    /// Errors that still stand, newest last.
    pub fn open_errors(&self) -> impl Iterator<Item = &ErrorFact> {
        self.errors_seen().iter().filter(|error| error.is_open(self.seen))
    }

    /// The model's list of tasks.
    pub fn todos(&self) -> &[Todo] {
        &self.todos
    }

    /// The message that last changed the list of tasks.
    pub fn todos_message(&self) -> Option<&MessageId> {
        self.todos_message.as_ref()
    }

    /// The plan in force: the newest one that was not refused.
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
