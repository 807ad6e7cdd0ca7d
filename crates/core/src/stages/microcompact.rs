//! P3, microcompact: old tool results are cleared. Nothing else is: no words of the user, no thinking, no plan, no
//! attachment.
//!
//! In this order, and the first that acts is the only one: [`propose_cold`], when the provider's cache is cold anyway;
//! [`propose_cached`], when it is warm and can be edited in place; [`propose_pressure`], when the context is over a limit.

mod cached;

pub use cached::{CachedEdit, CachedState, cache_edits, forgotten, propose_cached};

use super::pairing::pairs;
use super::result::{self, Place, Shown, takes_words, with_content};
use super::{Proposal, Scene, freed_by, handle, repeated};
use crate::profile::{MicrocompactLimits, ServerLimits};
use crate::tokens::Counter;
use crate::{ResultContent, Role, Stage, ToolResult};
use jiff::SignedDuration;
use serde_json::{Value, json};
use std::collections::HashSet;

/// What stands for a result that was cleared.
pub const CLEARED: &str = "[Old tool result content cleared]";

/// Clears all but the newest [`keep`](MicrocompactLimits::keep) results, when the last answer of the model is older than
/// [`cold_minutes`](MicrocompactLimits::cold_minutes). The state of [`propose_cached`] must be reset then.
pub fn propose_cold(
    scene: &Scene<'_>,
    limits: &MicrocompactLimits,
    counter: &mut Counter,
) -> Option<Proposal> {
    if !is_cold(scene, limits) {
        return None;
    }
    let mut proposal = clear(scene, limits, counter)?;
    proposal.reason = format!("{} after a pause", proposal.reason);
    Some(proposal)
}

/// The share of the context that a pass under pressure must free, as its inverse: each pass costs the cache from the
/// first result on, so that clearing one result at a time would cost more than it saves.
const WORTHWHILE: u64 = 10;

/// Clears all but the newest [`keep`](MicrocompactLimits::keep) results at once, when the context has more than
/// [`pressure_tokens`](MicrocompactLimits::pressure_tokens) and that frees a good part of it.
pub fn propose_pressure(
    scene: &Scene<'_>,
    limits: &MicrocompactLimits,
    counter: &mut Counter,
) -> Option<Proposal> {
    let total = scene.total();
    if total <= limits.pressure_tokens? {
        return None;
    }
    let mut proposal = clear(scene, limits, counter)?;
    if proposal.freed < (total / WORTHWHILE) as i64 {
        return None;
    }
    proposal.reason = format!("{} at {total} tokens", proposal.reason);
    Some(proposal)
}

/// Returns whether the last answer of the model is known to be too old for the provider's cache.
fn is_cold(scene: &Scene<'_>, limits: &MicrocompactLimits) -> bool {
    let last = scene.entries.iter().rfind(|entry| entry.message.role == Role::Assistant);
    match (limits.cold_minutes, scene.now, last.and_then(|entry| entry.message.at)) {
        (Some(minutes), Some(now), Some(at)) => now.duration_since(at) > SignedDuration::from_mins(minutes),
        (None, _, _) | (_, None, _) | (_, _, None) => false,
    }
}

/// Returns whether a result was cleared in the view already.
fn is_cleared(result: &ToolResult) -> bool {
    match &result.content {
        ResultContent::Text(text) => text.starts_with(CLEARED),
        ResultContent::Parts(_) => false,
    }
}

/// The results that may be cleared, oldest first: those of the tools named, by the call that each answers.
fn clearable(scene: &Scene<'_>, shown: &Shown<'_>, limits: &MicrocompactLimits) -> Vec<Place> {
    let tools: HashSet<&str> = limits.tools.iter().map(String::as_str).collect();
    // What stands behind the last answer the model has not seen yet.
    let answered = scene.entries.iter().rposition(|entry| entry.message.role == Role::Assistant).unwrap_or(0);
    pairs(scene.entries, shown)
        .into_iter()
        .filter(|pair| tools.contains(pair.made.name.as_str()))
        .map(|pair| pair.result)
        .filter(|place| place.0 < answered && scene.entries[place.0].pinned.is_none())
        .collect()
}

/// What is old among the results: all but the newest `keep`.
fn old<'a>(places: &'a [Place], limits: &MicrocompactLimits) -> &'a [Place] {
    &places[..places.len().saturating_sub(limits.keep)]
}

fn clear(scene: &Scene<'_>, limits: &MicrocompactLimits, counter: &mut Counter) -> Option<Proposal> {
    let repeated = repeated(scene.entries);
    let mut ops = Vec::new();
    let mut freed = 0;
    let shown = Shown::of(scene.entries);
    for &place in old(&clearable(scene, &shown, limits), limits) {
        let entry = &scene.entries[place.0];
        let Some((block, found)) = shown.result(place) else { continue };
        if repeated.contains(&entry.message.id) || !takes_words(found) || is_cleared(found) {
            continue;
        }
        let note = match scene.tools.recall {
            true => format!("{CLEARED} {}", handle(&entry.message.id)),
            false => CLEARED.to_owned(),
        };
        let with = with_content(block, found, ResultContent::Text(note));
        let saved = freed_by(counter, block, &with);
        if saved > 0 {
            freed += saved;
            ops.push(result::replace(&entry.message.id, place.1, with));
        }
    }
    let reason = match ops.len() {
        0 => return None,
        1 => "1 old tool result was cleared".to_owned(),
        n => format!("{n} old tool results were cleared"),
    };
    Some(Proposal { stage: Stage::Microcompact, reason, ops, freed })
}

/// The feature that a request's `anthropic-beta` header must name before it may carry `context_management` (W4).
pub const SERVER_EDITS_BETA: &str = "context-management-2025-06-27";

/// Whether the model thinks before it answers a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thinking {
    /// It does.
    On,
    /// It does not. The provider rejects an edit of thinking blocks then.
    Off,
}

impl Thinking {
    /// Reads the `thinking` key of a request.
    pub fn from_request(thinking: Option<&Value>) -> Self {
        match thinking.and_then(|thinking| thinking["type"].as_str()) {
            Some("disabled") | None => Self::Off,
            Some(_) => Self::On,
        }
    }
}

/// The edits that the provider is asked to make by itself (W4): the value of `context_management.edits`.
pub fn server_edits(limits: &ServerLimits, thinking: Thinking) -> Value {
    // The provider wants the edit of thinking blocks first.
    let thoughts = json!({"type": "clear_thinking_20251015", "keep": "all"});
    let results = json!({
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": "input_tokens", "value": limits.trigger_tokens},
        "clear_at_least": {"type": "input_tokens", "value": limits.clear_tokens}
    });
    match thinking {
        Thinking::On => json!([thoughts, results]),
        Thinking::Off => json!([results]),
    }
}
