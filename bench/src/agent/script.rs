//! What the model does: a command a step, and then words. Every result that comes back is checked.

use serde_json::{Value, json};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use throughline_testkit::{Answer, Reply, Seen, Server};

/// Lines of a long output: some 20 KB.
const LINES: usize = 380;

/// The server, and what is played on it.
pub(super) struct Stage {
    server: Server,
    play: Arc<Mutex<Play>>,
}

/// A conversation as the server saw it.
#[derive(Clone, Default)]
pub(super) struct Play {
    steps: usize,
    asked: usize,
    /// Requests that offered no shell: a title, notes and the like.
    beside: usize,
    wrong: Vec<String>,
    pub(super) bodies: Vec<Vec<u8>>,
}

impl Stage {
    pub(super) fn start() -> anyhow::Result<Self> {
        let play = Arc::new(Mutex::new(Play::default()));
        let script = {
            let play = Arc::clone(&play);
            move |seen: &Seen| lock(&play).reply(seen)
        };
        let server = Server::start(script)?;
        server.keep(1);
        Ok(Self { server, play })
    }

    pub(super) fn url(&self) -> String {
        self.server.url()
    }

    pub(super) fn address(&self) -> std::net::SocketAddr {
        self.server.address()
    }

    /// A new conversation.
    pub(super) fn begin(&self, steps: usize) {
        *lock(&self.play) = Play { steps, ..Play::default() };
    }

    pub(super) fn played(&self) -> Play {
        lock(&self.play).clone()
    }
}

fn lock(play: &Mutex<Play>) -> MutexGuard<'_, Play> {
    play.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Play {
    fn reply(&mut self, seen: &Seen) -> Reply {
        self.bodies.push(seen.body.clone());
        let tools = seen.tools();
        let (tool, argument) = if tools.contains(&"Bash") {
            ("Bash", "command")
        } else if tools.contains(&"exec_command") {
            ("exec_command", "cmd")
        } else {
            self.beside += 1;
            return "Nothing to add.".into();
        };
        if self.asked > 0 {
            let result = last_result(seen.json());
            if !result.contains(said(self.asked).trim_end()) {
                self.wrong.push(format!("step {} came back as {result:.300}", self.asked));
            }
        }
        self.asked += 1;
        if self.asked > self.steps {
            return "All steps are done.".into();
        }
        let mut input = json!({ argument: command(self.asked) });
        if tool == "exec_command" {
            // Both run `bash -c`: without this it would be a login shell.
            input["login"] = false.into();
        }
        Answer::empty().call(tool, input).into()
    }

    /// Whether the whole conversation took place, with every result as it should be.
    pub(super) fn check(&self, steps: usize) -> anyhow::Result<()> {
        anyhow::ensure!(self.wrong.is_empty(), "wrong results: {:?}", self.wrong);
        anyhow::ensure!(
            self.asked == steps + 1 && self.beside == 0,
            "{} requests and {} beside, of {}",
            self.asked,
            self.beside,
            steps + 1
        );
        Ok(())
    }
}

/// What the model has run at a step, from 1.
pub(super) fn command(step: usize) -> String {
    if step.is_multiple_of(5) {
        format!("printf 'step {step}: line %s of a command that has a lot to say\\n' {{1..{LINES}}}")
    } else {
        format!("echo step {step}")
    }
}

/// What that prints.
fn said(step: usize) -> String {
    if step.is_multiple_of(5) {
        (1..=LINES)
            .map(|line| format!("step {step}: line {line} of a command that has a lot to say\n"))
            .collect()
    } else {
        format!("step {step}\n")
    }
}

/// The newest result of a call in a request.
fn last_result(body: &Value) -> String {
    let input = body["input"].as_array().map(Vec::as_slice).unwrap_or_default();
    let last = input.iter().rev().find(|item| item["type"] == "function_call_output");
    match last.map(|item| &item["output"]) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => String::new(),
    }
}
