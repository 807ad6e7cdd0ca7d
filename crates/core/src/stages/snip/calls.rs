//! Calls of `Snip` in a history.

use super::{NAME, Request, Tags, parse};
use crate::{CallId, EditId, Entry};

/// A call of the tool in a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnipCall {
    /// The entry that makes it.
    pub at: usize,
    /// The call.
    pub call: CallId,
    /// What it asks for.
    pub request: Request,
}

/// The calls of the tool that still have something to do: at least one of their ids names a message before them.
///
/// They are to be tried oldest first, each on the view that the ones before it left; [`propose_call`](super::propose_call) finds
/// them again there. A session that records edits leaves out those whose [`edit_id`] it has seen, so that what a person undid stays
/// undone.
pub fn find_calls(entries: &[Entry]) -> Vec<SnipCall> {
    let calls = all_calls(entries);
    if calls.is_empty() {
        return calls;
    }
    let tags = Tags::of(entries);
    let names_something = |call: &SnipCall| {
        call.request.ids.iter().any(|id| tags.find(id).is_some_and(|place| place < call.at))
    };
    calls.into_iter().filter(names_something).collect()
}

/// Whether the model calls the tool in a message.
pub fn is_called(message: &crate::Message) -> bool {
    message.calls().any(|call| call.name == NAME)
}

fn all_calls(entries: &[Entry]) -> Vec<SnipCall> {
    let mut found = Vec::new();
    for (at, entry) in entries.iter().enumerate() {
        for call in entry.message.calls().filter(|call| call.name == NAME) {
            found.push(SnipCall { at, call: call.id.clone(), request: parse(&call.input) });
        }
    }
    found
}

/// The id of the edit that a call leads to.
pub fn edit_id(call: &CallId) -> EditId {
    EditId::new(format!("snip-{call}"))
}
