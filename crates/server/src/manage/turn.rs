//! A request on its way, and its answer.

use super::account::{Billed, Measured};
use super::cure::{self, Refusal};
use super::memory::{self, Answered};
use super::rest::Held;
use super::{Asked, OwnTurn, Report, Thread};
use crate::counters::Counters;
use crate::inject::{Point, strike};
use crate::relay::legible;
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use throughline_core::{MessageId, Usage, Wire};
use throughline_wire::sse;
use throughline_wire::stream::StreamDecoder;
use throughline_wire::{Response, Stop};

/// A request that goes to the provider.
pub(crate) struct Turn {
    pub(super) thread: Arc<Thread>,
    pub(super) asked: Arc<Asked>,
    /// What is sent instead of the client's.
    pub(super) body: Option<Bytes>,
    /// How often it was made smaller because the provider found it too long.
    pub(super) cures: u8,
    /// What is known of it for the account.
    pub(super) sent: Option<Arc<Sent>>,
    /// Our tools that the model has.
    pub(super) offered: Vec<&'static str>,
    /// Whether the prompt fills a good part of the window.
    pub(super) is_large: bool,
}

/// What is known of a request when it is sent.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) measured: Option<Measured>,
    /// The last message of the history that it holds.
    pub(super) tip: Option<MessageId>,
    /// How long our work took.
    pub(super) our_time: Duration,
}

impl Sent {
    /// The same request was sent before, and refused: what was done for it then counts too.
    pub(super) fn after(mut self, before: Option<&Self>) -> Self {
        let Some(before) = before else { return self };
        self.our_time += before.our_time;
        if let (Some(now), Some(then)) = (&mut self.measured, &before.measured) {
            now.edits += then.edits;
        }
        self
    }
}

/// What was seen of an answer.
pub(crate) struct Seen {
    pub(crate) headers: HeaderMap,
    pub(crate) pieces: Vec<Bytes>,
    /// Nothing of it was too much to be held.
    pub(crate) is_whole: bool,
    pub(crate) ended: Ended,
    /// What the answers before it cost, which it continues: our tools were called in them.
    pub(crate) earlier: Vec<Usage>,
    /// The client got it as it is: it is not one of several, and nothing was taken out.
    pub(crate) as_told: bool,
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Well,
    /// The provider's connection broke.
    Broken,
    /// The client's did.
    ClientLeft,
}

impl Turn {
    pub(super) fn new(thread: Arc<Thread>, asked: Arc<Asked>, body: Option<Bytes>) -> Self {
        Self { thread, asked, body, cures: 0, sent: None, offered: Vec::new(), is_large: false }
    }

    /// The same request once more.
    pub(super) fn again(&self) -> Self {
        Self {
            thread: self.thread.clone(),
            asked: self.asked.clone(),
            body: self.body.clone(),
            cures: self.cures,
            sent: self.sent.clone(),
            offered: self.offered.clone(),
            is_large: self.is_large,
        }
    }

    /// One that counts.
    pub(super) fn accounted(self, sent: Sent) -> Self {
        Self { sent: Some(Arc::new(sent)), ..self }
    }

    /// What is sent instead of the client's own body.
    pub(crate) fn body(&self) -> Option<&Bytes> {
        self.body.as_ref()
    }

    /// The model has these tools of ours.
    pub(super) fn offering(self, offered: Vec<&'static str>) -> Self {
        Self { offered, ..self }
    }

    /// Whether the model has tools of ours: then the answer is to come in a form that can be looked into.
    pub(crate) fn offers(&self) -> bool {
        !self.offered.is_empty() && self.body.is_some()
    }

    /// For an answer in which our tools may be called.
    pub(crate) fn own(&self) -> Option<OwnTurn> {
        let sent = self.body.as_ref().filter(|_| self.offers())?;
        Some(OwnTurn::new(self.thread.clone(), self.asked.clone(), self.offered.clone(), sent.clone()))
    }

    /// Where what happens is counted.
    pub(crate) fn counters(&self) -> &Counters {
        &self.thread.world.counters
    }

    /// The format of its answer.
    pub(crate) fn wire(&self) -> Wire {
        self.thread.wire
    }

    /// Whether the prompt is so large that the provider may find it too long only after it began to answer.
    pub(crate) fn is_large(&self) -> bool {
        self.is_large
    }

    /// The provider refused, with a status or in a stream: what to send instead, if something can be done about it.
    pub(crate) async fn cure(&mut self, status: Option<StatusCode>, report: &[u8]) -> Option<Self> {
        match Refusal::read(status, report) {
            Refusal::TooLong(too_long) => return cure::cure(self, too_long).await,
            Refusal::AnswerTooLong => return None,
            Refusal::Other => {}
        }
        let status = status
            .filter(|status| matches!(*status, StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY))?;
        self.body.as_ref()?;
        // Perhaps it is our doing. If the client's own is refused too, the client is told what it would have been told.
        self.thread.mistrust.fetch_add(1, Ordering::Relaxed);
        let report = Report::Refused(status.as_u16());
        self.thread.world.reports.add((self.thread.world.now)(), report);
        let plain = self.thread.plain(&self.asked);
        (plain != self.body).then(|| Self { body: plain, ..self.again() })
    }

    /// There was no answer at all.
    pub(crate) fn unanswered(self) {}

    /// The answer is over. What it says is learnt off the client's path.
    pub(crate) fn finish(self, seen: Seen) {
        // Without a runtime the process is about to end.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let learning = self.thread.world.learning.clone();
            learning.spawn_blocking_on(move || self.learn(&seen), &runtime);
        }
    }

    fn learn(self, seen: &Seen) {
        if strike(self.thread.world.managing.inject, Point::Learn, &self.asked.headers).is_err() {
            return;
        }
        let thread = &self.thread;
        let Some(mut response) = seen.response(thread, thread.world.limits.answer_bytes) else { return };
        let Some(sent) = &self.sent else { return };
        let now = (thread.world.now)();
        let mut usage = response.usage;
        seen.earlier.iter().for_each(|earlier| usage += *earlier);
        let accounted = thread.account().answered(&Billed {
            usage,
            changed: self.body.is_some(),
            cured: self.cures.into(),
            our_time: sent.our_time,
            at: self.asked.at,
            measured: sent.measured.as_ref(),
        });
        thread.world.count(&accounted);
        let body = self.body.as_ref().unwrap_or(&self.asked.body);
        memory::answered(thread, &Answered { messages: &response.messages, sent: body });
        response.follow(sent.tip.as_ref());
        response.messages.iter_mut().for_each(|message| message.at = Some(now));
        let is_whole = seen.is_whole && seen.ended == Ended::Well && response.stop != Stop::CutOff;
        // What the client was told otherwise is known when it comes back.
        let is_whole = is_whole && seen.as_told;
        let held = (is_whole && !response.messages.is_empty()).then(|| {
            thread.world.lineage.answered(&thread.place.key, sent.tip.as_ref(), &response.messages);
            Held { behind: sent.tip.clone(), messages: response.messages }
        });
        // What the provider found in the request that was counted.
        let found = seen.earlier.first().copied().unwrap_or(response.usage);
        if let Err(error) = thread.write_down(accounted.to_event(self.asked.at), found, held) {
            thread.world.report_unrecorded(&error);
        }
    }
}

impl Seen {
    /// The answer, as far as it came.
    fn response(&self, thread: &Thread, most: usize) -> Option<Response> {
        let bytes = self.pieces.concat();
        let bytes = legible(&self.headers, &bytes, most)?;
        let kind = self.headers.get(http::header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        if !kind.is_some_and(|kind| kind.starts_with("text/event-stream")) {
            return Response::decode(thread.wire, &bytes).ok();
        }
        let mut decoder = StreamDecoder::new(thread.wire);
        let mut parser = sse::Parser::new(most);
        let mut events = Vec::new();
        let parsed = parser.push(&bytes, &mut events);
        for event in &events {
            // What can't be understood is left out; the client has it.
            let _ = decoder.push(event);
        }
        let response = decoder.finish();
        let is_over = self.is_whole && self.ended == Ended::Well && parsed.is_ok();
        (is_over || response.stop != Stop::CutOff || response.usage != Usage::default()).then_some(response)
    }
}
