//! Claude Code.

mod agents;
mod compaction;
mod errors;
mod long;
mod shapes;
mod takeover;
mod tools;

use crate::kit::says;
use serde_json::{Value, json};
use throughline_testkit::Answer;

const SESSION: &str = "6d0a1d70-5f0e-4c58-9d0b-0a5b3a1c0001";

/// What a command is called with.
fn bash(command: &str) -> Value {
    json!({ "command": command, "description": "Look" })
}

/// A word, and a command.
fn runs(text: &str, command: &str) -> Answer {
    says(text).call("Bash", bash(command))
}

/// What the session is asked, under a name that does not change.
fn asked(prompt: &'static str) -> [&'static str; 4] {
    ["-p", prompt, "--session-id", SESSION]
}
