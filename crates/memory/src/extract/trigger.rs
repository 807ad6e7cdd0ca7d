//! When extraction is due (M3). Pure.

use super::limits::ExtractLimits;
use crate::notes::{LastTurn, Thread};
use serde_json::Value;
use std::path::{Component, Path, PathBuf};
use throughline_core::{Message, ToolCall};

/// What there is to see when a turn is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnEnd {
    /// Who is speaking.
    pub thread: Thread,
    /// How the last answer ended.
    pub last_turn: LastTurn,
    /// Whether the main agent wrote a memory itself in this turn: see [`wrote_memory`].
    pub wrote: bool,
}

/// Why there is no extraction after a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skip {
    /// A sub-agent, a fork, an ephemeral session (A5).
    NotMain,
    /// The turn is not over.
    NotComplete,
    /// The main agent wrote by itself: what was said counts as looked at.
    WroteItself,
    /// Too few turns since the last one.
    NotYet,
}

/// Counts the turns of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtractTrigger {
    turns: u32,
}

impl ExtractTrigger {
    /// Says whether an extraction is due now, and counts the turn.
    ///
    /// # Errors
    /// With the reason, if it is not.
    pub fn turn_ended(&mut self, end: TurnEnd, limits: &ExtractLimits) -> Result<(), Skip> {
        match (end.thread, end.last_turn) {
            (Thread::Other, _) => return Err(Skip::NotMain),
            (Thread::Main, LastTurn::Calls) => return Err(Skip::NotComplete),
            (Thread::Main, LastTurn::Rests) => {}
        }
        if end.wrote {
            self.turns = 0;
            return Err(Skip::WroteItself);
        }
        self.turns = self.turns.saturating_add(1);
        if self.turns < limits.every_turns.max(1) {
            return Err(Skip::NotYet);
        }
        self.turns = 0;
        Ok(())
    }
}

/// Whether a call in these messages writes a memory: with a tool of ours, or into one of the folders.
pub fn wrote_memory<'a>(messages: impl IntoIterator<Item = &'a Message>, folders: &[PathBuf]) -> bool {
    messages.into_iter().flat_map(Message::calls).any(|call| writes(call, folders))
}

fn writes(call: &ToolCall, folders: &[PathBuf]) -> bool {
    let Some(input) = call.input.to_json() else { return false };
    let word = |keys: &[&str]| keys.iter().find_map(|key| input.get(*key).and_then(Value::as_str));
    let name = call.name.to_ascii_lowercase();
    if name == "memory" || name.ends_with("__memory") || name.starts_with("memory_") {
        let action = word(&["action", "command"]).unwrap_or_default();
        return matches!(
            action,
            "add" | "forget" | "create" | "str_replace" | "insert" | "delete" | "rename"
        );
    }
    let reads =
        ["read", "grep", "glob", "view", "search", "ls", "list"].iter().any(|verb| name.starts_with(verb));
    let looks = word(&["command"]) == Some("view");
    let path = word(&["file_path", "path", "filepath", "filename", "notebook_path", "target_file"]);
    !reads
        && !looks
        && path.is_some_and(|path| folders.iter().any(|folder| is_inside(Path::new(path), folder)))
}

/// Whether a path lies in a folder, by its parts alone.
fn is_inside(path: &Path, folder: &Path) -> bool {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    plain.starts_with(folder)
}
