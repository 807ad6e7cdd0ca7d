//! What the model is told about how a command ended.

use super::run::{Ended, Why};
use crate::sandbox::{EXIT_NO_CAGE, NO_CAGE, SandboxLevel};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

/// What commands print that meet the walls of a cage.
const WALLS: &[&str] =
    &["Permission denied", "Read-only file system", "Operation not permitted", "EACCES", "EROFS", "EPERM"];
/// What they print without network.
const NO_NETWORK: &[&str] = &[
    "Could not resolve host",
    "Temporary failure in name resolution",
    "Name or service not known",
    "Network is unreachable",
    "Connection refused",
    "ECONNREFUSED",
    "EAI_AGAIN",
    "ENOTFOUND",
    "dns error",
];

/// How a command ended, in the lines behind its output; nothing for an end like most.
pub(super) fn endings(ended: &Ended, is_background: bool) -> Vec<String> {
    let mut lines = Vec::new();
    match ended.why {
        Why::Itself => lines.extend(status(ended)),
        Why::Timeout(allowed) => {
            let hint = if is_background { "" } else { "; give a longer timeout, or set run_in_background" };
            lines.push(format!("[timed out after {} and was stopped{hint}]", seconds(allowed)));
        }
        Why::Stopped => lines.push("[stopped before it ended]".to_owned()),
    }
    if ended.left_something {
        lines.push(
            "[what it left running was stopped; set run_in_background to keep a command running]".to_owned(),
        );
    }
    lines
}

/// Whether it failed.
pub(super) fn failed(ended: &Ended) -> bool {
    match ended.why {
        Why::Itself => !ended.status.is_some_and(|status| status.success()),
        Why::Timeout(_) | Why::Stopped => true,
    }
}

fn status(ended: &Ended) -> Option<String> {
    let Some(status) = ended.status else { return Some("[how it ended is not known]".to_owned()) };
    match (status.code(), signal(status)) {
        (Some(0), _) => None,
        (Some(code), _) => Some(format!("[exit status {code}]")),
        (None, Some(signal)) => Some(format!("[killed by signal {signal}]")),
        (None, None) => Some("[how it ended is not known]".to_owned()),
    }
}

fn signal(status: ExitStatus) -> Option<String> {
    let number = status.signal()?;
    const NAMES: [(i32, &str); 12] = [
        (1, "HUP"),
        (2, "INT"),
        (3, "QUIT"),
        (4, "ILL"),
        (6, "ABRT"),
        (8, "FPE"),
        (9, "KILL"),
        (11, "SEGV"),
        (13, "PIPE"),
        (14, "ALRM"),
        (15, "TERM"),
        (31, "SYS"),
    ];
    let name = NAMES.iter().find(|(of, _)| *of == number);
    Some(name.map_or_else(|| number.to_string(), |(_, name)| format!("{number} ({name})")))
}

fn seconds(time: Duration) -> String {
    match time.subsec_millis() {
        0 => format!("{} s", time.as_secs()),
        _ => format!("{} ms", time.as_millis()),
    }
}

/// What may have made a caged command fail, if it looks like the cage.
pub(super) struct Caged<'a> {
    pub level: SandboxLevel,
    pub network: bool,
    pub output: &'a str,
}

impl Caged<'_> {
    /// A line for the model.
    pub(super) fn hint(&self, ended: &Ended) -> Option<&'static str> {
        let says = |words: &[&str]| words.iter().any(|word| self.output.contains(word));
        match self.level {
            SandboxLevel::None => None,
            SandboxLevel::ReadOnly | SandboxLevel::Workspace if !failed(ended) => None,
            SandboxLevel::ReadOnly | SandboxLevel::Workspace if self.output.starts_with(NO_CAGE) => {
                let is_it = ended.status.and_then(|status| status.code()) == Some(i32::from(EXIT_NO_CAGE));
                is_it.then_some("[the sandbox could not be built, so nothing ran; unsandboxed asks the user to run it without]")
            }
            SandboxLevel::ReadOnly if says(WALLS) => Some(
                "[the sandbox lets this command write in $TMPDIR only, because nothing may be changed now]",
            ),
            SandboxLevel::Workspace if says(WALLS) => Some(
                "[it ran in a sandbox that lets it write in the workspace and $TMPDIR only; if it failed because of that, \
                 unsandboxed asks the user to run it without]",
            ),
            SandboxLevel::ReadOnly | SandboxLevel::Workspace if !self.network && says(NO_NETWORK) => Some(
                "[it ran in a sandbox without network and with a localhost of its own; if it failed because of that, \
                 unsandboxed asks the user to run it without]",
            ),
            SandboxLevel::ReadOnly | SandboxLevel::Workspace => None,
        }
    }
}
