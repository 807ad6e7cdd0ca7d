//! The `Recall` tool: its definition and its calls.

use super::handle::{Handle, HandleError};
use crate::{ToolDefinition, ToolInput, Wire, prompt};
use serde_json::{Map, Value, json};

/// The tool's name.
pub const NAME: &str = "Recall";

/// The tool's definition, as an element of a request's `tools`.
///
/// ```
/// use throughline_core::{Wire, recall};
///
/// assert_eq!(recall::definition(Wire::Anthropic)["name"], "Recall");
/// assert_eq!(recall::definition(Wire::Chat)["function"]["name"], "Recall");
/// ```
pub fn definition(wire: Wire) -> Value {
    tool().on(wire)
}

/// The tool, as a model is told of it.
pub fn tool() -> ToolDefinition<'static> {
    let description = prompt(include_str!("../../../../prompts/recall.md"));
    let parameters = json!({
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "Words to search for"},
            "handle": {"type": "string", "description": "The handle of a message to read, such as k3f9x2"},
            "from": {"type": ["integer", "string"], "description": "With handle: first line, or line:character"},
            "to": {"type": ["integer", "string"], "description": "With handle: last line, or line:character"},
            "limit": {"type": "integer", "description": "With query: at most so many passages"}
        }
    });
    ToolDefinition { name: NAME, description, parameters }
}

/// What a call asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// Search by words.
    Search {
        /// The words.
        query: String,
        /// At most so many passages.
        limit: Option<usize>,
    },
    /// Read a message again.
    Read {
        /// Which.
        handle: Handle,
        /// Where to begin.
        from: Position,
        /// Where to stop: this place is still shown.
        to: Option<Position>,
    },
}

/// A place in a text, counting from one: a line, and a character in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The character; `None` is its beginning where one begins, and its end where one stops.
    pub character: Option<usize>,
}

impl Position {
    /// The beginning.
    pub const START: Self = Self { line: 1, character: None };
}

/// Why a call can't be carried out. The model reads it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// Not an object.
    #[error(
        "Recall takes an object with `query` or `handle`, for example {{\"query\": \"retry limit in upload\"}}"
    )]
    NotAnObject,
    /// Neither words nor a handle.
    #[error("nothing to look for: give `query` (words to search for) or `handle` (a message to read)")]
    Empty,
    /// Words and a handle.
    #[error("give either `query` or `handle`, not both")]
    Both,
    /// Not a handle.
    #[error(transparent)]
    Handle(#[from] HandleError),
    /// Not a place.
    #[error("`{field}` must be a line number from 1 on, or line:character such as \"12:400\"; it is {value}")]
    Position {
        /// The argument.
        field: &'static str,
        /// What it is.
        value: String,
    },
    /// The end lies before the beginning.
    #[error("`to` lies before `from`")]
    Backwards,
}

impl Call {
    /// Reads the arguments of a call. Empty strings and nulls are taken as absent: models fill in what they don't use.
    ///
    /// ```
    /// use serde_json::json;
    /// use throughline_core::ToolInput;
    /// use throughline_core::recall::{Call, CallError};
    ///
    /// let call = Call::parse(&ToolInput::Json(json!({"query": "lock file", "handle": ""})));
    /// assert_eq!(call, Ok(Call::Search { query: "lock file".into(), limit: None }));
    /// assert_eq!(Call::parse(&ToolInput::Text("{}".into())), Err(CallError::Empty));
    /// ```
    pub fn parse(input: &ToolInput) -> Result<Self, CallError> {
        let value = match input {
            ToolInput::Json(value) => value.clone(),
            ToolInput::JsonText(text) | ToolInput::Text(text) => match serde_json::from_str(text) {
                Ok(value) => value,
                // Words without an object around them.
                Err(_) => json!({ "query": text }),
            },
        };
        let arguments = match value {
            Value::Object(arguments) => arguments,
            Value::String(query) => Map::from_iter([("query".to_owned(), Value::String(query))]),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
                return Err(CallError::NotAnObject);
            }
        };
        match (words(&arguments, "query"), words(&arguments, "handle")) {
            (None, None) => Err(CallError::Empty),
            (Some(_), Some(_)) => Err(CallError::Both),
            (Some(query), None) => {
                let limit = arguments.get("limit").and_then(whole).filter(|&limit| limit > 0);
                Ok(Self::Search { query, limit })
            }
            (None, Some(handle)) => {
                let from = position(&arguments, "from")?.unwrap_or(Position::START);
                let to = position(&arguments, "to")?;
                match to.is_some_and(|to| end_before(to, from)) {
                    true => Err(CallError::Backwards),
                    false => Ok(Self::Read { handle: handle.parse()?, from, to }),
                }
            }
        }
    }
}

fn end_before(to: Position, from: Position) -> bool {
    let last = to.character.unwrap_or(usize::MAX);
    (to.line, last) < (from.line, from.character.unwrap_or(1))
}

fn words(arguments: &Map<String, Value>, field: &str) -> Option<String> {
    let text = match arguments.get(field)? {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        // Some models give a list of words.
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
        Value::Null | Value::Bool(_) | Value::Object(_) => String::new(),
    };
    (!text.is_empty()).then_some(text)
}

fn whole(value: &Value) -> Option<usize> {
    let number = match value {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    number.and_then(|number| usize::try_from(number).ok())
}

fn position(arguments: &Map<String, Value>, field: &'static str) -> Result<Option<Position>, CallError> {
    let wrong =
        |value: &Value| CallError::Position { field, value: crate::text::one_line(&value.to_string(), 40) };
    let value = match arguments.get(field) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) if text.trim().is_empty() => return Ok(None),
        Some(value) => value,
    };
    let found = match value {
        Value::String(text) => match text.split_once(':') {
            Some((line, character)) => line.trim().parse().ok().zip(character.trim().parse().ok().map(Some)),
            None => text.trim().parse().ok().map(|line| (line, None)),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            whole(value).map(|line| (line, None))
        }
    };
    match found {
        Some((line, character)) if line > 0 && character != Some(0) => Ok(Some(Position { line, character })),
        Some(_) | None => Err(wrong(value)),
    }
}
