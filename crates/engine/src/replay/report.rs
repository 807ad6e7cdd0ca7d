//! What a replay found.

use super::guarantee::GuaranteeReport;
use serde::Serialize;
use throughline_core::Stage;
use throughline_core::compaction::Trigger;
use throughline_core::cost::{Dollars, Totals};
use throughline_core::profile::Strategy;

/// One recorded session under several profiles.
#[derive(Clone, Debug, Serialize)]
pub struct SessionReport {
    /// The session.
    pub name: String,
    /// The client that held it.
    pub client: String,
    /// The model whose tokens and prices are used.
    pub model: String,
    /// Messages recorded.
    pub messages: usize,
    /// Times the model was asked.
    pub requests: usize,
    /// Compactions that the client made.
    pub recorded_compactions: usize,
    /// Under each profile, in the order asked for. The first is always `off`: everything is sent.
    pub runs: Vec<Run>,
}

/// One recorded session under one profile.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Run {
    /// The profile.
    pub profile: String,
    /// All requests together.
    pub totals: Totals,
    /// The most tokens that a request had.
    pub peak: u64,
    /// Requests that were over the threshold.
    pub over_threshold: usize,
    /// API rules broken in what would have been sent, after repair; always zero.
    pub violations: usize,
    /// Messages that had to be put right before sending, because the recording itself breaks a rule.
    pub repairs: usize,
    /// Each request.
    pub series: Vec<Sent>,
    /// Each change of the view.
    pub edits: Vec<Mark>,
    /// Each compaction.
    pub compactions: Vec<CompactionReport>,
    /// What people should know, with the request at which it was first said.
    pub notices: Vec<(usize, String)>,
    /// How the guarantee (G) was kept, where the profile asks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guarantee: Option<GuaranteeReport>,
}

/// One request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Sent {
    /// Tokens sent, with what comes before the messages.
    pub tokens: u64,
    /// Of these, read from the provider's cache.
    pub cached: u64,
    /// What it cost, in tokens at the price of one that is not cached.
    pub weight: f64,
    /// Cost of the session so far.
    pub cost: Dollars,
    /// Tokens that were said and not sent, by what became of them.
    pub hidden: Fates,
}

/// Tokens that are not sent any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Fates {
    /// Put aside by the tool result budget.
    pub persisted: u64,
    /// Dropped by the model.
    pub snipped: u64,
    /// Cleared as old.
    pub cleared: u64,
    /// Folded.
    pub collapsed: u64,
    /// Summarised.
    pub summarised: u64,
}

/// Where an edit fell.
#[derive(Clone, Debug, Serialize)]
pub struct Mark {
    /// Before which request.
    pub request: usize,
    /// Who made it.
    pub stage: Stage,
    /// Why.
    pub reason: String,
    /// Tokens freed.
    pub freed: i64,
}

/// What a compaction kept of what turned out to be needed.
#[derive(Clone, Debug, Serialize)]
pub struct CompactionReport {
    /// Before which request.
    pub request: usize,
    /// How.
    pub strategy: Strategy,
    /// What set it off.
    pub trigger: Trigger,
    /// Tokens of the messages before and after.
    pub tokens_before: u64,
    /// See `tokens_before`.
    pub tokens_after: u64,
    /// The score of the check (B7).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<f64>,
    /// Needed-later recall, where the session went on long enough to tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needed: Option<NeededReport>,
}

/// Of what the rest of the session used and nobody gave again: how much was still there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct NeededReport {
    /// How many such things there were.
    pub needed: usize,
    /// The share that stayed in the context.
    pub kept: f64,
    /// The same for those said at most three times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rare: Option<f64>,
    /// The share of pairs that stayed together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pair: Option<f64>,
    /// The share of the user's binding sentences that stayed word for word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constraints: Option<f64>,
    /// The share that stayed or is one search away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<f64>,
}

/// Several sessions under one profile.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Summary {
    /// The profile.
    pub profile: String,
    /// Sessions.
    pub sessions: usize,
    /// All requests together.
    pub totals: Totals,
    /// Cost in relation to sending everything.
    pub relative_cost: f64,
    /// The share of input tokens read from the cache.
    pub cached: f64,
    /// Tokens of a request, on average.
    pub tokens_per_request: u64,
    /// The most tokens that a request had.
    pub peak: u64,
    /// Requests over the threshold.
    pub over_threshold: usize,
    /// API rules broken.
    pub violations: usize,
    /// Compactions, and those of them that the rest of the session can judge.
    pub compactions: usize,
    /// See `compactions`.
    pub judged: usize,
    /// Means over the judged compactions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needed: Option<NeededReport>,
}

impl Summary {
    /// Adds up sessions, profile by profile.
    pub fn of(sessions: &[SessionReport]) -> Vec<Self> {
        let Some(first) = sessions.first() else { return Vec::new() };
        let mut baseline = Totals::default();
        sessions
            .iter()
            .filter_map(|session| session.runs.first())
            .for_each(|run| baseline.merge(&run.totals));
        let column = |at: usize| {
            let runs = sessions.iter().filter_map(move |session| session.runs.get(at));
            let mut sum = Self { sessions: sessions.len(), ..Self::default() };
            let mut needed = Vec::new();
            for run in runs {
                sum.profile.clone_from(&run.profile);
                sum.totals.merge(&run.totals);
                sum.peak = sum.peak.max(run.peak);
                sum.over_threshold += run.over_threshold;
                sum.violations += run.violations;
                sum.compactions += run.compactions.len();
                needed.extend(run.compactions.iter().filter_map(|compaction| compaction.needed));
            }
            sum.relative_cost = sum.totals.relative_to(&baseline).unwrap_or(1.0);
            sum.cached = sum.totals.cached_share();
            sum.tokens_per_request = sum.totals.per_request();
            sum.judged = needed.len();
            sum.needed = NeededReport::mean(&needed);
            sum
        };
        (0..first.runs.len()).map(column).collect()
    }
}

impl NeededReport {
    fn mean(all: &[Self]) -> Option<Self> {
        if all.is_empty() {
            return None;
        }
        let mean = |value: &dyn Fn(&Self) -> Option<f64>| {
            let values: Vec<f64> = all.iter().filter_map(value).collect();
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        Some(Self {
            needed: all.iter().map(|one| one.needed).sum::<usize>() / all.len(),
            kept: mean(&|one| Some(one.kept)).unwrap_or_default(),
            rare: mean(&|one| one.rare),
            pair: mean(&|one| one.pair),
            constraints: mean(&|one| one.constraints),
            found: mean(&|one| one.found),
        })
    }
}
