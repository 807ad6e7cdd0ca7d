//! The first line of a rollout, and the later ones that look like it.

use super::{At, CodexImporter};
use crate::import::outcome::{ForkRef, Lane, LineOutcome, Output};
use crate::import::session::{happened, timestamp};
use serde_json::{Map, Value, json};
use throughline_core::{MemoryMode, SessionId};

impl CodexImporter {
    /// The first one is the file's own. Later ones repeat it when the session was resumed, or came with history that was
    /// copied from another session.
    pub(super) fn meta(
        &mut self,
        mut payload: Map<String, Value>,
        at: &At<'_>,
        out: &mut Vec<Output>,
    ) -> LineOutcome {
        let id = ["id", "session_id"].iter().find_map(|name| payload.get(*name).and_then(Value::as_str));
        let Some(id) = id.filter(|id| !id.is_empty()).map(SessionId::new) else {
            return LineOutcome::Skipped("session_meta without id".into());
        };
        let memory_mode = payload.get("memory_mode").and_then(Value::as_str);
        if self.own_meta {
            if self.session.facts.session.as_ref() == Some(&id) {
                // Codex says so when the person changes it.
                self.memory_mode(memory_mode);
                return LineOutcome::Skipped("repeated session_meta".into());
            }
            let data = json!({"from": id, "line": self.line});
            self.session.emit(Lane::MAIN, happened(at.time, "copied_history", data), out);
            return LineOutcome::Imported;
        }
        self.own_meta = true;
        self.memory_mode(memory_mode);
        if self.session.is_open() {
            return LineOutcome::Skipped("late session_meta".into());
        }
        let began = timestamp(payload.get("timestamp").and_then(Value::as_str)).or(at.time);
        self.session.seen_at(began);
        let fork = fork_of(&payload);
        let parent = parent_of(&payload);
        let mut text = |name: &str| match payload.shift_remove(name) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        self.session.client_version = text("cli_version");
        let facts = &mut self.session.facts;
        facts.session = Some(id);
        facts.cwd = text("cwd");
        facts.fork = fork;
        facts.parent_session = parent;
        for known in ["id", "session_id", "timestamp"] {
            payload.shift_remove(known);
        }
        // New rollouts wrap the text in an object; both forms say the same.
        let base = payload.shift_remove("base_instructions").or_else(|| payload.shift_remove("instructions"));
        let instructions = match base {
            Some(Value::Object(mut object)) => object.shift_remove("text").or(Some(Value::Object(object))),
            other => other,
        };
        if let Some(instructions) = instructions.filter(|text| !text.is_null()) {
            payload.insert("instructions".to_owned(), instructions);
        }
        payload.retain(|_, value| !value.is_null());
        self.session.extra = payload;
        LineOutcome::Imported
    }

    /// Whether memory may be made of the session. A word that is not known says nothing.
    pub(super) fn memory_mode(&mut self, said: Option<&str>) {
        let facts = &mut self.session.facts;
        facts.memory_mode = match said {
            Some("enabled") => MemoryMode::Enabled,
            Some("disabled") => MemoryMode::Disabled,
            Some("polluted") => MemoryMode::Polluted,
            Some(_) | None => facts.memory_mode,
        };
    }

    /// A file without a first line of its own: the name must tell.
    pub(super) fn identify(&mut self, at: &At<'_>) {
        self.session.seen_at(at.time);
        if self.session.facts.session.is_none() {
            self.session.facts.session = self.options.session.clone();
        }
    }
}

/// A fork names its parent; one that starts at the parent's next ordinal holds none of its history.
fn fork_of(payload: &Map<String, Value>) -> Option<ForkRef> {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(SessionId::new);
    let number = |value: Option<&Value>| value.and_then(Value::as_u64);
    let base = payload.get("history_base").filter(|base| base.is_object());
    let ordinal = number(payload.get("forked_from_ordinal_exclusive")).or_else(|| {
        let of = |name: &str| number(base.and_then(|b| b.get(name)));
        of("end_ordinal_exclusive").or_else(|| of("end_ordinal"))
    });
    if base.is_none() && ordinal.is_none() {
        return None;
    }
    let session = text(base.and_then(|b| b.get("thread_id").or_else(|| b.get("id"))))
        .or_else(|| text(payload.get("forked_from_id")))?;
    Some(ForkRef { session, before_ordinal: ordinal })
}

/// The session whose agent started this one.
fn parent_of(payload: &Map<String, Value>) -> Option<SessionId> {
    let spawn = payload.get("source").and_then(|s| s.pointer("/subagent/thread_spawn/parent_thread_id"));
    payload.get("parent_thread_id").or(spawn).and_then(Value::as_str).map(SessionId::new)
}
