//! `CallTool`: calls a tool of an MCP server that is not in the tools array.

use crate::mcp::Shared;
use crate::workspace::Workspace;
use crate::{Access, Tool, ToolContext, ToolOutput};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use throughline_core::{ToolDefinition, prompt};
use throughline_model::BoxFuture;

const DESCRIPTION: &str = include_str!("../../../../prompts/tool_call_tool.md");

/// Calls a tool of an MCP server by its name.
pub struct CallTool {
    shared: Arc<Shared>,
}

impl CallTool {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }
}

fn read(input: &Value) -> Result<(&str, Map<String, Value>), String> {
    let name = input.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
    let name = name.ok_or("Give `name`: the tool's full name, such as mcp__server__tool.")?;
    let wrong = || "`arguments` must be a JSON object that fits the tool's schema.".to_owned();
    let arguments = match input.get("arguments") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(fields)) => fields.clone(),
        // Models write an object as text now and then.
        Some(Value::String(text)) => serde_json::from_str(text).map_err(|_| wrong())?,
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_)) => return Err(wrong()),
    };
    Ok((name, arguments))
}

impl Tool for CallTool {
    fn definition(&self) -> ToolDefinition<'_> {
        ToolDefinition {
            name: "CallTool",
            description: prompt(DESCRIPTION),
            parameters: json!({
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "The tool's full name, such as mcp__server__tool"},
                    "arguments": {"type": "object", "description": "What the tool takes, by its schema"},
                },
                "required": ["name"],
            }),
        }
    }

    /// That of the tool which is named.
    fn access(&self, input: &Value, _: &Workspace) -> Result<Access, String> {
        let (name, _) = read(input)?;
        self.shared.find(name).map(|entry| entry.access())
    }

    fn run<'a>(&'a self, input: &'a Value, cx: ToolContext<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            match read(input) {
                Ok((name, arguments)) => self.shared.call(name, &arguments, &cx).await,
                Err(why) => ToolOutput::failed(why),
            }
        })
    }

    fn summary(&self, input: &Value) -> String {
        let name = input.get("name").and_then(Value::as_str).unwrap_or("CallTool");
        throughline_core::text::one_line(name, 80)
    }
}
