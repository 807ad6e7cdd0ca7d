//! What arrived.

use crate::http::find;
use serde_json::Value;
use std::sync::{Arc, OnceLock};
use throughline_core::{Role, Wire};
use throughline_wire::{Request, WireError};

/// A request that arrived. Its `Debug` output names the headers only: there are keys in them.
#[derive(Clone)]
pub struct Seen {
    /// The format, told by the path; for other paths a guess from the body and the headers.
    pub wire: Wire,
    /// `POST`, mostly.
    pub method: String,
    /// Without the query.
    pub path: String,
    /// What stood behind the `?`; empty if nothing did.
    pub query: String,
    /// In order, names as they were written.
    pub headers: Vec<(String, String)>,
    /// The bytes of the body.
    pub body: Vec<u8>,
    /// Its place among all that arrived, from 0.
    pub number: usize,
    /// Tokens of the prompt (tools, system prompt, messages), as this server counts them for the model.
    pub tokens: u64,
    /// How many of them an earlier, answered prompt of the same model began with.
    pub cached: u64,
    pub(crate) parsed: Arc<OnceLock<Value>>,
}

impl std::fmt::Debug for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Seen")
            .field("number", &self.number)
            .field("wire", &self.wire)
            .field("request", &format_args!("{} {}", self.method, self.path))
            .field("headers", &names)
            .field("body", &String::from_utf8_lossy(&self.body))
            .field("tokens", &self.tokens)
            .field("cached", &self.cached)
            .finish_non_exhaustive()
    }
}

impl Seen {
    /// The body as JSON; `null` if it is none.
    pub fn json(&self) -> &Value {
        self.parsed.get_or_init(|| serde_json::from_slice(&self.body).unwrap_or_default())
    }

    /// A header by its name, in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }

    /// The body as a request of its wire.
    pub fn request(&self) -> Result<Request, WireError> {
        Request::decode(self.wire, &self.body)
    }

    /// The model asked for; empty if none was.
    pub fn model(&self) -> &str {
        self.json().get("model").and_then(Value::as_str).unwrap_or("")
    }

    /// Whether the answer is to be streamed.
    pub fn streams(&self) -> bool {
        self.json().get("stream").and_then(Value::as_bool).unwrap_or(false)
    }

    /// The text of the last message that is the user's, tool results included; empty if there is none.
    pub fn last_user_text(&self) -> String {
        let request = self.request();
        let messages = request.as_ref().map(|request| request.messages.as_slice()).unwrap_or_default();
        let last = messages.iter().rev().find(|message| match message.role {
            Role::User | Role::Tool => true,
            Role::System | Role::Developer | Role::Assistant => false,
        });
        last.map(|message| message.to_text()).unwrap_or_default()
    }

    /// The names of the tools offered.
    pub fn tools(&self) -> Vec<&str> {
        let tools = self.json().get("tools").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        tools
            .iter()
            .filter_map(|tool| tool.get("name").or_else(|| tool.get("function")?.get("name"))?.as_str())
            .collect()
    }

    /// How many bytes the body begins with that `earlier`'s began with too.
    pub fn shares(&self, earlier: &Self) -> usize {
        common_prefix(&self.body, &earlier.body)
    }
}

/// How many bytes two texts begin with that are the same.
pub(crate) fn common_prefix(one: &[u8], other: &[u8]) -> usize {
    // Whole pieces first: comparing slices is fast in a debug build too.
    const PIECE: usize = 4096;
    let whole = one.chunks(PIECE).zip(other.chunks(PIECE)).take_while(|(a, b)| a == b);
    let start: usize = whole.map(|(a, _)| a.len()).sum();
    let rest = one[start..].iter().zip(&other[start..]).take_while(|(a, b)| a == b);
    start + rest.count()
}
