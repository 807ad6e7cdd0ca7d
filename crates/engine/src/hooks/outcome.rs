//! What came of the hooks of one event.

use super::event::EventName;
use std::fmt;

/// What hooks want, in the order of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// What the event announces is not to happen, and why: the prompt is not sent, the tool does not run, the view is not
    /// replaced, the agent does not end its turn. Behind a tool: what the model is to be told. Several reasons are lines.
    pub blocked: Option<String>,
    /// The agent is to stop here, whatever the event, and what the user is told.
    pub halted: Option<String>,
    /// Text for the model, each marked with where it comes from.
    pub context: Vec<String>,
    /// Text for the user.
    pub messages: Vec<String>,
    /// What hooks say about the permission for a tool: the strictest of their words.
    pub permission: Option<Permission>,
    /// Hooks that did not work. None of these stops anything.
    pub failures: Vec<HookFailure>,
    /// How many hooks were started.
    pub ran: usize,
}

impl Outcome {
    /// Why what the event announces is not to happen, if it is not to.
    pub fn refusal(&self) -> Option<&str> {
        self.halted.as_deref().or(self.blocked.as_deref())
    }

    pub(super) fn add(&mut self, answer: Answer) {
        fn join(to: &mut Option<String>, text: Option<String>) {
            match (to, text) {
                (Some(to), Some(text)) => {
                    to.push('\n');
                    to.push_str(&text);
                }
                (to @ None, text) => *to = text,
                (Some(_), None) => {}
            }
        }
        join(&mut self.blocked, answer.blocked);
        join(&mut self.halted, answer.halted);
        self.context.extend(answer.context);
        self.messages.extend(answer.messages);
        self.permission = self.permission.max(answer.permission);
        self.failures.extend(answer.failures);
    }
}

/// What one hook wants.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) blocked: Option<String>,
    pub(super) halted: Option<String>,
    pub(super) context: Option<String>,
    pub(super) messages: Vec<String>,
    pub(super) permission: Option<Permission>,
    pub(super) failures: Vec<HookFailure>,
}

/// A hook's word on whether a tool may run. The later, the stricter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    /// Without asking.
    Allow,
    /// The user is asked.
    Ask,
    /// Not at all; [`Outcome::blocked`] says why.
    Deny,
}

/// Which hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookId {
    /// The event.
    pub event: EventName,
    /// Its place among the hooks of the event, counted from one.
    pub place: usize,
    /// The program.
    pub name: String,
}

impl fmt::Display for HookId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} hook {} (`{}`)", self.event.name(), self.place, self.name)
    }
}

/// A hook that did not work. The session goes on as if it were not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{hook} {message}; the session goes on without it")]
pub struct HookFailure {
    /// Which.
    pub hook: HookId,
    /// How it failed.
    pub kind: FailureKind,
    /// In words.
    pub message: String,
}

/// How a hook failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// It could not be started.
    Start,
    /// It ended with a status that means nothing, or crashed.
    Exit,
    /// It took too long and was killed.
    Timeout,
    /// The caller stopped it.
    Cancelled,
    /// What it printed can't be understood.
    Output,
}
