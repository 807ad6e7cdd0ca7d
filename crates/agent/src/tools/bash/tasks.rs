//! Commands that run in the background.

use super::capture::Capture;
use super::group::{Blow, Group};
use super::run::{Ended, Limits, Running, Why};
use super::words;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use throughline_core::text::one_line;
use throughline_model::CancelToken;

/// The most that run at once.
pub const MOST: usize = 16;
/// How many that have ended can still be asked for.
const ENDED: usize = 64;

/// The commands that a session runs in the background. Clones are the same; when the last is dropped, all are killed.
#[derive(Clone, Debug, Default)]
pub struct Tasks {
    registry: Arc<Registry>,
}

/// A command that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskInfo {
    /// Its id, such as `bash_1`.
    pub id: String,
    /// The command.
    pub command: String,
    /// What the model says that it does.
    pub description: Option<String>,
    /// Since when it runs.
    pub since: Timestamp,
    /// Where what it prints is.
    pub output: Option<PathBuf>,
}

/// A command that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskEnd {
    /// Its id.
    pub id: String,
    /// The command.
    pub command: String,
    /// When it began.
    pub since: Timestamp,
    /// How it ended, in words such as `exit status 1`.
    pub how: String,
    /// Whether it failed.
    pub failed: bool,
    /// The last line that it printed.
    pub last_line: Option<String>,
    /// Where what it printed is.
    pub output: Option<PathBuf>,
}

#[derive(Debug, Default)]
struct Registry {
    all: Mutex<All>,
}

#[derive(Debug, Default)]
struct All {
    begun: u64,
    tasks: Vec<Arc<Task>>,
}

/// One of them.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) id: String,
    pub(super) command: String,
    description: Option<String>,
    since: Timestamp,
    cancel: CancelToken,
    group: Group,
    state: Mutex<TaskState>,
}

/// What changes about it.
#[derive(Debug)]
pub(super) struct TaskState {
    pub(super) capture: Capture,
    /// How many bytes of its file were told.
    pub(super) told: u64,
    /// How it ended.
    pub(super) end: Option<Ended>,
    /// The model knows that it ended.
    pub(super) end_told: bool,
}

/// What is to be run.
pub(super) struct Begin {
    pub(super) command: String,
    pub(super) description: Option<String>,
    pub(super) timeout: Option<Duration>,
    pub(super) capture: Capture,
}

impl Tasks {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// Those that run, the oldest first.
    pub fn running(&self) -> Vec<TaskInfo> {
        let tasks = self.tasks();
        tasks.iter().filter(|task| task.lock().end.is_none()).map(|task| task.info()).collect()
    }

    /// Those that have ended and of which the model was not told. Each is given once.
    pub fn take_finished(&self) -> Vec<TaskEnd> {
        let tasks = self.tasks();
        tasks.iter().filter_map(|task| task.take_end()).collect()
    }

    /// Those that have ended and of which the model was told, or which it asked after, the oldest first.
    pub fn told_ends(&self) -> Vec<TaskEnd> {
        let tasks = self.tasks();
        let told = tasks.iter().filter_map(|task| {
            let state = task.lock();
            task.end(&state).filter(|_| state.end_told)
        });
        told.collect()
    }

    /// Stops all: those that do not end by themselves are killed soon after. How many there were.
    pub fn stop_all(&self) -> usize {
        let tasks = self.tasks();
        let running = tasks.iter().filter(|task| task.lock().end.is_none());
        running.map(|task| task.cancel.cancel()).count()
    }

    /// The task of an id.
    pub(super) fn find(&self, id: &str) -> Option<Arc<Task>> {
        self.tasks().into_iter().find(|task| task.id == id)
    }

    /// All ids, for a message.
    pub(super) fn ids(&self) -> Vec<String> {
        self.tasks().iter().map(|task| task.id.clone()).collect()
    }

    /// Whether one more may run. Checked again when it begins.
    pub(super) fn has_room(&self) -> bool {
        self.running().len() < MOST
    }

    /// Runs a command that was started. Must be called within a runtime.
    pub(super) fn begin(&self, running: Running, begin: Begin) -> Arc<Task> {
        let group = running.group();
        let Begin { command, description, timeout, capture } = begin;
        let cancel = CancelToken::new();
        let limits = Limits { timeout, cancel: cancel.clone() };
        let state = Mutex::new(TaskState { capture, told: 0, end: None, end_told: false });
        let mut all = self.registry.lock();
        all.begun += 1;
        let id = format!("bash_{}", all.begun);
        let since = Timestamp::now();
        let task = Arc::new(Task { id, command, description, since, cancel, group, state });
        all.forget_old();
        all.tasks.push(Arc::clone(&task));
        drop(all);
        // The task must not hold the registry: it would never be dropped.
        let of_run = Arc::clone(&task);
        tokio::spawn(async move {
            let ended = running.until_ended(limits, |bytes| of_run.lock().capture.push(bytes)).await;
            let mut state = of_run.lock();
            state.capture.finish();
            state.end = Some(ended);
        });
        task
    }

    fn tasks(&self) -> Vec<Arc<Task>> {
        self.registry.lock().tasks.clone()
    }
}

impl Registry {
    fn lock(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        for task in &self.lock().tasks {
            // At once, since nobody may be left to run what a cancelled task would do.
            task.group.strike(Blow::Kill);
            task.cancel.cancel();
        }
    }
}

impl All {
    fn forget_old(&mut self) {
        let ended = self.tasks.iter().filter(|task| task.lock().end.is_some()).count();
        let mut too_many = (ended + 1).saturating_sub(ENDED);
        self.tasks.retain(|task| {
            let forget = too_many > 0 && task.lock().end.is_some();
            too_many -= usize::from(forget);
            !forget
        });
    }
}

impl Task {
    pub(super) fn lock(&self) -> MutexGuard<'_, TaskState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells it to end.
    pub(super) fn stop(&self) {
        self.cancel.cancel();
    }

    fn info(&self) -> TaskInfo {
        TaskInfo {
            id: self.id.clone(),
            command: self.command.clone(),
            description: self.description.clone(),
            since: self.since,
            output: self.lock().output(),
        }
    }

    fn take_end(&self) -> Option<TaskEnd> {
        let mut state = self.lock();
        let end = self.end(&state).filter(|_| !state.end_told)?;
        state.end_told = true;
        Some(end)
    }

    /// How it ended, if it has.
    fn end(&self, state: &TaskState) -> Option<TaskEnd> {
        let ended = state.end?;
        Some(TaskEnd {
            id: self.id.clone(),
            command: self.command.clone(),
            since: self.since,
            how: how(&ended),
            failed: words::failed(&ended),
            last_line: state.capture.window().last_line().map(|line| one_line(&line, 200)),
            output: state.output(),
        })
    }
}

impl TaskState {
    fn output(&self) -> Option<PathBuf> {
        self.capture.file().map(|(path, _)| path.to_owned())
    }
}

/// How it ended, in a few words.
pub(super) fn how(ended: &Ended) -> String {
    let lines = words::endings(ended, true);
    let first = lines.first().filter(|_| words::failed(ended) || ended.why != Why::Itself);
    first.map_or_else(|| "ended well".to_owned(), |line| line.trim_matches(['[', ']']).to_owned())
}
