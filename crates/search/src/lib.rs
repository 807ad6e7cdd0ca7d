//! Ranked full text over every message of every session.
//!
//! - [`Search`] is the way in: it follows the ledgers by itself, so that a message is found by the very next search.
//! - [`Query`] and [`Filters`] say what is looked for and where; [`Hit`] is a message that was found.
//! - Inside: `analysis` turns text into terms (prose, code, paths, CJK), `sweep` and `find` ask the index for candidates, `pool`
//!   counts the query's terms in them and around them, `rank` scores, `snippet` shows why; `tail` does the same for
//!   messages that no commit has taken in yet; `sync` and `store` keep the index.
//!
//! **Invariants.** The index holds nothing that the ledgers don't: it can be thrown away at any time. How far a ledger
//! is indexed is read from the indexed messages themselves, so the two can't disagree, whenever a process dies.
//! A message scores the same whether it is in the index or in the tail.

mod analysis;
mod doc;
mod engine;
mod error;
mod find;
mod flatten;
mod hit;
mod index;
mod markers;
mod places;
mod plan;
mod pool;
mod postings;
mod query;
mod rank;
mod search;
mod snapshot;
mod snippet;
mod source;
mod store;
mod sweep;
mod sync;
mod tail;

pub use error::SearchError;
pub use hit::Hit;
pub use query::{Filters, Query};
pub use search::Search;
pub use snippet::Snippet;
pub use sync::Progress;
