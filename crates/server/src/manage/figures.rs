//! What requests came to, with us and without.

use serde::{Deserialize, Serialize};
use throughline_core::Usage;

/// What the requests of a conversation, or of all, came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Figures {
    /// Requests that were sent to the provider.
    pub(crate) requests: u64,
    /// Of these, with another body than the client's.
    pub(crate) changed: u64,
    /// Edits and compactions that were made.
    pub(crate) edits: u64,
    /// Requests that we answered ourselves.
    pub(crate) answered_here: u64,
    /// What the provider reported.
    pub(crate) usage: Usage,
    /// Dollars for that.
    pub(crate) dollars: f64,
    /// Tokens of the prompts as the client sent them, by our count.
    pub(crate) prompt_without: u64,
    /// Tokens of the prompts as they were sent, by the same count.
    pub(crate) prompt_with: u64,
    /// Dollars that the client's own requests would have cost, with a simulated cache; what they cost is known.
    pub(crate) dollars_without: f64,
    /// The same simulation for what was sent: comparable with it.
    pub(crate) dollars_with: f64,
}

impl Figures {
    pub(crate) fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.changed += other.changed;
        self.edits += other.edits;
        self.answered_here += other.answered_here;
        self.usage += other.usage;
        self.dollars += other.dollars;
        self.prompt_without += other.prompt_without;
        self.prompt_with += other.prompt_with;
        self.dollars_without += other.dollars_without;
        self.dollars_with += other.dollars_with;
    }
}
