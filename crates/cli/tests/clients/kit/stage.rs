//! A scene: a client in a folder of its own, its provider, and perhaps the proxy between them.

use super::serve::{Serve, Stopped};
use super::tap::{Heard, Tap};
use super::trace::{Trace, offered, transcripts};
use super::{Claude, Codex, Python};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use throughline_testkit::{Script, Seen, Server};

/// A key that no provider knows.
const KEY: &str = "sk-not-a-key-of-anybody-0123456789";
/// How long a client may take: beyond this it hangs.
const PATIENCE: &str = "150";

/// What is played.
pub(crate) struct Play<S, A> {
    /// What the provider does.
    pub(crate) script: S,
    /// What is done with the client.
    pub(crate) act: A,
}

/// How the client reaches its provider.
#[derive(Clone, Copy)]
pub(crate) enum Way<'a> {
    Directly,
    /// By way of `throughline serve`, with this configuration.
    Serve(&'a str),
    /// Started by `throughline run`.
    Run,
}

/// Where it is played.
pub(crate) struct Stage {
    /// Below it is everything that the client sees and writes.
    folder: PathBuf,
    provider: Server,
    proxy: Option<(Serve, Tap)>,
    is_run: bool,
    ran: Mutex<Vec<Ran>>,
}

/// What a client did.
#[derive(Clone, Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// The lines that it printed, which are JSON.
    pub(crate) fn events(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
    }

    /// The first event of a type.
    pub(crate) fn event(&self, kind: &str) -> Value {
        let found = self.events().into_iter().find(|event| event["type"] == kind);
        found.unwrap_or_else(|| panic!("no {kind} in:\n{}{}", self.out, self.err))
    }

    /// It ended well.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, Some(0), "{}{}", self.out, self.err);
        self
    }
}

impl Stage {
    fn set(folder: &Path, script: impl Script, way: Way<'_>) -> Self {
        for name in ["home", "work"] {
            fs::create_dir_all(folder.join(name)).unwrap();
        }
        fs::write(folder.join("work/README.md"), "# A small project\n\nIt adds numbers.\n").unwrap();
        let provider = Server::start(script).unwrap();
        let proxy = match way {
            Way::Directly | Way::Run => None,
            Way::Serve(config) => {
                let serve = Serve::start(folder, &provider.url(), config);
                let tap = Tap::before(serve.url.strip_prefix("http://").unwrap().parse().unwrap());
                Some((serve, tap))
            }
        };
        Self {
            folder: folder.to_owned(),
            provider,
            proxy,
            is_run: matches!(way, Way::Run),
            ran: Mutex::default(),
        }
    }

    /// Where the client sends its requests.
    pub(crate) fn url(&self) -> String {
        self.proxy.as_ref().map_or_else(|| self.provider.url(), |(_, tap)| tap.url())
    }

    /// The folder that the client works in.
    pub(crate) fn work(&self) -> PathBuf {
        self.folder.join("work")
    }

    /// Everything that its provider saw so far.
    pub(crate) fn requests(&self) -> Vec<Seen> {
        self.provider.requests()
    }

    /// Everything that the client sent so far, if there is a proxy.
    pub(crate) fn heard(&self) -> Vec<Heard> {
        self.proxy.as_ref().map(|(_, tap)| tap.heard()).unwrap_or_default()
    }

    /// The bytes of the last request, as the client sent it and as its provider saw it.
    pub(crate) fn last_sizes(&self) -> (usize, usize) {
        (self.heard().last().unwrap().body.len(), self.requests().last().unwrap().body.len())
    }

    /// Where `throughline run` says what it came to.
    pub(crate) fn summary(&self) -> PathBuf {
        self.folder.join("summary.json")
    }

    /// The transcripts that the client keeps.
    pub(crate) fn transcript(&self) -> String {
        transcripts(&self.folder)
    }

    /// Runs Claude Code, which prints its events.
    pub(crate) fn claude(&self, arguments: &[&str]) -> Ran {
        self.claude_with(&[], arguments)
    }

    /// The same with variables.
    pub(crate) fn claude_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Ran {
        let Claude(program) = Claude::find().unwrap();
        let mut command = self.client(&program);
        command
            .env("ANTHROPIC_BASE_URL", self.url())
            .env("ANTHROPIC_API_KEY", KEY)
            // As root it refuses to work without asking, unless it is told that this is a sandbox.
            .env("IS_SANDBOX", "1")
            .args(["--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"]);
        for name in [
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
            "DISABLE_TELEMETRY",
            "DISABLE_AUTOUPDATER",
            "DISABLE_ERROR_REPORTING",
            "DISABLE_BUG_COMMAND",
            "DISABLE_FEEDBACK_COMMAND",
        ] {
            command.env(name, "1");
        }
        self.run(command.envs(variables.iter().copied()).args(arguments))
    }

    /// Runs `codex exec`, which prints its events. `settings` are lines of its configuration at the top level; the name of
    /// the provider decides how it asks for a compaction.
    pub(crate) fn codex(&self, settings: &[&str], arguments: &[&str]) -> Ran {
        self.codex_of("scripted", settings, arguments)
    }

    /// The same with a provider of another name.
    pub(crate) fn codex_of(&self, provider: &str, settings: &[&str], arguments: &[&str]) -> Ran {
        let Codex(program) = Codex::find().unwrap();
        let home = self.folder.join("home/.codex");
        fs::create_dir_all(&home).unwrap();
        let config = CODEX
            .replace("SETTINGS", &settings.join("\n"))
            .replace("NAME", provider)
            .replace("URL", &self.url());
        fs::write(home.join("config.toml"), config).unwrap();
        let mut command = self.client(&program);
        command.env("CODEX_HOME", home).env("SCRIPTED_KEY", KEY);
        self.run(command.args(["exec", "--skip-git-repo-check", "--json"]).args(arguments))
    }

    /// Runs a script of Python, which is told where to send its requests.
    pub(crate) fn python(&self, script: &Path) -> Ran {
        let Python(program) = Python::find().unwrap();
        self.run(self.client(&program).arg("-B").arg(script).arg(self.url()))
    }

    /// A client with nothing of this machine's in its environment.
    fn client(&self, program: &Path) -> Command {
        let mut command = Command::new("timeout");
        command.env_clear().args(["--kill-after=5", PATIENCE]);
        if self.is_run {
            command.arg(env!("CARGO_BIN_EXE_throughline")).args(["run", "--quiet", "--summary"]);
            command.arg(self.summary()).arg("--").env("THROUGHLINE_HOME", self.folder.join("throughline"));
        }
        command
            .arg(program)
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.folder.join("home"))
            .env("LANG", "C.UTF-8")
            .env("TZ", "UTC")
            .env("TERM", "dumb")
            .env("SHELL", "/bin/bash")
            .env("USER", "tester")
            .current_dir(self.work())
            .stdin(Stdio::null());
        command
    }

    fn run(&self, command: &mut Command) -> Ran {
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let ran = Ran { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) };
        assert_ne!(ran.code, Some(124), "the client hangs:\n{}{}", ran.out, ran.err);
        self.ran.lock().unwrap().push(ran.clone());
        ran
    }

    fn strike(self) -> (Trace, Option<Stopped>) {
        let urls = [self.provider.address().to_string(), self.url().replace("http://", "")];
        let ran = self.ran.into_inner().unwrap();
        let trace = Trace::take(&self.folder, &urls, &ran, &self.provider.requests());
        (trace, self.proxy.map(|(serve, _)| serve.stop()))
    }
}

/// `throughline serve` as it comes: the model is offered `Recall`.
const USUAL: Way<'_> = Way::Serve("");
/// Without it, requests that need nothing arrive to the byte, headers included.
pub(crate) const FAITHFUL: Way<'_> = Way::Serve("[tools]\nrecall = false\n");

/// Plays a scene directly and by way of the proxy, as it comes and as faithful as it can be, and compares: what the client
/// printed, what it keeps on disk, what its provider saw. What the proxy kept at last is given back.
#[track_caller]
pub(crate) fn both_ways<S: Script>(play: Play<impl Fn() -> S, impl Fn(&Stage)>) -> Stopped {
    as_directly(&[FAITHFUL, USUAL], play)
}

/// The same, with other ways.
#[track_caller]
pub(crate) fn as_directly<S: Script>(
    ways: &[Way<'_>],
    play: Play<impl Fn() -> S, impl Fn(&Stage)>,
) -> Stopped {
    let root = tempfile::tempdir().unwrap();
    // At the same place each time: clients write down where they are.
    let folder = root.path().join("stage");
    let played = |way| {
        let stage = Stage::set(&folder, (play.script)(), way);
        (play.act)(&stage);
        let unscripted = stage.provider.unscripted();
        assert!(unscripted.is_empty(), "requests that the script knows nothing of: {unscripted:?}");
        if stage.proxy.is_some() {
            unchanged(&stage.heard(), &stage.requests());
        }
        stage.strike()
    };
    let (direct, mut stopped) = played(Way::Directly);
    for (at, way) in ways.iter().enumerate() {
        fs::rename(&folder, root.path().join(format!("before {at}"))).unwrap();
        let (proxied, left) = played(*way);
        direct.is_also(&proxied);
        stopped = left;
    }
    let mut stopped = stopped.unwrap_or_else(|| Stopped::in_folder(&folder));
    stopped.keep(root);
    stopped
}

/// What the client sent is what its provider saw, to the byte, but for the tool that the model is offered.
#[track_caller]
fn unchanged(heard: &[Heard], seen: &[Seen]) {
    let mut seen: Vec<(String, Vec<u8>)> =
        seen.iter().map(|seen| (target(seen), without_recall(seen))).collect();
    for heard in heard {
        // Of two that are on their way at once either may arrive first.
        let at = seen.iter().position(|(target, body)| *target == heard.target && *body == heard.body);
        let at = at.unwrap_or_else(|| panic!("{} did not arrive as it was sent", heard.target));
        seen.remove(at);
    }
    assert!(
        seen.is_empty(),
        "the proxy asked on its own: {:?}",
        seen.iter().map(|seen| &seen.0).collect::<Vec<_>>()
    );
}

/// The request without our tool at the end of its tools.
fn without_recall(seen: &Seen) -> Vec<u8> {
    let body: Value = serde_json::from_slice(&seen.body).unwrap_or_default();
    match offered(&body) {
        Some(tool) => {
            let body = String::from_utf8(seen.body.clone()).unwrap();
            let parts: Vec<&str> = body.split(&format!(",{tool}")).collect();
            assert_eq!(parts.len(), 2, "it stands there once: {body}");
            parts.concat().into_bytes()
        }
        None => seen.body.clone(),
    }
}

fn target(seen: &Seen) -> String {
    if seen.query.is_empty() { seen.path.clone() } else { format!("{}?{}", seen.path, seen.query) }
}

/// Plays a scene one way only, and looks at it before it is over.
pub(crate) fn through(way: Way<'_>, script: impl Script, act: impl FnOnce(&Stage)) -> Stopped {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("stage");
    let stage = Stage::set(&folder, script, way);
    act(&stage);
    let mut stopped = match stage.proxy {
        Some((serve, _)) => serve.stop(),
        None => Stopped::in_folder(&folder),
    };
    stopped.keep(root);
    stopped
}

/// What keeps Codex on loopback, and the provider.
const CODEX: &str = r#"
model = "gpt-5.5"
model_provider = "scripted"
check_for_update_on_startup = false
approval_policy = "never"
sandbox_mode = "danger-full-access"
web_search = "disabled"
SETTINGS
[analytics]
enabled = false
[feedback]
enabled = false
[otel]
exporter = "none"
trace_exporter = "none"
metrics_exporter = "none"
[features]
plugins = false
apps = false
[model_providers.scripted]
name = "NAME"
base_url = "URL/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
supports_websockets = false
request_max_retries = 2
stream_max_retries = 2
"#;
