//! MCP servers: real child processes and real sockets.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests may fail as tests do"
)]

mod deferral;
mod hostile;
mod hostile_http;
mod http;
mod project;
mod stdio;

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;
use throughline_agent::files::Files;
use throughline_agent::mcp::{McpServers, McpStart, Patience, ServerState};
use throughline_agent::permissions::Mode;
use throughline_agent::workspace::Workspace;
use throughline_agent::{Access, Tool, ToolContext, ToolOutput};
use throughline_engine::config::{Mcp, McpServer};
use throughline_model::{Argv, CancelToken, Secret};

/// The variable that a child finds its script in.
const SCRIPT: &str = "MCP_SCRIPT";
/// How long is waited for what must come.
const LONG: Duration = Duration::from_secs(60);

/// Not a test: the other tests start this program again to be a server.
#[test]
#[ignore = "it is a server that other tests start"]
fn server_process() {
    let script = std::env::var(SCRIPT).ok().and_then(|script| serde_json::from_str(&script).ok());
    throughline_testkit::mcp::serve(script.unwrap_or_else(|| json!({})));
    // What the test harness would print is no part of the play.
    std::process::exit(0);
}

/// A server as a child process.
pub(crate) fn child(script: &Value) -> McpServer {
    program(std::env::current_exe().unwrap(), script)
}

fn program(path: PathBuf, script: &Value) -> McpServer {
    let words = ["mcp::server_process", "--exact", "--ignored", "--nocapture", "--test-threads=2"];
    McpServer {
        command: Argv::new([path.to_str().unwrap()]),
        args: words.map(str::to_owned).to_vec(),
        env: BTreeMap::from([(SCRIPT.to_owned(), Secret::new(script.to_string()))]),
        startup_seconds: 60,
        ..McpServer::default()
    }
}

/// A tool in a script.
fn tool(name: &str, description: &str) -> Value {
    json!({"name": name, "description": description, "inputSchema": {"type": "object", "properties": {"x": {"type": "string"}}}})
}

fn answer(text: &str) -> Value {
    json!({"answer": {"content": [{"type": "text", "text": text}]}})
}

/// A session with servers.
struct Stage {
    dir: TempDir,
    servers: McpServers,
    heard: Arc<Mutex<Vec<String>>>,
    cancel: CancelToken,
}

impl Stage {
    async fn new(servers: impl IntoIterator<Item = (&str, McpServer)>) -> Self {
        Self::with(servers, &|_| None).await
    }

    async fn with(
        servers: impl IntoIterator<Item = (&str, McpServer)>,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Self {
        let servers = servers.into_iter().map(|(name, server)| (name.to_owned(), server)).collect();
        let dir = TempDir::new().unwrap();
        let settings = Mcp { servers, ..Mcp::default() };
        let start = McpStart {
            settings: &settings,
            roots: vec![dir.path().canonicalize().unwrap()],
            environment,
            cancel: CancelToken::new(),
            patience: Patience { first: Duration::from_millis(10), attempts: 2 },
        };
        let servers = McpServers::start(start).await;
        Self { dir, servers, heard: Arc::default(), cancel: CancelToken::new() }
    }

    fn state(&self, name: &str) -> ServerState {
        self.servers.states().into_iter().find(|(server, _)| server == name).unwrap().1
    }

    fn why(&self, name: &str) -> String {
        let state = self.state(name);
        let ServerState::Failed { why } = state else { panic!("{state:?}") };
        why
    }

    fn names(&self) -> Vec<String> {
        self.servers.tools().iter().map(|tool| tool.definition().name.to_owned()).collect()
    }

    fn tool(&self, name: &str) -> Arc<dyn Tool> {
        let tools = self.servers.tools();
        tools
            .iter()
            .find(|tool| tool.definition().name == name)
            .unwrap_or_else(|| panic!("{name} in {:?}", self.names()))
            .clone()
    }

    fn workspace(&self) -> Workspace {
        Workspace::new(self.dir.path(), &[]).unwrap()
    }

    fn access(&self, name: &str, input: &Value) -> Result<Access, String> {
        self.tool(name).access(input, &self.workspace())
    }

    async fn run(&self, name: &str, input: Value) -> ToolOutput {
        let (workspace, files) = (self.workspace(), Files::default());
        let heard = Arc::clone(&self.heard);
        let progress = move |text: &str| heard.lock().unwrap().push(text.to_owned());
        let cx = ToolContext {
            call: "c1",
            workspace: &workspace,
            files: &files,
            mode: Mode::Ask,
            cancel: self.cancel.clone(),
            progress: &progress,
        };
        let tool = self.tool(name);
        tokio::time::timeout(LONG, tool.run(&input, cx)).await.expect("a call that ends")
    }

    /// The text of a call, and whether it failed.
    async fn text(&self, name: &str, input: Value) -> (String, bool) {
        let output = self.run(name, input).await;
        (output.content.to_text().into_owned(), output.is_error)
    }
}

/// Waits until something is there.
async fn until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let waiting = async {
        loop {
            if let Some(found) = look() {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(LONG, waiting).await.expect("something that comes")
}
