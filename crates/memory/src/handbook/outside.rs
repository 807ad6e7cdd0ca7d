//! What comes into a session from outside (H7).

use std::collections::BTreeSet;
use throughline_core::{CallId, CallKind, Message, ToolCall, ToolInput};

/// Tools that bring in what somebody elsewhere wrote, by the names that clients give them.
const WEB: [&str; 4] = ["WebFetch", "WebSearch", "web_fetch", "web_search"];
/// Tools that search among the tools of servers.
const SEARCH: [&str; 2] = ["ToolSearch", "tool_search"];
/// The tool that calls tools of servers by name.
const CALL_TOOL: &str = "CallTool";
const MCP: &str = "mcp__";

/// Tells which calls bring in what comes from outside: web pages, searches of the web and for tools, and whatever MCP servers say, but for those
/// servers that the user says are their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outside {
    own: BTreeSet<String>,
}

impl Outside {
    /// With these servers being the user's own.
    pub fn except<S: AsRef<str>>(servers: impl IntoIterator<Item = S>) -> Self {
        let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
        let prefix = |server: S| format!("{MCP}{}__", server.as_ref().chars().map(plain).collect::<String>());
        Self { own: servers.into_iter().map(prefix).collect() }
    }

    /// Whether what a call gives comes from outside.
    pub fn is_call(&self, call: &ToolCall) -> bool {
        let by_kind = match call.kind {
            CallKind::ToolSearch => true,
            CallKind::Hosted => ["web", "browser"].iter().any(|word| call.name.contains(word)),
            CallKind::Function | CallKind::Custom | CallKind::LocalShell => false,
        };
        by_kind || self.is_named(&call.name, &call.input)
    }

    fn is_named(&self, name: &str, input: &ToolInput) -> bool {
        if name == CALL_TOOL {
            let input = input.to_json().unwrap_or_default();
            // Of a call that names nothing nobody knows where it went.
            return input["name"].as_str().is_none_or(|name| self.is_of_server(name));
        }
        WEB.contains(&name) || SEARCH.contains(&name) || self.is_of_server(name)
    }

    fn is_of_server(&self, name: &str) -> bool {
        name.starts_with(MCP) && !self.own.iter().any(|prefix| name.starts_with(prefix))
    }
}

/// Looks through a session for what came from outside.
#[derive(Clone, Debug, Default)]
pub struct OutsideWatch {
    outside: Outside,
    open: BTreeSet<CallId>,
    found: Option<String>,
}

/// Calls without a result that are remembered.
const MOST_OPEN: usize = 10_000;

impl OutsideWatch {
    /// Nothing was looked at yet.
    pub fn new(outside: Outside) -> Self {
        Self { outside, ..Self::default() }
    }

    /// The next message. A call counts when its result is there and is no failure: what was refused brought nothing in. What the provider runs itself
    /// has its result beside it.
    pub fn push(&mut self, message: &Message) {
        for call in message.calls().filter(|call| self.outside.is_call(call)) {
            if call.kind == CallKind::Hosted {
                self.found.get_or_insert_with(|| call.name.clone());
            } else if self.open.len() < MOST_OPEN {
                self.open.insert(call.id.clone());
            }
        }
        for result in message.results() {
            if self.open.remove(&result.call) && result.is_error != Some(true) {
                self.found.get_or_insert_with(|| "a tool".to_owned());
            }
        }
    }

    /// What was found, if anything.
    pub fn found(&self) -> Option<&str> {
        self.found.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use throughline_core::{Block, Body, ResultContent, Role, ToolResult};

    fn call(name: &str, kind: CallKind, input: serde_json::Value) -> ToolCall {
        ToolCall { id: "c".into(), name: name.to_owned(), input: ToolInput::Json(input), kind }
    }

    #[test]
    fn h7_the_web_searches_and_servers_are_outside_and_the_users_own_servers_are_not() {
        let outside = Outside::except(["notes db"]);
        let is = |name: &str| outside.is_call(&call(name, CallKind::Function, json!({})));
        for name in ["WebFetch", "WebSearch", "ToolSearch", "mcp__github__issue", "mcp__notes__x", "CallTool"]
        {
            assert!(is(name), "{name}");
        }
        for name in ["Bash", "Read", "mcp__notes_db__find", "Task", "Memory"] {
            assert!(!is(name), "{name}");
        }
        let by_name =
            |name: &str| outside.is_call(&call("CallTool", CallKind::Function, json!({"name": name})));
        assert!(by_name("mcp__github__issue") && !by_name("mcp__notes_db__find"));
        assert!(outside.is_call(&call("web_search_call", CallKind::Hosted, json!({}))));
        assert!(!outside.is_call(&call("code_interpreter", CallKind::Hosted, json!({}))));
        assert!(outside.is_call(&call("x", CallKind::ToolSearch, json!({}))));
    }

    #[test]
    fn h7_a_history_counts_by_results_that_are_there() {
        let fetch = Message::new(
            Role::Assistant,
            vec![Block::from(Body::ToolCall(call("WebFetch", CallKind::Function, json!({}))))],
        );
        let answer = |is_error| {
            let content = ResultContent::Text("a page".to_owned());
            let result = ToolResult { call: "c".into(), kind: CallKind::Function, content, is_error };
            Message::new(Role::User, vec![Block::from(Body::ToolResult(result))])
        };
        let found = |messages: &[Message]| {
            let mut watch = OutsideWatch::new(Outside::default());
            messages.iter().for_each(|message| watch.push(message));
            watch.found().is_some()
        };
        assert!(found(&[fetch.clone(), answer(None)]));
        assert!(!found(&[fetch.clone(), answer(Some(true))]), "refused");
        assert!(!found(&[fetch]), "never run");
        assert!(!found(&[answer(None)]));
    }
}
