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

use crate::counters::Outcome;
use crate::endpoint::Endpoint;
use crate::manage::{Asked, LocalAnswer, RoutingDecision};
use crate::peer::Caller;
use crate::routing::Api;
use crate::serve::Shared;
use crate::upstream::{RequestBody, SendError};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, request};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Either, Full, LengthLimitError};
use hyper::body::{Body as _, Incoming};
use retry::AnswerForm;
use serde_json::json;
use std::error::Error;
use std::sync::Arc;

pub(crate) use coding::legible;
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

/// A plain answer of our own.
pub(crate) fn text(status: StatusCode, text: &str) -> Response<Body> {
    let mut response = Response::new(whole(text.to_owned()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
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
    if endpoint == Endpoint::Other {
        // Files and the like: nobody looks at them, and they may be large. A small one is read first, and can be sent again then.
        let is_small = body.size_hint().exact().is_some_and(|bytes| bytes <= SMALL);
        let body = if is_small || head.method == Method::GET || head.method == Method::HEAD {
            // A chunked one of these would not be sent on, and left unread it would cost the client the end of its answer.
            let read = read::whole(body, shared.settings.limits.request_bytes).await;
            Either::Left(Full::new(read.map_err(|_| Broken)?))
        } else {
            Either::Right(body)
        };
        shared.counters.request(&head.headers, None, Outcome::Untouched);
        let sent =
            Sending { shared: shared.clone(), api, head: head.clone() }.send(&head.headers, body).await;
        return match sent {
            Ok(response) => Ok(watch::untouched(response)),
            Err(error) => unreachable_upstream(shared, api, &error),
        };
    }
    let body = match read::whole(body, shared.settings.limits.request_bytes).await {
        Ok(body) => body,
        Err(error) if error.is::<LengthLimitError>() => {
            shared.counters.request(&head.headers, endpoint.wire(), Outcome::Refused);
            let most = shared.settings.limits.request_bytes;
            return Ok(error_answer(
                api,
                StatusCode::PAYLOAD_TOO_LARGE,
                "request_too_large",
                &format!(
                    "the request is larger than {most} bytes, which is all that this proxy takes (proxy.request_bytes)"
                ),
            ));
        }
        Err(_) => return Err(Broken),
    };
    shared.counters.received.add(body.len() as u64);
    let uncompressed = || match coding::is_plain(&head.headers) {
        true => Some(body.clone()),
        false => coding::legible(&head.headers, &body, shared.settings.limits.request_bytes).map(Bytes::from),
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
    let sending = Sending { shared: shared.clone(), api, head };
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
}

impl Sending {
    /// Whether what is sent holds one.
    fn is_conversation(&self) -> bool {
        Endpoint::of(&self.head.method, self.head.uri.path()) != Endpoint::Other
    }

    async fn send(&self, headers: &HeaderMap, body: RequestBody) -> Result<Response<Incoming>, SendError> {
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
