//! Whose request it is, and what for: by what clients say about themselves, a file for each.
//!
//! Headers come first: they cost nothing to read. The body is only looked into where a search for a mark says that it
//! may hold more; it is parsed at most once for each request ([`Asked::parsed`]).

mod claude;
mod codex;
mod other;

use super::{Asked, ThreadKey};
use crate::Endpoint;
use http::HeaderMap;
use throughline_core::{ClientSession, SessionId, Wire};

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
    /// The client names a conversation, or only wants to know whether somebody answers.
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

impl Native {
    /// For people, and as ledgers name it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ClaudePrompt => "Claude Code's prompt",
            Self::CodexPrompt => "Codex's prompt",
            Self::Trigger => "compaction_trigger",
            Self::Endpoint => "/responses/compact",
        }
    }
}

/// What is known about a request before its history is compared with others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Recognised {
    pub(crate) wire: Wire,
    pub(crate) client: Client,
    pub(crate) client_version: Option<String>,
    /// The client's own name for the conversation, where it gives one.
    pub(crate) session: Option<String>,
    /// What its transcript, if the client keeps one, is known by; it stays so under a label of somebody else's.
    pub(crate) client_session: Option<ClientSession>,
    /// The sub-agent that asks, in the conversation of its parent.
    pub(crate) agent: Option<String>,
    /// The ledger of the conversation whose sub-agent asks.
    pub(crate) parent: Option<SessionId>,
    pub(crate) purpose: Purpose,
}

impl Recognised {
    /// What the conversation is called, where its client has a name for it.
    pub(crate) fn key(&self) -> Option<ThreadKey> {
        let session = self.session.as_deref()?;
        Some(ThreadKey::named(&self.client, self.wire, session, self.agent.as_deref()))
    }

    /// Where the client runs, where it says so: only by what it writes there itself, never by what was typed or what a tool said.
    pub(crate) fn cwd(&self, asked: &Asked) -> Option<String> {
        let body = asked.parsed()?;
        match &self.client {
            Client::ClaudeCode => claude::cwd(body),
            Client::Codex => codex::cwd(body),
            Client::Other(_) => None,
        }
        .filter(|cwd| is_folder(cwd))
    }
}

/// The header that names a conversation, for whoever writes a client.
const LABEL: &str = "x-throughline-session";
/// Longer names of conversations are no names.
const NAME_BYTES: usize = 200;

/// Says whose request it is; `None` if it holds no conversation that could be followed.
pub(crate) fn recognise(asked: &Asked) -> Option<Recognised> {
    let wire = asked.endpoint.wire()?;
    if wire == Wire::Responses && is_kept_elsewhere(asked) {
        return None;
    }
    let agent = UserAgent::of(&asked.headers);
    let mut recognised = claude::recognise(asked, wire, &agent)
        .or_else(|| codex::recognise(asked, wire, &agent))
        .unwrap_or_else(|| other::recognise(asked, wire, &agent));
    if let Some(label) = header(&asked.headers, LABEL) {
        recognised.session = Some(label.to_owned());
    }
    Some(recognised)
}

/// Keys by which a request goes on from what only the provider knows.
const KEPT_ELSEWHERE: [&str; 2] = ["previous_response_id", "conversation"];

/// Whether a request does not hold its history: nothing is known about what the provider adds to it.
fn is_kept_elsewhere(asked: &Asked) -> bool {
    KEPT_ELSEWHERE.iter().any(|key| {
        contains(&asked.body, &format!("\"{key}\""))
            && asked.parsed().is_some_and(|body| body.get(key).is_some_and(|value| !value.is_null()))
    })
}

/// What a request is for as far as the address says it.
fn by_endpoint(endpoint: Endpoint) -> Option<Purpose> {
    match endpoint {
        Endpoint::Answer(_) => None,
        Endpoint::CountTokens => Some(Purpose::CountTokens),
        Endpoint::Compact => Some(Purpose::Compaction(Native::Endpoint)),
        // It holds no conversation; nobody asks.
        Endpoint::Other => Some(Purpose::Turn),
    }
}

/// What a program says it is.
struct UserAgent<'a> {
    name: &'a str,
    version: Option<String>,
}

impl<'a> UserAgent<'a> {
    fn of(headers: &'a HeaderMap) -> Self {
        let all = header(headers, "user-agent").unwrap_or_default();
        let (name, version) = all.split_once('/').unwrap_or((all, ""));
        let version = version.split_whitespace().next().map(str::to_owned);
        Self { name: name.trim(), version }
    }
}

/// A header that is there, legible and not endless.
fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let value = headers.get(name)?.to_str().ok()?.trim();
    Some(value).filter(|value| !value.is_empty() && value.len() <= NAME_BYTES)
}

pub(super) fn contains(bytes: &[u8], mark: &str) -> bool {
    memchr::memmem::find(bytes, mark.as_bytes()).is_some()
}

/// Whether a text is the whole path of a folder.
fn is_folder(text: &str) -> bool {
    let drive = text.as_bytes().get(1..3).is_some_and(|two| two == b":\\" || two == b":/");
    (text.starts_with('/') || drive) && text.len() <= 4096 && !text.chars().any(char::is_control)
}

#[cfg(test)]
pub(super) fn asked(endpoint: Endpoint, headers: &[(&'static str, &str)], body: &serde_json::Value) -> Asked {
    let headers = headers
        .iter()
        .map(|(name, value)| (name.parse().unwrap(), http::HeaderValue::from_str(value).unwrap()))
        .collect();
    Asked::new(endpoint, headers, body.to_string().into(), jiff::Timestamp::UNIX_EPOCH)
}
