//! Tools that a model is offered, and the words that it is told about them.

use crate::Wire;
use serde_json::{Value, json};

/// A tool, as a model is told of it.
///
/// ```
/// use serde_json::json;
/// use throughline_core::{ToolDefinition, Wire};
///
/// let tool = ToolDefinition { name: "Look", description: "Looks.", parameters: json!({"type": "object"}) };
/// assert_eq!(tool.on(Wire::Anthropic)["input_schema"]["type"], "object");
/// assert_eq!(tool.on(Wire::Chat)["function"]["name"], "Look");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDefinition<'a> {
    /// The name by which it is called.
    pub name: &'a str,
    /// What it does and when to use it.
    pub description: &'a str,
    /// The JSON schema of its arguments.
    pub parameters: Value,
}

impl ToolDefinition<'_> {
    /// An element of a request's `tools`.
    pub fn on(&self, wire: Wire) -> Value {
        let Self { name, description, parameters } = self;
        match wire {
            Wire::Anthropic => json!({"name": name, "description": description, "input_schema": parameters}),
            Wire::Responses => json!({
                "type": "function", "name": name, "description": description, "parameters": parameters, "strict": false
            }),
            Wire::Chat => json!({
                "type": "function",
                "function": {"name": name, "description": description, "parameters": parameters}
            }),
        }
    }
}

/// The words of a prompt file, without the comment that opens it.
pub fn prompt(source: &str) -> &str {
    let body = match source.strip_prefix("<!--").and_then(|rest| rest.split_once("-->")) {
        Some((_, body)) => body,
        None => source,
    };
    body.trim()
}
