//! Autocompact (P5): the view is replaced by a summary and what stays beside it.
//!
//! [`Compaction::offline`] does it in one step with the [offline scribe](crate::scribe). Where somebody else writes the
//! text, [`Compaction::plan`] says what stays and how long the text may be, and [`Plan::finish`] takes the text, checks it
//! and gives the replacement, or says why it was declined. Nothing is applied here: the old view stands until the
//! checkpoint is written.

pub mod attachments;
mod breaker;
mod carried;
mod check;
mod handoff;
mod rounds;
mod visible_files;
mod window;

pub(crate) use attachments::is_supplied_anew;
pub use attachments::{HostContext, files_wanted};
pub use breaker::Breaker;
pub use check::{Check, Missing, MissingKind, Verdict};
pub use rounds::{CUT_FOR_RETRY, drop_oldest, retry_note, rounds};
pub use window::{Keep, align};

use crate::facts::Facts;
use crate::guarantee::{Need, Required, Retold, Violation};
use crate::profile::{CompactLimits, Strategy};
use crate::scribe::{self, DigestWanted, KeptText, Material};
use crate::stages::Scene;
use crate::tokens::Counter;
use crate::{
    Checkpoint, EditId, Entry, Flags, Fragment, Item, Message, MessageId, Origin, Preserved, Role, Speaker,
    prompt,
};
use carried::{Carried, Pending};
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
    /// The result would lack what every request must contain (G).
    #[error("the result would lack {need}: {missing}", need = .need.name())]
    Guarantee {
        /// The most important thing that it lacks.
        need: crate::guarantee::Need,
        /// The beginning of it.
        missing: String,
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
    /// Messages with instructions that hold, which an earlier compaction had no room for.
    pub left_out: &'a [Entry],
    /// Whether the scaffold stays.
    pub scaffold: Scaffold,
    /// What the host supplies: what comes back behind everything else, and files as they are now.
    pub host: &'a HostContext,
    /// Whether the result must keep the guarantee (G).
    pub guarantee: bool,
}

/// What stays, and how long the text may be.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How.
    pub strategy: Strategy,
    /// Tokens of the text at most.
    pub text_tokens: u64,
    /// The client's instructions that hold, in front, and which of them are new messages.
    scaffold: Vec<(Entry, bool)>,
    /// Messages before the text.
    before: Vec<Entry>,
    /// Messages behind the text.
    after: Vec<Entry>,
    /// What the kept messages say.
    kept_text: KeptText,
    /// Tokens of the requests in force that the kept messages do not tell.
    requested: u64,
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
    /// What of the guarantee it lacks, the most important first.
    pub violations: Vec<Violation>,
    /// Requests alone would fill it: the older ones are told by the sentences that bind.
    pub is_tight: bool,
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
const SUMMARY_END: &str = include_str!("../../../../prompts/summary_end.md");
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
    // The first sentence of our own lead, in this version and earlier ones.
    "The earlier part of this conversation was condensed to save room.",
    "This session is being continued from a previous conversation",
    "Another language model started to solve this problem",
    HANDOFF_LEAD,
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
/// Where a person asks for a compaction, results that the model has not seen get at most this part of it.
const MANUAL_SHARE: u64 = 24;
/// Where at most so many times the result's size was said before them, they get this part: there is less to tell.
const MANUAL_LITTLE: u64 = 4;
const MANUAL_SHARE_OF_LITTLE: u64 = 3;
/// The share of the view that is to be freed even if less comes back.
const WORTHWHILE: f64 = 0.3;
/// Tokens of the result that instructions of the client leave free.
const LEAST_RESULT: u64 = 4_000;
/// The part of the room for messages that the text may claim beside results which the model has not seen yet.
const TEXT_SHARE: u64 = 4;
/// The part that such results may have in a request that the provider found too long: its count is not known.
const REFUSED_SHARE: u64 = 2;
/// The part of the text that requests in force may have, in tenths.
pub(crate) const REQUESTS_SHARE: u64 = 6;
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
        let mut material = Material {
            facts: self.facts,
            kept: &plan.kept_text,
            instructions: self.instructions,
            guarantee: self.guarantee,
            digest,
        };
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
        self.plan_covering(strategy, None, counter)
    }

    /// Like [`plan`](Self::plan), for a text that was written before it was needed and ends at the message `covers`: what came
    /// after that message stays.
    pub fn plan_covering(
        &self,
        strategy: Strategy,
        covers: Option<&MessageId>,
        counter: &mut Counter,
    ) -> Result<Plan, Declined> {
        let entries = self.scene.entries;
        let body = entries.iter().position(|entry| !is_scaffold(&entry.message)).unwrap_or(entries.len());
        if entries[body..].iter().all(|entry| entry.message.flags.summary || entry.pinned.is_some()) {
            return Err(Declined::Nothing);
        }
        let (scaffold, pending) = self.carried(body, counter);
        let typed = self.typed_start(body);
        let typed_tokens: u64 = self.scene.tokens[typed..].iter().sum();
        let required: u64 = self.host.required.iter().map(|message| counter.message(message).total()).sum();
        let room = self.room(scaffold.tokens + required, pending.tokens.max(typed_tokens));
        let carried = scaffold.ids();
        let (before, start) = match strategy {
            Strategy::Notes => (Vec::new(), self.notes_start(body, room)?.min(typed)),
            Strategy::Summary => (Vec::new(), self.uncovered_start(covers, typed)?),
            Strategy::Handoff => {
                let start = self.uncovered_start(covers, self.pending_request(body))?;
                let most = self.limits.user_tokens.min(room / 2);
                let said = entries[body..start.min(pending.start).max(body)].iter();
                let said = said.filter(|entry| !carried.contains(&entry.message.id));
                (handoff::user_messages(said, most, counter), start)
            }
        };
        // What waits for an answer is kept as it was planned; what is kept before it, as it is.
        let start = start.min(pending.start);
        let is_pinned = |at: &usize| {
            (entries[*at].pinned.is_some()
                || (self.guarantee && carried::is_sealed_task(&entries[*at].message)))
                && !carried.contains(&entries[*at].message.id)
        };
        // What the person pinned and what another agent gave as a task comes first of what is kept, however old it is.
        let is_kept = |at: &usize| !self.is_outdated(&entries[*at]);
        let kept: Vec<usize> =
            (body..start).filter(is_pinned).chain(start..pending.start).filter(is_kept).collect();
        let mut after: Vec<Entry> = kept.iter().map(|&at| entries[at].clone()).collect();
        after.retain(|entry| !carried.contains(&entry.message.id));
        let kept: u64 = kept.iter().map(|&at| self.scene.tokens[at]).sum::<u64>()
            + pending.tokens
            + before.iter().map(|entry| counter.message(&entry.shown()).total()).sum::<u64>();
        after.extend(pending.entries.into_iter().filter(|entry| !self.is_outdated(entry)));
        let most = match strategy {
            Strategy::Notes => self.limits.notes_tokens,
            Strategy::Summary | Strategy::Handoff => self.limits.summary_tokens,
        };
        let text_tokens = room.saturating_sub(kept + LEAD_TOKENS).min(most);
        // It has to be smaller than what it stands for, whatever the user said.
        let condensed = self.scene.tokens.iter().sum::<u64>().saturating_sub(kept + scaffold.tokens);
        let smaller = (condensed as f64 * (1.0 - WORTHWHILE)) as u64;
        let text_tokens = text_tokens.min(smaller.saturating_sub(LEAD_TOKENS).max(LEAST_TEXT));
        if text_tokens < LEAST_TEXT {
            return Err(Declined::OverLimit { tokens: kept + LEAD_TOKENS + LEAST_TEXT, limit: room });
        }
        let shown = scaffold.entries.iter().map(|(entry, _)| entry).chain(&before).chain(&after);
        let kept_text = shown_text(shown);
        let scaffold = scaffold.entries;
        let untold = self.facts.requests().in_force().flat_map(|request| request.ask.passages());
        let untold = untold.filter(|passage| !kept_text.said.contains(passage));
        let requested =
            if self.guarantee { untold.map(|passage| counter.text(passage) + 8).sum() } else { 0 };
        Ok(Plan { strategy, text_tokens, scaffold, before, after, kept_text, requested, start })
    }

    /// The client's instructions that hold, and what waits for an answer.
    fn carried(&self, body: usize, counter: &mut Counter) -> (Carried, Pending) {
        let Scene { entries, tokens, overhead, .. } = self.scene;
        let required: u64 = self.host.required.iter().map(|message| counter.message(message).total()).sum();
        let limit = self.threshold.saturating_sub(overhead + required);
        let pending = match self.guarantee {
            true => {
                let most = self.room_for_pending(limit, carried::pending_start(entries));
                carried::pending(entries, tokens, most, self.scene.tools.recall, counter)
            }
            false => self.unseen(limit),
        };
        let carried = match (self.scaffold, self.guarantee) {
            (Scaffold::LeaveOut, _) => Carried::default(),
            (Scaffold::Keep, true) => {
                let most = limit.saturating_sub(pending.tokens + LEAST_RESULT.min(limit / 4));
                let current = |entry: &Entry| !self.is_outdated(entry);
                let entries = (self.left_out, &entries[..pending.start]);
                carried::carry(entries, &current, self.facts.requests(), most, counter)
            }
            (Scaffold::Keep, false) => {
                let head = entries[..body].iter().filter(|entry| !self.is_outdated(entry));
                let head: Vec<(Entry, bool)> = head.map(|entry| (entry.clone(), false)).collect();
                let tokens = head.iter().map(|(entry, _)| counter.message(&entry.shown()).total()).sum();
                Carried { entries: head, tokens }
            }
        };
        (carried, pending)
    }

    /// Where what the user just typed begins: the request that is about to be sent must hold it.
    fn typed_start(&self, body: usize) -> usize {
        match self.trigger {
            Trigger::PreTurn | Trigger::MidTurn | Trigger::TooLong => self.pending_request(body),
            Trigger::Manual | Trigger::ModelSwitch => self.scene.entries.len(),
        }
    }

    /// Returns where the messages begin that a text up to `covers` says nothing of, at `latest` at the latest.
    fn uncovered_start(&self, covers: Option<&MessageId>, latest: usize) -> Result<usize, Declined> {
        let Some(covers) = covers else { return Ok(latest) };
        let entries = self.scene.entries;
        let at = entries.iter().rposition(|entry| entry.message.id == *covers);
        let next = at.ok_or(Declined::UnknownBoundary)? + 1;
        Ok(align(entries, next.min(latest)))
    }

    /// Tokens that the text and the kept messages may have together.
    fn room(&self, scaffold: u64, pending: u64) -> u64 {
        let limit = self.threshold.saturating_sub(self.scene.overhead + scaffold);
        match self.limits.result_tokens {
            Some(most) => limit.min(most + pending),
            None => limit,
        }
    }

    /// Tokens that what waits for an answer may have: what is pinned stays, and the text needs its share.
    fn room_for_pending(&self, limit: u64, start: usize) -> u64 {
        match self.trigger {
            Trigger::TooLong => return limit / REFUSED_SHARE,
            // Nobody waits for the answer: what was said before is needed more often.
            Trigger::Manual => {
                let before: u64 = self.scene.tokens[..start].iter().sum();
                let is_little = before <= limit.saturating_mul(MANUAL_LITTLE);
                return limit / if is_little { MANUAL_SHARE_OF_LITTLE } else { MANUAL_SHARE };
            }
            Trigger::PreTurn | Trigger::MidTurn | Trigger::ModelSwitch => {}
        }
        let Scene { entries, tokens, .. } = &self.scene;
        let before = entries.iter().zip(*tokens).take(start);
        let pinned: u64 = before.filter(|(entry, _)| entry.pinned.is_some()).map(|(_, tokens)| tokens).sum();
        let text = self.limits.result_tokens.unwrap_or(u64::MAX).min(limit / TEXT_SHARE);
        limit.saturating_sub(pinned + text.max(LEAD_TOKENS + LEAST_TEXT))
    }

    /// Tokens by which what waits for an answer is larger than what a replacement keeps whole. Without a limit on the result and
    /// without the guarantee it keeps nothing, as in the source systems.
    pub(crate) fn unseen_excess(&self) -> u64 {
        let Scene { entries, tokens, overhead, .. } = &self.scene;
        let start = carried::pending_start(entries);
        if entries[start..].iter().all(|entry| entry.message.results().next().is_none()) {
            return 0;
        }
        if self.limits.result_tokens.is_none() && !self.guarantee {
            return u64::MAX;
        }
        let pending: u64 = tokens[start..].iter().sum();
        pending.saturating_sub(self.room_for_pending(self.threshold.saturating_sub(*overhead), start))
    }

    /// Results that the model asked for and has not seen: their round as it is. Without them it would have to ask again. What is
    /// too large goes all the same: it would fill the context again at once.
    fn unseen(&self, limit: u64) -> Pending {
        let Scene { entries, tokens, .. } = &self.scene;
        let nothing = Pending { start: entries.len(), entries: Vec::new(), tokens: 0 };
        let start = carried::pending_start(entries);
        let has_results = entries[start..].iter().any(|entry| entry.message.results().next().is_some());
        match (self.trigger, self.limits.result_tokens) {
            (Trigger::MidTurn | Trigger::PreTurn | Trigger::TooLong, Some(_)) if has_results => {
                let round: u64 = tokens[start..].iter().sum();
                match round <= self.room_for_pending(limit, start) {
                    true => Pending { start, entries: entries[start..].to_vec(), tokens: round },
                    false => nothing,
                }
            }
            (
                Trigger::MidTurn
                | Trigger::PreTurn
                | Trigger::ModelSwitch
                | Trigger::Manual
                | Trigger::TooLong,
                _,
            ) => nothing,
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

    /// What of the guarantee a new view lacks; nothing where it is not asked for.
    fn violations(&self, entries: &[Entry]) -> Vec<Violation> {
        if !self.guarantee {
            return Vec::new();
        }
        let retold = match self.scaffold {
            Scaffold::Keep => Retold::Nothing,
            Scaffold::LeaveOut => Retold::Fragments,
        };
        let sent: Vec<std::sync::Arc<Message>> = entries.iter().map(Entry::shown).collect();
        let sent: Vec<&Message> = sent.iter().map(|message| &**message).collect();
        let current: Vec<Entry> = self
            .left_out
            .iter()
            .chain(self.scene.entries)
            .filter(|entry| !self.is_outdated(entry))
            .cloned()
            .collect();
        Required::read(self.facts, &current, retold).check(&sent)
    }

    /// Whether something newer of the host's takes the place of a message.
    fn is_outdated(&self, entry: &Entry) -> bool {
        self.host.outdated.contains(&entry.message.id)
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
        let details = digest(DigestWanted { budget, said: &[&words, &self.kept_text.all] }, counter);
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
        let (text, verdict) = self.checked(of, text, counter);
        let mut attachments = attachments::files(of, self.start, counter);
        attachments.extend(of.host.reminders.iter().cloned());
        let preserved = self.preserved(of);
        let (mut entries, mut fresh): (Vec<Entry>, Vec<bool>) = self.scaffold.into_iter().unzip();
        for entry in self.before {
            // A message that was cut to fit is a new one.
            fresh.push(!of.scene.entries.iter().any(|old| old.message.id == entry.message.id));
            entries.push(entry);
        }
        entries.push(summary_message(self.strategy, &text, self.after.len(), of).into());
        fresh.push(true);
        fresh.extend(self.after.iter().map(|_| false));
        entries.extend(self.after);
        let tokens_before: u64 = of.scene.tokens.iter().sum();
        let required = of.host.required.iter().map(|message| counter.message(message).total());
        let mut tokens_after: u64 = required.sum::<u64>()
            + entries.iter().map(|entry| counter.message(&entry.shown()).total()).sum::<u64>();
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
        attachments.extend(of.host.required.iter().cloned());
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
        let violations = of.violations(&entries);
        let is_tight = violations.iter().all(|violation| violation.need == Need::Request)
            && self.requested > self.text_tokens * REQUESTS_SHARE / 10;
        Ok(Draft {
            strategy: self.strategy,
            trigger: of.trigger,
            text,
            entries,
            fresh,
            tokens_before,
            tokens_after,
            verdict,
            violations,
            is_tight,
            preserved,
        })
    }

    /// The text with what the check appends. What the guarantee demands is appended in any case: the text is cut for it.
    fn checked(&self, of: &Compaction<'_>, text: String, counter: &mut Counter) -> (String, Option<Verdict>) {
        if !of.limits.checked && !of.guarantee {
            return (text, None);
        }
        let budget = self.text_tokens / CHECK_SHARE;
        let guarantee = of.guarantee.then_some(self.text_tokens * REQUESTS_SHARE / 10);
        let check = Check { facts: of.facts, kept: &self.kept_text, budget, guarantee };
        let (whole, verdict) = check.run(&text, counter);
        let over = counter.text(&whole).saturating_sub(self.text_tokens + budget);
        if over == 0 || !of.guarantee {
            return (whole, Some(verdict));
        }
        let cut = cut_to(&text, counter.text(&text).saturating_sub(over), counter);
        let (whole, verdict) = check.run(&cut, counter);
        (whole, Some(verdict))
    }

    fn preserved(&self, of: &Compaction<'_>) -> Option<Preserved> {
        let entries = of.scene.entries;
        let id = |at: usize| entries.get(at).map(|entry| entry.message.id.clone());
        let tail = (self.start < entries.len()).then(|| entries.len() - 1)?;
        Some(Preserved { head: id(0)?, anchor: id(self.start.checked_sub(1)?)?, tail: id(tail)? })
    }
}

/// The message that stands for what was condensed, with `kept` messages behind it.
fn summary_message(strategy: Strategy, text: &str, kept: usize, of: &Compaction<'_>) -> Message {
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
    match strategy {
        Strategy::Notes | Strategy::Summary => body.push_str(&summary_end(text, kept)),
        Strategy::Handoff => {}
    }
    let mut message = Message::text(Role::User, body);
    message.at = of.scene.now;
    message.flags = Flags { meta: true, summary: true, ..Flags::default() };
    message
}

/// The frame behind a summary (P5b): that messages follow word for word, and how to go on. It names the section to go on from
/// only if the text has it.
fn summary_end(text: &str, kept: usize) -> String {
    let has = |name: &&str| text.lines().any(|line| is_heading(line, name));
    let from = match ["Current State", "Current Work"].into_iter().find(has) {
        Some(section) => format!(" from \"{section}\""),
        None => String::new(),
    };
    let follow = if kept > 0 { "The messages after this one are kept word for word.\n" } else { "" };
    format!("\n\n{}", prompt(SUMMARY_END).replace("{{from}}", &from).replace("{{follow}}", follow))
}

/// Returns whether a line is the heading of a section: `# Name`, or `8. Name:`.
fn is_heading(line: &str, name: &str) -> bool {
    let mark = |c: char| c.is_ascii_digit() || matches!(c, '#' | '*' | '.' | ' ');
    line.trim_start_matches(mark).starts_with(name) && line.starts_with(mark)
}

/// Scaffold that a client gives in front of the conversation.
pub(crate) fn is_scaffold(message: &Message) -> bool {
    match message.role {
        Role::System | Role::Developer => !carried::is_sealed_task(message),
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

/// The text of entries as every wire carries it: items that only one provider knows are not written on the others.
fn shown_text<'a>(entries: impl Iterator<Item = &'a Entry>) -> KeptText {
    let mut kept = KeptText::default();
    for entry in entries {
        let shown = entry.shown();
        for block in &shown.blocks {
            let is_said = match &block.body {
                crate::Body::Unknown(_) => continue,
                crate::Body::Text(_) => matches!(shown.role, Role::User | Role::System | Role::Developer),
                crate::Body::Reasoning { .. }
                | crate::Body::ToolCall(_)
                | crate::Body::ToolResult(_)
                | crate::Body::Image(_)
                | crate::Body::Document(_) => false,
            };
            let text = block.to_text();
            let texts = [Some(&mut kept.all), is_said.then_some(&mut kept.said)];
            for to in texts.into_iter().flatten() {
                to.push_str(&text);
                to.push('\n');
            }
        }
    }
    kept
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
