//! One request and its answer.

use crate::{ModelError, Usage};
use bytes::Bytes;
use std::fmt;
use std::pin::Pin;
use std::time::Duration;
use throughline_core::Wire;
use throughline_wire::Response;
use throughline_wire::stream::Delta;
use tokio_util::sync::CancellationToken;

/// A future behind a pointer, so that [`Model`] can be a trait object.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Tells a call, and everything begun on its behalf, to stop. Clones are the same token; a child stops with its parent.
pub type CancelToken = CancellationToken;

/// Somebody who answers requests.
///
/// Futures are to be polled inside a tokio runtime with time and I/O enabled.
pub trait Model: Send + Sync {
    /// The format of requests and answers.
    fn wire(&self) -> Wire;

    /// The model's name as the provider knows it.
    fn id(&self) -> &str;

    /// Returns whether requests name a feature of Anthropic's that is in testing (`anthropic-beta`).
    fn has_beta(&self, feature: &str) -> bool {
        let _ = feature;
        false
    }

    /// Sends a request and waits for the whole answer. Dropping the future drops the connection or kills the command.
    fn send<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<Answer, ModelError>>;
}

/// Hears an answer as it comes.
pub type OnDelta<'a> = Box<dyn FnMut(Delta) + Send + 'a>;

/// One request.
pub struct Call<'a> {
    /// The body as it goes out. It is never changed, so that the provider's cache hits.
    pub body: Bytes,
    /// Hears [text](Delta::Text) and [reasoning](Delta::Reasoning) as they come, never [`Delta::Other`].
    /// Once it has heard something the request is not sent again: nobody hears a thing twice.
    pub on_delta: Option<OnDelta<'a>>,
    /// Stops the call.
    pub cancel: CancelToken,
    /// What the call may take.
    pub limits: Limits,
}

/// What one call may take, within what the model's own settings allow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// The longest time for everything, retries and waiting included.
    pub deadline: Option<Duration>,
    /// The most requests that may be sent. At least one is.
    pub attempts: Option<u32>,
}

impl<'a> Call<'a> {
    /// A call that nobody listens to, stopped by nobody, under the model's own limits.
    pub fn new(body: impl Into<Bytes>) -> Self {
        Self { body: body.into(), on_delta: None, cancel: CancelToken::new(), limits: Limits::default() }
    }

    /// With somebody who hears the answer as it comes.
    #[must_use]
    pub fn listen(mut self, on_delta: impl FnMut(Delta) + Send + 'a) -> Self {
        self.on_delta = Some(Box::new(on_delta));
        self
    }

    /// Stopped by a token.
    #[must_use]
    pub fn cancelled_by(mut self, cancel: CancelToken) -> Self {
        self.cancel = cancel;
        self
    }

    /// Under limits.
    #[must_use]
    pub fn within(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}

impl fmt::Debug for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("bytes", &self.body.len())
            .field("listens", &self.on_delta.is_some())
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// A whole answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// What the model said. [`Response::stop`] tells whether it reached the token limit. [`Response::usage`] is
    /// ours if [`estimated`](Self::estimated).
    pub response: Response,
    /// How many requests it took.
    pub attempts: u32,
    /// The provider's name for the request, for its support.
    pub request_id: Option<String>,
    /// Whether the usage is our estimate because the provider reported none, or nonsense.
    pub estimated: bool,
    /// What the provider reported for attempts that failed half-way: paid for, and of no use.
    pub wasted: Usage,
}
