//! Whose request it is, and what for: by what clients say about themselves.

use super::Asked;
use crate::Endpoint;
use throughline_core::Wire;

/// A client that is known by name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Client {
    ClaudeCode,
    Codex,
    /// Any other, by its user agent.
    Other(String),
}

impl Client {
    /// As ledgers name it.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::ClaudeCode => "claude",
            Self::Codex => "codex",
            Self::Other(name) => name,
        }
    }
}

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Purpose {
    /// The next answer of a conversation.
    Turn,
    /// How large something is.
    CountTokens,
    /// The client condenses its conversation.
    Compaction(Native),
    /// The client makes memories of a conversation.
    Memory,
    /// The client names a conversation.
    Title,
}

/// How a client condenses its conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Native {
    /// Claude Code: a prompt behind the conversation, answered with a summary.
    ClaudePrompt,
    /// Codex: a prompt behind the conversation, answered with a handoff.
    CodexPrompt,
    /// Codex: a `compaction_trigger` item, answered with an opaque `compaction` item.
    Trigger,
    /// OpenAI's `/responses/compact`: the new input is asked for.
    Endpoint,
}

/// What is known about a request before its history is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Recognised {
    pub(crate) wire: Wire,
    pub(crate) client: Client,
    pub(crate) client_version: Option<String>,
    /// The client's own name for the conversation, where it gives one.
    pub(crate) session: Option<String>,
    /// The sub-agent that asks, in the conversation of its parent.
    pub(crate) agent: Option<String>,
    pub(crate) purpose: Purpose,
    /// Where the client runs, where it says so.
    pub(crate) cwd: Option<String>,
}

/// Says whose request it is; `None` if it holds no conversation.
pub(crate) fn recognise(asked: &Asked) -> Option<Recognised> {
    let wire = asked.endpoint.wire()?;
    let header =
        |name: &str| asked.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let agent = header("user-agent").unwrap_or_default();
    let (name, version) = agent.split_once('/').unwrap_or((agent.as_str(), ""));
    let version = version.split_whitespace().next().filter(|version| !version.is_empty()).map(str::to_owned);
    let (client, session) = if let Some(session) = header("x-throughline-session") {
        (Client::Other(name.to_owned()), Some(session))
    } else if let Some(session) = header("x-claude-code-session-id") {
        (Client::ClaudeCode, Some(session))
    } else if let Some(thread) = header("thread-id").filter(|_| name.starts_with("codex")) {
        (Client::Codex, Some(thread))
    } else {
        (Client::Other(name.to_owned()), None)
    };
    let purpose = match asked.endpoint {
        Endpoint::Answer(_) => Purpose::Turn,
        Endpoint::CountTokens => Purpose::CountTokens,
        Endpoint::Compact => Purpose::Compaction(Native::Endpoint),
        Endpoint::Other => return None,
    };
    Some(Recognised {
        wire,
        client,
        client_version: version,
        session,
        agent: header("x-claude-code-agent-id"),
        purpose,
        cwd: None,
    })
}
