//! The two clients, each as it is meant to run without a terminal and without questions.

use anyhow::Context;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub(super) const OURS: &str = "throughline";
pub(super) const CODEX: &str = "codex";
/// Ours with a model whose tokens are estimated, without a table.
pub(super) const TABLELESS: &str = "…, no table";
/// A model that both know.
const MODEL: &str = "gpt-5.5";
const TABLELESS_MODEL: &str = "claude-sonnet-4-5";
const PROMPT: &str = "Run the steps one after the other until there are no more.";
/// The server takes any.
const KEY: &str = "not-a-key";

/// `THROUGHLINE_BIN`, or the program beside this one.
pub(crate) fn ours() -> Option<PathBuf> {
    let beside = || Some(std::env::current_exe().ok()?.with_file_name(OURS));
    whole(named("THROUGHLINE_BIN").or_else(beside)?)
}

/// `CODEX_BIN`, or the first of its name in the path.
pub(super) fn codex() -> Option<PathBuf> {
    let in_path = || {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).map(|folder| folder.join(CODEX)).find(|file| file.is_file())
    };
    whole(named("CODEX_BIN").or_else(in_path)?)
}

/// The whole path, since programs are started elsewhere; nothing if there is no such file.
fn whole(program: PathBuf) -> Option<PathBuf> {
    program.canonicalize().ok().filter(|path| path.is_file())
}

fn named(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// A home and a project that both clients share, and nobody else has.
pub(super) struct Place {
    home: PathBuf,
    project: PathBuf,
    url: String,
    path: OsString,
}

impl Place {
    pub(super) fn prepare(folder: &Path, url: &str) -> anyhow::Result<Self> {
        let place = Self {
            home: folder.join("home"),
            project: folder.join("project"),
            url: format!("{url}/v1"),
            path: std::env::var_os("PATH").unwrap_or_default(),
        };
        std::fs::create_dir_all(&place.project)?;
        std::fs::create_dir_all(place.codex_home())?;
        std::fs::write(place.codex_home().join("config.toml"), place.codex_config())?;
        std::fs::write(place.project.join("README"), "A small project.\n")?;
        // Agents mostly work in repositories. Without git, both do without.
        let mut git = Command::new("git");
        let _ = git.args(["init", "--quiet"]).current_dir(&place.project).env("HOME", &place.home).status();
        Ok(place)
    }

    /// Where a client's complaints go.
    pub(super) fn complaints(&self) -> PathBuf {
        self.home.join("complaints")
    }

    fn codex_home(&self) -> PathBuf {
        self.home.join("codex")
    }

    /// Nothing but the model: no updates, no statistics, no plugins.
    fn codex_config(&self) -> String {
        let url = &self.url;
        format!(
            r#"model = "{MODEL}"
model_provider = "scripted"
check_for_update_on_startup = false
approval_policy = "never"
sandbox_mode = "danger-full-access"
web_search = "disabled"
chatgpt_base_url = "{url}"

[analytics]
enabled = false
[feedback]
enabled = false
[otel]
exporter = "none"
trace_exporter = "none"
metrics_exporter = "none"
log_user_prompt = false

[features]
plugins = false
apps = false
remote_plugin = false
plugin_discovery_prefetch = false
recommended_plugins = false
daemon_auto_start = false

[model_providers.scripted]
name = "scripted"
base_url = "{url}"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
supports_websockets = false
request_max_retries = 0
stream_max_retries = 0
"#
        )
    }
}

/// A program to be measured.
pub(super) struct Client {
    pub(super) name: &'static str,
    program: PathBuf,
    arguments: &'static [&'static str],
}

impl Client {
    pub(super) fn ours(program: &Path) -> Self {
        let arguments = &["exec", "--model", MODEL, "--permission-mode", "full", PROMPT];
        Self { name: OURS, program: program.to_owned(), arguments }
    }

    pub(super) fn tableless(program: &Path) -> Self {
        let arguments = &["exec", "--model", TABLELESS_MODEL, "--permission-mode", "full", PROMPT];
        Self { name: TABLELESS, program: program.to_owned(), arguments }
    }

    pub(super) fn codex(program: &Path) -> Self {
        let arguments = &["exec", "--skip-git-repo-check", PROMPT];
        Self { name: CODEX, program: program.to_owned(), arguments }
    }

    pub(super) fn command(&self, place: &Place) -> Command {
        let mut command = Command::new(&self.program);
        command.args(self.arguments).current_dir(&place.project).env_clear();
        command
            .env("PATH", &place.path)
            .env("HOME", &place.home)
            .env("LANG", "C.UTF-8")
            .env("TZ", "UTC")
            .env("SHELL", "/bin/bash")
            .env("CODEX_HOME", place.codex_home())
            .env("SCRIPTED_KEY", KEY)
            .env("THROUGHLINE_HOME", place.home.join("throughline"))
            .env("THROUGHLINE_MODEL_WIRE", "responses")
            .env("THROUGHLINE_MODEL_BASE_URL", &place.url)
            .env("OPENAI_API_KEY", KEY);
        command
    }

    /// What it says it is.
    pub(super) fn version(&self) -> anyhow::Result<String> {
        let mut command = Command::new(&self.program);
        let output = command.arg("--version").stdin(Stdio::null()).output();
        let output = output.with_context(|| format!("cannot start {}", self.program.display()))?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }
}
