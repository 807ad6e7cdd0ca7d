//! One compaction of a conversation, by the offline scribe or a model.

use crate::summary::{self, Subject, SummaryWriter};
use jiff::Timestamp;
use std::sync::Arc;
use throughline_core::compaction::{Compaction, Declined, Draft, HostContext, Scaffold, Trigger};
use throughline_core::cost::Prices;
use throughline_core::profile::{CompactLimits, Profile, Strategy};
use throughline_core::scribe::DigestWanted;
use throughline_core::stages::{OwnTools, Scene};
use throughline_core::tokens::Counter;
use throughline_core::{Block, Body, Entry, Knowledge, Message, ToolInput};
use throughline_model::{Caps, Model, Receipt};

/// What to compact, and how.
#[derive(Clone, Debug)]
pub struct Order<'a> {
    /// How.
    pub strategy: Strategy,
    /// The most tokens of the result.
    pub budget: u64,
    /// What the text shall pay attention to.
    pub instructions: Option<&'a str>,
    /// The model whose tokens are counted.
    pub model: &'a str,
    /// Where the session ran.
    pub cwd: Option<&'a str>,
    /// What becomes of the scaffold at the head.
    pub scaffold: Scaffold,
    /// Which of our own tools the model has.
    pub tools: OwnTools,
    /// The time.
    pub now: Option<Timestamp>,
}

/// Compacts `view` to at most the budget. `said` is everything that was ever said, which may be more.
///
/// The result keeps the budget by our count *and* by the density that providers report for recorded sessions: dense text
/// such as lists of names has more tokens than an estimate made for prose may say.
pub fn compact(said: &[Arc<Message>], view: &[Entry], order: &Order<'_>) -> Result<Draft, Declined> {
    let Subjects { knowledge, mut counter, tokens } = Subjects::of(said, view, order);
    let scene = scene(view, &tokens, order);
    let archive = &knowledge.archive;
    within_budget(order, &mut counter, |budget, counter| {
        let limits = limits_for(budget);
        let compaction = compaction(scene, &knowledge, order, &limits);
        compaction.offline(order.strategy, counter, &mut |wanted, counter| archive.digest(&wanted, counter))
    })
}

/// As [`compact`], with the text by a model and ranked details behind it.
pub async fn compact_by_model(
    said: &[Arc<Message>],
    view: &[Entry],
    order: &Order<'_>,
    model: &dyn Model,
) -> Result<WrittenDraft, CompactError> {
    let Subjects { knowledge, mut counter, tokens } = Subjects::of(said, view, order);
    let scene = scene(view, &tokens, order);
    let limits = limits_for(order.budget);
    let plan = compaction(scene, &knowledge, order, &limits).plan(order.strategy, &mut counter)?;
    let writer = SummaryWriter {
        model,
        system: "",
        limits: &limits,
        caps: &Caps { output_tokens: 20_000, input_tokens: 2_000_000, ..Caps::default() },
        price: &Prices::builtin().of(model.id()),
    };
    let ask = summary::ask(order.strategy, plan.prose_tokens(&limits), order.instructions);
    let written = writer.write(Subject { ask, parent: None, entries: view, tokens: &tokens }).await;
    let text = written.text.map_err(|why| CompactError::Unwritten { who: model.id().to_owned(), why })?;
    let draft = within_budget(order, &mut counter, |budget, counter| {
        let limits = limits_for(budget);
        let compaction = compaction(scene, &knowledge, order, &limits);
        let plan = compaction.plan(order.strategy, counter)?;
        let mut digest =
            |wanted: DigestWanted<'_>, counter: &mut Counter| knowledge.archive.digest(&wanted, counter);
        let text = plan.with_details(&compaction, &text, counter, &mut digest);
        plan.finish(&compaction, &text, counter)
    })?;
    Ok(WrittenDraft { draft, receipts: written.receipts })
}

/// A compaction whose text a model wrote.
#[derive(Debug)]
pub struct WrittenDraft {
    /// The replacement.
    pub draft: Draft,
    /// What the text cost, request by request.
    pub receipts: Vec<Receipt>,
}

/// Why there is no compaction by a model.
#[derive(Debug, thiserror::Error)]
pub enum CompactError {
    /// It would not help.
    #[error(transparent)]
    Declined(#[from] Declined),
    /// The model wrote no text.
    #[error("{who} wrote no summary: {why}")]
    Unwritten {
        /// The model.
        who: String,
        /// Why.
        why: String,
    },
}

/// What a compaction works on.
struct Subjects {
    knowledge: Knowledge,
    counter: Counter,
    tokens: Vec<u64>,
}

impl Subjects {
    fn of(said: &[Arc<Message>], view: &[Entry], order: &Order<'_>) -> Self {
        let mut knowledge = Knowledge::default();
        if let Some(cwd) = order.cwd {
            knowledge.set_cwd(cwd);
        }
        for message in said {
            knowledge.push(message);
        }
        let mut counter = Counter::for_model(order.model);
        let tokens = view.iter().map(|entry| counter.message(&entry.shown()).total()).collect();
        Self { knowledge, counter, tokens }
    }
}

fn scene<'a>(view: &'a [Entry], tokens: &'a [u64], order: &Order<'_>) -> Scene<'a> {
    Scene { entries: view, tokens, overhead: 0, now: order.now, sent: view.len(), tools: order.tools }
}

/// Moves the budget of the attempts until the result is as large as it may be, and no larger.
fn within_budget(
    order: &Order<'_>,
    counter: &mut Counter,
    mut attempt: impl FnMut(u64, &mut Counter) -> Result<Draft, Declined>,
) -> Result<Draft, Declined> {
    let density = if counter.profile().tokenizer.is_exact() { CODEX_DENSITY } else { CLAUDE_DENSITY };
    let limit = order.budget;
    let mut best: Option<(u64, Draft)> = None;
    let mut budget = limit;
    // The largest budget whose result fits, and the smallest whose result does not or that is not tried, each with the
    // size of its result.
    let mut low = (0, 0);
    let mut high = (limit.saturating_mul(4), limit.saturating_mul(4));
    for attempts in 1.. {
        let size = match attempt(budget, counter) {
            Ok(draft) => {
                let size = size_of(&draft, density);
                if size <= limit && best.as_ref().is_none_or(|(most, _)| size > *most) {
                    best = Some((size, draft));
                }
                size
            }
            Err(Declined::OverLimit { tokens, .. }) => tokens.max(limit + 1),
            Err(other) if best.is_none() => return Err(other),
            Err(_) => break,
        };
        if size <= limit {
            low = (budget, size);
        } else {
            high = (budget, size);
        }
        let is_full = size <= limit && size as f64 >= limit as f64 * FULL;
        // Where twice the budget is not filled, there is nothing more to say.
        if is_full || low.0 / 2 >= limit || (best.is_some() && attempts >= MOST_ATTEMPTS) {
            break;
        }
        if high.0 <= LEAST_BUDGET {
            return Err(Declined::OverLimit { tokens: size, limit });
        }
        budget = between(low, high, (limit as f64 * AIM) as u64);
        if budget == low.0 || budget == high.0 {
            break;
        }
    }
    best.map(|(_, draft)| draft).ok_or(Declined::Nothing)
}

/// The budget at which a result may have the size that is aimed at, by two budgets and the sizes of their results. It is
/// at least a sixteenth of the way from either: results change in steps, which can be far from a straight line.
fn between(low: (u64, u64), high: (u64, u64), aim: u64) -> u64 {
    let share = aim.saturating_sub(low.1) as f64 / high.1.saturating_sub(low.1).max(1) as f64;
    let way = (high.0 - low.0) as f64;
    low.0.max(LEAST_BUDGET).max(low.0 + (way * share.clamp(1.0 / 16.0, 15.0 / 16.0)) as u64)
}

/// Tokens of a result, by our count or by the density that providers report, whichever is more.
fn size_of(draft: &Draft, density: f64) -> u64 {
    let chars: usize = draft.entries.iter().map(|entry| written_chars(&entry.shown())).sum();
    draft.tokens_after.max((chars as f64 / density).ceil() as u64)
}

/// Characters of a token in recorded sessions, by the usage that was reported for them.
const CLAUDE_DENSITY: f64 = 2.63;
/// See [`CLAUDE_DENSITY`].
const CODEX_DENSITY: f64 = 3.29;
/// Below this a budget is not narrowed further.
const LEAST_BUDGET: u64 = 500;
/// Attempts to come close to the budget.
const MOST_ATTEMPTS: usize = 12;
/// The share of the budget that is aimed at, and the one that is enough.
const AIM: f64 = 0.9985;
const FULL: f64 = 0.996;

/// Characters of a message as it is sent: its text, arguments and seals of reasoning as they are written, and the names, ids and
/// kinds around each block.
fn written_chars(message: &Message) -> usize {
    /// What clients write around a text, and around a call, a result or reasoning: kinds, statuses, ids of their own.
    const AROUND_TEXT: usize = 64;
    const AROUND_ITEM: usize = 120;
    let chars = |text: &str| text.chars().count();
    let block = |block: &Block| match &block.body {
        Body::ToolCall(call) => {
            let input = match &call.input {
                ToolInput::Json(value) => chars(&value.to_string()),
                ToolInput::JsonText(text) | ToolInput::Text(text) => chars(text),
            };
            input + call.id.as_str().len() + call.name.len() + AROUND_ITEM
        }
        Body::ToolResult(result) => chars(&block.to_text()) + result.call.as_str().len() + AROUND_ITEM,
        Body::Reasoning { seal, .. } => {
            chars(&block.to_text()) + seal.as_ref().map_or(0, String::len) + AROUND_ITEM
        }
        Body::Text(_) | Body::Image(_) | Body::Document(_) | Body::Unknown(_) => {
            chars(&block.to_text()) + AROUND_TEXT
        }
    };
    message.blocks.iter().map(block).sum()
}

/// Nobody can tell more than the record does.
static NO_HOST: HostContext =
    HostContext { required: Vec::new(), reminders: Vec::new(), files: None, outdated: Vec::new() };

fn compaction<'a>(
    scene: Scene<'a>,
    knowledge: &'a Knowledge,
    order: &'a Order<'_>,
    limits: &'a CompactLimits,
) -> Compaction<'a> {
    Compaction {
        scene,
        facts: &knowledge.facts,
        limits,
        threshold: order.budget,
        trigger: Trigger::Manual,
        instructions: order.instructions,
        notes: None,
        left_out: &[],
        scaffold: order.scaffold,
        host: &NO_HOST,
        guarantee: true,
    }
}

/// The throughline profile's limits, for a result of this size.
fn limits_for(budget: u64) -> CompactLimits {
    let limits = Profile::throughline().compact.unwrap_or_default();
    // What is needed later stands in the newest messages less often than in all that came before them.
    let tail = budget * TAIL_PERCENT / 100;
    CompactLimits {
        result_tokens: Some(budget),
        notes_tokens: budget,
        section_tokens: budget,
        summary_tokens: budget,
        user_tokens: limits.user_tokens.min(budget / 2),
        keep_tokens: limits.keep_tokens.min(tail),
        keep_most: limits.keep_most.min(tail),
        ..limits
    }
}

/// The part of a result that the newest messages may have, word for word.
const TAIL_PERCENT: u64 = 10;
