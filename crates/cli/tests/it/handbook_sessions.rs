//! Sessions of Claude Code and Codex that tests write, as those clients would have left them.

use crate::common::Machine;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// What somebody said, and what was answered.
pub(crate) type Turn<'a> = (&'a str, &'a str);

/// A session of Claude Code, held on a day at noon.
pub(crate) fn claude(machine: &Machine, cwd: &Path, (id, day): (&str, &str), turns: &[Turn<'_>]) -> PathBuf {
    let folder = machine.dir.path().join(".claude/projects").join(cwd.to_string_lossy().replace('/', "-"));
    let mut lines = Vec::new();
    let mut parent = Value::Null;
    let messages = turns.iter().flat_map(|(user, assistant)| [("user", *user), ("assistant", *assistant)]);
    for (n, (role, text)) in messages.enumerate() {
        let uuid = format!("{id}-{n:04}");
        let content = if role == "user" { json!(text) } else { json!([{ "type": "text", "text": text }]) };
        lines.push(json!({
            "parentUuid": parent, "isSidechain": false, "userType": "external", "cwd": cwd, "sessionId": id,
            "version": "2.1.33", "gitBranch": "main", "type": role, "uuid": uuid,
            "timestamp": format!("{day}T12:{:02}:00.000Z", n % 60),
            "message": { "role": role, "content": content, "model": "claude-opus-4-5", "id": format!("msg_{n}"), "type": "message" },
        }));
        parent = json!(uuid);
    }
    write(folder.join(format!("{id}.jsonl")), &lines)
}

/// A session of Codex, held on a day at noon.
pub(crate) fn codex(machine: &Machine, cwd: &Path, (id, day): (&str, &str), turns: &[Turn<'_>]) -> PathBuf {
    let folder = machine.dir.path().join(".codex/sessions").join(day.replace('-', "/"));
    let at = |n: usize| format!("{day}T12:{:02}:00.000Z", n % 60);
    let mut lines = vec![json!({ "timestamp": at(0), "type": "session_meta", "payload": {
        "id": id, "timestamp": at(0), "cwd": cwd, "originator": "codex-tui", "cli_version": "0.142.2", "source": "cli",
    } })];
    let messages = turns.iter().flat_map(|(user, assistant)| [("user", *user), ("assistant", *assistant)]);
    for (n, (role, text)) in messages.enumerate() {
        let kind = if role == "user" { "input_text" } else { "output_text" };
        lines.push(json!({ "timestamp": at(n + 1), "type": "response_item", "payload": {
            "type": "message", "role": role, "content": [{ "type": kind, "text": text }],
        } }));
        if role == "user" {
            lines.push(json!({ "timestamp": at(n + 1), "type": "event_msg", "payload": {
                "type": "user_message", "message": text, "images": [],
            } }));
        }
    }
    write(folder.join(format!("rollout-{day}T12-00-00-{id}.jsonl")), &lines)
}

fn write(path: PathBuf, lines: &[Value]) -> PathBuf {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(&path, text).unwrap();
    path
}

/// A machine on which somebody worked in two projects, by two clients.
pub(crate) struct Office {
    pub(crate) machine: Machine,
    pub(crate) app: PathBuf,
    pub(crate) site: PathBuf,
}

pub(crate) const TESTS: &str = "From now on always run `make check` before you commit.";
pub(crate) const LOCK: &str = "Never edit package-lock.json by hand; let npm write it.";
pub(crate) const SITE: &str = "From now on write the headings of the site in lower case, always.";

impl Office {
    pub(crate) fn new() -> Self {
        let machine = Machine::empty();
        let [app, site] = ["app", "site"].map(|name| {
            let folder = machine.dir.path().join("code").join(name);
            fs::create_dir_all(&folder).unwrap();
            // The projects of recorded sessions are known by their real folders.
            folder.canonicalize().unwrap()
        });
        let done = "Done: renamed, and the checks pass.";
        let office = Self { machine, app, site };
        office.app_session(
            "aaaaaaaa-0000-4000-8000-000000000001",
            "2026-01-05",
            &[(TESTS, done), ("Rename the login page.", done)],
        );
        office.app_session(
            "aaaaaaaa-0000-4000-8000-000000000002",
            "2026-02-05",
            &[("Fix the crash in the parser.", done), (TESTS, done)],
        );
        office.app_session(
            "aaaaaaaa-0000-4000-8000-000000000003",
            "2026-03-05",
            &[(LOCK, done), ("Now the colours.", done)],
        );
        let turns = [(SITE, done), ("Move the footer.", done)];
        codex(&office.machine, &office.site, ("019cd51e-4a70-7c31-9b52-6f0d3e8a1c77", "2026-03-17"), &turns);
        office
    }

    pub(crate) fn app_session(&self, id: &str, day: &str, turns: &[Turn<'_>]) {
        claude(&self.machine, &self.app, (id, day), turns);
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.machine.dir.path().join("throughline")
    }

    pub(crate) fn command(&self, folder: &Path, arguments: &[&str]) -> assert_cmd::Command {
        let mut command = self.machine.command();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.current_dir(folder).args(arguments);
        command
    }

    /// What a command prints that succeeds, run in the project `app`.
    pub(crate) fn text(&self, arguments: &[&str]) -> String {
        let output = self.command(&self.app, arguments).assert().success();
        String::from_utf8(output.get_output().stdout.clone()).unwrap()
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.text(&[arguments, &["--json"]].concat())).unwrap()
    }

    /// The exit code, what was printed, and what was said on standard error.
    pub(crate) fn ends(&self, arguments: &[&str]) -> (i32, String, String) {
        let output = self.command(&self.app, arguments).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    pub(crate) fn book(&self, name: &str) -> String {
        let listed = self.json(&["memory", "handbook", "list"]);
        let of = |book: &&Value| book["name"].as_str().unwrap().contains(name);
        let found = listed["handbooks"].as_array().unwrap().iter().find(of);
        let path = found.unwrap_or_else(|| panic!("{name}: {listed}"))["path"].as_str().unwrap().to_owned();
        fs::read_to_string(path).unwrap()
    }
}
