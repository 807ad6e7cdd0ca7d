//! Requests on their way to providers.

use super::connect::Connector;
use super::pool::Pool;
use super::{Upstream, Upstreams};
use crate::counters::Counters;
use crate::routing::Api;
use crate::serve::StartError;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

/// What is sent: a whole body that can be sent again, or one that nobody looked at.
pub(crate) type RequestBody = Either<Full<Bytes>, Incoming>;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SendError {
    /// There is no connection.
    #[error("no connection")]
    Connect(#[source] Box<dyn Error + Send + Sync>),
    /// The connection ended.
    #[error("the connection ended")]
    Broken(#[source] hyper::Error),
}

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
}

impl Client {
    pub(crate) fn new(
        upstreams: &Upstreams,
        connect: Duration,
        counters: Arc<Counters>,
    ) -> Result<Self, StartError> {
        let pool = |upstream: &Upstream| Ok(Pool::new(Connector::new(upstream, connect)?));
        Ok(Self {
            anthropic: pool(upstreams.of(Api::Anthropic))?,
            openai: pool(upstreams.of(Api::OpenAi))?,
            chatgpt: pool(upstreams.of(Api::ChatGpt))?,
            counters,
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
    ) -> Result<Response<Incoming>, SendError> {
        let pool = match api {
            Api::Anthropic => &self.anthropic,
            Api::OpenAi => &self.openai,
            Api::ChatGpt => &self.chatgpt,
        };
        pool.send(request, &self.counters.resent).await
    }
}
