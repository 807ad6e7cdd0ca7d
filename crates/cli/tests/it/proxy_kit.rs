//! The proxy's commands before a scripted provider, with clients that are small programs: this test binary, under another name.

use crate::common::Machine;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use throughline_testkit::{Answer, Server};

/// The key that nobody may ever see.
pub(crate) const KEY: &str = "sk-test-never-to-be-seen";

/// What a client is told by its variables, beside those of its kind.
const REPORT: &str = "CLIENT_REPORT";
const WORDS: &str = "CLIENT_WORDS";
const ASKS: &str = "CLIENT_ASKS";

/// A machine with a provider, and clients that people have.
pub(crate) struct World {
    pub(crate) machine: Machine,
    pub(crate) provider: Server,
}

impl World {
    pub(crate) fn new() -> Self {
        let world =
            Self { machine: Machine::empty(), provider: Server::start(Answer::text("Good day.")).unwrap() };
        std::fs::create_dir_all(world.path("bin")).unwrap();
        for name in ["claude", "codex", "agent"] {
            world.program(name);
        }
        world
    }

    /// A client of that name. What it saw and was told is in the report.
    fn program(&self, name: &str) {
        let path = self.path("bin").join(name);
        let exe = std::env::current_exe().unwrap();
        let script = format!(
            "#!/bin/sh\n{WORDS}=\nfor word; do {WORDS}=\"${WORDS}$word\n\"; done\nexport {WORDS}\n\
             exec '{}' proxy_kit::the_client --exact --ignored --nocapture\n",
            exe.display()
        );
        std::fs::write(&path, script).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&path, mode).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.machine.dir.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// The binary, in this world.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("throughline"));
        command
            .env_clear()
            .env("HOME", self.machine.dir.path())
            .env("TZ", "UTC")
            .env("THROUGHLINE_HOME", self.path("throughline"))
            .env("PATH", format!("{}:{}", self.path("bin").display(), std::env::var("PATH").unwrap()))
            .env(REPORT, self.path("report.json"))
            .env("ANTHROPIC_API_KEY", KEY)
            .env("OPENAI_API_KEY", KEY)
            .current_dir(self.machine.dir.path())
            .args(arguments)
            .stdin(Stdio::null());
        command
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Told {
        Told::of(self.command(arguments).output().unwrap())
    }

    /// What the client saw.
    pub(crate) fn report(&self) -> Report {
        serde_json::from_slice(&std::fs::read(self.path("report.json")).unwrap()).unwrap()
    }

    /// All files of our home, with what they hold.
    pub(crate) fn kept(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        files(&self.path("throughline"))
    }
}

/// All files below a folder, with what they hold.
pub(crate) fn files(folder: &std::path::Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            found.extend(files(&entry.path()));
        } else {
            found.insert(entry.path(), std::fs::read(entry.path()).unwrap());
        }
    }
    found
}

/// What a command said.
pub(crate) struct Told {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Told {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// A server in the background. It ends with the test.
pub(crate) struct Serving {
    pub(crate) child: Child,
    out: BufReader<ChildStdout>,
    pub(crate) hello: Value,
}

impl Serving {
    pub(crate) fn start(world: &World, arguments: &[&str]) -> Self {
        Self::before(world, &world.provider.url(), arguments)
    }

    /// Before another provider.
    pub(crate) fn before(world: &World, upstream: &str, arguments: &[&str]) -> Self {
        let mut all = vec!["serve", "--json", "--port", "0", "--anthropic", upstream, "--openai", upstream];
        all.extend(arguments);
        let mut command = world.command(&all);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let hello = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        Self { child, out, hello }
    }

    pub(crate) fn address(&self) -> String {
        self.hello["address"].as_str().unwrap().to_owned()
    }

    /// Tells it to end; what it says then, on standard output and standard error.
    pub(crate) fn stop(mut self) -> (Option<i32>, String, String) {
        kill(self.child.id(), "TERM");
        let (mut out, mut err) = (String::new(), String::new());
        self.out.read_to_string(&mut out).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        (self.child.wait().unwrap().code(), out, err)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn kill(pid: u32, signal: &str) {
    let status = Command::new("sh").arg("-c").arg(format!("kill -{signal} {pid}")).status().unwrap();
    assert!(status.success());
}

/// Asks for an answer as a client does.
pub(crate) fn ask(base: &str, path: &str, body: &Value) -> (u16, String) {
    ask_as(base, path, &[], body)
}

/// Asks with headers by which a client says more.
pub(crate) fn ask_as(base: &str, path: &str, headers: &[(&str, &str)], body: &Value) -> (u16, String) {
    let host = base.strip_prefix("http://").unwrap();
    let (host, before) = host.split_once('/').map_or((host, String::new()), |(h, p)| (h, format!("/{p}")));
    let body = body.to_string();
    let mut stream = TcpStream::connect(host).unwrap();
    let key = std::env::var("ANTHROPIC_API_KEY").unwrap_or_default();
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    write!(
        stream,
        "POST {before}{path} HTTP/1.1\r\nHost: {host}\r\nx-api-key: {key}\r\nAuthorization: Bearer {key}\r\n\
         anthropic-version: 2023-06-01\r\nContent-Type: application/json\r\nConnection: close\r\n\
         {headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer)
}

/// A request of a conversation.
pub(crate) fn conversation(words: &str) -> Value {
    json!({"model": "claude-sonnet-4-5", "max_tokens": 20, "messages": [{"role": "user", "content": words}]})
}

/// What a client saw.
#[derive(serde::Serialize, serde::Deserialize)]
pub(crate) struct Report {
    pub(crate) words: Vec<String>,
    pub(crate) variables: BTreeMap<String, String>,
    pub(crate) statuses: Vec<u16>,
    /// What is in the settings that it was given.
    pub(crate) settings: Option<Value>,
}

/// The client, when this binary is started as one: it asks where its variables and words tell it to, and reports what it saw.
#[test]
#[ignore = "is a client of other tests"]
fn the_client() {
    let Ok(file) = std::env::var(REPORT) else { return };
    let words: Vec<String> = std::env::var(WORDS).unwrap_or_default().lines().map(str::to_owned).collect();
    let told = ["BASE", "FIRST_PARTY", "PROXY", "proxy"];
    let variables: BTreeMap<String, String> =
        std::env::vars().filter(|(name, _)| told.iter().any(|part| name.contains(part))).collect();
    let of_words =
        words.iter().find_map(|word| word.split_once("base_url=")).map(|(_, url)| url.trim_matches('"'));
    let mut statuses = Vec::new();
    let asks = std::env::var(ASKS).unwrap_or_else(|_| "1".to_owned());
    for n in 0..asks.parse().unwrap() {
        if let Some(base) = variables.get("ANTHROPIC_BASE_URL") {
            statuses.push(ask(base, "/v1/messages", &conversation(&format!("hello {n}"))).0);
        }
        if let Some(base) = of_words.or(variables.get("OPENAI_BASE_URL").map(String::as_str)) {
            let body = json!({"model": "gpt-5", "input": format!("hello {n}")});
            statuses.push(ask(base, "/responses", &body).0);
        }
    }
    let settings = words.iter().position(|word| word == "--settings").map(|at| &words[at + 1]);
    let settings = settings.map(|file| serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap());
    let report = Report { words, variables, statuses, settings };
    std::fs::write(file, serde_json::to_vec(&report).unwrap()).unwrap();
    println!("said by the client");
    std::process::exit(std::env::var("CLIENT_EXIT").map_or(0, |code| code.parse().unwrap()));
}
