//! After each answer: did the cache do what was predicted, and do the stages earn what they cost?

use super::{Dollars, Price, Split, Ttl};
use crate::{Stage, Usage};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fmt;

/// What a stage's edits do to the request that is about to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageEffect {
    /// The stage.
    pub stage: Stage,
    /// Tokens that its edits free.
    pub freed: u64,
}

/// What is predicted of a request before it is sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Expected {
    /// Tokens of the prompt, by our count.
    pub prompt: u64,
    /// Of those, the ones to be read from the cache, as [`CacheSim::quote`](super::CacheSim::quote) says.
    pub read: u64,
    /// Of those, the ones that are new since the request before, which no cache could hold.
    pub added: u64,
    /// The cache has expired: nothing is lost by edits.
    pub cold: bool,
    /// The edits made since the request before.
    pub edits: Vec<StageEffect>,
}

/// How an answer compares with what was predicted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observed {
    /// Tokens predicted to be read from the cache, on the provider's scale of counting.
    pub predicted: u64,
    /// Tokens that were.
    pub actual: u64,
    /// Tokens written again because of the edits in this request.
    pub rewritten: u64,
    /// What somebody should hear about.
    pub alerts: Vec<Alert>,
}

/// Something that costs money without anybody having decided so.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Alert {
    /// The provider read much less from its cache than predicted, and no edit explains it.
    CacheLost {
        /// Tokens predicted.
        predicted: u64,
        /// Tokens read.
        actual: u64,
        /// What that cost.
        cost: Dollars,
    },
    /// A stage lost more by rewriting the cache than its edits saved. Said once for each stage.
    StageLoses {
        /// The stage.
        stage: Stage,
        /// Over so many of its latest passes.
        passes: usize,
        /// Weighted tokens saved.
        saved: f64,
        /// Weighted tokens lost.
        lost: f64,
        /// What that came to.
        cost: Dollars,
    },
}

impl fmt::Display for Alert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CacheLost { predicted, actual, cost } => write!(
                f,
                "the prompt cache gave {actual} tokens where {predicted} were expected, at a cost of {cost}; \
                 something before the end of the prompt changed, or the provider dropped the entry"
            ),
            Self::StageLoses { stage, passes, saved, lost, cost } => write!(
                f,
                "the stage {stage:?} loses money: its last {passes} passes saved {saved:.0} weighted tokens and cost \
                 {lost:.0} by rewriting the cache ({cost} in all); raise its limits or leave it out of the profile"
            ),
        }
    }
}

/// A pass of one stage, until it is settled.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Booked {
    freed: u64,
    /// Answered requests when it was made.
    since: u64,
    /// Answered requests when its tokens would have gone anyway.
    until: Option<u64>,
    /// Weighted tokens saved at once.
    at_once: f64,
    lost: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Account {
    stage: Stage,
    passes: VecDeque<Booked>,
    reported: bool,
}

/// Compares predictions with what providers report, over one session. It can be stored with the session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CacheMonitor {
    answered: u64,
    /// The provider has reported a read from its cache, so it has one and says so.
    caches: bool,
    pending: Option<Expected>,
    accounts: Vec<Account>,
}

/// A shortfall raises an alarm from this many tokens on …
const SHORTFALL_TOKENS: u64 = 2_000;
/// … and from this share of what was predicted on: counts by two tokenizers differ by less.
const SHORTFALL_SHARE: f64 = 0.05;
/// A stage is judged by so many of its latest passes, each of which was followed by others or by time.
const PASSES: usize = 5;

impl CacheMonitor {
    /// A request is being sent. If the one before was never answered, its edits count with this one: the cache is reset
    /// by the first request that gets through.
    pub fn sent(&mut self, mut expected: Expected) {
        if let Some(unanswered) = self.pending.take() {
            expected.edits.splice(0..0, unanswered.edits);
        }
        self.pending = Some(expected);
    }

    /// The answer is there. Without a request that was [`sent`](Self::sent) nothing is compared, and as long as the
    /// provider has never reported a read from its cache, none is missed.
    pub fn answered(&mut self, usage: &Usage, price: &Price, ttl: Ttl) -> Observed {
        let Some(expected) = self.pending.take() else { return Observed::default() };
        self.answered += 1;
        let actual = Split::from(usage);
        self.caches |= actual.read > 0;
        // By share of the prompt: our count and the provider's need not be on one scale.
        let scale = if expected.prompt == 0 { 0.0 } else { actual.prompt() as f64 / expected.prompt as f64 };
        let to_scale = |tokens: u64| (tokens as f64 * scale).round() as u64;
        let predicted = to_scale(expected.read);
        let mut observed = Observed { predicted, actual: actual.read, ..Observed::default() };
        if expected.edits.is_empty() {
            let lost = cache_lost(predicted, &actual, price, ttl).filter(|_| self.caches);
            observed.alerts.extend(lost);
        } else {
            let kept = actual.read + to_scale(expected.added);
            observed.rewritten = if expected.cold { 0 } else { actual.prompt().saturating_sub(kept) };
            self.book(&expected, &Weights::of(price, ttl), observed.rewritten);
            observed.alerts.extend(self.losing(price, ttl));
        }
        observed
    }

    /// Weighted tokens that a stage saved and lost over its latest passes, at most five; its newest pass has not had its
    /// time yet and is left out. `None` if the stage made no pass.
    pub fn balance(&self, stage: Stage, price: &Price) -> Option<(f64, f64)> {
        let account = self.accounts.iter().find(|account| account.stage == stage)?;
        Some(account.balance(self.answered, price.ratios.read))
    }

    /// One reset of the cache is shared out over the stages that caused it, by what each of them freed.
    fn book(&mut self, expected: &Expected, weights: &Weights, rewritten: u64) {
        let freed: u64 = expected.edits.iter().map(|edit| edit.freed).sum();
        let loss = weights.dearer * rewritten as f64;
        // A new view takes the place of all earlier edits: their tokens would have gone now.
        if expected.edits.iter().any(|edit| replaces_view(edit.stage)) {
            for pass in self.accounts.iter_mut().flat_map(|account| &mut account.passes) {
                pass.until.get_or_insert(self.answered);
            }
        }
        for edit in &expected.edits {
            let share =
                if freed == 0 { 1.0 / expected.edits.len() as f64 } else { edit.freed as f64 / freed as f64 };
            let at_once =
                if expected.cold { (weights.write - weights.read) * edit.freed as f64 } else { 0.0 };
            let pass = Booked {
                freed: edit.freed,
                // The request just answered is the first that the pass saved on.
                since: self.answered - 1,
                until: None,
                at_once,
                lost: loss * share,
            };
            let account = match self.accounts.iter_mut().position(|account| account.stage == edit.stage) {
                Some(at) => &mut self.accounts[at],
                None => {
                    let passes = VecDeque::new();
                    self.accounts.push(Account { stage: edit.stage, passes, reported: false });
                    let last = self.accounts.len() - 1;
                    &mut self.accounts[last]
                }
            };
            account.passes.push_back(pass);
            // One more than is judged: the newest pass has not had its time yet.
            while account.passes.len() > PASSES + 1 {
                account.passes.pop_front();
            }
        }
    }

    fn losing(&mut self, price: &Price, ttl: Ttl) -> Vec<Alert> {
        let mut alerts = Vec::new();
        let (answered, read) = (self.answered, Weights::of(price, ttl).read);
        for account in &mut self.accounts {
            if account.reported || account.passes.len() <= PASSES {
                continue;
            }
            let (saved, lost) = account.balance(answered, read);
            if saved < lost {
                account.reported = true;
                let cost = price.dollars(lost - saved);
                alerts.push(Alert::StageLoses { stage: account.stage, passes: PASSES, saved, lost, cost });
            }
        }
        alerts
    }
}

impl Account {
    /// Saved and lost over the latest passes but the newest.
    fn balance(&self, answered: u64, read: f64) -> (f64, f64) {
        let judged = self.passes.iter().rev().skip(1).take(PASSES);
        judged.fold((0.0, 0.0), |(saved, lost), pass| {
            let requests = pass.until.unwrap_or(answered).saturating_sub(pass.since);
            let later = read * pass.freed as f64 * requests as f64;
            (saved + pass.at_once + later, lost + pass.lost)
        })
    }
}

struct Weights {
    read: f64,
    write: f64,
    dearer: f64,
}

impl Weights {
    fn of(price: &Price, ttl: Ttl) -> Self {
        let (read, write) = (price.ratios.read, price.ratios.write(ttl));
        Self { read, write, dearer: (write - read).max(0.0) }
    }
}

fn cache_lost(predicted: u64, actual: &Split, price: &Price, ttl: Ttl) -> Option<Alert> {
    let short = predicted.saturating_sub(actual.read);
    if short < SHORTFALL_TOKENS || (short as f64) < predicted as f64 * SHORTFALL_SHARE {
        return None;
    }
    let cost = price.dollars(Weights::of(price, ttl).dearer * short as f64);
    Some(Alert::CacheLost { predicted, actual: actual.read, cost })
}

/// Whether a stage's edits put a new view in the place of the old one.
fn replaces_view(stage: Stage) -> bool {
    match stage {
        Stage::Autocompact => true,
        Stage::Budget | Stage::Snip | Stage::Microcompact | Stage::Collapse | Stage::User | Stage::Import => {
            false
        }
    }
}
