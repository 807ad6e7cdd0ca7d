//! How a request gets to its provider, and the answer back.

mod begun;
mod coding;
mod headers;
mod outgoing;
mod read;
mod refusal;
mod retry;
mod stitched;
mod watch;

use crate::budget::Hold;
use crate::counters::Outcome;
use crate::endpoint::Endpoint;
use crate::manage::{Asked, LocalAnswer, RoutingDecision};
use crate::peer::Caller;
use crate::routing::Api;
use crate::serve::Shared;
use crate::timed::Timed;
use crate::upstream::{RequestBody, SendError};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, request};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Either, Full};
use hyper::body::{Body as _, Incoming};
use read::Unread;
use retry::AnswerForm;
use serde_json::json;
use std::error::Error;
use std::sync::Arc;

pub(crate) use coding::{is_plain, legible};
pub(crate) use outgoing::{
    Attempt, MAX_SHRINKS, NextStep, Original, OriginalReason, Outgoing, Rejection, TooLong,
};

/// What a client is sent.
pub(crate) type Body = UnsyncBoxBody<Bytes, Box<dyn Error + Send + Sync>>;

/// Bytes of a body that is read before it is sent on, though nobody looks at it.
const SMALL: u64 = 1 << 20;

/// The provider's connection broke before it answered: the client's ends too, as it would have without us.
#[derive(Debug, thiserror::Error)]
#[error("the provider closed the connection without an answer")]
pub(crate) struct Broken;

/// A body that is there as a whole.
pub(crate) fn whole(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// Passes a request on, with what is decided about it.
pub(crate) async fn pass_on(
    shared: &Arc<Shared>,
    request: Request<Incoming>,
    caller: Caller,
) -> Result<Response<Body>, Broken> {
    let (head, body) = request.into_parts();
    let head = Arc::new(head);
    let endpoint = Endpoint::of(&head.method, head.uri.path());
    let api = match Api::find(&head.uri, &head.headers) {
        Ok(api) => api,
        Err(why) => {
            shared.counters.request(&head.headers, endpoint.wire(), Outcome::Refused);
            // Both providers' clients read this form.
            return Ok(error_answer(
                Api::Anthropic,
                StatusCode::NOT_FOUND,
                "not_found_error",
                &why.to_string(),
            ));
        }
    };
    if headers::wants_websocket(&head.headers) {
        // What is said there can't be managed. Clients that offer it (Codex) ask over HTTP when they read this.
        shared.counters.request(&head.headers, endpoint.wire(), Outcome::Refused);
        let why = "this proxy does not speak WebSocket; ask over HTTP";
        return Ok(error_answer(api, StatusCode::UPGRADE_REQUIRED, "upgrade_required", why));
    }
    let mut hold = shared.budget.hold();
    if endpoint == Endpoint::Other {
        // Files and the like: nobody looks at them, and they may be large. A small one is read first, and can be sent again then.
        let is_small = body.size_hint().exact().is_some_and(|bytes| bytes <= SMALL);
        let body = if is_small || head.method == Method::GET || head.method == Method::HEAD {
            // A chunked one of these would not be sent on, and left unread it would cost the client the end of its answer.
            match read::whole(body, &shared.settings.limits, &mut hold).await {
                Ok(read) => Either::Left(Full::new(read)),
                Err(why) => return unread(shared, &head, (api, endpoint), why),
            }
        } else {
            Either::Right(Timed::new(body, shared.settings.limits.stall))
        };
        shared.counters.request(&head.headers, None, Outcome::Untouched);
        let sent = Sending { shared: shared.clone(), api, head: head.clone(), _hold: hold }
            .send(&head.headers, body)
            .await;
        return match sent {
            Ok(response) => Ok(watch::untouched(response)),
            Err(error) => unreachable_upstream(shared, api, &error),
        };
    }
    let body = match read::whole(body, &shared.settings.limits, &mut hold).await {
        Ok(body) => body,
        Err(why) => return unread(shared, &head, (api, endpoint), why),
    };
    shared.counters.received.add(body.len() as u64);
    let mut uncompressed = || match coding::is_plain(&head.headers) {
        true => Some(body.clone()),
        false => coding::legible(&head.headers, &body, shared.settings.limits.request_bytes)
            .filter(|plain| hold.grow(plain.len()))
            .map(Bytes::from),
    };
    let manager = match caller {
        Caller::Owner => shared.manager.as_ref(),
        Caller::Stranger => {
            shared.tell_of_strangers();
            None
        }
    };
    let decision = match manager.and_then(|manager| Some((manager, uncompressed()?))) {
        Some((manager, body)) => {
            let at = (shared.settings.now)();
            manager.consider(Asked::new(endpoint, head.headers.clone(), body, at)).await
        }
        None => RoutingDecision::PassThrough(Outgoing::Original {
            reason: OriginalReason::Unmanaged,
            resolved: None,
        }),
    };
    let outcome = match &decision {
        RoutingDecision::PassThrough(outgoing) => outcome(outgoing),
        RoutingDecision::Forward(turn) => outcome(&turn.attempt.outgoing),
        RoutingDecision::Respond(_) => Outcome::AnsweredHere,
    };
    shared.counters.request(&head.headers, endpoint.wire(), outcome);
    let sending = Sending { shared: shared.clone(), api, head, _hold: hold };
    match decision {
        RoutingDecision::Respond(answer) => Ok(local_answer(answer)),
        RoutingDecision::PassThrough(outgoing) => {
            match sending.send_outgoing(&outgoing, &body, AnswerForm::Any).await {
                Ok(response) => Ok(watch::untouched(response)),
                Err(error) => unreachable_upstream(shared, api, &error),
            }
        }
        RoutingDecision::Forward(turn) => sending.send_with_retries(*turn, body).await,
    }
}

/// Response to a client whose request was not read.
fn unread(
    shared: &Shared,
    head: &request::Parts,
    (api, endpoint): (Api, Endpoint),
    why: Unread,
) -> Result<Response<Body>, Broken> {
    shared.counters.request(&head.headers, endpoint.wire(), Outcome::Refused);
    let (status, kind) = match why {
        Unread::Broken => return Err(Broken),
        Unread::TooLarge(_) => (StatusCode::PAYLOAD_TOO_LARGE, "request_too_large"),
        Unread::TooSlow(_) => (StatusCode::REQUEST_TIMEOUT, "timeout_error"),
        Unread::NoRoom => (StatusCode::SERVICE_UNAVAILABLE, "overloaded_error"),
    };
    let mut response = error_answer(api, status, kind, &why.to_string());
    if why == Unread::NoRoom {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    Ok(response)
}

fn outcome(outgoing: &Outgoing) -> Outcome {
    match outgoing.new_body() {
        None => Outcome::Untouched,
        Some(_) => Outcome::Changed,
    }
}

/// A request on its way to one provider.
struct Sending {
    shared: Arc<Shared>,
    api: Api,
    head: Arc<request::Parts>,
    /// Share of the budget that its body holds.
    _hold: Hold,
}

impl Sending {
    /// Whether what is sent holds one.
    fn is_conversation(&self) -> bool {
        Endpoint::of(&self.head.method, self.head.uri.path()) != Endpoint::Other
    }

    async fn send(&self, headers: &HeaderMap, body: RequestBody) -> Result<Response<Timed>, SendError> {
        let upstream = self.shared.settings.upstreams.of(self.api);
        let mut request = Request::new(body);
        *request.method_mut() = self.head.method.clone();
        // An address that can't be put together is the client's own, and refused by the provider.
        *request.uri_mut() = upstream.address(self.api, &self.head.uri).unwrap_or_default();
        *request.headers_mut() = headers.clone();
        // It holds how the client wrote the names of its headers.
        *request.extensions_mut() = self.head.extensions.clone();
        headers::go_up(request.headers_mut(), upstream.authority(), self.api, &self.shared);
        let size = request.body().size_hint().exact();
        let answered = self.shared.client.send(self.api, request).await;
        self.shared.counters.answer(answered.as_ref().ok().map(Response::status));
        if self.is_conversation() {
            self.shared.counters.sent.add(size.unwrap_or_default());
        }
        answered
    }
}

/// What the client is told if its provider can't be reached.
fn unreachable_upstream(shared: &Shared, api: Api, error: &SendError) -> Result<Response<Body>, Broken> {
    let error: &dyn Error = match error {
        SendError::Connect(why) => why.as_ref(),
        SendError::TooSlow(why) => {
            let upstream = shared.settings.upstreams.of(api);
            let message = format!("{upstream} did not answer: {why} (proxy.upstream_idle_seconds)");
            return Ok(error_answer(api, StatusCode::GATEWAY_TIMEOUT, "timeout_error", &message));
        }
        SendError::Broken(why) => {
            tracing::debug!("no answer: {why}");
            return Err(Broken);
        }
    };
    let mut why = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        why = format!("{why}: {error}");
        cause = error.source();
    }
    let upstream = shared.settings.upstreams.of(api);
    let message = format!("throughline can't reach {upstream}: {why}");
    tracing::warn!("{message}");
    Ok(error_answer(api, StatusCode::BAD_GATEWAY, "api_error", &message))
}

/// An error in the provider's own form.
fn error_answer(api: Api, status: StatusCode, kind: &str, message: &str) -> Response<Body> {
    let error = json!({"type": kind, "message": message});
    let body = match api {
        Api::Anthropic => json!({"type": "error", "error": error}),
        Api::OpenAi | Api::ChatGpt => json!({"error": error}),
    };
    let mut response = Response::new(whole(body.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn local_answer(answer: LocalAnswer) -> Response<Body> {
    let mut response = Response::new(whole(answer.body));
    *response.status_mut() = answer.status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(answer.content_type));
    response
}
