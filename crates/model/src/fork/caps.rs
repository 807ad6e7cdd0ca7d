//! What a fork may take.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;
use throughline_core::Usage;
use throughline_core::cost::{Dollars, Price, Split, Ttl};

/// What one job may take. Each is a limit on the whole job, not on a request; zero allows nothing.
///
/// Before each request its input is estimated, and the request is not sent if that would go beyond. What is not known before
/// is how long the answer gets, and whether the provider's cache still holds the prefix: a job can go beyond a limit
/// by what its last answer turns out to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Caps {
    /// Requests, repetitions after an error not counted.
    pub turns: u32,
    /// Tokens of all prompts together, read from the cache or not.
    pub input_tokens: u64,
    /// Tokens of all answers together, reasoning included.
    pub output_tokens: u64,
    /// Dollars, by the price given. A model without a known price costs none.
    pub dollars: f64,
    /// Seconds, waiting and repetitions included.
    pub seconds: u64,
}

impl Default for Caps {
    fn default() -> Self {
        Self { turns: 5, input_tokens: 1_000_000, output_tokens: 16_000, dollars: 1.0, seconds: 180 }
    }
}

/// A limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cap {
    /// [`Caps::turns`].
    Turns,
    /// [`Caps::input_tokens`].
    Input,
    /// [`Caps::output_tokens`], or the most tokens that one answer may have.
    Output,
    /// [`Caps::dollars`].
    Dollars,
    /// [`Caps::seconds`].
    Seconds,
}

impl Cap {
    /// A stable word, for receipts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Turns => "turns",
            Self::Input => "input",
            Self::Output => "output",
            Self::Dollars => "dollars",
            Self::Seconds => "seconds",
        }
    }
}

impl fmt::Display for Cap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An answer shorter than this is not worth its prompt.
const LEAST_ANSWER: u64 = 64;

/// What was taken so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Taken {
    pub(super) turns: u32,
    pub(super) usage: Usage,
    pub(super) dollars: Dollars,
    pub(super) time: Duration,
}

/// What the next request is thought to be.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Next {
    /// Tokens of its prompt.
    pub(super) prompt: u64,
    /// How many of them the cache is thought to hold.
    pub(super) cached: u64,
}

/// What the next request may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Allowed {
    /// Tokens of its answer.
    pub(super) output: u64,
    /// Everything, waiting included.
    pub(super) time: Duration,
}

impl Caps {
    /// Whether a request may be sent, and within what.
    pub(super) fn allow(&self, taken: &Taken, next: Next, price: &Price) -> Result<Allowed, Cap> {
        if taken.turns >= self.turns {
            return Err(Cap::Turns);
        }
        let time = Duration::from_secs(self.seconds).saturating_sub(taken.time);
        if time.is_zero() {
            return Err(Cap::Seconds);
        }
        if taken.usage.prompt().saturating_add(next.prompt) > self.input_tokens {
            return Err(Cap::Input);
        }
        let output = self.output_tokens.saturating_sub(taken.usage.output);
        if output == 0 {
            return Err(Cap::Output);
        }
        let affordable = self.affordable(taken, next, price).ok_or(Cap::Dollars)?;
        if affordable < LEAST_ANSWER.min(output) {
            return Err(Cap::Dollars);
        }
        Ok(Allowed { output: output.min(affordable), time })
    }

    /// How many tokens of an answer there is money for; `None` if there is none for the prompt.
    fn affordable(&self, taken: &Taken, next: Next, price: &Price) -> Option<u64> {
        const MANY: u64 = 1_000_000;
        let read = price.cache.readable(next.cached.min(next.prompt));
        let prompt = Split { read, uncached: next.prompt - read, ..Split::default() };
        let of_prompt = price.charge(&prompt, Ttl::Short).dollars;
        let of_many = price.charge(&Split { output: MANY, ..prompt }, Ttl::Short).dollars - of_prompt;
        let left = self.dollars - (taken.dollars + of_prompt).as_f64();
        // What is not a number allows nothing.
        if left.is_nan() || left < 0.0 {
            return None;
        }
        if of_many <= Dollars::ZERO {
            return Some(u64::MAX);
        }
        // `as` saturates.
        Some((left / of_many.as_f64() * MANY as f64) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use throughline_core::cost::{Rate, Rates};

    fn price() -> Price {
        let rates = Rates {
            input: Rate::per_million(10.0),
            read: Rate::per_million(1.0),
            output: Rate::per_million(50.0),
            ..Rates::default()
        };
        Price { rates, ..Price::unknown() }
    }

    const CAPS: Caps =
        Caps { turns: 3, input_tokens: 100_000, output_tokens: 1_000, dollars: 1.0, seconds: 60 };

    #[test]
    fn each_limit_stops_at_its_own_figure() {
        let next = Next { prompt: 10_000, cached: 0 };
        let allow = |taken: Taken| CAPS.allow(&taken, next, &price());
        let fresh = Taken::default();
        assert_eq!(allow(fresh), Ok(Allowed { output: 1_000, time: Duration::from_secs(60) }));
        assert_eq!(allow(Taken { turns: 3, ..fresh }), Err(Cap::Turns));
        assert_eq!(allow(Taken { time: Duration::from_secs(60), ..fresh }), Err(Cap::Seconds));
        let usage = |usage| Taken { usage, ..fresh };
        assert!(allow(usage(Usage { input: 90_000, ..Usage::default() })).is_ok());
        assert_eq!(allow(usage(Usage { cache_read: 90_001, ..Usage::default() })), Err(Cap::Input));
        assert_eq!(allow(usage(Usage { output: 1_000, ..Usage::default() })), Err(Cap::Output));
        let left = allow(usage(Usage { output: 400, ..Usage::default() })).unwrap();
        assert_eq!(left.output, 600);
    }

    #[test]
    fn money_limits_the_answer_and_then_the_request() {
        let spent = |dollars: f64| Taken { dollars: Dollars::new(dollars), ..Taken::default() };
        // The prompt is ten cents; a hundred tokens of output are half a cent.
        let next = Next { prompt: 10_000, cached: 0 };
        assert_eq!(CAPS.allow(&spent(0.88), next, &price()).unwrap().output, 400);
        assert_eq!(CAPS.allow(&spent(0.899), next, &price()), Err(Cap::Dollars));
        assert_eq!(CAPS.allow(&spent(0.95), next, &price()), Err(Cap::Dollars));
        // Read from the cache it is one cent.
        let cached = Next { cached: 10_000, ..next };
        assert_eq!(CAPS.allow(&spent(0.95), cached, &price()).unwrap().output, 800);
    }

    #[test]
    fn what_costs_nothing_needs_no_money() {
        let none = Caps { dollars: 0.0, ..CAPS };
        let next = Next { prompt: 10, cached: 0 };
        assert!(none.allow(&Taken::default(), next, &Price::unknown()).is_ok());
        assert_eq!(none.allow(&Taken::default(), next, &price()), Err(Cap::Dollars));
        let odd = Caps { dollars: f64::NAN, ..CAPS };
        assert_eq!(odd.allow(&Taken::default(), next, &price()), Err(Cap::Dollars));
        let endless = Caps { dollars: f64::INFINITY, ..CAPS };
        assert!(endless.allow(&Taken::default(), next, &price()).is_ok());
    }
}
