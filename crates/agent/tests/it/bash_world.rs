//! A workspace, a folder outside of it, a session, and a shell over them.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "helpers of tests may fail as tests do"
)]

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;
use throughline_agent::files::Files;
use throughline_agent::permissions::Mode;
use throughline_agent::sandbox::SandboxSettings;
use throughline_agent::tools::bash::{Shell, ShellEnv, bash_tools};
use throughline_agent::workspace::Workspace;
use throughline_agent::{ToolContext, ToolOutput, Toolset};
use throughline_model::CancelToken;

/// The helper of this crate.
pub(crate) fn helper() -> Vec<OsString> {
    vec![env!("CARGO_BIN_EXE_throughline-sandbox").into()]
}

pub(crate) struct World {
    pub(crate) root: tempfile::TempDir,
    pub(crate) workspace: Workspace,
    pub(crate) shell: Shell,
    tools: Toolset,
    files: Files,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(|_, _| {})
    }

    /// With other settings or variables; they are given the folder of everything.
    pub(crate) fn with(change: impl FnOnce(&Path, (&mut SandboxSettings, &mut ShellEnv))) -> Self {
        let root = tempfile::tempdir().unwrap();
        for folder in ["ws", "outside", "home"] {
            std::fs::create_dir(root.path().join(folder)).unwrap();
        }
        std::fs::write(root.path().join("outside/kept.txt"), "as it was\n").unwrap();
        let workspace = Workspace::new(&root.path().join("ws"), &[]).unwrap();
        let mut settings = SandboxSettings::new(helper());
        let path = std::env::var_os("PATH").unwrap_or_default();
        let home = root.path().join("home").into_os_string();
        let base = BTreeMap::from([("PATH".into(), path), ("HOME".into(), home)]);
        let mut env = ShellEnv { base, allowed: Vec::new() };
        change(root.path(), (&mut settings, &mut env));
        let shell = Shell::new(settings, root.path().join("session"), env);
        let mut tools = Toolset::new();
        for tool in bash_tools(shell.clone()) {
            assert!(tools.add(tool));
        }
        Self { root, workspace, shell, tools, files: Files::default() }
    }

    /// A world whose commands are caged with all walls; none where the kernel can't, which is said.
    pub(crate) fn caged(change: impl FnOnce(&Path, (&mut SandboxSettings, &mut ShellEnv))) -> Option<Self> {
        let world = Self::with(change);
        if world.shell.support().can_cage() && world.shell.support().shields() {
            return Some(world);
        }
        let required = std::env::var("THROUGHLINE_REQUIRE").is_ok_and(|value| value == "all");
        assert!(!required, "{}", world.shell.support());
        eprintln!("skipped: {}", world.shell.support());
        None
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.path().join(relative)
    }

    pub(crate) fn write(&self, relative: &str, text: &str) {
        let path = self.path(relative);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, relative: &str) -> Option<String> {
        std::fs::read_to_string(self.path(relative)).ok()
    }

    pub(crate) async fn call(&self, tool: &str, input: Value) -> ToolOutput {
        self.call_as(tool, input, Call::default()).await
    }

    pub(crate) async fn call_as(&self, tool: &str, input: Value, call: Call<'_>) -> ToolOutput {
        let heard = call.heard;
        let progress = move |line: &str| {
            if let Some(heard) = heard {
                heard.lock().unwrap().push(line.to_owned());
            }
        };
        let cx = ToolContext {
            call: "c1",
            workspace: &self.workspace,
            files: &self.files,
            mode: call.mode,
            cancel: call.cancel,
            progress: &progress,
        };
        self.tools.find(tool).unwrap().run(&input, cx).await
    }

    /// Runs a command caged to the workspace; its text.
    pub(crate) async fn bash(&self, command: &str) -> String {
        text(&self.call("Bash", json!({"command": command})).await)
    }

    pub(crate) fn tool(&self, name: &str) -> &dyn throughline_agent::Tool {
        self.tools.find(name).unwrap().as_ref()
    }
}

/// How a call differs from the usual one.
pub(crate) struct Call<'a> {
    pub(crate) mode: Mode,
    pub(crate) cancel: CancelToken,
    pub(crate) heard: Option<&'a Mutex<Vec<String>>>,
}

impl Default for Call<'_> {
    fn default() -> Self {
        Self { mode: Mode::AcceptEdits, cancel: CancelToken::new(), heard: None }
    }
}

impl Call<'_> {
    pub(crate) fn of(mode: Mode) -> Self {
        Self { mode, ..Self::default() }
    }
}

pub(crate) fn text(output: &ToolOutput) -> String {
    output.content.to_text().into_owned()
}

/// Waits until something is so, for as long as a loaded machine may need.
pub(crate) async fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..6000 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it never came to be that {what}");
}
