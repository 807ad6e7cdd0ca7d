//! P3b: with a warm cache the view stays as it is, and the request says what the provider's cache may forget.

use super::{CLEARED, clearable, is_cleared, is_cold, old};
use crate::profile::MicrocompactLimits;
use crate::stages::result::{Shown, takes_words, with_content};
use crate::stages::{Scene, freed_by};
use crate::tokens::Counter;
use crate::{Block, CallId, Entry, ResultContent, Role, ToolResult};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::HashSet;

/// The results that the provider's cache was told to forget: carried on every later request, in the order in which they
/// were deleted. The data of an event [`CachedState::EVENT`]; the last one counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CachedState {
    /// The calls whose results they are.
    pub deleted: Vec<CallId>,
}

impl CachedState {
    /// The name of the event that holds the state.
    pub const EVENT: &'static str = "microcompact.cached";

    /// Takes in what [`propose_cached`] found.
    pub fn extend(&mut self, edit: &CachedEdit) {
        let known: HashSet<CallId> = self.deleted.iter().cloned().collect();
        self.deleted.extend(edit.calls.iter().filter(|call| !known.contains(*call)).cloned());
    }

    /// Forgets everything: the view itself was cleared.
    pub fn reset(&mut self) {
        self.deleted.clear();
    }

    /// Forgets results that the view no longer shows: those that an edit removed and those that were cleared in the view
    /// itself. Returns whether anything changed.
    pub fn retain(&mut self, entries: &[Entry]) -> bool {
        if self.deleted.is_empty() {
            return false;
        }
        let shown = Shown::of(entries);
        let results = (0..entries.len()).flat_map(|at| shown.results(at));
        let there: HashSet<&CallId> =
            results.filter(|(_, result)| !is_cleared(result)).map(|(_, result)| &result.call).collect();
        let before = self.deleted.len();
        self.deleted.retain(|call| there.contains(call));
        self.deleted.len() != before
    }
}

/// Results that the provider's cache may forget from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedEdit {
    /// The calls whose results they are, oldest first.
    pub calls: Vec<CallId>,
    /// Tokens that the provider need not read any more; the view keeps them.
    pub freed: u64,
}

/// Of all but the newest [`keep`](MicrocompactLimits::keep) results, those that are in the cache and were not deleted yet;
/// none when the cache is cold.
pub fn propose_cached(
    scene: &Scene<'_>,
    limits: &MicrocompactLimits,
    state: &CachedState,
    counter: &mut Counter,
) -> Option<CachedEdit> {
    if !limits.cached || is_cold(scene, limits) {
        return None;
    }
    // What came after the last answer was not sent yet.
    let sent = scene.entries.iter().rposition(|entry| entry.message.role == Role::Assistant)?;
    let shown = Shown::of(scene.entries);
    let mut deleted: HashSet<&CallId> = state.deleted.iter().collect();
    let mut edit = CachedEdit { calls: Vec::new(), freed: 0 };
    for &place in old(&clearable(scene, &shown, limits), limits).iter().filter(|(at, _)| *at < sent) {
        let Some((block, result)) = shown.result(place) else { continue };
        let freed = saved(counter, block, result);
        if freed > 0 && takes_words(result) && !is_cleared(result) && deleted.insert(&result.call) {
            edit.calls.push(result.call.clone());
            edit.freed += freed;
        }
    }
    (!edit.calls.is_empty()).then_some(edit)
}

/// Tokens that clearing a result frees.
fn saved(counter: &mut Counter, block: &Block, result: &ToolResult) -> u64 {
    let cleared = with_content(block, result, ResultContent::Text(CLEARED.to_owned()));
    freed_by(counter, block, &cleared).max(0) as u64
}

/// Tokens of the view that the provider need not read any more.
pub fn forgotten(scene: &Scene<'_>, state: &CachedState, counter: &mut Counter) -> u64 {
    let deleted: HashSet<&CallId> = state.deleted.iter().collect();
    let shown = Shown::of(scene.entries);
    let results = (0..scene.entries.len()).flat_map(|at| shown.results(at));
    let gone = results.filter(|(_, result)| deleted.contains(&result.call));
    gone.filter_map(|(place, _)| shown.result(place))
        .map(|(block, result)| saved(counter, block, result))
        .sum()
}

/// The deletions as a request carries them: the value of `cache_edits`.
pub fn cache_edits(state: &CachedState) -> Value {
    state.deleted.iter().map(|call| json!({"action": "clear", "tool_use_id": call})).collect()
}
