//! Whether a pass of edits pays.
//!
//! With r and w for what a token read and written weighs, a pass that frees `f` tokens and makes the provider write `s`
//! tokens again saves `n·r·f − (w − r)·s` over the next `n` requests while the cache is warm, and `(w + (n − 1)·r)·f`
//! when it is cold. Tokens that later requests add cost the same either way.

use super::{Dollars, Price, Split, Ttl};

/// A pass of edits, all applied before one request.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pass {
    /// Tokens before the first change; they stay cached.
    pub before: u64,
    /// Tokens after the first change that remain and must be written to the cache again.
    pub rewritten: u64,
    /// Tokens that go.
    pub freed: u64,
    /// The cache has expired: everything is written in any case.
    pub cold: bool,
    /// Weighted tokens spent on making the edits, such as a model's summary.
    pub making: f64,
}

/// Whether a pass pays, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// It saves something.
    pub pays: bool,
    /// Weighted tokens saved over the requests expected; negative for a loss.
    pub saved: f64,
    /// The same in dollars; zero where prices are not known.
    pub dollars: Dollars,
    /// From how many requests on it pays; `None` if it never does.
    pub break_even: Option<u64>,
    /// In words, for people.
    pub reason: String,
}

impl Pass {
    /// Judges the pass over so many requests, the next one included: those expected until the session ends or until the
    /// tokens would go anyway, whichever comes first.
    ///
    /// ```
    /// use throughline_core::cost::{Pass, Prices, Ttl};
    ///
    /// let price = Prices::builtin().of("claude-sonnet-4-5");
    /// let pass = Pass { before: 20_000, rewritten: 30_000, freed: 50_000, ..Pass::default() };
    /// // 40 requests read 50,000 tokens less: 200,000. Against it: 30,000 × 1.15 = 34,500.
    /// let verdict = pass.judge(&price, Ttl::Short, 40);
    /// assert_eq!(verdict.saved.round(), 165_500.0);
    /// assert_eq!(verdict.break_even, Some(7));
    /// ```
    pub fn judge(&self, price: &Price, ttl: Ttl, requests: u64) -> Verdict {
        let (first, later) = (self.saved_at_first(price, ttl), self.saved_later(price, ttl));
        let over = |n: u64| if n == 0 { -self.making } else { first + later * (n - 1) as f64 };
        let saved = over(requests);
        let break_even = if first > 0.0 {
            Some(1)
        } else if later > 0.0 {
            // The first request at which what was lost has come back, and a little more.
            Some((-first / later).floor() as u64 + 2)
        } else {
            None
        };
        let pays = saved > 0.0;
        let dollars = price.dollars(saved);
        let reason = self.reason(&Reason { price, saved, dollars, break_even, requests });
        Verdict { pays, saved, dollars, break_even, reason }
    }

    /// What the next request saves.
    fn saved_at_first(&self, price: &Price, ttl: Ttl) -> f64 {
        let with = if self.cold {
            Split { write: self.before + self.rewritten, ..Split::default() }
        } else {
            Split { read: self.before, write: self.rewritten, ..Split::default() }
        };
        let without = if self.cold {
            Split { write: self.untouched(), ..Split::default() }
        } else {
            Split { read: self.untouched(), ..Split::default() }
        };
        price.weight(&without, ttl) - price.weight(&with, ttl) - self.making
    }

    /// What each request after it saves.
    fn saved_later(&self, price: &Price, ttl: Ttl) -> f64 {
        let read = |tokens| price.weight(&Split { read: tokens, ..Split::default() }, ttl);
        read(self.untouched()) - read(self.before + self.rewritten)
    }

    /// Tokens of the prompt without the pass.
    fn untouched(&self) -> u64 {
        self.before + self.rewritten + self.freed
    }

    fn reason(&self, r: &Reason<'_>) -> String {
        let freed = grouped(self.freed as f64);
        let amount = |sign: f64| {
            let tokens = grouped(sign * r.saved);
            let dollars = if sign < 0.0 { -r.dollars } else { r.dollars };
            if r.price.is_known() {
                format!("{tokens} weighted tokens ({dollars})")
            } else {
                format!("{tokens} weighted tokens")
            }
        };
        let requests = match r.requests {
            1 => "1 request".to_owned(),
            n => format!("{} requests", grouped(n as f64)),
        };
        if self.freed == 0 {
            return "frees nothing".to_owned();
        }
        if r.saved > 0.0 {
            let saves = amount(1.0);
            return if self.cold {
                format!(
                    "saves {saves} over {requests}: the cache has expired, so nothing is lost by freeing {freed} tokens now"
                )
            } else {
                let even = r.break_even.unwrap_or(1);
                format!(
                    "saves {saves} over {requests}: freeing {freed} tokens outweighs writing {} again from request {even} on",
                    grouped(self.rewritten as f64)
                )
            };
        }
        let loses = amount(-1.0);
        let rewritten = grouped(self.rewritten as f64);
        match r.break_even {
            Some(even) => format!(
                "would lose {loses} over {requests}: to free {freed} tokens, {rewritten} must be written again, which pays from request {} on",
                grouped(even as f64)
            ),
            None => format!(
                "would lose {loses} over {requests}: to free {freed} tokens, {rewritten} must be written again, and reading costs nothing"
            ),
        }
    }
}

/// What the words are made from.
struct Reason<'a> {
    price: &'a Price,
    saved: f64,
    dollars: Dollars,
    break_even: Option<u64>,
    requests: u64,
}

/// A whole number with commas: 12,345.
fn grouped(number: f64) -> String {
    crate::words::grouped(number.abs().round() as u64)
}
