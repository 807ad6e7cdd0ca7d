//! What this machine has to build a cage of.

use super::SandboxSettings;
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The argument by which a helper is asked what it can.
pub(super) const PROBE: &str = "--probe";
/// The oldest Landlock that is a cage: before it, files outside could be truncated.
pub(super) const OLDEST_LANDLOCK: u32 = 3;
/// Where bubblewrap is looked for. Not by `PATH`, which could lead into a workspace.
const BUBBLEWRAP: [&str; 3] = ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap"];

/// What this machine has to build a cage of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Support {
    /// Landlock.
    Landlock {
        /// Its version.
        abi: u32,
        /// Whether the helper gets namespaces of its own: then all of the cage is there.
        namespaces: bool,
    },
    /// Bubblewrap.
    Bubblewrap {
        /// Where.
        program: PathBuf,
        /// The version of Landlock inside; none: none.
        abi: Option<u32>,
    },
    /// Nothing: no command can be caged.
    None {
        /// Why, and what would help.
        reason: String,
    },
}

/// What a helper says that it can.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Probe {
    /// The version of Landlock; none: none.
    pub landlock: Option<u32>,
    /// Why there are no namespaces; none: there are.
    pub namespaces: Option<String>,
    /// Why there is no seccomp; none: there is.
    pub seccomp: Option<String>,
}

impl Support {
    /// Finds out, by trying. It takes some milliseconds: once for a session is enough.
    pub fn detect(settings: &SandboxSettings) -> Self {
        let none = |reason: &str| Self::None { reason: reason.to_owned() };
        let probe = match probe(&settings.helper) {
            Ok(probe) => probe,
            Err(reason) => return Self::None { reason },
        };
        if let Some(reason) = probe.seccomp {
            return Self::None { reason: format!("system calls can't be filtered: {reason}") };
        }
        let abi = probe.landlock.filter(|abi| *abi >= OLDEST_LANDLOCK);
        if let (Some(abi), None) = (abi, &probe.namespaces) {
            return Self::Landlock { abi, namespaces: true };
        }
        let usual = BUBBLEWRAP.iter().map(PathBuf::from);
        let program = settings.bubblewrap.clone().into_iter().chain(usual).find(|path| works(path));
        match (program, abi) {
            (Some(program), _) => Self::Bubblewrap { program, abi },
            (None, Some(abi)) => Self::Landlock { abi, namespaces: false },
            (None, None) => none(
                "the kernel has no Landlock of version 3 (Linux 6.2 or newer) and there is no bubblewrap that works. Install bubblewrap",
            ),
        }
    }

    /// Whether commands can be caged.
    pub fn can_cage(&self) -> bool {
        match self {
            Self::Landlock { .. } | Self::Bubblewrap { .. } => true,
            Self::None { .. } => false,
        }
    }

    /// Whether what configures agents in the workspace ([protected paths](crate::protected)) is kept from caged commands. If not,
    /// the permission policy has to.
    pub fn shields(&self) -> bool {
        match self {
            Self::Landlock { namespaces, .. } => *namespaces,
            Self::Bubblewrap { .. } => true,
            Self::None { .. } => false,
        }
    }
}

/// For people: what commands run in, and what is missing.
impl std::fmt::Display for Support {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Landlock { abi, namespaces: true } => {
                write!(f, "commands run sandboxed (Landlock {abi}, namespaces, seccomp)")
            }
            Self::Landlock { abi, namespaces: false } => write!(
                f,
                "commands run sandboxed (Landlock {abi}, seccomp), but they can change .git/hooks, .git/config and agents' \
                 settings in the workspace, because this system permits no user namespaces; bubblewrap would help"
            ),
            Self::Bubblewrap { program, abi: Some(abi) } => {
                write!(f, "commands run sandboxed ({}, Landlock {abi}, seccomp)", program.display())
            }
            Self::Bubblewrap { program, abi: None } => {
                write!(f, "commands run sandboxed ({}, seccomp)", program.display())
            }
            Self::None { reason } => write!(f, "commands can't be sandboxed: {reason}"),
        }
    }
}

fn probe(helper: &[OsString]) -> Result<Probe, String> {
    let [program, arguments @ ..] = helper else {
        return Err("no helper program is set".to_owned());
    };
    let done = Command::new(program)
        .args(arguments)
        .arg(PROBE)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("the helper {} can't be started: {error}", program.display()))?;
    serde_json::from_slice(&done.stdout).map_err(|error| {
        let complaint = String::from_utf8_lossy(&done.stderr);
        format!("the helper {} does not say what it can: {error}. {}", program.display(), complaint.trim())
    })
}

fn works(bubblewrap: &Path) -> bool {
    if !bubblewrap.is_file() {
        return false;
    }
    let arguments = ["--ro-bind", "/", "/", "--unshare-net", "--", "/bin/sh", "-c", "exit 0"].map(OsStr::new);
    let ended = Command::new(bubblewrap)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    ended.is_ok_and(|status| status.success())
}
