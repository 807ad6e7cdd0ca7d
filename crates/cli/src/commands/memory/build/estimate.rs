//! What it would take.

use super::find::Session;
use serde::Serialize;
use std::path::Path;
use throughline_core::cost::{Dollars, Price, Prices, Split, Ttl};
use throughline_core::tokens::Counter;
use throughline_ledger::Home;
use throughline_memory::handbook::HandbookLimits;
use throughline_memory::handbook::phase1::KeptMessages;

/// The model whose tokens are counted where none is asked.
const DEFAULT_MODEL: &str = "claude-haiku-4-5";
/// Tokens that a model writes of one part of a session: as many as the strict form leaves room for, as a rule.
const WRITTEN: u64 = 1_500;
/// Tokens of what a model is told beside the session.
const TOLD: u64 = 2_500;
/// Tokens that the consolidation of one handbook reads and writes, over all its turns; what it reads again comes from the cache.
const BOOK_READ: u64 = 120_000;
const BOOK_WRITTEN: u64 = 8_000;

/// What reading sessions, and writing handbooks of them, would take.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Estimate {
    pub(super) sessions: usize,
    /// Tokens of what is read in them.
    pub(super) tokens: u64,
    pub(super) books: usize,
    /// Who would read; none: nobody is paid.
    pub(super) model: Option<String>,
    /// None: its price is not known.
    pub(super) dollars: Option<Dollars>,
}

/// Who would read, and what they may be shown.
pub(super) struct Reading<'a> {
    pub(super) model: Option<&'a str>,
    pub(super) limits: &'a HandbookLimits,
    /// Handbooks that would be written.
    pub(super) books: usize,
}

impl Reading<'_> {
    /// Counts. Each ledger is read once, as it would be; `home` says whose it is.
    pub(super) fn estimate<'h>(
        &self,
        sessions: &[Session],
        home: impl Fn(&Path) -> &'h Home,
        mut tick: impl FnMut(),
    ) -> Estimate {
        let Self { model, limits, books } = *self;
        let mut counter = Counter::for_model(model.unwrap_or(DEFAULT_MODEL));
        let price = model.map_or_else(Price::unknown, |model| Prices::builtin().of(model));
        let (mut tokens, mut dollars) = (0, Dollars::ZERO);
        for session in sessions {
            let read = count(home(&session.ledger), session, &mut counter);
            tokens += read;
            let parts = read.div_ceil(limits.part_tokens.max(1)).clamp(1, limits.parts.max(1) as u64);
            let shown = read.min(parts.saturating_mul(limits.part_tokens));
            let split = Split { uncached: shown + parts * TOLD, output: parts * WRITTEN, ..Split::default() };
            dollars += price.charge(&split, Ttl::Short).dollars;
            tick();
        }
        let book =
            Split { read: BOOK_READ / 2, uncached: BOOK_READ / 2, output: BOOK_WRITTEN, ..Split::default() };
        dollars += price.charge(&book, Ttl::Short).dollars.scaled(books as f64);
        let dollars = match model {
            None => Some(Dollars::ZERO),
            Some(_) => price.is_known().then_some(dollars),
        };
        Estimate { sessions: sessions.len(), tokens, books, model: model.map(str::to_owned), dollars }
    }
}

impl Estimate {
    /// In words.
    pub(super) fn cost(&self) -> String {
        match (&self.model, self.dollars) {
            (None, _) => "$0.00, offline".to_owned(),
            (Some(model), Some(dollars)) => format!("about {dollars} with {model}, by list prices"),
            (Some(model), None) => format!("{model} is on no price list, so nobody can say what it costs"),
        }
    }
}

/// Tokens of a session that may be remembered. What can't be read counts for nothing: it will be told when it is read.
fn count(home: &Home, session: &Session, counter: &mut Counter) -> u64 {
    let Ok(mut kept) = KeptMessages::open(home, &session.ledger) else { return 0 };
    let mut tokens = 0;
    while let Ok(Some(message)) = kept.next_message() {
        tokens += counter.message(&message).total();
    }
    tokens
}
