//! The body of an answer, as it comes.

use crate::classify::{Report, classify};
use crate::watch::{Interrupt, Watch};
use crate::{ModelError, OnDelta, Wire};
use reqwest::Response as Incoming;
use std::time::Duration;
use throughline_core::Body;
use throughline_wire::Response;
use throughline_wire::sse::{Event, Parser};
use throughline_wire::stream::{Delta, StreamDecoder, StreamError};

/// How long the end of a connection is waited for when the answer is complete: a connection read to its end is used again.
const DRAIN: Duration = Duration::from_millis(100);

/// Who hears the answer, and whether they have heard something.
pub(super) struct Listener<'a> {
    pub(super) on_delta: Option<OnDelta<'a>>,
    pub(super) heard: bool,
}

impl Listener<'_> {
    /// Hears an answer that did not come in pieces.
    pub(super) fn hear_whole(&mut self, response: &Response) {
        if self.heard {
            return;
        }
        for block in response.messages.iter().flat_map(|message| &message.blocks) {
            match &block.body {
                Body::Text(text) => self.hear(Delta::Text(text.clone())),
                Body::Reasoning { text, .. } => self.hear(Delta::Reasoning(text.clone())),
                Body::ToolCall(_)
                | Body::ToolResult(_)
                | Body::Image(_)
                | Body::Document(_)
                | Body::Unknown(_) => {}
            }
        }
    }

    fn hear(&mut self, delta: Delta) {
        let is_something = match &delta {
            Delta::Text(text) | Delta::Reasoning(text) => !text.is_empty(),
            Delta::Other => false,
        };
        if let (Some(on_delta), true) = (&mut self.on_delta, is_something) {
            self.heard = true;
            on_delta(delta);
        }
    }
}

/// What is needed to read a body.
pub(super) struct Reading<'a> {
    pub(super) at: &'a str,
    pub(super) wire: Wire,
    pub(super) watch: &'a Watch,
    pub(super) idle: Duration,
    pub(super) limit: usize,
}

/// The next piece of a body.
enum Piece {
    Bytes(bytes::Bytes),
    End,
    Broken,
    Interrupt(Interrupt),
}

impl Reading<'_> {
    async fn next(&self, incoming: &mut Incoming) -> Piece {
        match self.watch.step(Some(self.idle), incoming.chunk()).await {
            Ok(Ok(Some(bytes))) => Piece::Bytes(bytes),
            Ok(Ok(None)) => Piece::End,
            Ok(Err(_)) => Piece::Broken,
            Err(interrupt) => Piece::Interrupt(interrupt),
        }
    }

    /// A report of an error: what comes of it, up to a limit. That the connection breaks now changes nothing.
    pub(super) async fn report(&self, mut incoming: Incoming) -> Result<Vec<u8>, Interrupt> {
        const LIMIT: usize = 64 << 10;
        let mut body = Vec::new();
        while body.len() < LIMIT {
            match self.next(&mut incoming).await {
                Piece::Bytes(bytes) => body.extend_from_slice(&bytes),
                Piece::End | Piece::Broken | Piece::Interrupt(Interrupt::Idle(_)) => break,
                Piece::Interrupt(interrupt @ (Interrupt::Cancelled | Interrupt::Deadline(_))) => {
                    return Err(interrupt);
                }
            }
        }
        body.truncate(LIMIT);
        Ok(body)
    }

    /// An answer: a stream if it says so or looks like one.
    pub(super) async fn answer(
        &self,
        mut incoming: Incoming,
        listener: &mut Listener<'_>,
    ) -> Result<Response, ModelError> {
        let kind = incoming.headers().get("content-type").and_then(|kind| kind.to_str().ok());
        let kind = kind.unwrap_or_default().trim().to_ascii_lowercase();
        if kind.starts_with("text/event-stream") {
            return self.stream(incoming, None, listener).await;
        }
        let first = loop {
            match self.next(&mut incoming).await {
                Piece::Bytes(bytes) if bytes.is_empty() => {}
                Piece::Bytes(bytes) => break bytes,
                Piece::End | Piece::Broken => return Err(self.cut_off(StreamDecoder::new(self.wire))),
                Piece::Interrupt(interrupt) => return Err(interrupt.into_error(self.at, None)),
            }
        };
        // Some local servers forget the content type.
        if !kind.starts_with("application/json") && looks_like_events(&first) {
            return self.stream(incoming, Some(first), listener).await;
        }
        self.whole(incoming, first).await
    }

    async fn whole(&self, mut incoming: Incoming, first: bytes::Bytes) -> Result<Response, ModelError> {
        let mut body = first.to_vec();
        loop {
            if body.len() > self.limit {
                return Err(self.too_large());
            }
            match self.next(&mut incoming).await {
                Piece::Bytes(bytes) => body.extend_from_slice(&bytes),
                Piece::End => break,
                Piece::Broken => return Err(self.cut_off(StreamDecoder::new(self.wire))),
                Piece::Interrupt(interrupt) => return Err(interrupt.into_error(self.at, None)),
            }
        }
        let value: serde_json::Value = serde_json::from_slice(&body).map_err(|error| {
            if error.is_eof() {
                return self.cut_off(StreamDecoder::new(self.wire));
            }
            let said = Report::read(None, &body).message;
            self.malformed(format!("{error}: {}", said.chars().take(200).collect::<String>()))
        })?;
        let says = |key: &str| value.get(key).is_some_and(|value| !value.is_null());
        if says("error") && !["content", "output", "choices"].into_iter().any(says) {
            return Err(classify(self.at, Report::read(Some(200), &body), None));
        }
        Response::from_value(self.wire, value).map_err(|error| self.malformed(error.to_string()))
    }

    async fn stream(
        &self,
        mut incoming: Incoming,
        first: Option<bytes::Bytes>,
        listener: &mut Listener<'_>,
    ) -> Result<Response, ModelError> {
        let mut parser = Parser::new(self.limit);
        let mut decoder = StreamDecoder::new(self.wire);
        let mut events = Vec::new();
        let mut seen = 0_usize;
        let mut pending = first;
        loop {
            let piece = match pending.take() {
                Some(bytes) => Piece::Bytes(bytes),
                None => self.next(&mut incoming).await,
            };
            match piece {
                Piece::Bytes(bytes) => {
                    seen = seen.saturating_add(bytes.len());
                    if seen > self.limit {
                        return Err(self.too_large());
                    }
                    let parsed = parser.push(&bytes, &mut events);
                    for event in events.drain(..) {
                        if self.take(&mut decoder, &event, listener)? {
                            self.drain(incoming).await;
                            return Ok(decoder.finish());
                        }
                    }
                    parsed.map_err(|error| self.malformed(error.to_string()))?;
                }
                Piece::End => {
                    if let Some(event) = parser.finish() {
                        match self.take(&mut decoder, &event, listener) {
                            // Torn: the stream ended within it.
                            Ok(_) | Err(ModelError::Malformed { .. }) => {}
                            Err(error) => return Err(error),
                        }
                    }
                    break;
                }
                Piece::Broken => break,
                // Some servers leave the connection open behind the last event.
                Piece::Interrupt(Interrupt::Idle(_)) if decoder.is_complete() => break,
                Piece::Interrupt(interrupt) => {
                    return Err(interrupt.into_error(self.at, Some(decoder.finish())));
                }
            }
        }
        if decoder.is_complete() { Ok(decoder.finish()) } else { Err(self.cut_off(decoder)) }
    }

    /// Takes an event; tells whether nothing can come behind it.
    fn take(
        &self,
        decoder: &mut StreamDecoder,
        event: &Event,
        listener: &mut Listener<'_>,
    ) -> Result<bool, ModelError> {
        match decoder.push(event) {
            Ok(delta) => listener.hear(delta),
            Err(StreamError::Provider { kind, message, raw }) => {
                return Err(classify(self.at, Report::from_value(raw).with(&kind, &message), None));
            }
            Err(StreamError::TooLarge { limit }) => {
                return Err(ModelError::TooLarge { at: self.at.to_owned(), limit });
            }
            Err(error @ StreamError::NotJson { .. }) => return Err(self.malformed(error.to_string())),
        }
        Ok(match self.wire {
            Wire::Anthropic | Wire::Responses => decoder.is_complete(),
            // The usage comes behind the reason for the end.
            Wire::Chat => event.data.trim() == "[DONE]",
        })
    }

    async fn drain(&self, mut incoming: Incoming) {
        let rest = async { while let Ok(Some(_)) = incoming.chunk().await {} };
        let _ = tokio::time::timeout(DRAIN, rest).await;
    }

    fn cut_off(&self, decoder: StreamDecoder) -> ModelError {
        ModelError::CutOff { at: self.at.to_owned(), partial: Box::new(decoder.finish()) }
    }

    fn too_large(&self) -> ModelError {
        ModelError::TooLarge { at: self.at.to_owned(), limit: self.limit }
    }

    fn malformed(&self, message: String) -> ModelError {
        ModelError::Malformed { at: self.at.to_owned(), wire: self.wire, message }
    }
}

fn looks_like_events(bytes: &[u8]) -> bool {
    let start = bytes.trim_ascii_start();
    [&b"data:"[..], b"event:", b"id:", b"retry:", b":"].iter().any(|field| start.starts_with(field))
}
