//! Which result answers which call, and where a view may be cut without parting what belongs together.

use super::result::{Place, Shown};
use crate::{Body, CallId, Entry, GroupId, Role, ToolCall};
use std::collections::HashMap;

/// A call and the result that answers it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair<'a> {
    pub(super) call: Place,
    pub(super) result: Place,
    pub(super) made: &'a ToolCall,
}

/// Every answered call, in the order of the results. A result answers the newest earlier call of its id that has no
/// result yet.
pub(super) fn pairs<'a>(entries: &'a [Entry], shown: &Shown<'a>) -> Vec<Pair<'a>> {
    let mut waiting: HashMap<&CallId, Vec<(Place, &ToolCall)>> = HashMap::new();
    let mut pairs = Vec::new();
    for at in 0..entries.len() {
        for (b, block) in shown.blocks(at).iter().enumerate() {
            match &block.body {
                Body::ToolCall(call) if call.kind.needs_result() => {
                    waiting.entry(&call.id).or_default().push(((at, b), call));
                }
                Body::ToolResult(result) => {
                    if let Some((call, made)) = waiting.get_mut(&result.call).and_then(Vec::pop) {
                        pairs.push(Pair { call, result: (at, b), made });
                    }
                }
                Body::ToolCall(_)
                | Body::Text(_)
                | Body::Reasoning { .. }
                | Body::Image(_)
                | Body::Document(_)
                | Body::Unknown(_) => {}
            }
        }
    }
    pairs
}

/// For each place between entries (`cuts[i]` is before entry `i`, the last one behind all), whether both sides stay
/// whole if the view is cut there: no call is parted from its result, no record from its answer, and no reasoning from
/// what it led to.
pub(super) fn cuts(entries: &[Entry], pairs: &[Pair<'_>]) -> Vec<bool> {
    let mut crossing = vec![0i64; entries.len() + 2];
    let mut bind = |first: usize, last: usize| {
        crossing[first + 1] += 1;
        crossing[last + 1] -= 1;
    };
    for pair in pairs {
        bind(pair.call.0, pair.result.0);
    }
    let mut groups: HashMap<&GroupId, (usize, usize)> = HashMap::new();
    // The record of the model that comes before, unless something was said since.
    let mut answer: Option<usize> = None;
    for (at, entry) in entries.iter().enumerate() {
        if let Some(group) = &entry.message.group {
            groups.entry(group).and_modify(|(_, last)| *last = at).or_insert((at, at));
        }
        match entry.message.role {
            Role::Assistant => {
                if let Some(before) = answer {
                    bind(before, at);
                }
                answer = Some(at);
            }
            Role::User | Role::Tool => answer = None,
            Role::System | Role::Developer => {}
        }
    }
    for (first, last) in groups.into_values() {
        bind(first, last);
    }
    let mut open = 0;
    crossing[..=entries.len()]
        .iter()
        .map(|change| {
            open += change;
            open == 0
        })
        .collect()
}
