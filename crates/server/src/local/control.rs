//! Control calls for programs: what the pages show, as JSON.

use super::pages::{EDITS, MESSAGES};
use super::story::{Change, Length, Line, Story, Undo, words};
use super::{Call, data, people, respond};
use crate::guard::Holder;
use crate::manage::{By, ManageError, stats};
use crate::relay::Body;
use crate::serve::Shared;
use http::{Method, Response, StatusCode};
use jiff::Timestamp;
use serde_json::{Value, json};
use throughline_core::text::middle_cut;
use throughline_core::{EditId, SessionId, View};
use throughline_ledger::LedgerError;

/// Messages and changes of one answer, at most.
const MOST: usize = 500;
/// Bytes of a message's text.
const TEXT: usize = 4_000;

/// Why a call can't be answered.
struct Failed {
    status: StatusCode,
    kind: &'static str,
    message: String,
}

impl Failed {
    fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Self {
        Self { status, kind, message: message.into() }
    }
}

impl From<LedgerError> for Failed {
    fn from(error: LedgerError) -> Self {
        let (status, kind) = match &error {
            LedgerError::NoSession(_) => (StatusCode::NOT_FOUND, "no_session"),
            LedgerError::Locked { .. } => (StatusCode::CONFLICT, "locked"),
            LedgerError::AlreadyUndone(_) | LedgerError::Undo(_) | LedgerError::NothingToUndo => {
                (StatusCode::CONFLICT, "not_undoable")
            }
            LedgerError::Io { .. }
            | LedgerError::Outside { .. }
            | LedgerError::Ambiguous { .. }
            | LedgerError::Exists(_)
            | LedgerError::NoMessage { .. }
            | LedgerError::TooFewTurns { .. }
            | LedgerError::Encode(_) => (StatusCode::INTERNAL_SERVER_ERROR, "ledger"),
        };
        Self::new(status, kind, error.to_string())
    }
}

impl From<ManageError> for Failed {
    fn from(error: ManageError) -> Self {
        match error {
            ManageError::Ledger(error) => error.into(),
            ManageError::Prepare(_)
            | ManageError::Wire(_)
            | ManageError::Injected(_)
            | ManageError::Write(_)
            | ManageError::Panicked
            | ManageError::TooSlow(_) => {
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, "session", error.to_string())
            }
        }
    }
}

/// An error as a value.
pub(super) fn error(status: StatusCode, kind: &str, message: &str) -> Response<Body> {
    respond::json(status, &json!({ "error": { "type": kind, "message": message } }))
}

/// Answers a control call; `path` is what comes behind `/throughline/api/`.
pub(super) fn answer(shared: &Shared, call: &Call, path: &[&str]) -> Response<Body> {
    // A cookie alone is no proof that a program of the user's asks; pages have their own calls.
    if call.holder == Holder::Cookie && call.method != Method::GET {
        return error(StatusCode::FORBIDDEN, "token", "send the token as a bearer token");
    }
    match value(shared, call, path) {
        Ok(value) => respond::json(StatusCode::OK, &value),
        Err(Failed { status, kind, message }) => error(status, kind, &message),
    }
}

fn value(shared: &Shared, call: &Call, path: &[&str]) -> Result<Value, Failed> {
    let get = call.method == Method::GET;
    match path {
        ["sessions"] if get => Ok(sessions(shared)),
        ["sessions", id] if get => session(shared, call, id),
        ["sessions", id, "edits"] if get => edits(shared, call, id),
        ["sessions", id, "undo"] if call.method == Method::POST => undo(shared, call, id),
        ["sessions", id, "pause"] if call.method == Method::POST => pause(shared, id, true),
        ["sessions", id, "resume"] if call.method == Method::POST => pause(shared, id, false),
        ["sessions", id, "forget"] if call.method == Method::POST => {
            let known =
                shared.manager.as_ref().is_some_and(|manager| manager.hub.forget(&SessionId::new(*id)));
            Ok(json!({ "forgotten": known }))
        }
        ["stats"] if get => all_stats(shared, call),
        ["sessions", ..] | ["stats"] => {
            Err(Failed::new(StatusCode::METHOD_NOT_ALLOWED, "method", "this can't be done here"))
        }
        _ => Err(Failed::new(
            StatusCode::NOT_FOUND,
            "not_found",
            "there is no such call; docs/proxy-api.md lists them",
        )),
    }
}

fn sessions(shared: &Shared) -> Value {
    let (reports, _) = data::reports(shared.manager.as_ref());
    let reports: Vec<Value> =
        reports.iter().map(|(at, report)| json!({ "at": at, "report": report })).collect();
    match &shared.manager {
        Some(manager) => {
            let mut value = serde_json::to_value(manager.snapshot()).unwrap_or_default();
            value["managed"] = json!(true);
            value["reports"] = json!(reports);
            value
        }
        None => json!({ "managed": false, "sessions": [], "reports": [] }),
    }
}

fn session(shared: &Shared, call: &Call, id: &str) -> Result<Value, Failed> {
    let looked = data::look(shared, id)?;
    let story = &looked.story;
    let context: serde_json::Map<String, Value> = story
        .shares()
        .iter()
        .map(|(fate, share)| {
            let name = serde_json::to_value(fate).unwrap_or_default();
            (name.as_str().unwrap_or_default().to_owned(), serde_json::to_value(share).unwrap_or_default())
        })
        .collect();
    let (from, count) = range(call, MESSAGES);
    let messages: Vec<Value> = story
        .lines
        .iter()
        .enumerate()
        .skip(from)
        .take(count)
        .map(|(at, line)| message(story, at, line))
        .collect();
    Ok(json!({
        "id": looked.id,
        "title": looked.title,
        "live": looked.snapshot,
        "context": context,
        "left_behind": story.left,
        "messages": { "from": from, "all": story.lines.len(), "list": messages },
        "edits": story.changes.len(),
        "notes": looked.notes,
    }))
}

fn message(story: &Story, at: usize, line: &Line) -> Value {
    json!({
        "at": at,
        "id": line.message.id,
        "who": story.who(&line.message),
        "fate": line.fate,
        "by": line.by,
        "pinned": line.is_pinned,
        "said_tokens": line.said_tokens,
        "shown_tokens": line.shown_tokens,
        "said": middle_cut(&words(&line.message), TEXT),
        "shown": line.shown.as_ref().map(|shown| middle_cut(&words(shown), TEXT)),
    })
}

fn edits(shared: &Shared, call: &Call, id: &str) -> Result<Value, Failed> {
    let looked = data::look(shared, id)?;
    let (from, count) = range(call, EDITS);
    let all = looked.story.changes.len();
    let list: Vec<Value> = looked
        .story
        .changes
        .iter()
        .rev()
        .skip(from)
        .take(count)
        .map(|change| edit(&looked.story, change, &looked.resumed))
        .collect();
    Ok(json!({ "from": from, "all": all, "list": list }))
}

fn edit(story: &Story, change: &Change, resumed: &View) -> Value {
    let (passages, places) = story.passages(change, Length::LISTED);
    let undo = change.undo(resumed);
    json!({
        "id": change.id(),
        "at": change.at(),
        "stage": change.stage(),
        "what": change.title(),
        "reason": change.reason(),
        "freed": change.freed(),
        "in_force": change.is_live,
        "undoes": change.undoes(),
        "undo": undo.name(),
        "why_not": match undo {
            Undo::No(why) => Some(why),
            Undo::Possible | Undo::Redo | Undo::Done => None,
        },
        "places": places,
        "passages": passages,
    })
}

fn undo(shared: &Shared, call: &Call, id: &str) -> Result<Value, Failed> {
    let said: Value = serde_json::from_slice(&call.body).unwrap_or_default();
    let Some(edit) = said["edit"].as_str() else {
        let how = "say which: {\"edit\": \"…\"}, with an id from /throughline/api/sessions/<id>/edits";
        return Err(Failed::new(StatusCode::BAD_REQUEST, "no_edit", how));
    };
    people::undo(shared, &SessionId::new(id), &EditId::from(edit), By::Control)?;
    Ok(json!({ "undone": edit }))
}

fn pause(shared: &Shared, id: &str, on: bool) -> Result<Value, Failed> {
    people::pause(shared, &SessionId::new(id), on, By::Control)?;
    Ok(json!({ "paused": on }))
}

fn all_stats(shared: &Shared, call: &Call) -> Result<Value, Failed> {
    let since = match call.query.get("since").filter(|since| !since.is_empty()) {
        None => None,
        Some(since) => Some(since.parse::<Timestamp>().map_err(|error| {
            let message = format!("`since` is no time ({error}); write it like 2026-11-16T00:00:00Z");
            Failed::new(StatusCode::BAD_REQUEST, "since", message)
        })?),
    };
    let (stats, unread) = stats(&shared.settings.home, since)?;
    let mut value = serde_json::to_value(stats).unwrap_or_default();
    value["unread"] = unread.iter().map(LedgerError::to_string).collect();
    Ok(value)
}

/// Which part of a list: `?from=0&count=50`.
fn range(call: &Call, usual: usize) -> (usize, usize) {
    let count = call.query.number("count").unwrap_or(usual).min(MOST);
    (call.query.number("from").unwrap_or_default(), count)
}
