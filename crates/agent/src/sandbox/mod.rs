//! A cage for shell commands, where the kernel has one.
//!
//! A command is caged by running it through a helper program that cages *itself* and then becomes the command: what it
//! starts is caged too, for as long as it lives. The helper is this very code ([`enter`]), called by a program of one line
//! (`throughline-sandbox` here, a hidden subcommand in the product).
//!
//! What the cage is made of, on Linux:
//! - **Landlock** (ABI 3 or newer): the workspace, system paths and toolchains can be read ([`readable_paths`]), only the
//!   workspace, a temporary folder of the session and a few devices can be written; no signals to processes outside (ABI 6).
//! - **Namespaces** of its own, where the kernel permits them: everything else is mounted read-only too, so that modes, owners
//!   and times stay as they are, which Landlock does not guard; what configures agents inside the workspace ([protected paths](crate::protected))
//!   is mounted read-only, hidden folders are covered by empty ones, `/dev/shm` is private, and without network the command
//!   has a loopback device of its own and nothing else. **Bubblewrap** does the same where only it may.
//! - **seccomp**: no sockets but those of the permitted kinds, no tracing, mounting, new namespaces, kernel keys, BPF,
//!   performance counters, io_uring, modules, clocks.
//! - `no_new_privs`, a bounding set of harmless capabilities for root, a bound on processes, no core dumps, a session without
//!   a controlling terminal.
//!
//! Architecture invariant: **it fails closed**. A helper that can't build what its policy says exits with
//! [`EXIT_NO_CAGE`] and a message, and the command does not run.
//!
//! What it deliberately does not promise:
//! - With Landlock alone ([`Support::Landlock`] without namespaces) [protected paths](crate::protected) is not enforced: Landlock can't take back part
//!   of a folder that it permits; and modes, owners and times of files outside can be changed. [`Support::shields`] says so, and the permission policy decides. Hidden folders that lie in a
//!   writable folder are not hidden then.
//! - Unix sockets can't be told apart by path before Landlock ABI 9: none can be made, so that no command talks to a
//!   container engine, a key agent or a desktop bus. Pairs of sockets work.
//! - A `.git` that is not there yet is not protected: `git init` and `git clone` must work. Whoever runs git outside the cage
//!   in a workspace should switch off hooks, filters, `core.fsmonitor` and pagers there. Other protected names that are not
//!   there yet are kept from being made at the top of the workspace, not further down.
//! - A protected name that is a symbolic link: what it leads to is protected, the link itself can be replaced.

mod policy;
mod readable;
mod support;
mod wrap;

#[cfg(target_os = "linux")]
mod enter;
#[cfg(not(target_os = "linux"))]
#[path = "enter_elsewhere.rs"]
mod enter;

pub use enter::enter;
pub use readable::{credential_paths, readable_paths};
pub use support::Support;
pub use wrap::{Cage, Wrapped};

use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::PathBuf;

/// The exit status of a helper that could not build the cage: the command did not run.
pub const EXIT_NO_CAGE: u8 = 125;
/// What the message of such a helper begins with.
pub const NO_CAGE: &str = "sandbox: the command did not run:";

/// How much a command may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxLevel {
    /// It reads. Nothing but its temporary folder can be written.
    ReadOnly,
    /// It writes in the workspace, but not what configures agents there.
    Workspace,
    /// What the user may do.
    None,
}

/// How commands are caged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxSettings {
    /// Whether at all.
    pub enabled: bool,
    /// Whether caged commands have the network.
    pub network: bool,
    /// Whether caged commands may make Unix sockets, and so talk to whatever listens on this machine: a container engine,
    /// a key agent. Whoever permits it permits to leave the cage.
    pub unix_sockets: bool,
    /// Folders beside the workspace that caged commands may write, such as caches of package managers.
    pub writable: Vec<PathBuf>,
    /// Files and folders that caged commands can't read, such as `~/.ssh`. A folder in which something writable lies (the
    /// workspace, the session) is not hidden.
    pub readable_denied: Vec<PathBuf>,
    /// Files and folders that caged commands may read beside the workspace, where Landlock is there; none: all.
    pub readable: Option<Vec<PathBuf>>,
    /// Folders that caged commands can't read where Landlock is there, although something writable lies in them.
    pub unreadable: Vec<PathBuf>,
    /// How many processes a caged command may start beyond what the machine runs already.
    pub processes: u64,
    /// The helper and its first arguments; empty: there is none, and nothing can be caged.
    pub helper: Vec<OsString>,
    /// Where bubblewrap is, if not in a usual place.
    pub bubblewrap: Option<PathBuf>,
}

impl SandboxSettings {
    /// Caged, without network, by this helper.
    pub fn new(helper: Vec<OsString>) -> Self {
        Self {
            enabled: true,
            network: false,
            unix_sockets: false,
            writable: Vec::new(),
            readable_denied: Vec::new(),
            readable: None,
            unreadable: Vec::new(),
            processes: 2048,
            helper,
            bubblewrap: None,
        }
    }
}

/// Why a command could not be caged.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// There is no cage.
    #[error("there is no sandbox here: {0}")]
    Unsupported(String),
    /// A path that can't be handed to the helper.
    #[error("the sandbox can't be told its folders: {0}. Rename the folder, or run without the sandbox")]
    Policy(#[from] serde_json::Error),
}
