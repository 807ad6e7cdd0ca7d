//! `[proxy]`: between other agents and their providers.

use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

/// `[proxy]`: `throughline serve` and `throughline run`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProxySettings {
    /// The port of `throughline serve`.
    pub port: u16,
    /// The address it listens on: one of this machine alone.
    pub listen: IpAddr,
    /// Where requests in Anthropic's format go. Unset: by the usual variables, else to Anthropic.
    pub anthropic: Option<String>,
    /// Where requests in OpenAI's formats go. Unset: by the usual variables, else to OpenAI.
    pub openai: Option<String>,
    /// Where Codex goes that is logged in with ChatGPT.
    pub chatgpt: String,
    /// Certificates to trust besides the system's, as PEM.
    pub ca_file: Option<PathBuf>,
    /// Credential headers that providers are sent besides their own.
    pub credential_headers: Vec<String>,
    /// Whether compactions that a client asks its provider for are answered by us.
    pub take_over_compaction: bool,
    /// Whether sessions are told what is remembered, and searched for what is worth keeping.
    pub memory: bool,
    /// Milliseconds that deciding about a request may take before it goes as it came.
    pub our_time_ms: u64,
    /// Seconds that a compaction which is answered here may take before the provider is asked.
    pub compaction_seconds: u64,
    /// Milliseconds that a connection to a provider may take.
    pub connect_ms: u64,
    /// The most bytes of a request.
    pub request_bytes: usize,
    /// The most bytes of an answer that are held to learn from it.
    pub answer_bytes: usize,
    /// The most bytes of one event of a streamed answer that are held.
    pub event_bytes: usize,
    /// The most bytes of requests and answers that are held for all connections together.
    pub buffered_bytes: usize,
    /// Seconds that a client may take for the head of a request, and between two pieces of its body.
    pub stall_seconds: u64,
    /// Seconds that a client's connection may stay open without a request.
    pub idle_seconds: u64,
    /// Seconds that a provider may take to begin its answer, and between two pieces of it.
    pub upstream_idle_seconds: u64,
    /// Seconds after which a session that nobody uses is kept by its ledger alone.
    pub rest_seconds: u64,
}

impl Default for ProxySettings {
    fn default() -> Self {
        Self {
            port: 8787,
            listen: IpAddr::V4(Ipv4Addr::LOCALHOST),
            anthropic: None,
            openai: None,
            chatgpt: "https://chatgpt.com/backend-api/codex".to_owned(),
            ca_file: None,
            credential_headers: Vec::new(),
            take_over_compaction: false,
            memory: true,
            our_time_ms: 2000,
            compaction_seconds: 120,
            connect_ms: 30_000,
            request_bytes: 64 << 20,
            answer_bytes: 32 << 20,
            event_bytes: 8 << 20,
            buffered_bytes: 192 << 20,
            stall_seconds: 30,
            idle_seconds: 60,
            upstream_idle_seconds: 1200,
            rest_seconds: 60,
        }
    }
}

impl ProxySettings {
    pub(super) fn check(&self) -> Result<(), String> {
        if !self.listen.is_loopback() {
            // Whoever can reach it could use the keys of those who use it, and they would be sent in the clear.
            return Err(format!(
                "{} can be reached by other machines, and keys would be sent there in the clear; use 127.0.0.1 or ::1, and a \
                 tunnel (`ssh -L`) from elsewhere",
                self.listen
            ));
        }
        if self.request_bytes == 0 {
            return Err("a request has at least one byte".to_owned());
        }
        if [self.stall_seconds, self.idle_seconds, self.upstream_idle_seconds].contains(&0) {
            return Err("a time limit is at least one second".to_owned());
        }
        match &self.ca_file {
            Some(file) if !file.is_absolute() => Err("it must be absolute".to_owned()),
            Some(_) | None => Ok(()),
        }
    }
}
