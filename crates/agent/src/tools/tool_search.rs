//! `ToolSearch`: finds tools of MCP servers that are not in the tools array.

use crate::mcp::Shared;
use crate::workspace::Workspace;
use crate::{Access, Shown, Tool, ToolContext, ToolOutput};
use serde_json::{Value, json};
use std::sync::Arc;
use throughline_core::{ToolDefinition, prompt};
use throughline_model::BoxFuture;

const DESCRIPTION: &str = include_str!("../../../../prompts/tool_tool_search.md");
/// Results unless asked for more or fewer.
const USUAL: usize = 5;
/// The most results.
const MOST: usize = 20;
/// The most bytes of an answer.
const ANSWER: usize = 60_000;

/// Finds tools of MCP servers that are not in the tools array, and tells how to call them.
pub struct ToolSearch {
    shared: Arc<Shared>,
}

impl ToolSearch {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// The names of the tools that are described, and the text for the model.
    fn answer(&self, wanted: &Wanted) -> (Vec<String>, String) {
        self.shared.with(|catalogue| {
            let (found, missing) = match wanted {
                Wanted::Words { query, most } => (catalogue.search(query, *most), Vec::new()),
                Wanted::Names(names) => {
                    let find = |name: &String| catalogue.find(name).filter(|entry| !entry.is_gone());
                    let missing: Vec<&String> = names.iter().filter(|name| find(name).is_none()).collect();
                    (names.iter().filter_map(find).collect(), missing)
                }
            };
            let mut out = String::from("Call these with CallTool. Descriptions are the servers' words.\n");
            let mut left_out = Vec::new();
            let mut names = Vec::new();
            for entry in &found {
                let text = entry.description();
                if out.len() + text.len() <= ANSWER {
                    out.push_str(&text);
                    names.push(entry.name.clone());
                } else {
                    left_out.push(entry.name.clone());
                }
            }
            if !left_out.is_empty() {
                out.push_str(&format!("\nToo long to show with the others: {}. Ask for fewer at once.\n", left_out.join(", ")));
            }
            if !missing.is_empty() {
                let missing: Vec<String> = missing.iter().map(|name| throughline_core::text::one_line(name, 80)).collect();
                out.push_str(&format!("\nNot there: {}.\n", missing.join(", ")));
            }
            match found.len() {
                0 if matches!(wanted, Wanted::Words { .. }) => {
                    let count = catalogue.deferred().count();
                    (names, format!("No tool fits these words. There are {count} deferred tools; try other words, or the name of a server."))
                }
                _ => (names, out),
            }
        })
    }
}

/// What is looked for.
enum Wanted {
    Words { query: String, most: usize },
    Names(Vec<String>),
}

fn read(input: &Value) -> Result<Wanted, String> {
    let names = input.get("names").and_then(Value::as_array);
    if let Some(names) = names.filter(|names| !names.is_empty()) {
        let names =
            names.iter().take(MOST).map(|name| name.as_str().map(str::to_owned)).collect::<Option<_>>();
        return names.map(Wanted::Names).ok_or_else(|| "`names` must be a list of names.".to_owned());
    }
    let query = input.get("query").and_then(Value::as_str).map(str::trim).unwrap_or_default();
    if query.is_empty() {
        return Err("Give `query` (words) or `names` (a list).".to_owned());
    }
    let most = input
        .get("max_results")
        .and_then(Value::as_u64)
        .map_or(USUAL, |most| usize::try_from(most).unwrap_or(MOST));
    Ok(Wanted::Words {
        query: throughline_core::text::head(query, 1_000).to_owned(),
        most: most.clamp(1, MOST),
    })
}

impl Tool for ToolSearch {
    fn definition(&self) -> ToolDefinition<'_> {
        ToolDefinition {
            name: "ToolSearch",
            description: prompt(DESCRIPTION),
            parameters: json!({
                "type": "object",
                "properties": {
                    "query": {"type": "string", "description": "Words for what the tool should do"},
                    "max_results": {"type": "integer", "minimum": 1, "maximum": MOST, "description": "5 unless given"},
                    "names": {"type": "array", "items": {"type": "string"}, "description": "Exact names, instead of words"},
                },
            }),
        }
    }

    fn access(&self, input: &Value, _: &Workspace) -> Result<Access, String> {
        read(input).map(|_| Access::Inner)
    }

    fn run<'a>(&'a self, input: &'a Value, _: ToolContext<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            match read(input) {
                Ok(wanted) => {
                    let (names, text) = self.answer(&wanted);
                    ToolOutput::done(text).shown(Shown::Tools(names))
                }
                Err(why) => ToolOutput::failed(why),
            }
        })
    }

    fn summary(&self, input: &Value) -> String {
        match read(input) {
            Ok(Wanted::Words { query, .. }) => {
                format!("ToolSearch {}", throughline_core::text::one_line(&query, 80))
            }
            Ok(Wanted::Names(names)) => {
                format!("ToolSearch {}", throughline_core::text::one_line(&names.join(", "), 80))
            }
            Err(_) => "ToolSearch".to_owned(),
        }
    }
}
