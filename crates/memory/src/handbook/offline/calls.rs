//! Calls and their results, brought together: what was run, what was changed, how it ended.

use super::spot::{Ends, Spot};
use crate::extract::pattern::patterns;
use std::borrow::Cow;
use std::collections::HashMap;
use throughline_core::facts::{Action, Outcome};
use throughline_core::text::{head, tail};
use throughline_core::{CallId, ToolCall, ToolResult};

patterns! {
    RUNNING = r"Process running with session ID (\d+)|running in (?:the )?background with ID: (\S+)";
    FAILED = r"(?m)^.{0,40}\bERROR task failed|^FAIL\b|^--- FAIL|^\s*error(?:\[\w+\])?:|^Error:|^ERROR\b|^fatal:|^panic:|^Traceback \(|npm ERR!|^\S*: command not found|command not found: |No such file or directory|^make(?:\[\d+\])?: \*\*\*|error TS\d|^exit status [1-9]|\b[1-9]\d* (?:failed|failing)\b|^[1-9]\d* issues?:|^error: |\berror\[E\d+\]|^FAILED |BUILD FAILED|Process completed with exit code [1-9]|^\s*✗ |✖ \d+ problems?|Found \d+ errors?";
    DECLINED = r"^(?:The user (?:doesn't want to proceed|rejected|declined|denied)|\[Request interrupted|User (?:rejected|denied|declined)|aborted by user|Exit code 137\s*\[Request interrupted)";
}

/// How much of an output is looked at for signs of failure, from each end.
const LOOK: usize = 3_000;
const MOST_OPEN: usize = 4_096;
const MOST_RUNNING: usize = 64;
/// Of a command no more is kept while it runs.
const LONGEST_COMMAND: usize = 4_096;
/// Longer answers in JSON are taken as they are.
const LONGEST_JSON: usize = 256 << 10;

/// A call that waits for its result.
#[derive(Debug)]
struct Open {
    deeds: Vec<Deed>,
    spot: Spot,
}

/// What a call does, as far as it matters here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    /// A command is run.
    Run(String),
    /// Files are changed.
    Change(Vec<String>),
    /// Something else, by the tool's name.
    Other(String),
}

/// A deed whose result is there.
#[derive(Debug)]
pub(super) struct Done<'a> {
    pub(super) deed: &'a Deed,
    /// Whether it worked; nothing, if that does not show.
    pub(super) worked: Option<bool>,
    /// Whether the status is the client's own word, not guessed by the looks of the output.
    pub(super) is_sure: bool,
    /// What it printed, without the client's frame.
    pub(super) output: &'a str,
    pub(super) ends: Ends<'a>,
}

/// Calls that wait for their results, and commands that go on running.
#[derive(Debug, Default)]
pub(super) struct Calls {
    open: HashMap<CallId, Open>,
    running: HashMap<String, Open>,
}

impl Calls {
    /// Takes in a call.
    pub(super) fn call(&mut self, call: &ToolCall, spot: &Spot) {
        if !call.kind.needs_result() {
            return;
        }
        if self.open.len() >= MOST_OPEN {
            self.open.clear();
        }
        let open = match continued(call).and_then(|session| self.running.remove(&session)) {
            Some(going_on) => going_on,
            None => Open { deeds: deeds(call), spot: spot.clone() },
        };
        self.open.insert(call.id.clone(), open);
    }

    /// Takes in a result, and says what came of the call.
    pub(super) fn result(&mut self, result: &ToolResult, spot: &Spot, mut tell: impl FnMut(Done<'_>)) {
        let Some(open) = self.open.remove(&result.call) else { return };
        let text = result.content.to_text();
        let frame = head(&text, 400);
        if let Some(session) = RUNNING.groups(frame) {
            let session = session.iter().skip(1).find(|id| !id.is_empty()).map_or("", |id| *id).to_owned();
            if self.running.len() >= MOST_RUNNING {
                self.running.clear();
            }
            self.running.insert(session, open);
            return;
        }
        let outcome = Outcome::of(result);
        let output = body(&text);
        let output = &*output;
        let is_declined = DECLINED.is_in(frame.trim_start());
        for deed in &open.deeds {
            let worked = if is_declined { None } else { Some(!outcome.failed) };
            // One status for several commands is nobody's.
            let worked = worked.filter(|_| open.deeds.len() == 1 || !outcome.failed);
            tell(Done {
                deed,
                worked,
                is_sure: outcome.exit.is_some() || result.is_error.is_some(),
                output,
                ends: Ends { call: &open.spot, result: spot },
            });
        }
    }
}

/// Whether an output looks as if something failed, where no status tells.
pub(super) fn looks_failed(output: &str) -> bool {
    let start = head(output, LOOK);
    FAILED.is_in(start) || FAILED.is_in(tail(&output[start.len()..], LOOK))
}

/// The running command that a call writes to or waits for.
fn continued(call: &ToolCall) -> Option<String> {
    match Action::of(call) {
        Action::Continue { session } => Some(session),
        Action::Shell { .. }
        | Action::Script(_)
        | Action::Edit { .. }
        | Action::Write { .. }
        | Action::Read { .. }
        | Action::Search { .. }
        | Action::Todos(_)
        | Action::AddTodo(_)
        | Action::ChangeTodo { .. }
        | Action::Plan(_)
        | Action::Delegate { .. }
        | Action::Web { .. }
        | Action::Ask
        | Action::Other => None,
    }
}

fn deeds(call: &ToolCall) -> Vec<Deed> {
    let action = Action::of(call);
    if let Action::Script(actions) = action {
        return actions.into_iter().filter_map(deed).collect();
    }
    vec![deed(action).unwrap_or_else(|| Deed::Other(call.name.clone()))]
}

fn deed(action: Action) -> Option<Deed> {
    match action {
        Action::Shell { command, .. } => Some(Deed::Run(kept(&command))),
        Action::Edit { paths } => Some(Deed::Change(paths)),
        Action::Write { path } => Some(Deed::Change(vec![path])),
        Action::Script(_)
        | Action::Continue { .. }
        | Action::Read { .. }
        | Action::Search { .. }
        | Action::Todos(_)
        | Action::AddTodo(_)
        | Action::ChangeTodo { .. }
        | Action::Plan(_)
        | Action::Delegate { .. }
        | Action::Web { .. }
        | Action::Ask
        | Action::Other => None,
    }
}

fn kept(command: &str) -> String {
    head(command.trim(), LONGEST_COMMAND).to_owned()
}

/// An output without what a client puts around it.
fn body(text: &str) -> Cow<'_, str> {
    let is_framed = ["Chunk ID:", "Exit code", "Wall time", "Process exited", "Command:", "Script "]
        .iter()
        .any(|start| text.starts_with(start));
    let frame = head(text, 600);
    let rest = match frame.find("Output:\n") {
        Some(at) if is_framed => &text[at + "Output:\n".len()..],
        None if is_framed => text.split_once('\n').map_or("", |(_, rest)| rest),
        Some(_) | None => text,
    };
    // Some scripts print the answer as they got it.
    let json = rest.trim();
    if json.starts_with('{') && json.len() <= LONGEST_JSON && json.contains("\"output\":") {
        let output = throughline_core::parse_json::<serde_json::Value>(json.as_bytes()).ok();
        let output = output.and_then(|answer| Some(answer.get("output")?.as_str()?.to_owned()));
        if let Some(output) = output {
            return Cow::Owned(output);
        }
    }
    Cow::Borrowed(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use throughline_core::{CallKind, ToolInput};

    #[test]
    fn a_command_that_goes_on_running_ends_where_it_is_waited_for() {
        let call = |id: &str, name: &str, input| ToolCall {
            id: id.into(),
            name: name.to_owned(),
            input: ToolInput::Json(input),
            kind: CallKind::Function,
        };
        let spot = Spot { message: "m".into(), at: None };
        let mut calls = Calls::default();
        let mut seen = Vec::new();
        calls.call(&call("1", "exec_command", json!({"cmd": "make test"})), &spot);
        calls.result(
            &ToolResult::text("1".into(), "Chunk ID: 1\nProcess running with session ID 77\nOutput:\n"),
            &spot,
            |_| panic!("not yet"),
        );
        calls.call(&call("2", "write_stdin", json!({"session_id": 77})), &spot);
        calls.result(
            &ToolResult::text("2".into(), "Chunk ID: 2\nProcess exited with code 0\nOutput:\nok"),
            &spot,
            |done| {
                seen.push((done.deed.clone(), done.worked, done.output.to_owned()));
            },
        );
        assert_eq!(seen, [(Deed::Run("make test".to_owned()), Some(true), "ok".to_owned())]);
    }

    #[test]
    fn failure_shows_where_no_status_does() {
        for output in [
            "[lint] ERROR task failed",
            "FAIL\tx\t0.1s",
            "2 failed, 3 passed",
            "1 issues:\n* errcheck: 1",
            "error: x",
        ] {
            assert!(looks_failed(output), "{output}");
        }
        for output in ["ok  \tx\t0.1s", "0 issues.", "5 passed, 0 failed", "no errors found"] {
            assert!(!looks_failed(output), "{output}");
        }
    }
}
