//! The retry loop: sends a request, and executes what the policy in `outgoing.rs` says about rejections.

use super::begun::{self, Begun};
use super::outgoing::{Outgoing, Rejection};
use super::refusal::Refusal;
use super::{Body, Broken, Sending, coding, headers, stitched, unreachable_upstream, watch};
use crate::manage::Turn;
use crate::timed::Timed;
use crate::upstream::SendError;
use bytes::Bytes;
use http::Response;
use http_body_util::{Either, Full};

/// In which form the answer is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerForm {
    /// As the client requested it.
    Any,
    /// Uncompressed, because we read it on the way.
    Uncompressed,
}

impl Sending {
    /// Sends one request once.
    pub(super) async fn send_outgoing(
        &self,
        outgoing: &Outgoing,
        client_body: &Bytes,
        form: AnswerForm,
    ) -> Result<Response<Timed>, SendError> {
        self.shared.counters.outgoing(outgoing.original_reason());
        let mut headers = self.head.headers.clone();
        if let Some(body) = outgoing.new_body() {
            headers::with_new_body(&mut headers, body.len());
        }
        if form == AnswerForm::Uncompressed {
            headers::as_plain(&mut headers);
        }
        let body = outgoing.new_body().unwrap_or(client_body).clone();
        self.send(&headers, Either::Left(Full::new(body))).await
    }

    /// Sends a request of a conversation until it is accepted or the policy gives up.
    pub(super) async fn send_with_retries(
        self,
        mut turn: Turn,
        client_body: Bytes,
    ) -> Result<Response<Body>, Broken> {
        loop {
            let form = if turn.offers() { AnswerForm::Uncompressed } else { AnswerForm::Any };
            let response = match self.send_outgoing(&turn.attempt.outgoing, &client_body, form).await {
                Ok(response) => response,
                Err(error) => return unreachable_upstream(&self.shared, self.api, &error),
            };
            let (rejection, answer) = self.read_rejection(&turn, response).await;
            let retry = match rejection {
                Some(rejection) => turn.retry_after_rejection(&rejection).await,
                None => None,
            };
            turn = match (retry, answer) {
                (Some(retry), _) => retry,
                (None, Answer::Error(response)) => return Ok(response),
                (None, Answer::Success(response)) => {
                    return match turn.own() {
                        Some(own) => stitched::stitched(self, response, turn, own).await,
                        None => Ok(watch::observed(response, turn, &self.shared)),
                    };
                }
            }
        }
    }

    /// Reads why the provider rejects a request, if it does. The answer is complete either way.
    async fn read_rejection(&self, turn: &Turn, response: Response<Timed>) -> (Option<Rejection>, Answer) {
        if response.status().is_success() {
            if !turn.holds_back_stream() {
                return (None, Answer::Success(response.map(Begun::from)));
            }
            let (response, report) = begun::first_event(turn.wire(), response).await;
            let rejection = report.map(|report| Rejection::read(None, &report, turn.is_near_window()));
            return (rejection, Answer::Success(response));
        }
        let (head, body) = response.into_parts();
        let limits = &self.shared.settings.limits;
        let refusal = Refusal::read(body, limits.our_time, self.shared.budget.hold()).await;
        let report =
            refusal.whole().and_then(|body| coding::legible(&head.headers, &body, limits.answer_bytes));
        let report = report.unwrap_or_default();
        let rejection = Rejection::read(Some(head.status), &report, turn.is_near_window());
        (Some(rejection), Answer::Error(watch::refused(head, refusal)))
    }
}

/// A provider's answer.
enum Answer {
    Success(Response<Begun>),
    /// Ready for the client.
    Error(Response<Body>),
}
