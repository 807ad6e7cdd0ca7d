//! The provider's prompt cache, simulated.
//!
//! The provider reads from its cache the longest beginning that a request shares, byte for byte, with the one before,
//! unless that is too short or was not used for longer than the lifetime of entries. Everything after it is written.
//! Simulated is one line of requests: entries that a later request no longer begins with are taken for gone, although
//! the provider keeps them until they expire. Going back to an old prefix (an undo, a fork) is thus billed too high,
//! never too low.

use super::{Charge, Price, Split, Totals, Ttl};
use jiff::Timestamp;

/// A piece of a prompt, small enough that requests share it wholly or not at all: the system prompt and the tools, then
/// one piece for each message or block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Stands for the exact bytes: equal keys, equal bytes.
    pub key: u64,
    /// How many tokens they are.
    pub tokens: u64,
}

impl Piece {
    /// The piece that these bytes are.
    pub fn new(bytes: &[u8], tokens: u64) -> Self {
        let mut key = [0; 8];
        key.copy_from_slice(&blake3::hash(bytes).as_bytes()[..8]);
        Self { key: u64::from_le_bytes(key), tokens }
    }
}

/// One request, given as what differs from the one before.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// How many leading pieces are those of the request before. Too small a number costs only time, up to 0 with all
    /// pieces in [`rest`](Self::rest); too large a one gives a wrong result.
    pub kept: usize,
    /// The pieces after those, in order.
    pub rest: &'a [Piece],
    /// When it is sent. Without a time, none has passed since the request before.
    pub at: Option<Timestamp>,
    /// How many tokens the answer has.
    pub output: u64,
}

impl<'a> Request<'a> {
    /// A request given whole.
    pub fn whole(pieces: &'a [Piece]) -> Self {
        Self { kept: 0, rest: pieces, at: None, output: 0 }
    }

    /// The same request at a time.
    pub fn at(self, at: Timestamp) -> Self {
        Self { at: Some(at), ..self }
    }
}

/// The prompt cache of one session. Each request costs time in proportion to [`Request::rest`], whatever the length
/// of what is kept.
#[derive(Clone, Debug)]
pub struct CacheSim {
    price: Price,
    ttl: Ttl,
    /// The request before.
    line: Vec<Piece>,
    /// Tokens up to and including each of its pieces.
    ends: Vec<u64>,
    /// How many of its tokens are in the cache.
    cached: u64,
    /// When they were last used.
    used: Option<Timestamp>,
    totals: Totals,
}

impl CacheSim {
    /// An empty cache, billed by a price list, whose entries are given a lifetime.
    pub fn new(price: Price, ttl: Ttl) -> Self {
        let (line, ends) = (Vec::new(), Vec::new());
        Self { price, ttl, line, ends, cached: 0, used: None, totals: Totals::default() }
    }

    /// Sends a request: what it is billed, and the cache is as it leaves it.
    pub fn push(&mut self, request: &Request<'_>) -> Charge {
        let (charge, shared) = self.bill(request);
        let fresh = request.rest.get(shared - self.kept(request)..).unwrap_or_default();
        self.line.truncate(shared);
        self.ends.truncate(shared);
        let mut end = self.tokens();
        for piece in fresh {
            end += piece.tokens;
            self.line.push(*piece);
            self.ends.push(end);
        }
        self.cached = if end < self.price.cache.minimum { 0 } else { end };
        self.used = request.at.or(self.used);
        self.totals.add(&charge);
        charge
    }

    /// Sends a request beside the line, such as one for a summary of it: it reads the shared beginning and keeps that
    /// alive, but the next request continues from the one before.
    pub fn push_aside(&mut self, request: &Request<'_>) -> Charge {
        let (charge, _) = self.bill(request);
        if charge.read > 0 {
            self.used = request.at.or(self.used);
        }
        self.totals.add(&charge);
        charge
    }

    /// What a request would be billed.
    pub fn quote(&self, request: &Request<'_>) -> Charge {
        self.bill(request).0
    }

    /// Whether nothing could be read at this time: there was no request yet, or none for longer than entries live.
    pub fn is_cold(&self, at: Option<Timestamp>) -> bool {
        let expired = match (self.price.cache.lifetime(self.ttl), self.used, at) {
            (Some(lifetime), Some(used), Some(at)) => at.duration_since(used) > lifetime,
            (None, _, _) | (_, None, _) | (_, _, None) => false,
        };
        self.cached == 0 || expired
    }

    /// Tokens of the request before.
    pub fn tokens(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Tokens of the first so many pieces of the request before.
    pub fn tokens_before(&self, pieces: usize) -> u64 {
        let last = pieces.min(self.ends.len());
        last.checked_sub(1).map_or(0, |at| self.ends[at])
    }

    /// The pieces of the request before.
    pub fn pieces(&self) -> &[Piece] {
        &self.line
    }

    /// What all requests came to.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// By what it bills.
    pub fn price(&self) -> &Price {
        &self.price
    }

    /// The lifetime that entries are given.
    pub fn ttl(&self) -> Ttl {
        self.ttl
    }

    fn kept(&self, request: &Request<'_>) -> usize {
        request.kept.min(self.line.len())
    }

    /// The charge, and how many pieces the request shares with the one before.
    fn bill(&self, request: &Request<'_>) -> (Charge, usize) {
        let kept = self.kept(request);
        let same = self.line[kept..].iter().zip(request.rest).take_while(|(old, new)| old == new).count();
        let shared = kept + same;
        let prompt = self.tokens_before(kept) + request.rest.iter().map(|piece| piece.tokens).sum::<u64>();
        let read = if self.is_cold(request.at) {
            0
        } else {
            self.price.cache.readable(self.tokens_before(shared).min(self.cached))
        };
        let (write, uncached) =
            if prompt < self.price.cache.minimum { (0, prompt - read) } else { (prompt - read, 0) };
        let split = Split { read, write, uncached, output: request.output };
        (self.price.charge(&split, self.ttl), shared)
    }
}
