//! At which size of the context compaction is cheapest.
//!
//! Between two compactions the context grows evenly, then falls back: a sawtooth. Compacting seldom means to read a large
//! context again and again; compacting often means to write the result again and again. A cycle of `n` requests costs,
//! per request, `c/n + r·g·(n − 1)/2` beyond what every cycle length costs alike, where a compaction costs
//! `c = (w − r)·s + making`, a request adds `g` tokens, and `r` and `w` are what tokens read and written weigh. That is
//! least at `n = √(2c / (r·g))`.

use super::{Price, Ttl};

/// How a session's context grows and what a compaction leaves of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sawtooth {
    /// Tokens that stay cached through a compaction: the system prompt and the tools.
    pub fixed: u64,
    /// Tokens that a compaction leaves besides those; they are written again.
    pub after: u64,
    /// Tokens that each request adds.
    pub growth: f64,
    /// Weighted tokens spent on making a compaction.
    pub making: f64,
}

/// Between which sizes the threshold may lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Below this nothing is compacted, whatever it would save: the model works better with its history in sight.
    pub floor: u64,
    /// Above this everything is compacted, whatever it costs: the window ends there.
    pub ceiling: u64,
}

/// When to compact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Threshold {
    /// At this size of the prompt, within the bounds.
    pub at: u64,
    /// The cheapest size, whether within the bounds or not; `None` if it never pays to compact.
    pub cheapest: Option<u64>,
    /// Requests from one compaction to the next at [`at`](Self::at).
    pub requests: f64,
    /// Weighted tokens that a request then costs on average.
    pub weight: f64,
}

impl Sawtooth {
    /// The cheapest size of the context to compact at, kept within bounds.
    ///
    /// ```
    /// use throughline_core::cost::{Bounds, Prices, Sawtooth, Ttl};
    ///
    /// let price = Prices::builtin().of("claude-opus-4-5");
    /// let saw = Sawtooth { fixed: 20_000, after: 10_000, growth: 1_150.0, making: 0.0 };
    /// // √(2 × 1.15 × 10,000 / (0.1 × 1,150)) = √200 ≈ 14.1 requests, 16,263 tokens.
    /// let best = saw.best_threshold(&price, Ttl::Short, Bounds { floor: 0, ceiling: 200_000 });
    /// assert_eq!(best.at, 46_263);
    /// ```
    pub fn best_threshold(&self, price: &Price, ttl: Ttl, bounds: Bounds) -> Threshold {
        let low = self.fixed + self.after;
        let reading = price.ratios.read * self.growth;
        let even = (reading > 0.0).then(|| {
            let requests = (2.0 * self.compaction(price, ttl) / reading).sqrt().max(1.0);
            low.saturating_add((requests * self.growth).round() as u64)
        });
        // Past the edge of a dearer tariff every token costs a multiple, so the edge is as far as it pays to go.
        let edge = price.long.map(|long| long.over).filter(|over| low < *over);
        let cheapest = [even, edge].into_iter().flatten().min();
        let at = cheapest.unwrap_or(bounds.ceiling).max(bounds.floor).min(bounds.ceiling);
        let requests = self.requests_to(at);
        Threshold { at, cheapest, requests, weight: self.weight_per_request(price, ttl, at) }
    }

    /// Weighted tokens that a request costs on average when compacting at this size.
    pub fn weight_per_request(&self, price: &Price, ttl: Ttl, at: u64) -> f64 {
        let requests = self.requests_to(at);
        let low = (self.fixed + self.after) as f64;
        let read = price.ratios.read * (low + self.growth * (requests - 1.0) / 2.0);
        let grown = price.ratios.write(ttl) * self.growth;
        self.compaction(price, ttl) / requests + read + grown
    }

    /// Weighted tokens that a compaction costs: its making, and what must be written that could have been read.
    fn compaction(&self, price: &Price, ttl: Ttl) -> f64 {
        let dearer = (price.ratios.write(ttl) - price.ratios.read).max(0.0);
        dearer * self.after as f64 + self.making
    }

    /// Requests until the context has grown to a size: at least one, and for ever where it does not grow.
    fn requests_to(&self, at: u64) -> f64 {
        let room = at.saturating_sub(self.fixed + self.after) as f64;
        if self.growth > 0.0 { (room / self.growth).max(1.0) } else { f64::MAX }
    }
}
