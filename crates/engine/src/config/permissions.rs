//! `[permissions]`: what an agent may do without asking.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// How much is permitted without asking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PermissionMode {
    /// Reading in the workspace is permitted; everything else is asked.
    #[default]
    Ask,
    /// Files of the workspace may be changed, and sandboxed commands run, without asking.
    AcceptEdits,
    /// Nothing may be changed: the agent looks, and makes a plan.
    Plan,
    /// Everything is permitted but what a rule denies. No sandbox.
    Full,
}

impl PermissionMode {
    /// All modes, from the one that the user cycles through first.
    pub const ALL: [Self; 4] = [Self::Ask, Self::AcceptEdits, Self::Plan, Self::Full];

    /// The names, from the strictest mode to the loosest.
    pub(super) const BY_STRICTNESS: &'static [&'static str] = &["plan", "ask", "accept-edits", "full"];

    /// The name that configuration and commands use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::AcceptEdits => "accept-edits",
            Self::Plan => "plan",
            Self::Full => "full",
        }
    }
}

impl std::fmt::Display for PermissionMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for PermissionMode {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|mode| mode.name() == name).ok_or_else(|| {
            format!("there is no permission mode {name:?}: it is ask, accept-edits, plan or full")
        })
    }
}

/// Paths that commands in the sandbox may read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxRead {
    /// The workspace, system paths and toolchains.
    #[default]
    Workspace,
    /// Everything but credential files and Throughline's own folder.
    Home,
}

/// `[permissions]`: what an agent may do without asking. Rules are text here; the agent reads them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PermissionSettings {
    /// The mode that a session begins in.
    pub mode: PermissionMode,
    /// What is permitted without asking.
    pub allow: Vec<String>,
    /// What is asked whatever else permits it. A project's are added to the user's.
    pub ask: Vec<String>,
    /// What is refused whatever else permits it. A project's are added to the user's.
    pub deny: Vec<String>,
    /// Folders that belong to the workspace too.
    pub folders: Vec<PathBuf>,
    /// Whether commands run in a sandbox where there is one.
    pub sandbox: bool,
    /// Whether commands in the sandbox may use the network.
    pub network: bool,
    /// Paths that commands in the sandbox may read.
    pub sandbox_read: SandboxRead,
    /// Variables that commands get beside the usual ones.
    pub env_keep: Vec<String>,
}

impl Default for PermissionSettings {
    fn default() -> Self {
        Self {
            mode: PermissionMode::default(),
            allow: Vec::new(),
            ask: Vec::new(),
            deny: Vec::new(),
            folders: Vec::new(),
            sandbox: true,
            network: false,
            sandbox_read: SandboxRead::default(),
            env_keep: Vec::new(),
        }
    }
}

impl PermissionSettings {
    pub(super) fn check(&self) -> Result<(), String> {
        let mut rules = self.allow.iter().chain(&self.ask).chain(&self.deny);
        if rules.any(|rule| rule.trim().is_empty()) {
            return Err("a rule is not empty; one is `Bash(cargo test:*)` or `Read(src/**)`".to_owned());
        }
        if let Some(folder) = self.folders.iter().find(|folder| !folder.is_absolute()) {
            return Err(format!("{} must be absolute", folder.display()));
        }
        let is_name = |name: &str| {
            let part = |part: char| part.is_ascii_alphanumeric() || part == '_';
            name.chars().all(part) && name.starts_with(|first: char| !first.is_ascii_digit())
        };
        match self.env_keep.iter().find(|name| !is_name(name)) {
            Some(name) => Err(format!("{name:?} is no name of a variable")),
            None => Ok(()),
        }
    }
}
