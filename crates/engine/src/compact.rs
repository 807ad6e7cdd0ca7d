//! One compaction of a conversation, by the offline scribe or a model.

use crate::summary::{self, Subject, SummaryWriter};
use jiff::Timestamp;
use std::sync::Arc;
use throughline_core::compaction::{Compaction, Declined, Draft, Scaffold, Trigger};
use throughline_core::cost::Prices;
use throughline_core::profile::{CompactLimits, Profile, Strategy};
use throughline_core::scribe::DigestWanted;
use throughline_core::stages::{OwnTools, Scene};
use throughline_core::tokens::Counter;
use throughline_core::{Entry, Knowledge, Message};
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
            knowledge.facts.set_cwd(cwd);
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

/// Narrows the budget until the result keeps it by density, too.
fn within_budget(
    order: &Order<'_>,
    counter: &mut Counter,
    mut attempt: impl FnMut(u64, &mut Counter) -> Result<Draft, Declined>,
) -> Result<Draft, Declined> {
    let density = if counter.profile().tokenizer.is_exact() { CODEX_DENSITY } else { CLAUDE_DENSITY };
    let mut budget = order.budget;
    loop {
        let draft = attempt(budget, counter)?;
        let chars: usize = draft.entries.iter().map(|entry| written_chars(&entry.shown())).sum();
        let by_density = (chars as f64 / density) as u64;
        if by_density <= order.budget || budget <= LEAST_BUDGET {
            return Ok(draft);
        }
        let share = order.budget as f64 / by_density as f64;
        budget = ((budget as f64 * share * 0.995) as u64).max(LEAST_BUDGET);
    }
}

/// Characters of a token in recorded sessions, by the usage that was reported for them.
const CLAUDE_DENSITY: f64 = 2.63;
/// See [`CLAUDE_DENSITY`].
const CODEX_DENSITY: f64 = 3.29;
/// Below this a budget is not narrowed further.
const LEAST_BUDGET: u64 = 1_000;

/// Characters of a message as it is sent: its text, and the names and ids around each block.
fn written_chars(message: &Message) -> usize {
    const AROUND: usize = 64;
    message.to_text().chars().count() + AROUND * (1 + message.blocks.len())
}

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
        threshold: u64::MAX / 2,
        trigger: Trigger::Manual,
        instructions: order.instructions,
        notes: None,
        scaffold: order.scaffold,
        reminders: &[],
    }
}

/// The throughline profile's limits, for a result of this size.
fn limits_for(budget: u64) -> CompactLimits {
    let limits = Profile::throughline().compact.unwrap_or_default();
    CompactLimits {
        result_tokens: Some(budget),
        notes_tokens: budget,
        section_tokens: budget,
        summary_tokens: budget,
        user_tokens: limits.user_tokens.min(budget / 2),
        keep_tokens: limits.keep_tokens.min(budget / 4),
        keep_most: limits.keep_most.min(budget / 2),
        ..limits
    }
}
