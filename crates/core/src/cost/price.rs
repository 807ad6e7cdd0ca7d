//! One model's prices, and how its provider caches prompts.

use super::{Charge, Dollars, Rate};
use crate::Usage;
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

/// Which of the provider's two lifetimes the cache entries are given. Each use of an entry starts its lifetime anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ttl {
    /// The usual one: 5 minutes at Anthropic, half an hour at OpenAI since gpt-5.6.
    #[default]
    Short,
    /// The longer one, for which writing costs more: 1 hour at Anthropic, 12 hours at OpenAI since gpt-6.1.
    Long,
    /// Entries never expire: for sessions recorded without times. Writing is billed as for [`Ttl::Short`].
    Never,
}

/// What tokens cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// Input that is neither read from nor written to the cache.
    pub input: Rate,
    /// Input written to the cache for the short lifetime.
    pub write_short: Rate,
    /// Input written to the cache for the long lifetime.
    pub write_long: Rate,
    /// Input read from the cache.
    pub read: Rate,
    /// Output, reasoning included.
    pub output: Rate,
}

/// What cached input weighs, relative to plain input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratios {
    /// A token written for the short lifetime.
    pub write_short: f64,
    /// A token written for the long lifetime.
    pub write_long: f64,
    /// A token read.
    pub read: f64,
}

impl Ratios {
    /// Anthropic's: 1.25, 2 and 0.1. Taken for models whose prices are not known, local ones among them, where they
    /// stand for time rather than money.
    pub const ANTHROPIC: Self = Self { write_short: 1.25, write_long: 2.0, read: 0.1 };

    /// A token written, for a lifetime.
    pub fn write(&self, ttl: Ttl) -> f64 {
        match ttl {
            Ttl::Short | Ttl::Never => self.write_short,
            Ttl::Long => self.write_long,
        }
    }
}

/// A dearer tariff for long prompts. It applies to the whole request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LongContext {
    /// Prompts of more tokens than this.
    pub over: u64,
    /// Factor on all input rates, cached or not.
    pub input: f64,
    /// Factor on the output rate.
    pub output: f64,
}

/// How a provider's prompt cache behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheRules {
    /// How long an unused entry lives, short lifetime.
    pub ttl_short: SignedDuration,
    /// How long an unused entry lives, long lifetime.
    pub ttl_long: SignedDuration,
    /// Shorter prompts are not cached.
    pub minimum: u64,
    /// Cached prefixes are whole multiples of this many tokens.
    pub granule: u64,
}

impl CacheRules {
    /// The lifetime of an unused entry; `None` for ever.
    pub fn lifetime(&self, ttl: Ttl) -> Option<SignedDuration> {
        match ttl {
            Ttl::Short => Some(self.ttl_short),
            Ttl::Long => Some(self.ttl_long),
            Ttl::Never => None,
        }
    }

    /// How much of a shared prefix the provider reads from its cache.
    pub fn readable(&self, shared: u64) -> u64 {
        if shared < self.minimum { 0 } else { shared - shared % self.granule.max(1) }
    }
}

/// Tokens of one request by how they are billed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// Prompt tokens read from the cache.
    pub read: u64,
    /// Prompt tokens written to the cache.
    pub write: u64,
    /// Prompt tokens that did neither.
    pub uncached: u64,
    /// Output tokens.
    pub output: u64,
}

impl Split {
    /// Tokens of the whole prompt.
    pub fn prompt(&self) -> u64 {
        self.read + self.write + self.uncached
    }
}

impl From<&Usage> for Split {
    fn from(usage: &Usage) -> Self {
        Self { read: usage.cache_read, write: usage.cache_write, uncached: usage.input, output: usage.output }
    }
}

/// Everything known about what one model's tokens cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Price {
    /// The entry of the price list this comes from; `unknown` where none fits.
    pub family: String,
    /// Who sells it.
    pub provider: String,
    /// What tokens cost; all zero where that is not known.
    pub rates: Rates,
    /// What cached tokens weigh; known even where prices are not.
    pub ratios: Ratios,
    /// The tariff for long prompts.
    pub long: Option<LongContext>,
    /// How the cache behaves.
    pub cache: CacheRules,
}

impl Price {
    /// For models without a known price: costs nothing, and weighs by Anthropic's multipliers.
    pub fn unknown() -> Self {
        Self {
            family: "unknown".to_owned(),
            provider: "unknown".to_owned(),
            rates: Rates::default(),
            ratios: Ratios::ANTHROPIC,
            long: None,
            cache: CacheRules {
                ttl_short: SignedDuration::from_mins(5),
                ttl_long: SignedDuration::from_hours(1),
                minimum: 1_024,
                granule: 1,
            },
        }
    }

    /// Whether dollars are known.
    pub fn is_known(&self) -> bool {
        self.rates.input > Rate::FREE
    }

    /// What a request costs whose tokens were billed like this.
    pub fn charge(&self, split: &Split, ttl: Ttl) -> Charge {
        let Split { read, write, uncached, output } = *split;
        let rates = &self.rates;
        let written = match ttl {
            Ttl::Short | Ttl::Never => rates.write_short,
            Ttl::Long => rates.write_long,
        };
        let input = rates.read.of(read) + written.of(write) + rates.input.of(uncached);
        let (dearer_in, dearer_out) = self.factors(split.prompt());
        let dollars = scaled(input, dearer_in) + scaled(rates.output.of(output), dearer_out);
        Charge { read, write, uncached, output, weight: self.weight(split, ttl), dollars }
    }

    /// What a provider's report of a request comes to.
    pub fn bill(&self, usage: &Usage, ttl: Ttl) -> Charge {
        self.charge(&usage.into(), ttl)
    }

    /// The prompt in weighted tokens.
    pub fn weight(&self, split: &Split, ttl: Ttl) -> f64 {
        let plain = split.read as f64 * self.ratios.read
            + split.write as f64 * self.ratios.write(ttl)
            + split.uncached as f64;
        plain * self.factors(split.prompt()).0
    }

    /// The dollars of so many weighted tokens.
    pub fn dollars(&self, weight: f64) -> Dollars {
        Dollars::new(self.rates.input.as_per_million() * weight / 1e6)
    }

    fn factors(&self, prompt: u64) -> (f64, f64) {
        match self.long {
            Some(long) if prompt > long.over => (long.input, long.output),
            Some(_) | None => (1.0, 1.0),
        }
    }
}

/// Keeps the exact amount where nothing is to be scaled.
fn scaled(amount: Dollars, factor: f64) -> Dollars {
    if factor == 1.0 { amount } else { amount.scaled(factor) }
}
