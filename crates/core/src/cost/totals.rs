//! What requests came to.

use super::{Dollars, Split};
use serde::{Deserialize, Serialize};

/// What one request was billed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Charge {
    /// Prompt tokens read from the cache.
    pub read: u64,
    /// Prompt tokens written to the cache.
    pub write: u64,
    /// Prompt tokens that did neither.
    pub uncached: u64,
    /// Output tokens.
    pub output: u64,
    /// The prompt in weighted tokens; the output is not part of it.
    pub weight: f64,
    /// Everything, output included.
    pub dollars: Dollars,
}

impl Charge {
    /// Tokens of the whole prompt.
    pub fn prompt(&self) -> u64 {
        self.read + self.write + self.uncached
    }

    /// The tokens alone.
    pub fn split(&self) -> Split {
        Split { read: self.read, write: self.write, uncached: self.uncached, output: self.output }
    }
}

/// What a sequence of requests came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// How many requests.
    pub requests: u64,
    /// Prompt tokens read from the cache.
    pub read: u64,
    /// Prompt tokens written to the cache.
    pub write: u64,
    /// Prompt tokens that did neither.
    pub uncached: u64,
    /// Output tokens.
    pub output: u64,
    /// All prompts in weighted tokens.
    pub weight: f64,
    /// Everything, output included.
    pub dollars: Dollars,
    /// The largest prompt.
    pub peak: u64,
}

impl Totals {
    /// Counts one request in.
    pub fn add(&mut self, charge: &Charge) {
        self.requests += 1;
        self.read += charge.read;
        self.write += charge.write;
        self.uncached += charge.uncached;
        self.output += charge.output;
        self.weight += charge.weight;
        self.dollars += charge.dollars;
        self.peak = self.peak.max(charge.prompt());
    }

    /// Counts another sequence in, for example the next session.
    pub fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        self.read += other.read;
        self.write += other.write;
        self.uncached += other.uncached;
        self.output += other.output;
        self.weight += other.weight;
        self.dollars += other.dollars;
        self.peak = self.peak.max(other.peak);
    }

    /// Prompt tokens of all requests.
    pub fn prompt(&self) -> u64 {
        self.read + self.write + self.uncached
    }

    /// Prompt tokens per request; zero where there was none.
    pub fn per_request(&self) -> u64 {
        self.prompt().checked_div(self.requests).unwrap_or(0)
    }

    /// The share of all prompt tokens that was read from the cache, from 0 to 1.
    pub fn cached_share(&self) -> f64 {
        if self.prompt() == 0 { 0.0 } else { self.read as f64 / self.prompt() as f64 }
    }

    /// Prompt cost relative to another way of sending the same session; `None` where that one cost nothing.
    pub fn relative_to(&self, baseline: &Self) -> Option<f64> {
        (baseline.weight > 0.0).then(|| self.weight / baseline.weight)
    }
}
