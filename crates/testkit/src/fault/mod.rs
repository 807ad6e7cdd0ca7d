//! Every way in which providers fail.

mod all;
mod date;
mod errors;
mod play;
mod too_long;

pub(crate) use errors::{bad_request, ids, invalid, not_found, script_over};
pub(crate) use play::{play, usual_answer};
pub use too_long::{TooLong, Wording};

use crate::Figures;
use std::time::Duration;

/// A failure. Where providers differ it has the status, headers and body of the wire that was asked.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// 429: too many requests or tokens in this minute.
    RateLimited(RetryAfter),
    /// No money left: OpenAI's 429 `insufficient_quota`, Anthropic's 400. Trying again does not help.
    NoCredit,
    /// 529 `overloaded_error` on Anthropic's wire, 503 on OpenAI's.
    Overloaded,
    /// 500 with the provider's error.
    ServerError,
    /// 502 with a page of HTML, as gateways give it.
    BadGateway,
    /// 504 with an empty body, as gateways give it.
    GatewayTimeout,
    /// 401: the key is wrong.
    Unauthorized,
    /// 403: the key is right and may not do this.
    Forbidden,
    /// 404: there is no such model.
    UnknownModel,
    /// 400: the request is wrong in a way that trying again does not mend.
    Invalid,
    /// 413: the body is too large.
    TooLarge,
    /// The prompt is too long.
    TooLong(TooLong),
    /// The model or a filter refuses.
    Refused(Refusal),
    /// The answer reached its token limit: half of its words, and the reason.
    MaxTokens,
    /// The answer filled the context window: half of its words, and the reason (Anthropic has a word of its own).
    ContextFull,
    /// The answer ends after this many events, at most all but the last; one that is not streamed, after half its bytes.
    CutAfterEvents(usize, Ending),
    /// The answer's body ends after this many bytes, at most all but the last.
    CutAfterBytes(usize, Ending),
    /// The provider reports an error after this many events of the answer and says no more. An answer that is not streamed
    /// is replaced by the HTTP error of the same kind.
    ErrorAfter(usize, ErrorEvent),
    /// The whole answer, but the first byte comes late.
    Late(Duration),
    /// Nothing more comes, and the connection stays open until the client leaves.
    Stall(Stall),
    /// The body is not what it should be.
    Malformed(Malformed),
    /// `content-length` is wrong, and the connection is closed behind the body.
    WrongLength(Length),
    /// The connection is closed without a byte of reply.
    Hangup,
    /// The connection is reset without a byte of reply.
    Reset,
    /// The server is elsewhere: a status of the 300s, and the `location`.
    Redirect(u16, String),
    /// The answer is whole, but what it says about its cost is wrong.
    WrongUsage(Figures),
}

/// What a 429 says about when to try again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryAfter {
    /// `retry-after` in seconds.
    Seconds(u32),
    /// `retry-after` as a date, so many seconds from now.
    Date(u32),
    /// `retry-after-ms`, which OpenAI's wires have, with `retry-after` rounded up.
    Millis(u32),
    /// Only in the words of the message, in milliseconds.
    InWords(u32),
    /// `retry-after` with something that is neither a number nor a date.
    Nonsense,
    /// Nothing.
    Unsaid,
}

/// Ways to refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The answer says why it ended and nothing else: `refusal`, or `content_filter`.
    Stop,
    /// The answer stops in the middle for that reason.
    Midway,
    /// The model declines in words: a refusal part on OpenAI's wires, and the stop reason on Anthropic's.
    Words,
    /// The request is turned down with a 400.
    Rejected,
}

/// How a connection ends too early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// HTTP is satisfied; only the stream lacks its end.
    Clean,
    /// The connection is closed before HTTP says it may be.
    Abrupt,
    /// The connection is reset.
    Reset,
}

/// Errors in mid-stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorEvent {
    /// The provider is overloaded.
    Overloaded,
    /// Too many requests or tokens.
    RateLimited,
    /// Something failed inside.
    ServerError,
    /// The prompt is too long after all.
    TooLong,
}

/// Where an answer comes to a stop without an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stall {
    /// Before the first byte.
    BeforeHead,
    /// Behind the headers.
    BeforeBody,
    /// After this many events, at most all but the last; one that is not streamed, after half its bytes.
    AfterEvents(usize),
}

/// Bodies that are not what they should be. The status is 200.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// A sentence instead of JSON or of a stream.
    NotJson,
    /// JSON, but a list.
    NotObject,
    /// A page of HTML, with its content type: a portal or a proxy answered.
    Html,
    /// The right body with a wrong content type.
    WrongType,
    /// Half of the JSON, or a stream that ends in the middle of an event, with HTTP satisfied.
    Truncated,
    /// One event in the middle of the stream is not JSON; the rest is as it should be. Not streamed: as `Truncated`.
    BadEvent,
    /// One event in the middle of the stream is not UTF-8. Not streamed: the body isn't either.
    NotUtf8,
    /// No body at all.
    Empty,
    /// A proper answer in which the model says nothing.
    NoContent,
    /// A call whose arguments are not JSON.
    BadArguments,
    /// The answer in one piece although a stream was asked for.
    NotStreamed,
}

/// Wrong lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// More bytes are promised than come.
    Promised,
    /// Fewer bytes are promised than come.
    Short,
}

impl Fault {
    /// A prompt that is too long, in these words, with figures that are usual: 215,000 tokens for 200,000.
    pub fn too_long(wording: Wording) -> Self {
        Self::TooLong(TooLong { wording, tokens: 215_000, limit: 200_000 })
    }
}
