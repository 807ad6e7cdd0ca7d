//! Which spans may be folded, and which are worth it.

use super::{Levels, Snapshot, StagedSpan, subjects::subjects};
use crate::profile::CollapseLimits;
use crate::stages::pairing::{cuts, pairs};
use crate::stages::result::Shown;
use crate::stages::{Head, Scene, is_setting, is_setting_block, repeated};
use crate::tokens::Counter;
use crate::{Body, Message, MessageId};
use std::collections::HashSet;
use std::ops::Range;

/// A part of the view that may be folded: whole rounds, none of them new.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// Its entries.
    pub range: Range<usize>,
    /// Its first message.
    pub first: MessageId,
    /// Its last message.
    pub last: MessageId,
    /// Its tokens.
    pub tokens: u64,
    /// Tokens that folding it frees, if its summary is as long as it may be.
    pub saves: u64,
    /// How much it is worth folding, from 0 to 1: the share of it that is freed, less where recent work still uses what
    /// it is about.
    pub score: f64,
}

impl Span {
    /// The span with its summary.
    pub fn staged(&self, summary: String) -> StagedSpan {
        StagedSpan {
            first: self.first.clone(),
            last: self.last.clone(),
            messages: self.range.len(),
            saves: self.saves,
            summary,
        }
    }
}

/// Tokens of the placeholder's own words, at most.
const FRAME: u64 = 80;
/// A fold must free this share of its span at least.
const LEAST_SHARE: f64 = 0.25;

/// Where the view may be folded.
///
/// A span is made of whole rounds: it parts no call from its result and no record from its answer. It never holds: the
/// newest [`keep_tokens`](CollapseLimits::keep_tokens); the newest message of the user; a message of the user that can't be
/// quoted, because it is long or has pictures; a summary or a placeholder; what the system, the application or project
/// files say; anything before the first message of the user.
pub(super) struct Ground {
    cuts: Vec<bool>,
    stays: Vec<bool>,
    /// Tokens of the words of a user that a fold quotes, per entry.
    quoted: Vec<u64>,
    /// Entries from here on stay.
    end: usize,
}

impl Ground {
    pub(super) fn of(scene: &Scene<'_>, limits: &CollapseLimits, counter: &mut Counter) -> Self {
        let entries = scene.entries;
        let shown = Shown::of(entries);
        let repeated = repeated(entries);
        let end = oldest_kept(scene, limits);
        let is_user = |entry: &crate::Entry| entry.message.is_real_user();
        let first_user = entries.iter().position(is_user).unwrap_or(entries.len());
        let newest_user = entries.iter().rposition(is_user);
        let mut stays = vec![true; entries.len()];
        let mut quoted = vec![0; entries.len()];
        for (at, entry) in entries.iter().enumerate().take(end) {
            let message = &entry.message;
            let is_user = message.is_real_user();
            if is_user {
                quoted[at] = counter.text(&message.user_words());
            }
            let head = if at == first_user { Head::Yes } else { Head::No };
            stays[at] = message.flags.summary
                || entry.pinned.is_some()
                || at < first_user
                || is_setting(message)
                || repeated.contains(&message.id)
                || Some(at) == newest_user
                || (is_user && (quoted[at] > limits.summary_tokens / 2 || !is_quotable(message, head)));
        }
        Self { cuts: cuts(entries, &pairs(entries, &shown)), stays, quoted, end }
    }

    /// Whether a span may be folded.
    pub(super) fn allows(&self, range: &Range<usize>) -> bool {
        let is_cut = |at: usize| self.cuts.get(at) == Some(&true);
        range.start < range.end
            && range.end <= self.end
            && is_cut(range.start)
            && is_cut(range.end)
            && !self.stays[range.clone()].contains(&true)
    }
}

/// Every span that may be folded, oldest first; none reaches into `taken`.
pub fn spans(
    scene: &Scene<'_>,
    limits: &CollapseLimits,
    taken: &[Range<usize>],
    counter: &mut Counter,
) -> Vec<Span> {
    let mut ground = Ground::of(scene, limits, counter);
    for range in taken {
        ground.stays.iter_mut().take(range.end).skip(range.start).for_each(|stays| *stays = true);
    }
    let recent = subjects(&scene.entries[ground.end..]);
    let begins_turn = |at: usize| scene.entries.get(at).is_some_and(|entry| entry.message.is_real_user());
    let mut found = Vec::new();
    let mut open: Option<Open> = None;
    for at in 0..=ground.end {
        let bars = at == ground.end || ground.stays[at];
        if let Some(span) = &mut open {
            if ground.cuts[at] {
                span.cut = at;
                span.whole = span.tokens;
            }
            // Turns are better boundaries than rounds, as long as one is near.
            let is_full = ground.cuts[at]
                && span.tokens >= limits.span_tokens
                && (begins_turn(at) || span.tokens >= limits.span_tokens.saturating_mul(2));
            if bars || is_full {
                if span.cut > span.start && span.whole >= limits.span_tokens {
                    found.extend(weigh(scene, limits, span.start..span.cut, &ground, &recent));
                }
                open = None;
            }
        }
        if bars {
            continue;
        }
        if open.is_none() && ground.cuts[at] {
            open = Some(Open { start: at, cut: at, tokens: 0, whole: 0 });
        }
        if let Some(span) = &mut open {
            span.tokens += scene.tokens_at(at);
        }
    }
    found
}

/// A span that is being gathered.
struct Open {
    start: usize,
    /// The last place where it may end.
    cut: usize,
    tokens: u64,
    /// Tokens up to `cut`.
    whole: u64,
}

/// The spans to stage next, oldest first: the best ones, until what is staged is enough to bring the context from
/// [`Levels::commit`] to [`Levels::target`].
pub fn choose(
    scene: &Scene<'_>,
    levels: Levels<'_>,
    snapshot: &Snapshot,
    counter: &mut Counter,
) -> Vec<Span> {
    let staged: u64 = snapshot.staged.iter().map(|span| span.saves).sum();
    let size = scene.total().max(levels.commit());
    let mut missing = size.saturating_sub(levels.target()).saturating_sub(staged);
    let mut best = spans(scene, levels.limits, &snapshot.places(scene.entries), counter);
    best.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.range.start.cmp(&b.range.start)));
    best.retain(|span| {
        let is_wanted = missing > 0;
        missing = missing.saturating_sub(span.saves);
        is_wanted
    });
    best.sort_by_key(|span| span.range.start);
    best
}

/// Where the newest tokens begin that are never folded.
fn oldest_kept(scene: &Scene<'_>, limits: &CollapseLimits) -> usize {
    let mut kept = 0;
    for at in (0..scene.entries.len()).rev() {
        if kept >= limits.keep_tokens {
            return at + 1;
        }
        kept += scene.tokens_at(at);
    }
    0
}

fn weigh(
    scene: &Scene<'_>,
    limits: &CollapseLimits,
    range: Range<usize>,
    ground: &Ground,
    recent: &HashSet<&str>,
) -> Option<Span> {
    let entries = &scene.entries[range.clone()];
    let tokens: u64 = range.clone().map(|at| scene.tokens_at(at)).sum();
    let quoted: u64 = ground.quoted[range.clone()].iter().sum();
    let saves = tokens.saturating_sub(limits.summary_tokens + FRAME + quoted);
    let share = saves as f64 / tokens.max(1) as f64;
    if share < LEAST_SHARE {
        return None;
    }
    let about = subjects(entries);
    let in_use = about.intersection(recent).count() as f64 / about.len().max(1) as f64;
    let score = share * (1.0 - in_use / 2.0);
    let (first, last) = (entries.first()?.message.id.clone(), entries.last()?.message.id.clone());
    Some(Span { range, first, last, tokens, saves, score })
}

/// Whether a quotation says all that a message of the user says.
fn is_quotable(message: &Message, head: Head) -> bool {
    message.blocks.iter().all(|block| match &block.body {
        Body::Image(_) | Body::Document(_) | Body::Unknown(_) => false,
        Body::Text(_) => !is_setting_block(message, block, head),
        Body::Reasoning { .. } | Body::ToolCall(_) | Body::ToolResult(_) => true,
    })
}
