//! What all background work together may take.

use crate::Caps;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What all background work together may take. Days are days of UTC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GovernorLimits {
    /// Whether there is any.
    pub enabled: bool,
    /// Tokens a day, prompts and answers, cached or not; without a limit if not set.
    pub daily_tokens: Option<u64>,
    /// Dollars a day; without a limit if not set. Zero leaves work that costs nothing.
    pub daily_dollars: Option<f64>,
    /// Only while the user is away.
    pub idle_only: bool,
    /// How long the user must have been away for that, in minutes.
    pub idle_minutes: u64,
    /// How many jobs may run at the same time, those of other processes included.
    pub at_once: usize,
    /// The share of the provider's rate limit that must be left to the user, from 0 to 1.
    pub least_rate_limit: f64,
    /// Caps by job; [`Caps::default`] for those that are not named.
    pub jobs: BTreeMap<String, Caps>,
}

impl Default for GovernorLimits {
    fn default() -> Self {
        Self {
            enabled: true,
            daily_tokens: None,
            daily_dollars: Some(5.0),
            idle_only: false,
            idle_minutes: 5,
            at_once: 2,
            least_rate_limit: 0.25,
            jobs: BTreeMap::new(),
        }
    }
}

impl GovernorLimits {
    /// The caps of a job.
    pub fn caps(&self, job: &str) -> Caps {
        self.jobs.get(job).cloned().unwrap_or_default()
    }
}
