//! A tool of a server in the tools array.

use super::catalogue::Entry;
use super::servers::Shared;
use crate::workspace::Workspace;
use crate::{Access, Tool, ToolContext, ToolOutput};
use serde_json::{Map, Value};
use std::sync::Arc;
use throughline_core::ToolDefinition;
use throughline_model::BoxFuture;

/// A tool of a server, as it was when the session began.
pub(super) struct McpTool {
    entry: Entry,
    shared: Arc<Shared>,
}

impl McpTool {
    pub(super) fn new(entry: Entry, shared: Arc<Shared>) -> Self {
        Self { entry, shared }
    }
}

/// The arguments of a call; an error is for the model.
fn arguments(input: &Value) -> Result<Map<String, Value>, String> {
    match input {
        Value::Object(fields) => Ok(fields.clone()),
        Value::Null => Ok(Map::new()),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err("The arguments must be a JSON object.".to_owned())
        }
    }
}

impl Tool for McpTool {
    fn definition(&self) -> ToolDefinition<'_> {
        self.entry.definition()
    }

    fn access(&self, input: &Value, _: &Workspace) -> Result<Access, String> {
        arguments(input)?;
        // What it claims now counts, not what it claimed before.
        let entry = self.shared.find(&self.entry.name)?;
        Ok(entry.access())
    }

    fn run<'a>(&'a self, input: &'a Value, cx: ToolContext<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            match arguments(input) {
                Ok(arguments) => self.shared.call(&self.entry.name, &arguments, &cx).await,
                Err(why) => ToolOutput::failed(why),
            }
        })
    }
}

impl Entry {
    /// What a call of it would do.
    pub(crate) fn access(&self) -> Access {
        Access::Mcp {
            server: self.server.clone(),
            tool: self.tool_name().to_owned(),
            claims_read_only: self.claims_read_only(),
        }
    }
}
