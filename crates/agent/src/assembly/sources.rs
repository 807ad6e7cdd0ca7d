//! What assembly works from: everything that it can't find in files by itself, and its limits.

use super::environment::Environment;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use throughline_core::tokens::Tokenizer;

/// What a session's context is made of. Whoever runs the agent has read the environment and the clock; here only files are read.
#[derive(Clone, Debug)]
pub struct Sources {
    /// Where the agent works.
    pub cwd: PathBuf,
    /// The user's home folder.
    pub home: Option<PathBuf>,
    /// Throughline's home.
    pub config_home: PathBuf,
    /// What the session is.
    pub kind: SessionKind,
    /// The model's context window in tokens, if it is known.
    pub window: Option<u64>,
    /// How the model counts.
    pub tokenizer: Tokenizer,
    /// Date, shell, system, repository.
    pub environment: Environment,
    /// What may be done without asking.
    pub permissions: Option<String>,
    /// What the mode asks of the model; see [`mode_text`](super::mode_text).
    pub mode_text: Option<String>,
    /// The user's own instructions from the configuration.
    pub custom: Option<String>,
    /// What is remembered from earlier sessions, and how to read more of it.
    pub memory: Option<String>,
    /// How to write to long-term memory. Only a main session is told (A5).
    pub memory_writing: Option<String>,
    /// The tone to take.
    pub personality: Option<String>,
    /// How commits are to be signed.
    pub attribution: Option<String>,
    /// Tools that can be loaded on demand, a line each; a line in parentheses says how many more there are.
    pub deferred: Option<String>,
    /// MCP servers and what each says about itself.
    pub mcp: Vec<(String, String)>,
    /// How much of everything there may be.
    pub limits: AssemblyLimits,
}

impl Sources {
    /// Nothing but a place to work in and Throughline's home.
    pub fn new(cwd: impl Into<PathBuf>, config_home: impl Into<PathBuf>) -> Self {
        Self {
            cwd: cwd.into(),
            home: None,
            config_home: config_home.into(),
            kind: SessionKind::Main,
            window: None,
            tokenizer: Tokenizer::O200k,
            environment: Environment::default(),
            permissions: None,
            mode_text: None,
            custom: None,
            memory: None,
            memory_writing: None,
            personality: None,
            attribution: None,
            deferred: None,
            mcp: Vec::new(),
            limits: AssemblyLimits::default(),
        }
    }
}

/// What a session is, as far as memory is concerned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SessionKind {
    /// A person's own session.
    #[default]
    Main,
    /// A helper that another session began.
    SubAgent,
    /// Run for somebody elsewhere.
    Remote,
    /// Leaves nothing behind.
    Ephemeral,
}

impl SessionKind {
    /// Whether the session may add to long-term memory (A5).
    pub fn writes_memory(self) -> bool {
        match self {
            Self::Main => true,
            Self::SubAgent | Self::Remote | Self::Ephemeral => false,
        }
    }
}

/// How much of everything a session is told. What is cut ends with a line that says so, which comes on top.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AssemblyLimits {
    /// Bytes of all project instructions together.
    pub project_bytes: usize,
    /// Bytes of one project file, with what it imports.
    pub project_file_bytes: usize,
    /// Project files.
    pub project_files: usize,
    /// How deep imports may lead to imports.
    pub import_depth: usize,
    /// Imports of all project files together.
    pub imports: usize,
    /// Bytes of a file that may be imported.
    pub import_bytes: u64,
    /// Bytes of what project files say about summaries.
    pub compact_bytes: usize,
    /// Per cent of the window that the list of skills may take.
    pub skills_percent: u64,
    /// Characters of the list of skills where the window is not known.
    pub skills_chars: usize,
    /// Characters of a skill's description in the list.
    pub skill_description_chars: usize,
    /// Skills.
    pub skills: usize,
    /// Tokens of a skill's body.
    pub skill_tokens: u64,
    /// Bytes of the environment.
    pub environment_bytes: usize,
    /// Bytes of what one MCP server says about itself.
    pub mcp_bytes: usize,
    /// MCP servers that are heard.
    pub mcp_servers: usize,
    /// Bytes of the user's own instructions; also of permissions, mode, tone and attribution, each.
    pub custom_bytes: usize,
    /// Bytes of what is said of memory.
    pub memory_bytes: usize,
    /// Bytes of the list of deferred tools.
    pub deferred_bytes: usize,
}

impl Default for AssemblyLimits {
    fn default() -> Self {
        Self {
            project_bytes: 32 * 1_024,
            project_file_bytes: 32 * 1_024,
            project_files: 32,
            import_depth: 5,
            imports: 20,
            import_bytes: 256 * 1_024,
            compact_bytes: 2 * 1_024,
            skills_percent: 2,
            skills_chars: 8_000,
            skill_description_chars: 250,
            skills: 500,
            skill_tokens: 5_000,
            environment_bytes: 4 * 1_024,
            mcp_bytes: 2 * 1_024,
            mcp_servers: 32,
            custom_bytes: 8 * 1_024,
            memory_bytes: 32 * 1_024,
            deferred_bytes: 16 * 1_024,
        }
    }
}
