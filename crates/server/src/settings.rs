//! Everything a server is told.

use crate::{MemoryOptions, Token, Upstreams};
use http::HeaderName;
use jiff::Timestamp;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use throughline_core::profile::Profile;
use throughline_core::stages::OwnTools;
use throughline_ledger::Home;
use throughline_model::Model;

/// Everything a server is told.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where it listens; port 0 is any that is free.
    pub listen: SocketAddr,
    /// Where requests go.
    pub upstreams: Upstreams,
    /// Where sessions are kept.
    pub home: Home,
    /// What opens the page and the control calls.
    pub token: Token,
    /// The user's secret: a request that shows it is managed, whoever owns its connection.
    pub secret: Token,
    /// Credential headers that providers are sent besides those that the routing table allows: a gateway's own.
    pub credential_headers: Vec<HeaderName>,
    /// What is done about requests; `None`: nothing, they are only passed on.
    pub manage: Option<Managing>,
    /// What is held at most, and for how long.
    pub limits: Limits,
    /// The time.
    pub now: fn() -> Timestamp,
}

impl Settings {
    /// On a free port of this machine, with everything as usual.
    pub fn new(home: Home, upstreams: Upstreams) -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            upstreams,
            home,
            token: Token::fresh(),
            secret: Token::fresh(),
            credential_headers: Vec::new(),
            manage: Some(Managing::default()),
            limits: Limits::default(),
            now: Timestamp::now,
        }
    }
}

/// What is done about requests.
#[derive(Clone, Debug)]
pub struct Managing {
    /// The rules of the pipeline.
    pub profile: Profile,
    /// The context window in tokens; by default that of the model.
    pub window: Option<u64>,
    /// Tokens at which the client condenses its conversation by itself; by default what Claude Code and Codex do for the model.
    /// See [`claude_compacts_at`](crate::claude_compacts_at).
    pub client_compacts_at: Option<u64>,
    /// Which of our tools the model is offered.
    pub tools: OwnTools,
    /// Whether the provider can edit its cache (P3b), on Anthropic's wire.
    pub cache_edits: bool,
    /// Whether compactions that a client asks its provider for are answered here.
    pub take_over_compaction: bool,
    /// Who writes the text of those compactions; `None`: the offline scribe.
    pub scribe: Option<Scribe>,
    /// The folder of sessions whose client does not say where it runs.
    pub project: Option<PathBuf>,
    /// Faults of our own, for tests.
    #[doc(hidden)]
    pub inject: Option<crate::Inject>,
    /// What sessions remember and are told; `None`: nothing.
    pub memory: Option<MemoryOptions>,
}

impl Default for Managing {
    fn default() -> Self {
        Self {
            profile: Profile::throughline(),
            window: None,
            client_compacts_at: None,
            // What was cut is never out of the model's reach. `Snip` would write marks into all of the user's words, in every
            // request: only who asks for it gets it.
            tools: OwnTools { snip: false, recall: true },
            cache_edits: false,
            take_over_compaction: false,
            scribe: None,
            project: None,
            inject: None,
            memory: None,
        }
    }
}

/// A model that writes summaries.
#[derive(Clone)]
pub struct Scribe(pub Arc<dyn Model>);

impl std::fmt::Debug for Scribe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Scribe").field(&self.0.id()).finish()
    }
}

/// What is held at most, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of a request; larger ones are refused with 413.
    pub request_bytes: usize,
    /// Bytes of an answer that are held to learn from it; of longer ones only the end is not known.
    pub answer_bytes: usize,
    /// Bytes of one event of a streamed answer that are held while it is looked at; larger ones pass unseen.
    pub event_bytes: usize,
    /// Bytes of requests and answers that all connections may hold together. Requests beyond it are refused with 503, answers are
    /// passed on without being recorded.
    pub buffered_bytes: usize,
    /// Timeout for the head of a request, and between two pieces of its body.
    pub stall: Duration,
    /// Idle timeout of a connection.
    pub idle: Duration,
    /// Timeout for a provider's first byte, between two pieces of its answer, and for a client that takes nothing of it.
    pub upstream_idle: Duration,
    /// How long our own work on a request may take before it is forwarded as it came.
    pub our_time: Duration,
    /// How long a compaction that is answered here may take before the provider is asked.
    pub compaction: Duration,
    /// How long a connection to a provider may take.
    pub connect: Duration,
    /// How long a session may rest before only its ledger remembers it.
    pub rest: Duration,
    /// How many sessions may be held in memory at once.
    pub awake: usize,
    /// How many bytes those may hold together, requests and answers that are on their way aside.
    pub awake_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            request_bytes: 64 << 20,
            answer_bytes: 32 << 20,
            event_bytes: 8 << 20,
            buffered_bytes: 192 << 20,
            stall: Duration::from_secs(30),
            idle: Duration::from_secs(60),
            // Models may think for long before they say a word.
            upstream_idle: Duration::from_secs(1200),
            our_time: Duration::from_secs(2),
            compaction: Duration::from_secs(120),
            connect: Duration::from_secs(30),
            rest: Duration::from_secs(60),
            awake: 256,
            // A hundred sessions at once with histories of 300 KB, and as much again: with less they would be woken for each request.
            awake_bytes: 256 << 20,
        }
    }
}
