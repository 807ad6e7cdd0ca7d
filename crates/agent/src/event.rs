//! What whoever shows the agent gets to hear.

use crate::{Shown, Todo};
use serde::Serialize;
use serde_json::Value;
use throughline_core::Usage;
use throughline_core::pipeline::Notice;

/// Something happened. In the order in which it did.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// A request goes to the model.
    Asking {
        /// Which request of the turn, from one.
        step: usize,
    },
    /// The model speaks: the next piece of its text.
    Text {
        /// The piece.
        text: String,
    },
    /// The model thinks: the next piece.
    Thinking {
        /// The piece.
        text: String,
    },
    /// The answer is whole; its text, if it has any.
    Answered {
        /// All of the text.
        text: String,
        /// What the provider reported.
        usage: Usage,
    },
    /// What the session has taken so far, and how full its window is.
    Spent(Spending),
    /// A tool is about to run: it was permitted.
    ToolStarted {
        /// The call.
        id: String,
        /// The tool.
        name: String,
        /// One line for people.
        summary: String,
        /// What the model gave.
        input: Value,
    },
    /// A tool that runs has something to say.
    ToolProgress {
        /// The call.
        id: String,
        /// What.
        text: String,
    },
    /// A tool has run, was refused, or was stopped.
    ToolEnded {
        /// The call.
        id: String,
        /// The tool.
        name: String,
        /// One line for people.
        summary: String,
        /// What the model gets, as text.
        output: String,
        /// Whether it failed.
        is_error: bool,
        /// What people are shown.
        shown: Shown,
    },
    /// The todo list is another one.
    Todos {
        /// All of it.
        todos: Vec<Todo>,
    },
    /// The view was replaced, to make room.
    Compacted {
        /// Tokens before.
        before: u64,
        /// Tokens after.
        after: u64,
        /// By whom and why, for people.
        how: String,
    },
    /// Something that people should know about the context.
    Notice {
        /// What.
        #[serde(serialize_with = "in_words")]
        notice: Notice,
    },
    /// Something that people should know: a hook, a file, a server.
    Warning {
        /// What.
        text: String,
    },
    /// What long-term memory took in, let go or brought back.
    Memory {
        /// In words.
        text: String,
    },
    /// What the user typed while the agent worked is told the model now.
    Steered {
        /// The words.
        text: String,
    },
    /// A sub-agent did something.
    Sub {
        /// The call of the tool that began it.
        id: String,
        /// What.
        event: Box<Event>,
    },
    /// The turn was interrupted.
    Interrupted,
}

fn in_words<S: serde::Serializer>(notice: &Notice, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&notice.to_string())
}

/// What a session has taken so far, and how full its window is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spending {
    /// Requests, sub-agents included.
    pub requests: u64,
    /// Tokens of all kinds.
    pub usage: Usage,
    /// Dollars, as far as prices are known.
    pub dollars: f64,
    /// Tokens of the next request, as far as it is known.
    pub context: u64,
    /// Tokens that the model takes.
    pub window: u64,
    /// Tokens at which the view is replaced by itself.
    pub threshold: Option<u64>,
}

/// Hears events. It must not take long.
pub trait Listener: Send + Sync {
    /// Something happened.
    fn hear(&self, event: Event);
}

/// Hears nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Listener for Silent {
    fn hear(&self, _: Event) {}
}

impl<F: Fn(Event) + Send + Sync> Listener for F {
    fn hear(&self, event: Event) {
        self(event);
    }
}
