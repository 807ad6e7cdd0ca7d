use crate::SessionId;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A conversation as the client that held it calls it: `claude/<session>`, `claude/<session>/<sub-agent>`, `codex/<thread>`.
///
/// The proxy and the importers name ledgers in different ways; this is what tells that two of them hold the same conversation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ClientSession(String);

/// Stands between a session and its sub-agent in the name of an imported ledger.
const AGENT: &str = "-agent-";

impl ClientSession {
    /// The session of a client, or of a sub-agent in it.
    pub fn new(client: &str, session: &str, agent: Option<&str>) -> Self {
        Self(match agent {
            Some(agent) => format!("{client}/{session}/{agent}"),
            None => format!("{client}/{session}"),
        })
    }

    /// That of an imported ledger, which is named by it.
    pub fn of_transcript(client: &str, ledger: &SessionId) -> Self {
        match ledger.as_str().split_once(AGENT) {
            Some((session, agent)) => Self::new(client, session, Some(agent)),
            None => Self::new(client, ledger.as_str(), None),
        }
    }

    /// The name of the ledger that a sub-agent's transcript is imported to.
    pub fn agent_ledger(session: &SessionId, agent: &str) -> SessionId {
        SessionId::new(format!("{session}{AGENT}{agent}"))
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ClientSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_imported_ledger_is_named_by_what_the_client_calls_it() {
        let of = |ledger: &SessionId| ClientSession::of_transcript("claude", ledger);
        let session = SessionId::new("5f0c");
        assert_eq!(of(&session), ClientSession::new("claude", "5f0c", None));
        let agent = ClientSession::agent_ledger(&session, "a0b1");
        assert_eq!(of(&agent), ClientSession::new("claude", "5f0c", Some("a0b1")));
        assert_ne!(of(&session), ClientSession::new("codex", "5f0c", None));
    }
}
