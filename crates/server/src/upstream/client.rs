//! Requests on their way to providers.

use super::connect::Connector;
use super::pool::Pool;
use super::{Upstream, Upstreams};
use crate::Limits;
use crate::counters::Counters;
use crate::routing::Api;
use crate::serve::StartError;
use crate::timed::{Stalled, Timed};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{Either, Full};
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

/// What is sent: a whole body that can be sent again, or one that nobody looked at.
pub(crate) type RequestBody = Either<Full<Bytes>, Timed>;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SendError {
    /// There is no connection.
    #[error("no connection")]
    Connect(#[source] Box<dyn Error + Send + Sync>),
    /// The connection ended.
    #[error("the connection ended")]
    Broken(#[source] hyper::Error),
    /// The provider does not answer.
    #[error("no answer: {0}")]
    TooSlow(Stalled),
}

/// A body that is sent while it comes may take this many times as long as an answer.
const UPLOAD: u32 = 6;

/// How many connections there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Connections {
    /// By which an answer is coming.
    pub(crate) busy: usize,
    /// Kept for the next request.
    pub(crate) kept: usize,
}

/// The connections to each upstream.
pub(crate) struct Client {
    anthropic: Pool,
    openai: Pool,
    chatgpt: Pool,
    counters: Arc<Counters>,
    idle: Duration,
}

impl Client {
    pub(crate) fn new(
        upstreams: &Upstreams,
        limits: &Limits,
        counters: Arc<Counters>,
    ) -> Result<Self, StartError> {
        let pool = |upstream: &Upstream| Ok(Pool::new(Connector::new(upstream, limits.connect)?));
        Ok(Self {
            anthropic: pool(upstreams.of(Api::Anthropic))?,
            openai: pool(upstreams.of(Api::OpenAi))?,
            chatgpt: pool(upstreams.of(Api::ChatGpt))?,
            counters,
            idle: limits.upstream_idle,
        })
    }

    /// How many connections there are, to all of them.
    pub(crate) fn connections(&self) -> Connections {
        let all = [&self.anthropic, &self.openai, &self.chatgpt].map(Pool::connections);
        Connections { busy: all.iter().map(|one| one.busy).sum(), kept: all.iter().map(|one| one.kept).sum() }
    }

    /// Sends a request; the answer is there as soon as its head is. A body that is not whole goes by a connection of its own.
    pub(crate) async fn send(
        &self,
        api: Api,
        request: Request<RequestBody>,
    ) -> Result<Response<Timed>, SendError> {
        let pool = match api {
            Api::Anthropic => &self.anthropic,
            Api::OpenAi => &self.openai,
            Api::ChatGpt => &self.chatgpt,
        };
        let limit = match request.body() {
            Either::Left(_) => self.idle,
            Either::Right(_) => self.idle.saturating_mul(UPLOAD),
        };
        let sending = pool.send(request, &self.counters.resent);
        let sent = tokio::time::timeout(limit, sending).await;
        let response = sent.unwrap_or(Err(SendError::TooSlow(Stalled(limit))))?;
        Ok(response.map(|body| Timed::new(body, self.idle)))
    }
}
