//! TodoWrite: the list of what is to be done.

use super::file_call::{Args, counted};
use crate::workspace::Workspace;
use crate::{Access, Shown, Todo, TodoState, Tool, ToolContext, ToolOutput};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use throughline_core::{ToolDefinition, prompt, text};
use throughline_model::BoxFuture;

/// The name by which the model calls it.
pub const NAME: &str = "TodoWrite";

const DESCRIPTION: &str = include_str!("../../../../prompts/tool_todo_write.md");

/// Items of a list, and characters of one. More is no list that anybody follows.
const MOST_ITEMS: usize = 200;
const MOST_CHARS: usize = 2_000;

/// The list as it is now. Clones are the same list.
#[derive(Clone, Debug, Default)]
pub struct Todos(Arc<Mutex<Vec<Todo>>>);

impl Todos {
    /// All items, in order.
    pub fn list(&self) -> Vec<Todo> {
        self.lock().clone()
    }

    /// Another list, such as the one of a session that goes on.
    pub fn set(&self, todos: Vec<Todo>) {
        *self.lock() = todos;
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Todo>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Replaces the list as a whole. What is wrong with a list is said, and the old one stays.
#[derive(Clone, Debug, Default)]
pub struct TodoWrite {
    todos: Todos,
}

impl TodoWrite {
    /// A tool that writes this list.
    pub fn new(todos: Todos) -> Self {
        Self { todos }
    }
}

impl Tool for TodoWrite {
    fn definition(&self) -> ToolDefinition<'_> {
        let status = json!({"type": "string", "enum": ["pending", "in_progress", "completed"]});
        ToolDefinition {
            name: NAME,
            description: prompt(DESCRIPTION),
            parameters: json!({
                "type": "object",
                "properties": {
                    "todos": {
                        "type": "array",
                        "description": "The whole list, in order. It replaces the one before.",
                        "items": {
                            "type": "object",
                            "properties": {
                                "content": {"type": "string", "description": "What is to be done, as an order."},
                                "status": status,
                                "activeForm": {"type": "string", "description": "The same, as it is shown while it is done."},
                            },
                            "required": ["content", "status"],
                        },
                    },
                },
                "required": ["todos"],
            }),
        }
    }

    fn access(&self, input: &Value, _: &Workspace) -> Result<Access, String> {
        parse(input).map(|_| Access::Inner)
    }

    fn run<'a>(&'a self, input: &'a Value, _: ToolContext<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            match parse(input) {
                Ok(todos) => {
                    self.todos.set(todos.clone());
                    ToolOutput::done(report(&todos)).shown(Shown::Todos(todos))
                }
                Err(why) => ToolOutput::failed(why),
            }
        })
    }

    fn summary(&self, input: &Value) -> String {
        let Ok(todos) = parse(input) else { return NAME.to_owned() };
        let current = todos.iter().find(|todo| todo.status == TodoState::InProgress);
        match current {
            Some(todo) => format!("{NAME} {}", text::one_line(&todo.content, 80)),
            None => format!("{NAME} {}", counted(todos.len() as u64, "item", "items")),
        }
    }
}

fn parse(input: &Value) -> Result<Vec<Todo>, String> {
    let list = match Args::of(input)?.get("todos") {
        Some(Value::Array(list)) => list,
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_))
        | None => {
            return Err("`todos` must be a list of {content, status}".to_owned());
        }
    };
    if list.len() > MOST_ITEMS {
        return Err(format!(
            "the list has {} items, over the limit of {MOST_ITEMS}; sum small steps up",
            list.len()
        ));
    }
    list.iter()
        .enumerate()
        .map(|(at, item)| item_of(item).map_err(|why| format!("todos[{at}]: {why}")))
        .collect()
}

fn item_of(item: &Value) -> Result<Todo, String> {
    let fields = Args::of(item).map_err(|_| "it must be an object {content, status}".to_owned())?;
    let content = fields.text("content")?.trim();
    if content.is_empty() {
        return Err("`content` is empty: say what is to be done".to_owned());
    }
    if content.chars().count() > MOST_CHARS {
        return Err(format!("`content` is over {MOST_CHARS} characters; say it shorter"));
    }
    let status = match fields.optional_text("status")?.unwrap_or("pending") {
        "pending" => TodoState::Pending,
        "in_progress" | "in-progress" => TodoState::InProgress,
        "completed" | "done" => TodoState::Completed,
        other => return Err(format!("`status` is pending, in_progress or completed, not {other:?}")),
    };
    Ok(Todo { content: content.to_owned(), status })
}

fn report(todos: &[Todo]) -> String {
    let count = |state: TodoState| todos.iter().filter(|todo| todo.status == state).count();
    let (pending, current, done) =
        (count(TodoState::Pending), count(TodoState::InProgress), count(TodoState::Completed));
    if todos.is_empty() {
        return "The list is empty now.".to_owned();
    }
    let lead = format!("The list is saved: {done} completed, {current} in progress, {pending} pending.");
    match current {
        0 if pending > 0 => format!("{lead} Nothing is in progress: mark the item that you begin with."),
        0 | 1 => lead,
        _ => format!(
            "{lead} Warning: {current} items are in progress; work on one at a time, and mark the others pending."
        ),
    }
}
