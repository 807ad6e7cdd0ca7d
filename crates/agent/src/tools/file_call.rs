//! What the file tools have in common: their input, and running where waiting for a disk holds nobody up.

use crate::{FileDiff, Shown, ToolOutput};
use serde_json::{Map, Value};
use std::path::Path;
use throughline_model::CancelToken;

/// A difference of larger files is not shown.
const MAX_SHOWN: usize = 1024 * 1024;

/// A call's input, field by field. Errors are for the model. A field that is null is taken as left out.
#[derive(Clone, Copy)]
pub(super) struct Args<'a>(&'a Map<String, Value>);

impl<'a> Args<'a> {
    pub(super) fn of(input: &'a Value) -> Result<Self, String> {
        input.as_object().map(Self).ok_or_else(|| "the input must be a JSON object".to_owned())
    }

    pub(super) fn get(self, name: &str) -> Option<&'a Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn text(self, name: &str) -> Result<&'a str, String> {
        self.optional_text(name)?.ok_or_else(|| format!("`{name}` is missing: give it as a string"))
    }

    pub(super) fn optional_text(self, name: &str) -> Result<Option<&'a str>, String> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(format!("`{name}` must be a string, not {}", kind(other))),
        }
    }

    /// A whole number, also where it came as text.
    pub(super) fn number(self, name: &str) -> Result<Option<u64>, String> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let number = match value {
            Value::Number(number) => number.as_u64().or_else(|| whole(number.as_f64()?)),
            Value::String(text) => text.trim().parse().ok(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        };
        number.map(Some).ok_or_else(|| format!("`{name}` must be a whole number, zero or more, not {value}"))
    }

    pub(super) fn flag(self, name: &str, default: bool) -> Result<bool, String> {
        match self.get(name) {
            None => Ok(default),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(Value::String(text)) if text == "true" => Ok(true),
            Some(Value::String(text)) if text == "false" => Ok(false),
            Some(other) => Err(format!("`{name}` must be true or false, not {}", kind(other))),
        }
    }
}

fn whole(number: f64) -> Option<u64> {
    // Beyond 2^53 floats are no longer exact.
    (number.fract() == 0.0 && (0.0..9e15).contains(&number)).then_some(number as u64)
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Runs work that only looks. It is left alone when the call is cancelled, and should notice soon itself.
pub(super) async fn look(
    cancel: CancelToken,
    work: impl FnOnce() -> Result<ToolOutput, String> + Send + 'static,
) -> ToolOutput {
    let handle = tokio::task::spawn_blocking(work);
    tokio::select! {
        outcome = handle => finish(outcome),
        () = cancel.cancelled() => stopped(),
    }
}

/// Runs work that changes something: it is not begun once the call is cancelled, and once begun it is waited for.
pub(super) async fn act(
    cancel: CancelToken,
    work: impl FnOnce() -> Result<ToolOutput, String> + Send + 'static,
) -> ToolOutput {
    if cancel.is_cancelled() {
        return stopped();
    }
    finish(tokio::task::spawn_blocking(work).await)
}

fn finish(outcome: Result<Result<ToolOutput, String>, tokio::task::JoinError>) -> ToolOutput {
    match outcome {
        Ok(Ok(output)) => output,
        Ok(Err(reason)) => ToolOutput::failed(reason),
        Err(error) => ToolOutput::failed(format!("the tool broke off: {error}")),
    }
}

fn stopped() -> ToolOutput {
    ToolOutput::failed("Stopped before it was done; nothing was changed.")
}

/// A change, for people.
pub(super) fn shown_change(path: &Path, before: Option<&[u8]>, after: &[u8]) -> Shown {
    if before.map_or(0, <[u8]>::len).max(after.len()) > MAX_SHOWN {
        return Shown::Line("changed; the file is too large to show the difference".to_owned());
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Shown::Diff(vec![FileDiff { path: path.to_owned(), before: before.map(text), after: text(after) }])
}

/// `1 line`, `2 lines`.
pub(super) fn counted(count: u64, one: &str, many: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {many}") }
}
