//! What a session is told of its memories when it begins (M6).

use super::{Memories, Tier};
use crate::topics::{IndexLimits, IndexPart, TopicStore};
use std::fmt::Write as _;

/// What a session is told when it begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionIndex {
    /// The indexes; `None` if nothing is remembered.
    pub text: Option<String>,
    /// Tiers that could not be read, and why.
    pub problems: Vec<String>,
}

/// The share of the limits that a tier beside the project's has for sure: one in so many.
const SHARE: usize = 8;

impl Memories {
    /// What a session is told of all indexes when it begins: together within the limits of one (M6). The project's comes first; each
    /// of the others has a part of the room for sure, and a heading that says whose it is.
    pub fn index_for_session(&self) -> SessionIndex {
        let all = IndexLimits::default();
        let mut problems = Vec::new();
        let mut ask = |store: &TopicStore, limits: IndexLimits| {
            store.index_within(limits).unwrap_or_else(|error| {
                problems.push(error.to_string());
                None
            })
        };
        let share = IndexLimits { lines: all.lines / SHARE, bytes: all.bytes / SHARE };
        let mut parts: Vec<(Tier, &TopicStore, IndexPart)> = Vec::new();
        for (tier, store) in self.stores().filter(|(tier, _)| *tier != Tier::Project) {
            parts.extend(ask(store, share).map(|part| (tier, store, part)));
        }
        let mut left = parts.iter().fold(all, |left, (tier, _, part)| left.without(*tier, part));
        if let Some(store) = self.store(Tier::Project) {
            let heading =
                if parts.is_empty() { IndexLimits { lines: 0, bytes: 0 } } else { heading(Tier::Project) };
            let room = left.less(heading);
            if let Some(part) = ask(store, room) {
                if parts.is_empty() {
                    // Nobody asks whose the only ones are.
                    return SessionIndex { text: Some(part.text), problems };
                }
                left = left.without(Tier::Project, &part);
                parts.insert(0, (Tier::Project, store, part));
            }
        }
        let mut text = String::new();
        for (tier, store, mut part) in parts {
            if !part.is_whole && tier != Tier::Project {
                // What nobody else needs.
                let room = IndexLimits { lines: part.lines + left.lines, bytes: part.bytes + left.bytes };
                if let Some(more) = ask(store, room) {
                    let (lines, bytes) =
                        (more.lines.saturating_sub(part.lines), more.bytes.saturating_sub(part.bytes));
                    left = left.less(IndexLimits { lines, bytes });
                    part = more;
                }
            }
            let gap = if text.is_empty() { "" } else { "\n" };
            let end = if part.text.ends_with('\n') { "" } else { "\n" };
            // Writing to a string can't fail.
            let _ = write!(text, "{gap}{}\n{}{end}", tier.heading(), part.text);
        }
        SessionIndex { text: (!text.is_empty()).then_some(text), problems }
    }
}

impl IndexLimits {
    fn less(self, used: Self) -> Self {
        Self { lines: self.lines.saturating_sub(used.lines), bytes: self.bytes.saturating_sub(used.bytes) }
    }

    fn without(self, tier: Tier, part: &IndexPart) -> Self {
        self.less(IndexLimits { lines: part.lines, bytes: part.bytes }).less(heading(tier))
    }
}

/// What a heading takes: its line, and a blank one before it.
fn heading(tier: Tier) -> IndexLimits {
    IndexLimits { lines: 2, bytes: tier.heading().len() + 2 }
}
