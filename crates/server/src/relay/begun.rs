//! Answers whose beginning was looked at before the client gets any of it.
//!
//! Some providers accept a request, begin a stream, and only then say that the prompt is too long. That can be cured only as
//! long as the client has seen nothing. So the first events of a stream are held back where the prompt is large: until
//! one comes that says something, or the time is up.

use super::coding;
use crate::timed::Timed;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, Response};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use throughline_core::Wire;
use throughline_wire::sse;
use throughline_wire::stream::{StreamDecoder, StreamError};

type AnyError = Box<dyn Error + Send + Sync>;

/// How long the first events are held back at most.
const LONGEST: Duration = Duration::from_secs(10);
/// Bytes that are held back at most.
const MOST: usize = 64 << 10;

/// An answer of which the first pieces were taken off already; they come first.
pub(super) struct Begun {
    first: VecDeque<Frame<Bytes>>,
    /// How it broke behind them, if it did.
    broken: Option<AnyError>,
    rest: Timed,
}

impl From<Timed> for Begun {
    fn from(rest: Timed) -> Self {
        Self { first: VecDeque::new(), broken: None, rest }
    }
}

/// Waits for the first event of a stream that says something. What it reports, if that is an error; the answer is whole either
/// way.
pub(super) async fn first_event(wire: Wire, response: Response<Timed>) -> (Response<Begun>, Option<Vec<u8>>) {
    let is_stream = is_stream(response.headers()) && coding::is_plain(response.headers());
    let (head, body) = response.into_parts();
    let mut begun = Begun::from(body);
    let mut report = None;
    if is_stream {
        // Whatever was read by then is in its place.
        let _ = tokio::time::timeout(LONGEST, begun.look(wire, &mut report)).await;
    }
    (Response::from_parts(head, begun), report)
}

fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("text/event-stream"))
}

impl Begun {
    /// The answer, if nothing was taken off it: only streams are looked at.
    pub(super) fn into_rest(self) -> Timed {
        self.rest
    }

    async fn look(&mut self, wire: Wire, report: &mut Option<Vec<u8>>) {
        let mut parser = sse::Parser::new(MOST);
        let mut decoder = StreamDecoder::new(wire);
        let mut size = 0;
        while size <= MOST
            && let Some(frame) = self.rest.frame().await
        {
            let frame = match frame {
                Ok(frame) => frame,
                Err(error) => {
                    self.broken = Some(error);
                    return;
                }
            };
            let mut events = Vec::new();
            let is_sse = frame.data_ref().is_none_or(|data| {
                size += data.len();
                parser.push(data, &mut events).is_ok()
            });
            self.first.push_back(frame);
            if !is_sse {
                return;
            }
            for event in &events {
                match decoder.push(event) {
                    Err(StreamError::Provider { kind, message, .. }) => {
                        *report =
                            Some(json!({"error": {"code": kind, "message": message}}).to_string().into());
                        return;
                    }
                    Err(StreamError::NotJson { .. } | StreamError::TooLarge { .. }) => return,
                    Ok(_) if says_something(wire, event) => return,
                    Ok(_) => {}
                }
            }
        }
    }
}

/// Whether an event is more than the announcement of an answer.
fn says_something(wire: Wire, event: &sse::Event) -> bool {
    let data: Value = serde_json::from_str(&event.data).unwrap_or_default();
    let kind = data["type"].as_str().or(event.name.as_deref()).unwrap_or_default();
    match wire {
        Wire::Anthropic => !matches!(kind, "ping" | "message_start"),
        Wire::Responses => {
            !matches!(kind, "response.created" | "response.queued" | "response.in_progress" | "keepalive")
        }
        Wire::Chat => true,
    }
}

impl Body for Begun {
    type Data = Bytes;
    type Error = AnyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, AnyError>>> {
        match self.first.pop_front() {
            Some(frame) => Poll::Ready(Some(Ok(frame))),
            None => match self.broken.take() {
                Some(error) => Poll::Ready(Some(Err(error))),
                None => Pin::new(&mut self.rest).poll_frame(context),
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_empty() && self.broken.is_none() && self.rest.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let held: usize = self.first.iter().filter_map(Frame::data_ref).map(Bytes::len).sum();
        let rest = self.rest.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(rest.lower().saturating_add(held as u64));
        if let Some(upper) = rest.upper() {
            hint.set_upper(upper.saturating_add(held as u64));
        }
        hint
    }
}
