//! `[mcp]`: servers of the Model Context Protocol, whose tools the agent offers to its model.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use throughline_model::{Argv, Secret};

/// The `[mcp]` section.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Mcp {
    /// The most tools that are offered whole by themselves, those of all servers together.
    pub inline_tools: usize,
    /// The most tokens that their definitions may have together.
    pub inline_tokens: u64,
    /// The servers, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub servers: BTreeMap<String, McpServer>,
}

impl Default for Mcp {
    fn default() -> Self {
        Self { inline_tools: 20, inline_tokens: 10_000, servers: BTreeMap::new() }
    }
}

/// One server: a command that speaks on its stdin and stdout, or an address.
///
/// In `command`, `args`, `env`, `cwd`, `url` and `headers`, `${NAME}` stands for a variable of the agent's environment and
/// `${NAME:-words}` for it or, where it is not set, for the words.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct McpServer {
    /// Whether it is started.
    pub enabled: bool,
    /// The command. No shell is involved.
    pub command: Option<Argv>,
    /// Further arguments of the command.
    pub args: Vec<String>,
    /// Variables that the command gets beside the usual ones.
    pub env: BTreeMap<String, Secret>,
    /// Where the command runs. Unset: where the agent works.
    pub cwd: Option<PathBuf>,
    /// The address of a server that speaks streamable HTTP.
    pub url: Option<String>,
    /// Headers of every request to it.
    pub headers: BTreeMap<String, Secret>,
    /// Whether it may be reached over plain HTTP on another machine.
    pub insecure_http: bool,
    /// How long it may take to start, in seconds.
    pub startup_seconds: u64,
    /// How long one call may take, in seconds.
    pub call_seconds: u64,
    /// The tools that are used, by the server's names. Empty: all.
    pub tools: Vec<String>,
    /// Whether its tools are offered whole, or only found by a search.
    pub deferred: Deferred,
    /// Whether what it gives comes from outside: it marks the session (H7).
    pub external: bool,
}

impl Default for McpServer {
    fn default() -> Self {
        Self {
            enabled: true,
            command: None,
            args: Vec::new(),
            env: BTreeMap::new(),
            cwd: None,
            url: None,
            headers: BTreeMap::new(),
            insecure_http: false,
            startup_seconds: 10,
            call_seconds: 120,
            tools: Vec::new(),
            deferred: Deferred::Auto,
            external: true,
        }
    }
}

/// Arguments, variables, addresses and headers may hold keys.
impl fmt::Debug for McpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpServer")
            .field("enabled", &self.enabled)
            .field("program", &self.command.as_ref().map(Argv::program))
            .field("env", &self.env.keys())
            .field("has_url", &self.url.is_some())
            .field("headers", &self.headers.keys())
            .field("tools", &self.tools)
            .field("deferred", &self.deferred)
            .finish_non_exhaustive()
    }
}

impl McpServer {
    pub(super) fn check(&self) -> Result<(), String> {
        if self.startup_seconds == 0 || self.call_seconds == 0 {
            return Err("it must be at least 1".to_owned());
        }
        Ok(())
    }
}

/// Whether the tools of a server are offered whole, or only found by a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deferred {
    /// Whole while all tools of all servers are few.
    #[default]
    Auto,
    /// Always by a search.
    Always,
    /// Always whole.
    Never,
}
