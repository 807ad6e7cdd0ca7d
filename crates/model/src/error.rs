//! What can go wrong between a request and its answer.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;
use throughline_core::Wire;
use throughline_wire::Response;

/// Why there is no answer, or no whole one.
///
/// `at` names the endpoint or command. No variant holds a key, and none holds what the user said, except as far as
/// a provider repeats it in its own message.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The request does not fit the context window (or the body limit) of the model.
    #[error("{at}: the request is too long{}; compact the conversation or ask for less output", figures(*.tokens, *.limit, *.over))]
    TooLong {
        /// Where.
        at: String,
        /// Tokens of the request, with the output it reserves where the provider counts that, if stated.
        tokens: Option<u64>,
        /// The most the provider takes, if stated.
        limit: Option<u64>,
        /// How many tokens are too many, where the provider states only that.
        over: Option<u64>,
        /// What had come when the window was full, if the answer had begun.
        partial: Option<Box<Response>>,
    },
    /// Too many requests or tokens in a span of time.
    #[error("{at}: rate limited{}: {message}", later(*.retry_after))]
    RateLimited {
        /// Where.
        at: String,
        /// When to come back, if stated.
        retry_after: Option<Duration>,
        /// What the provider said.
        message: String,
    },
    /// The provider has no room for anybody.
    #[error("{at}: overloaded{}: {message}", later(*.retry_after))]
    Overloaded {
        /// Where.
        at: String,
        /// When to come back, if stated.
        retry_after: Option<Duration>,
        /// What the provider said.
        message: String,
    },
    /// The key is missing, wrong, or not allowed to do this.
    #[error("{at}: not allowed: {message}; check the key and what it may be used for")]
    Auth {
        /// Where.
        at: String,
        /// What the provider said.
        message: String,
    },
    /// The account has nothing left to pay with. Waiting does not help.
    #[error("{at}: the account has no credit left: {message}; add credit or use another provider")]
    Quota {
        /// Where.
        at: String,
        /// What the provider said.
        message: String,
    },
    /// The model or a filter refused to answer.
    #[error("{at}: refused: {text}; change the request")]
    Refused {
        /// Where.
        at: String,
        /// In which words.
        text: String,
    },
    /// The stream ended before the answer did.
    #[error("{at}: the answer was cut off after {} messages; send the request again", .partial.messages.len())]
    CutOff {
        /// Where.
        at: String,
        /// What had come by then.
        partial: Box<Response>,
    },
    /// Nothing came for too long.
    #[error("{at}: silent for {}; send the request again, or raise the idle timeout", seconds(*.after))]
    Idle {
        /// Where.
        at: String,
        /// For how long.
        after: Duration,
        /// What had come by then.
        partial: Option<Box<Response>>,
    },
    /// The time for the whole call is over, retries included.
    #[error("{at}: no answer within {}; allow more time", seconds(*.after))]
    Deadline {
        /// Where.
        at: String,
        /// The time that was allowed.
        after: Duration,
        /// What had come by then.
        partial: Option<Box<Response>>,
    },
    /// No connection, or it broke.
    #[error("{at}: {message}; check the address, the network and the proxy")]
    Connection {
        /// Where.
        at: String,
        /// What happened, with its causes.
        message: String,
    },
    /// The provider failed, for reasons of its own.
    #[error("{at}: the provider failed{}: {message}; try again later", numbered(*.status))]
    Server {
        /// Where.
        at: String,
        /// HTTP status; absent if the failure came inside a stream.
        status: Option<u16>,
        /// What the provider said.
        message: String,
    },
    /// The provider does not take this request, and would not take it again.
    #[error("{at}: the request was rejected{}: {message}", numbered(*.status))]
    Invalid {
        /// Where.
        at: String,
        /// HTTP status; absent if the report came inside a stream.
        status: Option<u16>,
        /// What the provider said.
        message: String,
    },
    /// What came is not an answer of this wire.
    #[error("{at}: not an answer of the {wire:?} format: {message}; check that the address speaks it")]
    Malformed {
        /// Where.
        at: String,
        /// The format that was expected.
        wire: Wire,
        /// What is wrong with it.
        message: String,
    },
    /// The answer is larger than allowed.
    #[error("{at}: the answer is larger than {limit} bytes; raise the limit if that is meant")]
    TooLarge {
        /// Where.
        at: String,
        /// The limit.
        limit: usize,
    },
    /// The caller gave up.
    #[error("{at}: cancelled")]
    Cancelled {
        /// Where.
        at: String,
        /// What had come by then.
        partial: Option<Box<Response>>,
    },
    /// The key can't be had.
    #[error("{at}: no key: {message}")]
    Key {
        /// The provider.
        at: String,
        /// Why not, and what to do.
        message: String,
    },
    /// The settings of a provider make no sense.
    #[error("provider {at}: {message}")]
    Config {
        /// The provider.
        at: String,
        /// What is wrong, and what to do.
        message: String,
    },
    /// A command failed.
    #[error("{at}: {}{}", ended(*.code), tail(.stderr))]
    Exec {
        /// The command.
        at: String,
        /// Its exit code; absent if it did not start or was killed by a signal.
        code: Option<i32>,
        /// Why it did not start, or the last lines of what it said on stderr.
        stderr: String,
    },
}

/// [`ModelError`] without its details: what counters, receipts and policies go by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "each is the variant of the same name")]
pub enum ErrorKind {
    TooLong,
    RateLimited,
    Overloaded,
    Auth,
    Quota,
    Refused,
    CutOff,
    Idle,
    Deadline,
    Connection,
    Server,
    Invalid,
    Malformed,
    TooLarge,
    Cancelled,
    Key,
    Config,
    Exec,
}

impl ErrorKind {
    /// A stable word, for receipts and telemetry.
    pub fn name(self) -> &'static str {
        match self {
            Self::TooLong => "too_long",
            Self::RateLimited => "rate_limited",
            Self::Overloaded => "overloaded",
            Self::Auth => "auth",
            Self::Quota => "quota",
            Self::Refused => "refused",
            Self::CutOff => "cut_off",
            Self::Idle => "idle",
            Self::Deadline => "deadline",
            Self::Connection => "connection",
            Self::Server => "server",
            Self::Invalid => "invalid",
            Self::Malformed => "malformed",
            Self::TooLarge => "too_large",
            Self::Cancelled => "cancelled",
            Self::Key => "key",
            Self::Config => "config",
            Self::Exec => "exec",
        }
    }

    /// How often the same request may be sent again.
    pub fn again(self) -> Again {
        match self {
            Self::RateLimited
            | Self::Overloaded
            | Self::CutOff
            | Self::Idle
            | Self::Connection
            | Self::Server => Again::ByPolicy,
            // A garbled answer may be a proxy's hiccup; a wrong address gives the same page every time.
            Self::Malformed => Again::Once,
            Self::TooLong
            | Self::Auth
            | Self::Quota
            | Self::Refused
            | Self::Deadline
            | Self::Invalid
            | Self::TooLarge
            | Self::Cancelled
            | Self::Key
            | Self::Config
            | Self::Exec => Again::Never,
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How often a request may be sent again after an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// The same request would fail the same way.
    Never,
    /// It may have been an accident.
    Once,
    /// As often as the retry policy says.
    ByPolicy,
}

impl ModelError {
    /// The kind.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::TooLong { .. } => ErrorKind::TooLong,
            Self::RateLimited { .. } => ErrorKind::RateLimited,
            Self::Overloaded { .. } => ErrorKind::Overloaded,
            Self::Auth { .. } => ErrorKind::Auth,
            Self::Quota { .. } => ErrorKind::Quota,
            Self::Refused { .. } => ErrorKind::Refused,
            Self::CutOff { .. } => ErrorKind::CutOff,
            Self::Idle { .. } => ErrorKind::Idle,
            Self::Deadline { .. } => ErrorKind::Deadline,
            Self::Connection { .. } => ErrorKind::Connection,
            Self::Server { .. } => ErrorKind::Server,
            Self::Invalid { .. } => ErrorKind::Invalid,
            Self::Malformed { .. } => ErrorKind::Malformed,
            Self::TooLarge { .. } => ErrorKind::TooLarge,
            Self::Cancelled { .. } => ErrorKind::Cancelled,
            Self::Key { .. } => ErrorKind::Key,
            Self::Config { .. } => ErrorKind::Config,
            Self::Exec { .. } => ErrorKind::Exec,
        }
    }

    /// Whether the same request may succeed when it is sent again.
    pub fn is_retryable(&self) -> bool {
        self.kind().again() != Again::Never
    }

    /// By how many tokens the request is too long, if the provider said enough to know.
    pub fn gap(&self) -> Option<u64> {
        if let Self::TooLong { tokens, limit, over, .. } = self {
            over.or_else(|| tokens.zip(*limit).and_then(|(tokens, limit)| tokens.checked_sub(limit)))
        } else {
            None
        }
    }

    /// When the provider wants to be asked again, if it said so.
    pub fn retry_after(&self) -> Option<Duration> {
        if let Self::RateLimited { retry_after, .. } | Self::Overloaded { retry_after, .. } = self {
            *retry_after
        } else {
            None
        }
    }

    /// Takes a secret out of what a provider said, in case it repeated what it was sent.
    pub(crate) fn redact(&mut self, secret: &str) {
        let said = match self {
            Self::RateLimited { message, .. }
            | Self::Overloaded { message, .. }
            | Self::Auth { message, .. }
            | Self::Quota { message, .. }
            | Self::Connection { message, .. }
            | Self::Server { message, .. }
            | Self::Invalid { message, .. }
            | Self::Malformed { message, .. }
            | Self::Key { message, .. }
            | Self::Config { message, .. } => message,
            Self::Refused { text, .. } => text,
            Self::Exec { stderr, .. } => stderr,
            Self::TooLong { .. }
            | Self::CutOff { .. }
            | Self::Idle { .. }
            | Self::Deadline { .. }
            | Self::TooLarge { .. }
            | Self::Cancelled { .. } => return,
        };
        // Shorter ones would be found in any text.
        if secret.len() >= 6 && said.contains(secret) {
            *said = said.replace(secret, "[hidden]");
        }
    }

    /// What had come of the answer before the error.
    pub fn partial(&self) -> Option<&Response> {
        if let Self::CutOff { partial, .. } = self {
            return Some(partial);
        }
        if let Self::TooLong { partial, .. }
        | Self::Idle { partial, .. }
        | Self::Deadline { partial, .. }
        | Self::Cancelled { partial, .. } = self
        {
            return partial.as_deref();
        }
        None
    }
}

fn figures(tokens: Option<u64>, limit: Option<u64>, over: Option<u64>) -> String {
    match (tokens, limit, over) {
        (Some(tokens), Some(limit), _) => format!(" ({tokens} tokens, limit {limit})"),
        (_, _, Some(over)) => format!(" by {over} tokens"),
        (Some(tokens), None, None) => format!(" ({tokens} tokens)"),
        (None, Some(limit), None) => format!(" (limit {limit} tokens)"),
        (None, None, None) => String::new(),
    }
}

fn later(retry_after: Option<Duration>) -> String {
    retry_after.map(|wait| format!(", come back in {}", seconds(wait))).unwrap_or_default()
}

fn seconds(duration: Duration) -> String {
    format!("{} s", (duration.as_secs_f64() * 1000.0).round() / 1000.0)
}

fn numbered(status: Option<u16>) -> String {
    status.map(|status| format!(" (HTTP {status})")).unwrap_or_default()
}

fn ended(code: Option<i32>) -> String {
    match code {
        Some(code) => format!("the command ended with code {code}"),
        None => "the command did not finish".to_owned(),
    }
}

fn tail(stderr: &str) -> String {
    if stderr.is_empty() { String::new() } else { format!(": {stderr}") }
}
