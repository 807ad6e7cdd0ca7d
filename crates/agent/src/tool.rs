//! What a tool is.

use crate::Access;
use crate::files::Files;
use crate::permissions::Mode;
use crate::workspace::Workspace;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use throughline_core::{Block, ResultContent, ToolDefinition};
use throughline_model::{BoxFuture, CancelToken};

/// Something that the model can call.
///
/// Input comes from a model and is not to be trusted: whatever it is, a tool answers, and never panics.
pub trait Tool: Send + Sync {
    /// What the model is told about it. It must not change while a session lasts: the provider's cache begins with it.
    fn definition(&self) -> ToolDefinition<'_>;

    /// What a call would do. Nothing is done yet. An error is for the model: what is wrong with its input, and what would be right.
    fn access(&self, input: &Value, workspace: &Workspace) -> Result<Access, String>;

    /// Carries out a call that was permitted. When `cx.cancel` is cancelled it stops soon, and what it began is undone or stopped.
    fn run<'a>(&'a self, input: &'a Value, cx: ToolContext<'a>) -> BoxFuture<'a, ToolOutput>;

    /// What a call would do to files, for people who are asked. Nothing is done.
    fn preview(&self, input: &Value, workspace: &Workspace) -> Vec<FileDiff> {
        let _ = (input, workspace);
        Vec::new()
    }

    /// One line for people that says what a call does, such as `Read src/main.rs`.
    fn summary(&self, input: &Value) -> String {
        let name = self.definition().name.to_owned();
        let first = input.as_object().and_then(|fields| fields.values().find_map(Value::as_str));
        match first {
            Some(text) => format!("{name} {}", throughline_core::text::one_line(text, 80)),
            None => name,
        }
    }
}

/// What a tool gets beside its input.
#[derive(Clone)]
pub struct ToolContext<'a> {
    /// The call's id.
    pub call: &'a str,
    /// Where the agent works.
    pub workspace: &'a Workspace,
    /// What is known of files: what the model has read, and what they were before it changed them.
    pub files: &'a Files,
    /// How much is permitted now.
    pub mode: Mode,
    /// Stops the call.
    pub cancel: CancelToken,
    /// Hears what a long call has to say while it runs, for people.
    pub progress: &'a (dyn Fn(&str) + Send + Sync),
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutput {
    /// For the model.
    pub content: ResultContent,
    /// Whether it failed.
    pub is_error: bool,
    /// For people.
    pub shown: Shown,
}

impl ToolOutput {
    /// It worked.
    pub fn done(text: impl Into<String>) -> Self {
        Self { content: ResultContent::Text(text.into()), is_error: false, shown: Shown::Plain }
    }

    /// It worked, and gives more than text.
    pub fn parts(parts: Vec<Block>) -> Self {
        Self { content: ResultContent::Parts(parts), is_error: false, shown: Shown::Plain }
    }

    /// It failed: the model is told why, and what to do.
    pub fn failed(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::done(text) }
    }

    /// With something better to show people.
    #[must_use]
    pub fn shown(self, shown: Shown) -> Self {
        Self { shown, ..self }
    }
}

/// What people are shown of a call's outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shown {
    /// The beginning of what the model gets.
    #[default]
    Plain,
    /// One line instead, such as `42 lines`.
    Line(String),
    /// Changed files.
    Diff(Vec<FileDiff>),
    /// The todo list.
    Todos(Vec<Todo>),
    /// A plan, in Markdown.
    Plan(String),
    /// Tools that were found, by name.
    Tools(Vec<String>),
}

/// A file before and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDiff {
    /// Which.
    pub path: PathBuf,
    /// Its text before; `None`: it was not there.
    pub before: Option<String>,
    /// Its text now.
    pub after: String,
}

/// An item of the todo list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Todo {
    /// What is to be done.
    pub content: String,
    /// How far it is.
    pub status: TodoState,
}

/// How far an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoState {
    /// Not begun.
    Pending,
    /// Being done.
    InProgress,
    /// Done.
    Completed,
}

/// The tools of a session, in a fixed order.
#[derive(Clone, Default)]
pub struct Toolset {
    tools: Vec<Arc<dyn Tool>>,
}

impl Toolset {
    /// No tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// With one more. A name that is there already is not taken twice: the first one stays.
    #[must_use]
    pub fn with(mut self, tool: impl Tool + 'static) -> Self {
        self.add(Arc::new(tool));
        self
    }

    /// Adds one; whether its name was free.
    pub fn add(&mut self, tool: Arc<dyn Tool>) -> bool {
        let is_free = self.find(tool.definition().name).is_none();
        if is_free {
            self.tools.push(tool);
        }
        is_free
    }

    /// Adds several, as [`add`](Self::add) does.
    pub fn extend(&mut self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) {
        for tool in tools {
            self.add(tool);
        }
    }

    /// The tool of a name.
    pub fn find(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|tool| tool.definition().name == name)
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.tools.iter()
    }
}
