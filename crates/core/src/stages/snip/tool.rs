//! The `Snip` tool: its definition, its calls and its answers.

use super::super::Proposal;
use super::SnipError;
use crate::{ToolDefinition, ToolInput, Wire, prompt};
use serde_json::{Value, json};

/// The tool's name.
pub const NAME: &str = "Snip";

/// The tool's definition, as an element of a request's `tools`.
pub fn definition(wire: Wire) -> Value {
    tool().on(wire)
}

/// The tool, as a model is told of it.
pub fn tool() -> ToolDefinition<'static> {
    let description = prompt(include_str!("../../../../../prompts/snip.md"));
    let parameters = json!({
        "type": "object",
        "properties": {
            "ids": {
                "type": "array",
                "items": {"type": "string"},
                "description": "The ids of the user messages to drop, without [id: and ]"
            },
            "reason": {"type": "string", "description": "Why they are no longer needed, in one sentence"}
        },
        "required": ["ids", "reason"]
    });
    ToolDefinition { name: NAME, description, parameters }
}

/// What a call asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The tags, each once, in the order given.
    pub ids: Vec<String>,
    /// Why.
    pub reason: String,
}

/// Reads the arguments of a call. Models write ids in several ways: as a list, as one string, with or without the
/// brackets. What can't be read gives no ids.
///
/// ```
/// use serde_json::json;
/// use throughline_core::ToolInput;
/// use throughline_core::stages::snip::parse;
///
/// let request = parse(&ToolInput::Json(json!({"ids": "[id:abc123], def456", "reason": "done"})));
/// assert_eq!(request.ids, ["abc123", "def456"]);
/// ```
pub fn parse(input: &ToolInput) -> Request {
    let Some(input) = input.to_json() else { return Request::default() };
    let mut ids: Vec<String> = Vec::new();
    let mut add = |text: &str| {
        for word in text.split(|c: char| c.is_whitespace() || c == ',').map(bare).filter(|w| !w.is_empty()) {
            if !ids.contains(&word) {
                ids.push(word);
            }
        }
    };
    match input.get("ids").or_else(|| input.get("id")) {
        Some(Value::String(text)) => add(text),
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).for_each(add),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => {}
    }
    let reason = input.get("reason").and_then(Value::as_str).unwrap_or_default().trim().to_owned();
    Request { ids, reason }
}

/// An id without what may stand around it.
fn bare(word: &str) -> String {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    match word.strip_prefix("id:") {
        Some(id) => id.to_owned(),
        None => word,
    }
}

/// What the tool answers, and whether it is an error.
pub fn answer(outcome: &Result<Proposal, SnipError>) -> (String, bool) {
    match outcome {
        Ok(proposal) => (format!("Dropped; about {} tokens are free again.", proposal.freed.max(0)), false),
        Err(error) => (error.to_string(), true),
    }
}
