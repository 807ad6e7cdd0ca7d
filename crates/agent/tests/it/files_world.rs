//! A workspace of real files, and calls as the agent makes them.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use throughline_agent::files::Files;
use throughline_agent::permissions::Mode;
use throughline_agent::tools::{Edit, Glob, Grep, Read, Write};
use throughline_agent::workspace::Workspace;
use throughline_agent::{Access, Tool, ToolContext, ToolOutput};
use throughline_model::CancelToken;

pub(crate) struct World {
    pub(crate) tmp: TempDir,
    pub(crate) workspace: Workspace,
    pub(crate) files: Files,
    runtime: tokio::runtime::Runtime,
}

impl World {
    /// `project/` is the workspace; beside it lies `outside/`, with a secret in it.
    pub(crate) fn new() -> Self {
        let tmp = tempfile::tempdir().unwrap();
        std::fs::create_dir(tmp.path().join("project")).unwrap();
        std::fs::create_dir(tmp.path().join("outside")).unwrap();
        std::fs::write(tmp.path().join("outside/secret.txt"), "secret words\n").unwrap();
        let workspace = Workspace::new(&tmp.path().join("project"), &[]).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        Self { tmp, workspace, files: Files::new(), runtime }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.workspace.cwd().to_owned()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub(crate) fn outside(&self) -> PathBuf {
        self.tmp.path().canonicalize().unwrap().join("outside")
    }

    pub(crate) fn secret(&self) -> String {
        std::fs::read_to_string(self.outside().join("secret.txt")).unwrap()
    }

    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn link(&self, target: impl AsRef<Path>, name: &str) {
        std::os::unix::fs::symlink(target, self.path(name)).unwrap();
    }

    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(std::fs::read(self.path(name)).unwrap()).unwrap()
    }

    /// What a call says it would do.
    pub(crate) fn access(&self, tool: &dyn Tool, input: &Value) -> Result<Access, String> {
        tool.access(input, &self.workspace)
    }

    /// A whole call: its access is taken, permitted, and it runs.
    pub(crate) fn call(&self, tool: &dyn Tool, input: Value) -> ToolOutput {
        match self.access(tool, &input) {
            Ok(access) => self.run(tool, &input, &self.workspace.permitting(&access)),
            Err(reason) => ToolOutput::failed(reason),
        }
    }

    /// The second half of a call.
    pub(crate) fn run(&self, tool: &dyn Tool, input: &Value, workspace: &Workspace) -> ToolOutput {
        self.run_until(tool, input, workspace, CancelToken::new())
    }

    pub(crate) fn run_until(
        &self,
        tool: &dyn Tool,
        input: &Value,
        workspace: &Workspace,
        cancel: CancelToken,
    ) -> ToolOutput {
        let cx = ToolContext {
            call: "call",
            workspace,
            files: &self.files,
            mode: Mode::AcceptEdits,
            cancel,
            progress: &|_| {},
        };
        self.runtime.block_on(tool.run(input, cx))
    }

    pub(crate) fn read(&self, name: &str) -> ToolOutput {
        self.call(&Read, json!({"file_path": name}))
    }

    pub(crate) fn write(&self, name: &str, content: &str) -> ToolOutput {
        self.call(&Write, json!({"file_path": name, "content": content}))
    }

    pub(crate) fn edit(&self, name: &str, old: &str, new: &str) -> ToolOutput {
        self.call(&Edit, json!({"file_path": name, "old_string": old, "new_string": new}))
    }

    pub(crate) fn glob(&self, pattern: &str) -> Vec<String> {
        let output = self.call(&Glob, json!({"pattern": pattern}));
        let mut names: Vec<String> = done(&output).lines().map(str::to_owned).collect();
        names.sort();
        names
    }

    pub(crate) fn grep(&self, input: Value) -> String {
        done(&self.call(&Grep, input))
    }
}

/// The text of a call that worked.
pub(crate) fn done(output: &ToolOutput) -> String {
    let text = output.content.to_text().into_owned();
    assert!(!output.is_error, "{text}");
    text
}

/// The text of a call that failed.
pub(crate) fn failed(output: &ToolOutput) -> String {
    let text = output.content.to_text().into_owned();
    assert!(output.is_error, "{text}");
    text
}
