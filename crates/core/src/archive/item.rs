//! Blocks as the archive sees them: who speaks, what it says, and how a line about it begins.

use crate::entity::{self, Entity};
use crate::text::{head, one_line, tail};
use crate::{Body, CallId, Fragment, Message, Role, Speaker, ToolCall, ToolInput};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::ops::Range;

/// Who speaks in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Voice {
    /// The user's own words.
    User,
    /// The model's words.
    Prose,
    /// A tool call.
    Call,
    /// A tool's answer.
    Result,
    /// A tool's answer that the client marked as a failure.
    Failure,
    /// What a client put into the conversation.
    Scaffold,
}

impl Voice {
    /// Whether the model or the user wrote it.
    pub(super) fn is_written(self) -> bool {
        match self {
            Self::User | Self::Prose | Self::Call => true,
            Self::Result | Self::Failure | Self::Scaffold => false,
        }
    }

    /// Bytes between two strings that are kept: prose needs its words, calls and results hardly more than their
    /// punctuation.
    pub(super) fn longest_gap(self) -> usize {
        match self {
            Self::User | Self::Prose => 36,
            Self::Call => 8,
            Self::Result | Self::Failure | Self::Scaffold => 4,
        }
    }
}

/// One block, remembered.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) voice: Voice,
    /// How a line about it begins: the tool, or the command itself.
    pub(super) head: Box<str>,
    /// The file a call is about.
    pub(super) target: Option<Box<str>>,
    /// The call that this answers.
    pub(super) after: Option<usize>,
    pub(super) marks: Range<usize>,
}

/// One block, to be taken in.
pub(super) struct Part<'a> {
    pub(super) voice: Voice,
    pub(super) head: Box<str>,
    pub(super) target: Option<Box<str>>,
    pub(super) text: Cow<'a, str>,
}

/// What a message holds for the archive. Calls and results come with the id that joins them.
pub(super) fn parts(message: &Message) -> impl Iterator<Item = (Part<'_>, Option<&CallId>)> {
    let speaks = match message.role {
        Role::System | Role::Developer => false,
        Role::User | Role::Assistant | Role::Tool => !message.flags.display_only,
    };
    let real = message.is_real_user();
    message.blocks.iter().filter(move |_| speaks).filter_map(move |block| match &block.body {
        Body::Text(text) => {
            let voice = match message.role {
                Role::Assistant => Voice::Prose,
                Role::User
                    if real
                        && (message.flags.typed || Fragment::recognise(Speaker::User, text).is_none()) =>
                {
                    Voice::User
                }
                Role::User | Role::Tool | Role::System | Role::Developer => Voice::Scaffold,
            };
            let text = message.text_of(block);
            Some((Part { voice, head: Box::default(), target: None, text }, None))
        }
        Body::ToolCall(call) => Some((of_call(call), Some(&call.id))),
        Body::ToolResult(result) => {
            let voice = if result.is_error == Some(true) { Voice::Failure } else { Voice::Result };
            let part = Part { voice, head: Box::default(), target: None, text: result.content.to_text() };
            Some((part, Some(&result.call)))
        }
        Body::Reasoning { .. } | Body::Image(_) | Body::Document(_) | Body::Unknown(_) => None,
    })
}

/// Bytes of a block that are read: the beginning and the end of what is longer.
const HEAD: usize = 40_000;
const TAIL: usize = 20_000;

/// Scans a block, the middle of a very long one left out.
pub(super) fn scan_cut<'a>(text: &'a str, mut found: impl FnMut(Entity<'a>)) {
    if text.len() <= HEAD + TAIL {
        return entity::scan(text, found);
    }
    entity::scan(head(text, HEAD), &mut found);
    let end = tail(text, TAIL);
    let from = text.len() - end.len();
    entity::scan(end, |entity| found(Entity { at: from + entity.at, ..entity }));
}

/// Arguments that name the file a call is about, then those that say what it does.
const TARGETS: [&str; 4] = ["file_path", "path", "notebook_path", "filename"];
const DEEDS: [&str; 6] = ["command", "cmd", "pattern", "query", "url", "description"];
/// Characters of a command that a line may begin with.
const LONGEST_HEAD: usize = 160;

fn of_call(call: &ToolCall) -> Part<'_> {
    let json: Option<Cow<'_, Value>> = match &call.input {
        ToolInput::Json(value) => Some(Cow::Borrowed(value)),
        ToolInput::JsonText(_) | ToolInput::Text(_) => call.input.to_json().map(Cow::Owned),
    };
    let text: Cow<'_, str> = match &json {
        Some(value) => values(value).into(),
        None => call.input.to_text(),
    };
    let object = json.as_ref().and_then(|value| value.as_object());
    let field = |names: &[&str]| first_of(object?, names).map(line_of);
    let target = field(&TARGETS).or_else(|| patched(&text)).map(String::into_boxed_str);
    let deed = if target.is_none() { field(&DEEDS) } else { None };
    let head = deed.unwrap_or_else(|| call.name.clone());
    Part { voice: Voice::Call, head: head.into(), target, text }
}

/// The value of the first of these names that an object has. A call has few arguments: comparing them costs less than
/// hashing every name.
fn first_of<'v>(object: &'v Map<String, Value>, names: &[&str]) -> Option<&'v Value> {
    let ranked =
        object.iter().filter_map(|(key, value)| Some((names.iter().position(|name| name == key)?, value)));
    ranked.min_by_key(|(rank, _)| *rank).map(|(_, value)| value)
}

/// Every value in a JSON value, one to a line: keys are the tool's, not the session's.
pub(super) fn values(value: &Value) -> String {
    fn walk(value: &Value, out: &mut String) {
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Number(number) => push(out, &number.to_string()),
            Value::String(text) => push(out, text),
            Value::Array(all) => all.iter().for_each(|value| walk(value, out)),
            Value::Object(all) => all.values().for_each(|value| walk(value, out)),
        }
    }
    fn push(out: &mut String, text: &str) {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(text);
    }
    let mut out = String::new();
    walk(value, &mut out);
    out
}

/// A value on one line; of a shell's argument list, the script.
fn line_of(value: &Value) -> String {
    let line = |text: &str| one_line(without_cd(text), LONGEST_HEAD);
    match value {
        Value::Array(all) => match all.last() {
            Some(Value::String(last)) => line(last),
            Some(_) | None => line(&value.to_string()),
        },
        Value::String(text) => line(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => line(&value.to_string()),
    }
}

/// A command without the change of directory before it.
fn without_cd(command: &str) -> &str {
    match command.strip_prefix("cd ").and_then(|rest| rest.split_once("&&")) {
        Some((dir, rest)) if !dir.contains([';', '|', '\n']) => rest.trim_start(),
        Some(_) | None => command,
    }
}

/// The first file that a patch in Codex's form changes.
fn patched(text: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let rest = line.strip_prefix("*** ")?;
        let rest = ["Update File: ", "Add File: ", "Delete File: "]
            .iter()
            .find_map(|mark| rest.strip_prefix(mark))?;
        Some(rest.trim().to_owned())
    })
}
