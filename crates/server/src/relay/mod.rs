//! How a request gets to its provider, and the answer back.

mod begun;
mod coding;
mod headers;
mod read;
mod refusal;
mod stitched;
mod watch;

use crate::counters::Outcome;
use crate::endpoint::{Api, Endpoint};
use crate::manage::{Asked, LocalAnswer, Turn, Verdict};
use crate::serve::Shared;
use crate::upstream::{RequestBody, SendError};
use begun::Begun;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, request};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Either, Full, LengthLimitError};
use hyper::body::{Body as _, Incoming};
use refusal::Refusal;
use serde_json::json;
use std::error::Error;
use std::sync::Arc;

pub(crate) use coding::legible;

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
) -> Result<Response<Body>, Broken> {
    let (head, body) = request.into_parts();
    let head = Arc::new(head);
    let endpoint = Endpoint::of(&head.method, head.uri.path());
    let api = Api::of(endpoint, head.uri.path(), &head.headers);
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
    let verdict = match &shared.manager {
        Some(manager) => {
            let limit = shared.settings.limits.request_bytes;
            let plain = if coding::is_plain(&head.headers) {
                Some(body.clone())
            } else {
                coding::legible(&head.headers, &body, limit).map(Bytes::from)
            };
            match plain {
                Some(body) => {
                    let at = (shared.settings.now)();
                    manager.consider(Asked::new(endpoint, head.headers.clone(), body, at)).await
                }
                None => Verdict::Pass,
            }
        }
        None => Verdict::Pass,
    };
    shared.counters.request(&head.headers, endpoint.wire(), outcome(&verdict));
    let sending = Sending { shared: shared.clone(), api, head: head.clone() };
    match verdict {
        Verdict::Answer(answer) => Ok(local_answer(answer)),
        Verdict::Pass => match sending.send(&head.headers, Either::Left(Full::new(body))).await {
            Ok(response) => Ok(watch::untouched(response)),
            Err(error) => unreachable_upstream(shared, api, &error),
        },
        Verdict::Instead(instead) => {
            let mut headers = head.headers.clone();
            headers::with_new_body(&mut headers, instead.len());
            match sending.send(&headers, Either::Left(Full::new(instead))).await {
                Ok(response) => Ok(watch::untouched(response)),
                Err(error) => unreachable_upstream(shared, api, &error),
            }
        }
        Verdict::Beside(own) => {
            let mut headers = head.headers.clone();
            headers::with_new_body(&mut headers, own.sent().len());
            headers::as_plain(&mut headers);
            match sending.send(&headers, Either::Left(Full::new(own.sent().clone()))).await {
                Ok(response) if response.status().is_success() => {
                    stitched::stitched(sending, response.map(Begun::from), None, *own).await
                }
                Ok(response) => Ok(watch::untouched(response)),
                Err(error) => unreachable_upstream(shared, api, &error),
            }
        }
        Verdict::Send(turn) => sending.hold(*turn, body).await,
    }
}

/// What becomes of a request.
fn outcome(verdict: &Verdict) -> Outcome {
    match verdict {
        Verdict::Pass => Outcome::Untouched,
        Verdict::Send(turn) if turn.body().is_none() => Outcome::Untouched,
        Verdict::Send(_) | Verdict::Instead(_) | Verdict::Beside(_) => Outcome::Changed,
        Verdict::Answer(_) => Outcome::AnsweredHere,
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
        headers::go_up(request.headers_mut(), upstream.authority());
        let size = request.body().size_hint().exact();
        let answered = self.shared.client.send(self.api, request).await;
        self.shared.counters.answer(answered.as_ref().ok().map(Response::status));
        if self.is_conversation() {
            self.shared.counters.sent.add(size.unwrap_or_default());
        }
        answered
    }

    /// Sends a request that somebody decided about, and has the answer watched.
    async fn hold(self, mut turn: Turn, original: Bytes) -> Result<Response<Body>, Broken> {
        loop {
            let mut headers = self.head.headers.clone();
            let body = match turn.body() {
                Some(edited) => {
                    headers::with_new_body(&mut headers, edited.len());
                    edited.clone()
                }
                None => original.clone(),
            };
            if turn.offers() {
                headers::as_plain(&mut headers);
            }
            let response = match self.send(&headers, Either::Left(Full::new(body))).await {
                Ok(response) => response,
                Err(error) => {
                    turn.unanswered();
                    return unreachable_upstream(&self.shared, self.api, &error);
                }
            };
            if response.status().is_success() {
                let response = match turn.is_large() {
                    true => {
                        let (response, report) = begun::first_event(turn.wire(), response).await;
                        if let Some(report) = report
                            && let Some(cured) = turn.cure(None, &report).await
                        {
                            turn = cured;
                            continue;
                        }
                        response
                    }
                    false => response.map(Begun::from),
                };
                if let Some(own) = turn.own() {
                    return stitched::stitched(self, response, Some(turn), own).await;
                }
                return Ok(watch::watched(response, turn, self.shared.settings.limits.answer_bytes));
            }
            let (head, body) = response.into_parts();
            let limits = &self.shared.settings.limits;
            let refusal = Refusal::read(body, limits.our_time).await;
            let report =
                refusal.whole().and_then(|body| coding::legible(&head.headers, &body, limits.answer_bytes));
            match turn.cure(Some(head.status), report.as_deref().unwrap_or_default()).await {
                Some(cured) => turn = cured,
                None => return Ok(watch::refused(head, refusal)),
            }
        }
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
