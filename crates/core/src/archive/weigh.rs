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

/// The chance that the model will write a string again before anybody gives it, by its use so far.
///
/// A logistic model with few terms, fitted over recorded sessions of two agents and several projects, each session
/// judged by a fit without it. What comes back was written rather than only read, often, lately, and in the company of
/// few others.
pub(super) fn chance(name: &Name, now: u32) -> f64 {
    let usage = &name.usage;
    let ln = |n: u32| f64::from(n).ln_1p();
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
        Some(at) => 3.57 - 0.27 * age(at) - 0.27 * ln(usage.beside),
        None => 0.0,
    };
    let z = -2.50 + kind + written - 0.34 * (name.text.len() as f64).ln() + 1.36 * ln(usage.items)
        - 1.30 * ln(usage.given)
        - 0.40 * age(usage.last);
    1.0 / (1.0 + (-z).exp())
}
