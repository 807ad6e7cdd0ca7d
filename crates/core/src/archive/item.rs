//! Blocks as the archive sees them: who speaks, what it says, and how a line about it begins.

use crate::entity::{self, Entity};
use crate::text::{head, one_line, tail};
use crate::{Body, CallId, Fragment, Message, Role, Speaker, ToolCall};
use serde_json::Value;
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
            Some((Part { voice, head: Box::default(), target: None, text: text.as_str().into() }, None))
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
    let json = call.input.to_json();
    let text: Cow<'_, str> = match &json {
        Some(value) => values(value).into(),
        None => call.input.to_text(),
    };
    let field = |names: &[&str]| {
        let object = json.as_ref()?.as_object()?;
        names.iter().find_map(|name| object.get(*name)).map(line_of)
    };
    let target = field(&TARGETS).or_else(|| patched(&text)).map(String::into_boxed_str);
    let head = match (&target, field(&DEEDS)) {
        (None, Some(deed)) => deed,
        (Some(_), _) | (None, None) => call.name.clone(),
    };
    Part { voice: Voice::Call, head: head.into(), target, text }
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
    let text = match value {
        Value::Array(all) => match all.last() {
            Some(Value::String(last)) => last.clone(),
            Some(_) | None => value.to_string(),
        },
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.to_string(),
    };
    one_line(without_cd(&text), LONGEST_HEAD)
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
