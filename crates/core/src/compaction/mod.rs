//! Autocompact (P5): the view is replaced by a summary and what stays beside it.
//!
//! [`Compaction::offline`] does it in one step with the [offline scribe](crate::scribe). Where somebody else writes the
//! text, [`Compaction::plan`] says what stays and how long the text may be, and [`Plan::finish`] takes the text, checks it
//! and gives the replacement, or says why it was declined. Nothing is applied here: the old view stands until the
//! checkpoint is written.

pub mod attachments;
mod breaker;
mod check;
mod handoff;
mod rounds;
mod window;

pub use breaker::Breaker;
pub use check::{Check, Missing, MissingKind, Verdict};
pub use rounds::{CUT_FOR_RETRY, drop_oldest, retry_note, rounds};
pub use window::{Keep, align};

use crate::facts::Facts;
use crate::profile::{CompactLimits, Strategy};
use crate::scribe::{self, DigestWanted, Material};
use crate::stages::Scene;
use crate::tokens::Counter;
use crate::{
    Checkpoint, EditId, Entry, Flags, Fragment, Item, Message, MessageId, Origin, Preserved, Role, Speaker,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// What set a compaction off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// The context was full before a turn.
    PreTurn,
    /// The context was full behind a tool's result, before the next request.
    MidTurn,
    /// The next model has a smaller window.
    ModelSwitch,
    /// A person asked.
    Manual,
    /// The provider said that the request is too long.
    TooLong,
}

impl Trigger {
    /// The word that checkpoints carry.
    pub fn name(self) -> &'static str {
        match self {
            Self::PreTurn => "pre_turn",
            Self::MidTurn => "mid_turn",
            Self::ModelSwitch => "model_switch",
            Self::Manual => "manual",
            Self::TooLong => "too_long",
        }
    }
}

/// Why a compaction was not made. None of these is an error: the next rung is tried.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Declined {
    /// There is nothing to condense.
    #[error("there is nothing to condense")]
    Nothing,
    /// The notes are missing or still the empty template.
    #[error("there are no session notes yet")]
    NoNotes,
    /// The message up to which the notes reach is not in the view.
    #[error("the notes end at a message that is not in the view")]
    UnknownBoundary,
    /// The result would be over the limit.
    #[error("the result would have {tokens} tokens, over the limit of {limit}")]
    OverLimit {
        /// The result.
        tokens: u64,
        /// The limit.
        limit: u64,
    },
    /// The text holds too little of what must not be lost (B7).
    #[error("the text holds only {percent}% of what must not be lost")]
    Poor {
        /// The check's score, in hundredths.
        percent: u8,
    },
    /// The result would not be smaller.
    #[error("the result would have {after} tokens, no fewer than the {before} before")]
    NotSmaller {
        /// Tokens before.
        before: u64,
        /// Tokens after.
        after: u64,
    },
}

/// Session notes that were written before, and how far they reach.
#[derive(Clone, Debug, PartialEq)]
pub struct Notes {
    /// The text.
    pub text: String,
    /// The last message that they cover; `None` for a resumed session: then all messages are kept.
    pub covers: Option<MessageId>,
}

/// What happens to the scaffold at the head of a conversation: developer messages, project instructions, environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scaffold {
    /// It stays in front.
    Keep,
    /// The client gives it again.
    LeaveOut,
}

/// A compaction that is being considered.
pub struct Compaction<'a> {
    /// The view.
    pub scene: Scene<'a>,
    /// The record.
    pub facts: &'a Facts,
    /// The limits.
    pub limits: &'a CompactLimits,
    /// The most tokens the context may have afterwards.
    pub threshold: u64,
    /// What set it off.
    pub trigger: Trigger,
    /// What the person wants the text to pay attention to.
    pub instructions: Option<&'a str>,
    /// Session notes, where there are any.
    pub notes: Option<&'a Notes>,
    /// Whether the scaffold stays.
    pub scaffold: Scaffold,
    /// What the host wants to come back behind everything else, as far as there is room: running tasks, changed tools.
    pub reminders: &'a [Message],
}

/// What stays, and how long the text may be.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How.
    pub strategy: Strategy,
    /// Tokens of the text at most.
    pub text_tokens: u64,
    /// Scaffold that stays in front.
    scaffold: Vec<Entry>,
    /// Messages before the text.
    before: Vec<Entry>,
    /// Messages behind the text.
    after: Vec<Entry>,
    /// What the kept messages say.
    kept_text: String,
    /// Where the kept messages begin in the old view.
    start: usize,
}

/// A replacement of the view that may be written.
#[derive(Clone, Debug)]
pub struct Draft {
    /// How.
    pub strategy: Strategy,
    /// What set it off.
    pub trigger: Trigger,
    /// The text that stands for what was condensed, without the words before it that say what it is.
    pub text: String,
    /// The new view.
    pub entries: Vec<Entry>,
    /// Which of them are new, rather than kept.
    fresh: Vec<bool>,
    /// Tokens before and after, without what comes before the messages.
    pub tokens_before: u64,
    /// See `tokens_before`.
    pub tokens_after: u64,
    /// What the check found.
    pub verdict: Option<Verdict>,
    preserved: Option<Preserved>,
}

impl Draft {
    /// The share of the messages' tokens that it frees.
    pub fn freed_share(&self) -> f64 {
        self.tokens_before.saturating_sub(self.tokens_after) as f64 / self.tokens_before.max(1) as f64
    }

    /// The line to write.
    pub fn to_checkpoint(&self, id: EditId, at: Option<Timestamp>) -> Checkpoint {
        let items = self.entries.iter().zip(&self.fresh).map(|(entry, fresh)| {
            if *fresh { Item::New(Box::new((*entry.message).clone())) } else { entry.to_item() }
        });
        Checkpoint {
            id,
            at,
            strategy: self.strategy.name().to_owned(),
            trigger: self.trigger.name().to_owned(),
            tokens_before: Some(self.tokens_before),
            tokens_after: Some(self.tokens_after),
            check: self.verdict.clone().map(Box::new),
            preserved: self.preserved.clone(),
            items: items.collect(),
        }
    }

    /// The new view as it stands in a ledger whose checkpoint line begins at `origin`.
    pub fn into_entries(self, origin: &Origin) -> Vec<Entry> {
        let placed = self.entries.into_iter().zip(self.fresh).map(|(mut entry, fresh)| {
            if fresh {
                entry.origin = origin.clone();
            }
            entry
        });
        placed.collect()
    }
}

const SUMMARY_LEAD: &str = include_str!("../../../../prompts/summary_lead.md");
const HANDOFF_LEAD: &str = include_str!("../../../../prompts/handoff_lead.md");
const RECALL_HINT: &str = include_str!("../../../../prompts/recall_hint.md");

/// A handoff as a message may give it that stands for what came before: the text, and before it what it is.
///
/// ```
/// use throughline_core::{Message, Role};
/// use throughline_core::compaction::{handed_over, is_handed_over};
///
/// assert!(is_handed_over(&Message::text(Role::User, handed_over("The tests pass."))));
/// assert!(!is_handed_over(&Message::text(Role::User, "The tests pass.")));
/// ```
pub fn handed_over(text: &str) -> String {
    format!("{}\n\n{}", HANDOFF_LEAD.trim(), text.trim())
}

/// How messages begin in which clients give a summary of what came before: Claude Code's, Codex's and ours.
const CLIENT_LEADS: [&str; 4] = [
    "This session is being continued from a previous conversation",
    "Another language model started to solve this problem",
    HANDOFF_LEAD,
    SUMMARY_LEAD,
];

/// Whether a message of a client's history is a summary of what came before: nobody said it.
pub fn is_handed_over(message: &Message) -> bool {
    let first = message.blocks.iter().find_map(|block| match &block.body {
        crate::Body::Text(text) => Some(text.trim_start()),
        crate::Body::Reasoning { .. }
        | crate::Body::ToolCall(_)
        | crate::Body::ToolResult(_)
        | crate::Body::Image(_)
        | crate::Body::Document(_)
        | crate::Body::Unknown(_) => None,
    });
    message.role == Role::User
        && !message.flags.typed
        && first.is_some_and(|text| CLIENT_LEADS.iter().any(|lead| text.starts_with(lead.trim())))
}

/// Tokens of the lead and of rounding, set aside from the text's budget.
const LEAD_TOKENS: u64 = 160;
/// The part of the text's budget that the check may append.
const CHECK_SHARE: u64 = 8;
/// The share of the view that is to be freed even if less comes back.
const WORTHWHILE: f64 = 0.3;
/// The part of the room for messages that results may have which the model has not seen yet.
const UNSEEN_SHARE: u64 = 2;
/// The smallest text worth writing.
const LEAST_TEXT: u64 = 300;

impl Compaction<'_> {
    /// Condenses with the offline scribe.
    pub fn offline(
        &self,
        strategy: Strategy,
        counter: &mut Counter,
        digest: &mut dyn FnMut(DigestWanted<'_>, &mut Counter) -> String,
    ) -> Result<Draft, Declined> {
        let plan = self.plan(strategy, counter)?;
        if let (Strategy::Notes, Some(notes)) = (strategy, self.notes) {
            return plan.finish(self, &notes.text, counter);
        }
        let mut nothing = |_: DigestWanted<'_>, _: &mut Counter| String::new();
        let digest = if self.limits.details { digest } else { &mut nothing };
        let mut material =
            Material { facts: self.facts, kept: &plan.kept_text, instructions: self.instructions, digest };
        let write = match strategy {
            Strategy::Notes => scribe::notes,
            Strategy::Summary => scribe::summary,
            Strategy::Handoff => scribe::handoff,
        };
        let text = write(&mut material, plan.text_tokens, counter);
        // The scribe keeps to its budget: nothing has to be cut.
        let text = match strategy {
            Strategy::Notes if self.limits.section_tokens < plan.text_tokens => {
                sections_within(&text, self.limits.section_tokens, counter)
            }
            Strategy::Notes | Strategy::Summary | Strategy::Handoff => text,
        };
        plan.finish_within(self, text, counter)
    }

    /// Says what stays and how long the text may be.
    pub fn plan(&self, strategy: Strategy, counter: &mut Counter) -> Result<Plan, Declined> {
        let entries = self.scene.entries;
        let (scaffold, body) = self.split_scaffold();
        if entries[body..].iter().all(|entry| entry.message.flags.summary || entry.pinned.is_some()) {
            return Err(Declined::Nothing);
        }
        let (room, unseen) = self.room(&scaffold, counter);
        let (before, start) = match strategy {
            Strategy::Notes => (Vec::new(), self.notes_start(body, room)?.min(unseen)),
            Strategy::Summary => (Vec::new(), unseen),
            Strategy::Handoff => {
                let pending = self.pending_request(body);
                let words = handoff::user_messages(
                    &entries[body..pending],
                    self.limits.user_tokens.min(room / 2),
                    counter,
                );
                (words, pending)
            }
        };
        // What the person pinned comes first of what is kept, however old it is.
        let pinned = |at: &usize| entries[*at].pinned.is_some();
        let kept: Vec<usize> = (body..start).filter(pinned).chain(start..entries.len()).collect();
        let after: Vec<Entry> = kept.iter().map(|&at| entries[at].clone()).collect();
        let kept: u64 = kept.iter().map(|&at| self.scene.tokens[at]).sum::<u64>()
            + before.iter().map(|entry| counter.message(&entry.message).total()).sum::<u64>();
        let most = match strategy {
            Strategy::Notes => self.limits.notes_tokens,
            Strategy::Summary | Strategy::Handoff => self.limits.summary_tokens,
        };
        let text_tokens = room.saturating_sub(kept + LEAD_TOKENS).min(most);
        if text_tokens < LEAST_TEXT {
            return Err(Declined::OverLimit { tokens: kept + LEAD_TOKENS + LEAST_TEXT, limit: room });
        }
        let kept_text = shown_text(before.iter().chain(&after));
        Ok(Plan { strategy, text_tokens, scaffold, before, after, kept_text, start })
    }

    /// Tokens that the text and the kept messages may have together, and where the kept messages begin at the latest.
    fn room(&self, scaffold: &[Entry], counter: &mut Counter) -> (u64, usize) {
        let scaffold: u64 = scaffold.iter().map(|entry| counter.message(&entry.shown()).total()).sum();
        let limit = self.threshold.saturating_sub(self.scene.overhead + scaffold);
        let Some(most) = self.limits.result_tokens else { return (limit, self.scene.entries.len()) };
        let (unseen, tokens) = self.unseen(limit / UNSEEN_SHARE);
        (limit.min(most + tokens), unseen)
    }

    /// Results that the model asked for and has not seen: where their round begins, and its tokens. Without them it would have to
    /// ask again. What is larger than `most` goes all the same: it would fill the context again at once.
    fn unseen(&self, most: u64) -> (usize, u64) {
        let Scene { entries, tokens, .. } = &self.scene;
        let nothing = (entries.len(), 0);
        let called = entries.iter().rposition(|entry| entry.message.calls().next().is_some());
        match (self.trigger, called) {
            (Trigger::MidTurn, Some(called)) => {
                let start = align(entries, called);
                let round: u64 = tokens[start..].iter().sum();
                if round <= most { (start, round) } else { nothing }
            }
            (Trigger::MidTurn, None)
            | (Trigger::PreTurn | Trigger::ModelSwitch | Trigger::Manual | Trigger::TooLong, _) => nothing,
        }
    }

    fn notes_start(&self, body: usize, room: u64) -> Result<usize, Declined> {
        let entries = self.scene.entries;
        let floor = entries.iter().rposition(|entry| entry.message.flags.summary).map_or(body, |at| at + 1);
        let from = match self.notes {
            None => entries.len(),
            Some(notes) if is_empty_template(&notes.text) => return Err(Declined::NoNotes),
            Some(Notes { covers: None, .. }) => floor,
            Some(Notes { covers: Some(id), .. }) => {
                let at = entries.iter().rposition(|entry| entry.message.id == *id);
                at.ok_or(Declined::UnknownBoundary)? + 1
            }
        };
        let keep = Keep { entries, tokens: self.scene.tokens, from, floor: floor.min(from) };
        Ok(match (self.limits.result_tokens, self.notes) {
            // The text needs its share of a bounded result.
            (Some(_), None) => keep.start_within(self.limits, self.limits.keep_most.min(room / 2)),
            (Some(_) | None, Some(_)) | (None, None) => keep.start(self.limits),
        })
    }

    /// Developer messages and the client's own context at the head, where they stay.
    fn split_scaffold(&self) -> (Vec<Entry>, usize) {
        let entries = self.scene.entries;
        let body = entries.iter().position(|entry| !is_scaffold(&entry.message)).unwrap_or(entries.len());
        match self.scaffold {
            Scaffold::Keep => (entries[..body].to_vec(), body),
            Scaffold::LeaveOut => (Vec::new(), body),
        }
    }

    /// Where the request that waits for its answer begins, if one does: it is not condensed.
    fn pending_request(&self, body: usize) -> usize {
        let entries = self.scene.entries;
        let last =
            entries.iter().rposition(|entry| entry.message.role == Role::Assistant).map_or(body, |at| at + 1);
        let begins = entries[last..].iter().position(|entry| entry.message.is_real_user());
        match begins {
            // Results that came with it belong to calls that go.
            Some(at) if entries[last + at..].iter().all(|entry| entry.message.results().next().is_none()) => {
                last + at
            }
            Some(_) | None => entries.len(),
        }
    }
}

impl Plan {
    /// Tokens that somebody else's words may have: where ranked details are told, they need their share.
    pub fn prose_tokens(&self, limits: &CompactLimits) -> u64 {
        if limits.details { self.text_tokens / 2 } else { self.text_tokens }
    }

    /// Somebody else's words, and behind them ranked details of what was said, where the limits ask for them.
    pub fn with_details(
        &self,
        of: &Compaction<'_>,
        words: &str,
        counter: &mut Counter,
        digest: &mut dyn FnMut(DigestWanted<'_>, &mut Counter) -> String,
    ) -> String {
        let words = cut_to(words, self.prose_tokens(of.limits), counter);
        if !of.limits.details {
            return words;
        }
        let spent = counter.text(&words) + self.text_tokens / CHECK_SHARE + LEAD_TOKENS;
        let budget = self.text_tokens.saturating_sub(spent);
        let details = digest(DigestWanted { budget, said: &[&words, &self.kept_text] }, counter);
        if details.is_empty() {
            return words;
        }
        format!("{}\n\n# Details from the record\n{details}\n", words.trim_end())
    }

    /// Takes the text that was written, checks it, and gives the replacement.
    pub fn finish(self, of: &Compaction<'_>, text: &str, counter: &mut Counter) -> Result<Draft, Declined> {
        let text = match self.strategy {
            Strategy::Notes => sections_within(text, of.limits.section_tokens, counter),
            Strategy::Summary | Strategy::Handoff => text.to_owned(),
        };
        let text = cut_to(&text, self.text_tokens, counter);
        self.finish_within(of, text, counter)
    }

    /// Takes a text that keeps to its limits.
    fn finish_within(
        self,
        of: &Compaction<'_>,
        text: String,
        counter: &mut Counter,
    ) -> Result<Draft, Declined> {
        let (text, verdict) = if of.limits.checked {
            let check =
                Check { facts: of.facts, kept: &self.kept_text, budget: self.text_tokens / CHECK_SHARE };
            let (text, verdict) = check.run(&text, counter);
            (text, Some(verdict))
        } else {
            (text, None)
        };
        let mut attachments = attachments::files(of, self.start, counter);
        attachments.extend(of.reminders.iter().cloned());
        let preserved = self.preserved(of);
        let mut entries = self.scaffold;
        let mut fresh = vec![false; entries.len()];
        for entry in self.before {
            // A message that was cut to fit is a new one.
            fresh.push(!of.scene.entries.iter().any(|old| old.message.id == entry.message.id));
            entries.push(entry);
        }
        entries.push(summary_message(self.strategy, &text, of).into());
        fresh.push(true);
        fresh.extend(self.after.iter().map(|_| false));
        entries.extend(self.after);
        let tokens_before: u64 = of.scene.tokens.iter().sum();
        let mut tokens_after: u64 = entries.iter().map(|entry| counter.message(&entry.shown()).total()).sum();
        // What comes back is a convenience: as much of it as leaves a compaction worth its while. The limits on files are made
        // for large windows; in a small one they would fill it again at once.
        let worthwhile = (tokens_before as f64 * (1.0 - WORTHWHILE)) as u64;
        let room = of.threshold.saturating_sub(of.scene.overhead).min(worthwhile);
        attachments.retain(|message| {
            let cost = counter.message(message).total();
            let fits = tokens_after + cost <= room;
            tokens_after += if fits { cost } else { 0 };
            fits
        });
        fresh.extend(attachments.iter().map(|_| true));
        entries.extend(attachments.into_iter().map(Entry::from));
        if tokens_after >= tokens_before {
            return Err(Declined::NotSmaller { before: tokens_before, after: tokens_after });
        }
        if tokens_after + of.scene.overhead > of.threshold {
            return Err(Declined::OverLimit {
                tokens: tokens_after + of.scene.overhead,
                limit: of.threshold,
            });
        }
        Ok(Draft {
            strategy: self.strategy,
            trigger: of.trigger,
            text,
            entries,
            fresh,
            tokens_before,
            tokens_after,
            verdict,
            preserved,
        })
    }

    fn preserved(&self, of: &Compaction<'_>) -> Option<Preserved> {
        let entries = of.scene.entries;
        let id = |at: usize| entries.get(at).map(|entry| entry.message.id.clone());
        let tail = (self.start < entries.len()).then(|| entries.len() - 1)?;
        Some(Preserved { head: id(0)?, anchor: id(self.start.checked_sub(1)?)?, tail: id(tail)? })
    }
}

fn summary_message(strategy: Strategy, text: &str, of: &Compaction<'_>) -> Message {
    let lead = match strategy {
        Strategy::Notes | Strategy::Summary => SUMMARY_LEAD,
        Strategy::Handoff => HANDOFF_LEAD,
    };
    let mut body = format!("{}\n", lead.trim());
    if of.scene.tools.recall {
        body.push_str(RECALL_HINT.trim());
        body.push('\n');
    }
    body.push('\n');
    body.push_str(text.trim());
    let mut message = Message::text(Role::User, body);
    message.at = of.scene.now;
    message.flags = Flags { meta: true, summary: true, ..Flags::default() };
    message
}

/// Scaffold that a client gives in front of the conversation.
fn is_scaffold(message: &Message) -> bool {
    match message.role {
        Role::System | Role::Developer => true,
        Role::User => {
            !message.flags.summary
                && !message.blocks.is_empty()
                && message.blocks.iter().all(|block| match &block.body {
                    crate::Body::Text(text) => {
                        !message.flags.typed && Fragment::recognise(Speaker::User, text).is_some()
                    }
                    crate::Body::Reasoning { .. }
                    | crate::Body::ToolCall(_)
                    | crate::Body::ToolResult(_)
                    | crate::Body::Image(_)
                    | crate::Body::Document(_)
                    | crate::Body::Unknown(_) => false,
                })
        }
        Role::Assistant | Role::Tool => false,
    }
}

fn shown_text<'a>(entries: impl Iterator<Item = &'a Entry>) -> String {
    entries.map(|entry| entry.shown().to_text()).collect::<Vec<_>>().join("\n")
}

/// Whether notes hold no more than headings and guides.
fn is_empty_template(notes: &str) -> bool {
    notes.lines().map(str::trim).all(|line| {
        line.is_empty() || line.starts_with('#') || (line.starts_with('_') && line.ends_with('_'))
    })
}

/// Notes whose sections are each within the limit: the lines over it are left out, and a note says so.
fn sections_within(notes: &str, most: u64, counter: &mut Counter) -> String {
    let mut out = String::with_capacity(notes.len());
    let mut section = String::new();
    for line in notes.lines().chain(["# "]) {
        if line.starts_with("# ") {
            out.push_str(&cut_to(&section, most, counter));
            if !out.is_empty() && !out.ends_with('\n') {
                out.push('\n');
            }
            section.clear();
        }
        section.push_str(line);
        section.push('\n');
    }
    out
}

/// Whole lines of a text, as many as fit.
fn cut_to(text: &str, most: u64, counter: &mut Counter) -> String {
    if counter.text(text) <= most {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut left = most.saturating_sub(8);
    for line in text.lines() {
        let cost = counter.text(line) + 1;
        if cost > left {
            kept.push_str("[… cut to fit]");
            break;
        }
        left -= cost;
        kept.push_str(line);
        kept.push('\n');
    }
    kept
}
