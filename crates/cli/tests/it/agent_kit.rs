//! A folder to work in, and the real binary driven by lines.

use crate::common::Machine;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;
use throughline_testkit::Server;

/// The formats that providers speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    Anthropic,
    Responses,
}

impl Wire {
    /// Two models of a provider.
    pub(crate) fn model(self, n: usize) -> &'static str {
        match self {
            Self::Anthropic => ["claude-sonnet-4-5", "claude-opus-4-5"][n],
            Self::Responses => ["gpt-5", "gpt-5-mini"][n],
        }
    }

    fn variables(self, server: &Server) -> Vec<(&'static str, String)> {
        match self {
            Self::Anthropic => {
                vec![("ANTHROPIC_API_KEY", "sk-test-1".to_owned()), ("ANTHROPIC_BASE_URL", server.url())]
            }
            Self::Responses => {
                vec![
                    ("OPENAI_API_KEY", "sk-test-1".to_owned()),
                    ("OPENAI_BASE_URL", format!("{}/v1", server.url())),
                ]
            }
        }
    }
}

/// A machine with a project, and a provider.
pub(crate) struct Workshop {
    machine: Machine,
    variables: Vec<(&'static str, String)>,
    wire: Wire,
}

pub(crate) fn workshop(server: &Server, wire: Wire) -> Workshop {
    let machine = Machine::empty();
    std::fs::create_dir_all(machine.dir.path().join("project")).unwrap();
    Workshop { machine, variables: wire.variables(server), wire }
}

/// Nothing here takes so long, whatever else the machine does.
const PATIENCE: Duration = Duration::from_secs(180);

impl Workshop {
    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.machine.dir.path().join("project").join(file)
    }

    pub(crate) fn write(&self, file: &str, text: &str) {
        let path = self.path(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, file: &str) -> String {
        let path = self.path(file);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    pub(crate) fn config(&self, text: &str) {
        let home = self.machine.dir.path().join("throughline");
        std::fs::create_dir_all(&home).unwrap();
        std::fs::write(home.join("config.toml"), text).unwrap();
    }

    /// The ledgers that there are.
    pub(crate) fn sessions(&self) -> Vec<PathBuf> {
        let home = throughline_ledger::Home::new(self.machine.dir.path().join("throughline"));
        home.ledgers().unwrap_or_default()
    }

    /// What `sessions list` shows.
    pub(crate) fn list(&self) -> String {
        self.machine.text(&["sessions", "list"])
    }

    pub(crate) fn wait_for_file(&self, file: &str) {
        let until = std::time::Instant::now() + PATIENCE;
        while !self.path(file).exists() {
            assert!(std::time::Instant::now() < until, "{file} never came");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// A command of the binary in the project's folder.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("throughline"));
        command
            .env_clear()
            .env("HOME", self.machine.dir.path())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("TZ", "UTC")
            .env("THROUGHLINE_HOME", self.machine.dir.path().join("throughline"))
            .envs(self.variables.iter().cloned())
            .current_dir(self.path(""))
            .args(arguments);
        command
    }

    /// `exec` with a prompt: what it prints, what it complains about, and its exit status.
    pub(crate) fn exec(&self, arguments: &[&str]) -> (String, String, i32) {
        let mut command = self.command(&["exec", "--model", self.wire.model(0)]);
        let output = command.args(arguments).stdin(Stdio::null()).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&output.stdout), text(&output.stderr), output.status.code().unwrap_or(-1))
    }

    /// `exec`, driven line by line.
    pub(crate) fn start(&self, arguments: &[&str]) -> Agent {
        let streams = ["exec", "--input-format", "stream-json", "--output-format", "stream-json"];
        let mut command = self.command(&streams);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().unwrap();
        let (send, lines) = mpsc::channel();
        let out = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                let value: Value = serde_json::from_str(&line).unwrap_or_else(|_| json!({"not json": line}));
                if send.send(value).is_err() {
                    break;
                }
            }
        });
        let stdin = child.stdin.take();
        let mut agent = Agent { child, stdin, lines, ledger: PathBuf::new() };
        let begun = agent.until(|event| event["type"] == "session");
        agent.ledger = PathBuf::from(begun["ledger"].as_str().unwrap());
        agent
    }
}

/// The binary, while it runs.
pub(crate) struct Agent {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: mpsc::Receiver<Value>,
    pub(crate) ledger: PathBuf,
}

impl Agent {
    pub(crate) fn send(&mut self, line: &Value) {
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    pub(crate) fn say(&mut self, text: &str) {
        self.send(&json!({"type": "user", "text": text}));
    }

    pub(crate) fn until(&mut self, is: impl Fn(&Value) -> bool) -> Value {
        loop {
            let event = self
                .lines
                .recv_timeout(PATIENCE)
                .unwrap_or_else(|error| panic!("the agent says nothing more: {error}"));
            if is(&event) {
                return event;
            }
        }
    }

    pub(crate) fn until_result(&mut self) -> Value {
        self.until(|event| event["type"] == "result")
    }

    /// As by `kill -9`.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn finish(mut self) {
        drop(self.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
}
