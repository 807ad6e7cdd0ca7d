//! What providers report, turned into better predictions.

use crate::Usage;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// The relation between our counts of a conversation and the prompt sizes that the provider reports for it.
///
/// A prompt is taken to be `offset + ratio × counted`. The offset is what we did not count (the system prompt,
/// the tools, what the client adds unseen) and follows the newest report, so only what changed since is
/// predicted. The ratio is the median growth reported for the growth counted, over recent requests and weighted
/// by size, so that one odd request moves nothing.
///
/// ```
/// use throughline_core::Usage;
/// use throughline_core::tokens::Correction;
///
/// let mut correction = Correction::default();
/// assert_eq!(correction.estimate(1_000), 1_000);
/// for counted in [1_000, 3_000, 5_000, 9_000] {
///     // 20,000 tokens that we can't see, and a tenth more for the rest than we think.
///     correction.observe(counted, &Usage { input: 20_000 + counted * 11 / 10, ..Usage::default() });
/// }
/// assert_eq!(correction.estimate(10_000), 31_000);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Correction {
    /// Newest last.
    seen: VecDeque<Seen>,
    /// The next report is about another conversation.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    restarted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Seen {
    counted: u64,
    reported: u64,
    /// Not comparable with the report before it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    first: bool,
}

/// Reports remembered.
const MEMORY: usize = 32;
/// Growth below this says little about the ratio: rounding and hidden additions outweigh it.
const LEAST_GROWTH: u64 = 200;
/// One request counts for at most this much growth.
const MOST_GROWTH: u64 = 20_000;
/// Growth that must disagree before the ratio leaves 1.
const TRUST_IN_COUNTS: u64 = 2_000;
const RATIOS: std::ops::RangeInclusive<f64> = 0.5..=2.0;

impl Correction {
    /// Takes in what the provider reported for a request whose messages we counted as `counted` tokens. A report
    /// without a prompt size is passed over.
    pub fn observe(&mut self, counted: u64, usage: &Usage) {
        let reported = usage.prompt();
        if reported == 0 {
            return;
        }
        let first = std::mem::take(&mut self.restarted) || self.seen.is_empty();
        self.seen.push_back(Seen { counted, reported, first });
        if self.seen.len() > MEMORY {
            self.seen.pop_front();
        }
    }

    /// Says that the next report is about another conversation of the same model: the ratio holds on, the offset
    /// only until that report.
    pub fn restart(&mut self) {
        self.restarted = true;
    }

    /// The prompt size to expect for messages that we count as `counted` tokens.
    pub fn estimate(&self, counted: u64) -> u64 {
        match self.seen.back() {
            None => counted,
            Some(last) => {
                let change = self.ratio() * (counted as f64 - last.counted as f64);
                (last.reported as f64 + change).round().max(0.0) as u64
            }
        }
    }

    /// Reported tokens for each token that we count.
    pub fn ratio(&self) -> f64 {
        let mut growth: Vec<(f64, u64)> = self
            .seen
            .iter()
            .zip(self.seen.iter().skip(1))
            .filter(|(_, now)| !now.first)
            .filter_map(|(before, now)| {
                let counted = now.counted.abs_diff(before.counted);
                let ratio = (now.reported as f64 - before.reported as f64)
                    / (now.counted as f64 - before.counted as f64);
                (counted >= LEAST_GROWTH).then(|| (ratio, counted.min(MOST_GROWTH)))
            })
            .collect();
        growth.push((1.0, TRUST_IN_COUNTS));
        growth.sort_by(|a, b| a.0.total_cmp(&b.0));
        let half = growth.iter().map(|(_, weight)| weight).sum::<u64>() / 2;
        let mut below = 0;
        let median = growth.iter().find(|(_, weight)| {
            below += weight;
            below > half
        });
        median.map_or(1.0, |(ratio, _)| ratio.clamp(*RATIOS.start(), *RATIOS.end()))
    }

    /// Tokens of the prompt that we do not count: the system prompt, the tools, what the client adds unseen.
    pub fn offset(&self) -> u64 {
        self.estimate(0)
    }

    /// Whether anything was reported yet.
    pub fn is_informed(&self) -> bool {
        !self.seen.is_empty()
    }
}

/// A [`Correction`] for each model; small, and meant to be kept with the session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Corrections {
    models: BTreeMap<String, Correction>,
}

impl Corrections {
    /// Takes in what the provider reported; see [`Correction::observe`].
    pub fn observe(&mut self, model: &str, counted: u64, usage: &Usage) {
        self.models.entry(model.to_owned()).or_default().observe(counted, usage);
    }

    /// The prompt size to expect; see [`Correction::estimate`].
    pub fn estimate(&self, model: &str, counted: u64) -> u64 {
        self.get(model).map_or(counted, |correction| correction.estimate(counted))
    }

    /// What is known about a model.
    pub fn get(&self, model: &str) -> Option<&Correction> {
        self.models.get(model)
    }

    /// Says that the next reports are about another conversation; see [`Correction::restart`].
    pub fn restart(&mut self) {
        self.models.values_mut().for_each(Correction::restart);
    }
}
