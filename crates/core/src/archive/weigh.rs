//! How likely a string is to be needed again.

use super::names::Name;
use crate::entity::Kind;

/// How a string was used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usage {
    /// In how many blocks it stood.
    pub(super) items: u32,
    /// In how many of them it was a tool's or the client's.
    pub(super) given: u32,
    /// The newest block that holds it.
    pub(super) last: u32,
    /// The newest block in which the model or the user wrote it.
    pub(super) last_written: Option<u32>,
    /// Fewest strings beside it in a block that the model or the user wrote.
    pub(super) beside: u32,
}

impl Default for Usage {
    fn default() -> Self {
        Self { items: 0, given: 0, last: 0, last_written: None, beside: u32::MAX }
    }
}

/// What it adds that all around a string that was only read was used since.
const ACTIVE: f64 = 2.5;

/// The chance that the model will write a string again before anybody gives it, by its use so far.
///
/// A logistic model with few terms, fitted over recorded sessions of two agents and several projects, each session
/// judged by a fit without it. What comes back was written rather than only read, often, lately, and in the company of
/// few others.
pub(super) fn chance(name: &Name, active: f32, now: u32, logs: &Logs) -> f64 {
    let usage = &name.usage;
    let ln = |n: u32| logs.ln_1p(n);
    let age = |at: u32| ln(now.saturating_sub(at));
    let kind = match name.kind {
        Kind::Flag => 0.91,
        Kind::Error => 0.54,
        Kind::Path => 0.33,
        Kind::Symbol => 0.29,
        Kind::Quoted => 0.24,
        Kind::Id => -0.30,
        Kind::Number => -0.85,
    };
    let written = match usage.last_written {
        Some(at) => 3.57 - 0.24 * age(at) - 0.27 * ln(usage.beside),
        None => ACTIVE * f64::from(active),
    };
    let z = -2.50 + kind + written - 0.34 * logs.ln(name.text.len()) + 1.36 * ln(usage.items)
        - 1.30 * ln(usage.given)
        - 0.36 * age(usage.last);
    1.0 / (1.0 + (-z).exp())
}

/// Logarithms of small numbers, worked out once.
pub(super) struct Logs {
    more_by_one: Vec<f64>,
    plain: Vec<f64>,
}

/// Longer strings are rare.
const LENGTHS: usize = 256;
/// Ages beyond these are worked out each time.
const MOST_LOGS: u32 = 8_192;

impl Logs {
    /// For an archive of so many blocks.
    pub(super) fn new(blocks: u32) -> Self {
        Self {
            more_by_one: (0..=blocks.clamp(LENGTHS as u32, MOST_LOGS))
                .map(|n| f64::from(n).ln_1p())
                .collect(),
            plain: (0..LENGTHS).map(|n| (n as f64).ln()).collect(),
        }
    }

    fn ln_1p(&self, n: u32) -> f64 {
        self.more_by_one.get(n as usize).copied().unwrap_or_else(|| f64::from(n).ln_1p())
    }

    fn ln(&self, n: usize) -> f64 {
        self.plain.get(n).copied().unwrap_or_else(|| (n as f64).ln())
    }
}
