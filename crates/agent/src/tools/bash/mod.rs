//! Shell commands: `Bash`, and `BashOutput` and `KillShell` for those that run in the background. They need a Unix.

mod background;
mod capture;
mod clean;
mod env;
mod foreground;
mod group;
mod run;
mod tasks;
mod window;
mod words;

pub use background::{BashOutput, KillShell};
pub use env::{PASSED, ShellEnv};
pub use foreground::Bash;
pub use tasks::{MOST, TaskEnd, TaskInfo, Tasks};

use crate::Tool;
use crate::permissions::{Mode, only_reads};
use crate::sandbox::{Cage, SandboxLevel, SandboxSettings, Support};
use crate::workspace::Workspace;
use run::Running;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The most characters of output that a result holds: more than a window takes, so that what the model gets of it is decided
/// where the window is known.
const RESULT_CHARS: usize = 4 << 20;
/// Characters of a background command's output that are held in memory: all of it is in a file.
const BACKGROUND_CHARS: usize = 4 << 10;

/// The folder of what commands printed, below the shell's folder.
pub const OUTPUT: &str = "output";

/// What commands of a session run with. Clones share their tasks.
#[derive(Clone, Debug)]
pub struct Shell {
    settings: SandboxSettings,
    support: Support,
    folder: PathBuf,
    tasks: Tasks,
    env: ShellEnv,
}

impl Shell {
    /// A shell whose files (what commands print, their temporary folder) are in `folder`, which belongs to the session; it is
    /// made if need be. What this machine can cage is found out here.
    pub fn new(settings: SandboxSettings, folder: PathBuf, env: ShellEnv) -> Self {
        let support = match settings.enabled {
            true => Support::detect(&settings),
            false => Support::None { reason: "it is switched off".to_owned() },
        };
        Self { settings, support, folder, tasks: Tasks::new(), env }
    }

    /// The same with its files in another folder: what this machine can is known before the session is.
    #[must_use]
    pub fn in_folder(self, folder: PathBuf) -> Self {
        Self { folder, ..self }
    }

    /// What commands are caged by, or why they are not: then every command is [unsandboxed](crate::Access::Command), and the
    /// permission policy decides.
    pub fn support(&self) -> &Support {
        &self.support
    }

    /// The commands that run in the background.
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// Sandbox of a command. One that is judged to only read is held to it.
    pub fn level(&self, mode: Mode, unsandboxed: bool, command: &str) -> SandboxLevel {
        if unsandboxed || !self.support.can_cage() {
            return SandboxLevel::None;
        }
        match mode {
            Mode::Plan => SandboxLevel::ReadOnly,
            Mode::Ask | Mode::AcceptEdits if only_reads(command) => SandboxLevel::ReadOnly,
            Mode::Ask | Mode::AcceptEdits => SandboxLevel::Workspace,
            Mode::Full => SandboxLevel::None,
        }
    }

    /// Starts a command.
    fn start(&self, command: &str, level: SandboxLevel, workspace: &Workspace) -> Result<Running, String> {
        let tmp = self.folder.join("tmp");
        capture::make_private(&tmp)
            .map_err(|error| format!("the temporary folder {} can't be made: {error}", tmp.display()))?;
        let argv = vec![program().into(), "-c".into(), command.into()];
        let cage = Cage { level, workspace, tmp: &tmp };
        let wrapped = self
            .settings
            .wrap(&self.support, cage, argv)
            .map_err(|error| format!("it did not run: {error}"))?;
        // A command that only reads must be the program that was judged, not one of the workspace's.
        let avoided: Vec<&Path> = match level {
            SandboxLevel::ReadOnly => workspace.folders().collect(),
            SandboxLevel::Workspace | SandboxLevel::None => Vec::new(),
        };
        Running::start(wrapped, &self.env.of_command(&tmp, &avoided), workspace.cwd())
            .map_err(|error| format!("it did not run: the shell can't be started: {error}"))
    }
}

/// bash where it is.
fn program() -> &'static str {
    const BASH: [&str; 3] = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"];
    BASH.into_iter().find(|path| Path::new(path).is_file()).unwrap_or("/bin/sh")
}

/// All tools of a shell.
pub fn bash_tools(shell: Shell) -> Vec<Arc<dyn Tool>> {
    let tasks = shell.tasks.clone();
    vec![
        Arc::new(Bash::new(shell)),
        Arc::new(BashOutput::new(tasks.clone())),
        Arc::new(KillShell::new(tasks)),
    ]
}
