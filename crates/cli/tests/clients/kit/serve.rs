//! `throughline serve`.

use serde_json::Value;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// The proxy, as a user starts it.
pub(crate) struct Serve {
    child: Child,
    /// `http://127.0.0.1:PORT`.
    pub(crate) url: String,
    home: PathBuf,
}

impl Serve {
    /// Starts it before a provider. What it keeps goes below `folder`; `config` is the user's configuration.
    pub(crate) fn start(folder: &Path, provider: &str, config: &str) -> Self {
        let home = folder.join("throughline");
        std::fs::create_dir_all(&home).unwrap();
        std::fs::write(home.join("config.toml"), config).unwrap();
        let mut child = throughline(folder)
            .args(["serve", "--port", "0", "--json", "--anthropic", provider, "--openai", provider])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(folder.join("serve.err")).unwrap())
            .spawn()
            .unwrap();
        let said = serde_json::Deserializer::from_reader(BufReader::new(child.stdout.take().unwrap()));
        let said: Value = said.into_iter().next().expect("the proxy says where it listens").unwrap();
        let url = said["address"].as_str().unwrap().to_owned();
        Self { child, url, home: folder.to_owned() }
    }

    /// Stops it as a user does. What it learnt is in its ledgers then.
    pub(crate) fn stop(mut self) -> Stopped {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success(), "the proxy ends well: {}", self.complaints());
        Stopped { folder: self.home.clone(), complaints: self.complaints(), root: None }
    }

    fn complaints(&self) -> String {
        let said = std::fs::read_to_string(self.home.join("serve.err")).unwrap();
        // Memory waits for a later request where the machine is busy.
        let is_usual =
            |line: &&str| line.starts_with("stopping: ") || line.contains("could not be read in time");
        said.lines().filter(|line| !is_usual(line)).map(|line| format!("{line}\n")).collect()
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        // Where a test fails: it may be over already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a proxy left behind.
pub(crate) struct Stopped {
    folder: PathBuf,
    /// What it said on standard error.
    pub(crate) complaints: String,
    /// Holds the folder.
    root: Option<TempDir>,
}

impl Stopped {
    /// What was left in a folder by a proxy that is over.
    pub(super) fn in_folder(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), complaints: String::new(), root: None }
    }

    pub(super) fn keep(&mut self, root: TempDir) {
        self.root = Some(root);
    }

    /// The sessions that it kept, sub-agents' included.
    pub(crate) fn sessions(&self) -> Vec<Value> {
        let listed = self.json(&["sessions", "list", "--agents", "--json"]);
        listed["sessions"].as_array().unwrap().clone()
    }

    /// The messages of a session, in order.
    pub(crate) fn messages(&self, session: &Value) -> Vec<Value> {
        let shown = self.json(&["sessions", "show", session["session"].as_str().unwrap(), "--json"]);
        let records = shown["records"].as_array().unwrap().iter().map(|read| read["record"].clone());
        records.filter(|record| record["kind"] == "message").collect()
    }

    /// What a command says of them.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let output = throughline(&self.folder).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

/// The program under test, with nothing of this machine's in its environment.
pub(crate) fn throughline(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_throughline"));
    command
        .env_clear()
        .env("HOME", folder)
        .env("TZ", "UTC")
        .env("THROUGHLINE_HOME", folder.join("throughline"));
    command.current_dir(folder);
    command
}
