//! Codex.

mod compaction;
mod errors;
mod long;
mod shapes;
mod takeover;
mod tools;

use crate::kit::{Ran, says};
use serde_json::{Value, json};
use throughline_testkit::Answer;

/// What a command is called with.
fn exec(command: &str) -> Value {
    json!({ "cmd": command, "yield_time_ms": 10000 })
}

/// A word, and a command.
fn runs(text: &str, command: &str) -> Answer {
    says(text).call("exec_command", exec(command))
}

/// What it calls the conversation.
fn thread(ran: &Ran) -> String {
    ran.event("thread.started")["thread_id"].as_str().unwrap().to_owned()
}
