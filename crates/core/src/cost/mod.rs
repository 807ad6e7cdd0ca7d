//! Money: what tokens cost, what the prompt cache makes of a sequence of requests, and whether an edit pays.
//!
//! - [`Prices`]: the price lists, as data. [`Price`]: one model's, with how its provider caches.
//! - [`CacheSim`]: the provider's prompt cache, simulated request by request. [`Totals`]: what it came to.
//! - [`Pass`] and [`Pace`]: whether a pass of edits pays over the expected rest of a session.
//! - [`Sawtooth`]: at which size of the context compaction is cheapest.
//! - [`CacheMonitor`]: after each answer, what was predicted against what the provider reported.
//!
//! Besides dollars everything is counted in *weighted tokens*: one is the price of one uncached input token of the
//! same model. A token read from the cache weighs 0.1 at most providers, one written to it 1.25. Weights are known even
//! where prices are not.
//!
//! ```
//! use throughline_core::cost::{CacheSim, Piece, Prices, Request, Ttl};
//!
//! let mut sim = CacheSim::new(Prices::builtin().of("claude-opus-4-5"), Ttl::Short);
//! let first = [Piece::new(b"system and tools", 20_000), Piece::new(b"hello", 10)];
//! let written = sim.push(&Request::whole(&first));
//! assert_eq!((written.read, written.write), (0, 20_010));
//!
//! // The next request repeats both pieces and adds one: only that one is paid in full.
//! let next = sim.push(&Request { kept: 2, rest: &[Piece::new(b"more", 500)], at: None, output: 0 });
//! assert_eq!((next.read, next.write), (20_010, 500));
//! ```

mod cache_sim;
mod dollars;
mod monitor;
mod pace;
mod pays;
mod price;
mod price_list;
mod prices;
mod sawtooth;
mod totals;

pub use cache_sim::{CacheSim, Piece, Request};
pub use dollars::{Dollars, Rate};
pub use monitor::{Alert, CacheMonitor, Expected, Observed, StageEffect};
pub use pace::{Horizon, Pace};
pub use pays::{Pass, Verdict};
pub use price::{CacheRules, LongContext, Price, Rates, Ratios, Split, Ttl};
pub use price_list::PricesError;
pub use prices::Prices;
pub use sawtooth::{Bounds, Sawtooth, Threshold};
pub use totals::{Charge, Totals};
