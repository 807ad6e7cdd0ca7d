//! What was decided about a call.

use super::Rule;

/// What was decided about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may run.
    Allow,
    /// Somebody is asked.
    Ask(Question),
    /// It may not run.
    Deny {
        /// Why, and what to do instead, for the model.
        reason: String,
    },
}

/// What somebody is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Why it is asked.
    pub reason: String,
    /// What could be remembered, from narrow to broad. None where no rule could permit it.
    pub offers: Vec<Offer>,
}

/// A rule that could be remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// What it permits, in words.
    pub label: String,
    /// The rule.
    pub rule: Rule,
}

impl Verdict {
    pub(super) fn ask(reason: impl Into<String>) -> Self {
        Self::Ask(Question { reason: reason.into(), offers: Vec::new() })
    }

    pub(super) fn offer(reason: impl Into<String>, offers: Vec<Offer>) -> Self {
        Self::Ask(Question { reason: reason.into(), offers })
    }

    pub(super) fn deny(reason: impl Into<String>) -> Self {
        Self::Deny { reason: reason.into() }
    }
}
