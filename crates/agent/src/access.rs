//! What a call of a tool would do, said before it does anything.

use std::path::PathBuf;

/// What a call would do. Permissions are decided by this alone, so it must say the worst that the call can do. Paths are
/// absolute, with links resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Nothing outside the session: a todo list, a plan, what was said before.
    Inner,
    /// Files and folders are read.
    Read {
        /// Which.
        paths: Vec<PathBuf>,
    },
    /// Files are made or changed.
    Write {
        /// Which.
        paths: Vec<PathBuf>,
    },
    /// A shell command runs.
    Command {
        /// The command, as the shell gets it.
        command: String,
        /// Where.
        cwd: PathBuf,
        /// The model asks for it to run without the sandbox.
        unsandboxed: bool,
    },
    /// Something is fetched.
    Network {
        /// The address.
        url: String,
    },
    /// A tool of an MCP server runs: it can do whatever that server can.
    Mcp {
        /// The server's name.
        server: String,
        /// The tool's name there.
        tool: String,
        /// The server claims that it changes nothing. A claim, not a fact.
        claims_read_only: bool,
    },
    /// Long-term memory is changed.
    Memory,
    /// A sub-agent works. What it does itself is decided call by call.
    Agent,
}

impl Access {
    /// Whether the call changes nothing, so that several can run at once.
    pub fn is_read_only(&self) -> bool {
        match self {
            Self::Inner | Self::Read { .. } | Self::Network { .. } | Self::Agent => true,
            Self::Mcp { claims_read_only, .. } => *claims_read_only,
            Self::Write { .. } | Self::Command { .. } | Self::Memory => false,
        }
    }
}
