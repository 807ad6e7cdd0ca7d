//! Tokens of a view, kept up to date as it grows.

use crate::tokens::{Breakdown, Counter, ReasoningRule, turn_start};
use crate::{Entry, Message, MessageId};
use std::collections::HashMap;

/// Tokens of each entry of a view. A message is counted once; a push costs the message, not the view.
#[derive(Debug, Default)]
pub(super) struct Tally {
    tokens: Vec<u64>,
    total: u64,
    /// What was counted, and under how many replacements.
    counted: HashMap<MessageId, (usize, Breakdown)>,
    /// Where the turn begins whose reasoning counts.
    turn: usize,
}

impl Tally {
    pub(super) fn tokens(&self) -> &[u64] {
        &self.tokens
    }

    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// An entry that will come was counted elsewhere.
    pub(super) fn know(&mut self, entry: &Entry, count: Breakdown) {
        self.counted.insert(entry.message.id.clone(), (entry.overlays.len(), count));
    }

    /// One more entry stands at the end of the view.
    pub(super) fn push(&mut self, entries: &[Entry], counter: &mut Counter) {
        let Some(entry) = entries.last() else { return };
        let count = self.count(entry, counter);
        self.tokens.push(count.total());
        self.total += count.total();
        if counter.profile().reasoning == ReasoningRule::CurrentTurn && entry.message.is_real_user() {
            let turn = current_turn(entries);
            for (at, entry) in entries.iter().enumerate().take(turn).skip(self.turn) {
                let spoken = self.count(entry, counter).reasoning;
                self.tokens[at] = self.tokens[at].saturating_sub(spoken);
                self.total = self.total.saturating_sub(spoken);
            }
            self.turn = self.turn.max(turn);
        }
    }

    /// The view was edited: what changed is counted again.
    pub(super) fn refresh(&mut self, entries: &[Entry], counter: &mut Counter) {
        self.turn = match counter.profile().reasoning {
            ReasoningRule::Kept => 0,
            ReasoningRule::CurrentTurn => current_turn(entries),
        };
        let mut tokens = Vec::with_capacity(entries.len());
        for (at, entry) in entries.iter().enumerate() {
            let count = self.count(entry, counter);
            let unsent = if at < self.turn { count.reasoning } else { 0 };
            tokens.push(count.total() - unsent);
        }
        self.total = tokens.iter().sum();
        self.tokens = tokens;
        if self.counted.len() > 2 * entries.len() + 1_024 {
            let there: std::collections::HashSet<&MessageId> =
                entries.iter().map(|e| &e.message.id).collect();
            self.counted.retain(|id, _| there.contains(id));
        }
    }

    fn count(&mut self, entry: &Entry, counter: &mut Counter) -> Breakdown {
        let overlays = entry.overlays.len();
        if let Some((then, count)) = self.counted.get(&entry.message.id)
            && *then == overlays
        {
            return *count;
        }
        let count = counter.message(&entry.shown());
        self.counted.insert(entry.message.id.clone(), (overlays, count));
        count
    }
}

fn current_turn(entries: &[Entry]) -> usize {
    let messages: Vec<&Message> = entries.iter().map(|entry| &*entry.message).collect();
    turn_start(&messages)
}
