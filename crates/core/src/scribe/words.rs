//! What was asked for, verbatim: every request in force, then the rules of what was pasted with the first and the newest one.

use super::page::Page;
use crate::MessageId;
use crate::compaction::REQUESTS_SHARE;
use crate::facts::{Facts, Request};
use crate::recall::short_id;
use crate::text;
use std::collections::HashSet;

/// How much may be told.
#[derive(Clone, Copy)]
pub(super) struct Room {
    /// Tokens; with the guarantee they bound only what is told beyond the requests in force.
    pub(super) most: u64,
    /// Whether requests in force are told however many they are, as long as the page has room (G).
    pub(super) guarantee: bool,
}

/// Writes the requests in force, oldest first, each with the id of its message. What `shown` says already is left out, and
/// so is the newest request where the page told it.
pub(super) fn write(page: &mut Page<'_>, facts: &Facts, shown: &str, room: Room) {
    let Room { most, guarantee } = room;
    let requests: Vec<&Request> = facts.requests().in_force().collect();
    let first = facts.requests().first_task().map(|request| &request.ask.message);
    let newest = facts.requests().newest().map(|request| &request.ask.message);
    let mut left = most;
    // Where requests alone would fill the page, the older ones are told by the sentences that bind.
    let mut promised = page.left() * REQUESTS_SHARE / 10;
    let mut is_whole: HashSet<&MessageId> = HashSet::new();
    // The first one, then those of a few lines, which cost little, then the others; the newest of each first.
    let mut by_importance: Vec<&Request> = requests.iter().rev().copied().collect();
    by_importance.sort_by_key(|request| {
        (
            Some(&request.ask.message) != first,
            request.ask.passages().iter().map(|text| text.len()).sum::<usize>() > FEW_LINES,
        )
    });
    for request in by_importance {
        let cost: u64 = request.ask.passages().iter().map(|passage| page.counter().text(passage) + 8).sum();
        if cost <= promised {
            promised -= cost;
            is_whole.insert(&request.ask.message);
        }
    }
    // "continue" ten times is told once.
    let mut once: HashSet<String> = HashSet::new();
    for request in requests {
        let ask = &request.ask;
        let is_shown = ask.passages().iter().all(|passage| shown.contains(passage))
            || (newest == Some(&ask.message) && page.text().contains(&ask.passages().join("\n")));
        if !is_shown && once.insert(ask.told().into_owned()) {
            let whole = whole(request);
            let cost = page.counter().text(&whole) + 1;
            let is_promised = guarantee && is_whole.contains(&ask.message);
            let excerpt = if guarantee && !is_promised { sentences(request) } else { excerpt(request) };
            if cost <= left || (is_promised && ask.is_short()) {
                left = left.saturating_sub(cost);
                page.line(&whole);
            } else if !excerpt.is_empty() && (guarantee || page.counter().text(&excerpt) < left) {
                left = left.saturating_sub(page.counter().text(&excerpt));
                page.line(&excerpt);
            }
        }
        // Much of a task may stand in what was pasted with it.
        if [first, newest].contains(&Some(&ask.message)) {
            left = left.saturating_sub(write_pasted_rules(page, request, shown, most / 2));
        }
    }
}

/// Names what was asked for and given up, the newest last: whoever goes on shall neither do it nor wonder about it.
pub(super) fn write_superseded(page: &mut Page<'_>, facts: &Facts, most: u64) {
    let superseded: Vec<&Request> = facts.requests().superseded().collect();
    let lines = superseded.iter().rev().take(MOST_SUPERSEDED).rev().map(|request| {
        let by = request.superseded_by.as_ref().map(short_id).unwrap_or_default();
        let text = text::one_line(request.ask.headline(), 200);
        format!("[{}{}, superseded by {by}] {text}", short_id(&request.ask.message), by_whom(request))
    });
    page.lines(most, lines);
}

/// Bytes of a request that is told whole before longer ones are.
const FEW_LINES: usize = 400;
/// Requests that were given up and are named.
const MOST_SUPERSEDED: usize = 5;

/// Returns the tokens spent.
fn write_pasted_rules(page: &mut Page<'_>, request: &Request, shown: &str, most: u64) -> u64 {
    let rules: Vec<&String> =
        request.ask.pasted_rules.iter().filter(|rule| !shown.contains(rule.as_str())).collect();
    if rules.is_empty() {
        return 0;
    }
    let before = page.left();
    let lead = format!("[{}, pasted text, not the user's words]", short_id(&request.ask.message));
    page.lines(most, std::iter::once(lead.as_str()).chain(rules.into_iter().map(String::as_str)));
    before - page.left()
}

fn whole(request: &Request) -> String {
    format!("[{}{}] {}", short_id(&request.ask.message), by_whom(request), request.ask.told())
}

fn excerpt(request: &Request) -> String {
    format!(
        "[{}{}, in part]\n{}",
        short_id(&request.ask.message),
        by_whom(request),
        request.ask.passages().join("\n")
    )
}

/// The sentences that bind; nothing, if none does.
fn sentences(request: &Request) -> String {
    let sentences: Vec<&str> =
        request.ask.directives.iter().map(|directive| directive.sentence.as_str()).collect();
    if sentences.is_empty() {
        return String::new();
    }
    format!("[{}{}, in part]\n{}", short_id(&request.ask.message), by_whom(request), sentences.join("\n"))
}

pub(super) fn by_whom(request: &Request) -> &'static str {
    match request.ask.author {
        crate::classify::Author::User => "",
        crate::classify::Author::Agent => ", from another agent",
    }
}
