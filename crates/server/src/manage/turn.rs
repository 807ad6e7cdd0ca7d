//! A request on its way, and its answer.

use super::account::{Billed, Measured};
use super::memory::{self, Answered};
use super::rest::Held;
use super::thread::Working;
use super::{Asked, OwnTurn, Report, RoutingDecision, Thread};
use crate::budget::Hold;
use crate::counters::Counters;
use crate::inject::{Point, strike};
use crate::relay::{Attempt, MAX_SHRINKS, NextStep, Original, OriginalReason, Rejection, is_plain, legible};
use bytes::Bytes;
use http::HeaderMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use throughline_core::{MessageId, Usage, Wire};
use throughline_wire::sse;
use throughline_wire::stream::StreamDecoder;
use throughline_wire::{Response, Stop};

/// The share of the window from which on a rejection without a report is taken to be about the size, in tenths.
const NEAR: u64 = 8;
/// The share from which on the beginning of a stream is looked at before the client gets it, in tenths: windows are not always
/// as large as they are said to be.
const LARGE: u64 = 5;

/// A request of a conversation on its way to the provider.
#[derive(Clone)]
pub(crate) struct Turn {
    pub(super) thread: Arc<Thread>,
    pub(super) asked: Arc<Asked>,
    /// What is sent, and what may be sent after a rejection.
    pub(crate) attempt: Attempt,
    /// What is known of it for the account; `None`: a side request, which is not recorded.
    pub(super) sent: Option<Arc<Sent>>,
    /// Our tools that the model has.
    pub(super) offered: Vec<&'static str>,
    /// The share of the window that the prompt fills, in tenths.
    pub(super) fill: u64,
}

/// A request as a conversation prepared it.
pub(super) struct Draft {
    pub(super) body: Bytes,
    /// Our tools in it.
    pub(super) offered: Vec<&'static str>,
    /// The client's own request is known to have more tokens than the model takes.
    pub(super) original_exceeds_window: bool,
    /// The share of the window that the prompt fills, in tenths.
    pub(super) fill: u64,
    /// `None`: a side request, which is not recorded and never made smaller.
    pub(super) sent: Option<Sent>,
    /// It lacks something that every request must contain (G).
    pub(super) lacks_something: bool,
}

impl Thread {
    /// A draft of a side request with this body.
    pub(super) fn draft(&self, working: &Working, asked: &Asked, body: Bytes) -> Draft {
        let fill = working.preparer.pipeline().map_or(0, |pipeline| {
            let tenth = pipeline.settings().window / 10;
            pipeline.tokens() / tenth.max(1)
        });
        let room = self.room(working, asked);
        let original_exceeds_window = room.is_some_and(|room| working.preparer.client_tokens() > room.limit);
        Draft { body, offered: Vec::new(), original_exceeds_window, fill, sent: None, lacks_something: false }
    }

    /// The decision to send a draft, or the client's own request in its place.
    pub(super) fn forward(self: &Arc<Self>, asked: &Arc<Asked>, draft: Draft) -> RoutingDecision {
        let Draft { body, offered, original_exceeds_window: exceeds_window, fill, sent, lacks_something } =
            draft;
        let original = Original { resolved: self.world.resolve(asked), exceeds_window };
        let rewritten = Some(body).filter(|body| body != original.resolved.as_ref().unwrap_or(&asked.body));
        let rejected = self.rejected_rewrites.load(Ordering::Relaxed);
        let objection = OriginalReason::from_rejected_rewrites(rejected)
            .or_else(|| lacks_something.then_some(OriginalReason::GuaranteeViolated));
        let shrinks = if sent.is_some() { MAX_SHRINKS } else { 0 };
        RoutingDecision::Forward(Box::new(Turn {
            thread: self.clone(),
            asked: asked.clone(),
            attempt: Attempt::first(original, rewritten, objection, shrinks),
            sent: sent.map(Arc::new),
            offered,
            fill,
        }))
    }
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
    /// Share of the budget that its pieces hold.
    pub(crate) _hold: Hold,
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
    /// Whether the model has tools of ours: then the answer is to come in a form that can be looked into.
    pub(crate) fn offers(&self) -> bool {
        !self.offered.is_empty() && self.attempt.outgoing.rewritten().is_some()
    }

    /// For an answer in which our tools may be called.
    pub(crate) fn own(&self) -> Option<OwnTurn> {
        let sent = self.attempt.outgoing.rewritten().filter(|_| self.offers())?;
        Some(OwnTurn::new(self.thread.clone(), self.asked.clone(), self.offered.clone(), sent.clone()))
    }

    /// Whether the answer is recorded.
    pub(crate) fn is_recorded(&self) -> bool {
        self.sent.is_some()
    }

    /// How often it was made smaller.
    pub(super) fn shrinks(&self) -> u8 {
        MAX_SHRINKS.saturating_sub(self.attempt.shrinks_left)
    }

    /// Where what happens is counted.
    pub(crate) fn counters(&self) -> &Counters {
        &self.thread.world.counters
    }

    /// The format of its answer.
    pub(crate) fn wire(&self) -> Wire {
        self.thread.wire
    }

    /// Whether the provider may reject the prompt as too long only after it began to answer, and a retry is possible.
    pub(crate) fn holds_back_stream(&self) -> bool {
        self.fill >= LARGE && self.attempt.shrinks_left > 0
    }

    /// Whether a rejection without a report is about the size.
    pub(crate) fn is_near_window(&self) -> bool {
        self.fill >= NEAR
    }

    /// The turn to send after a rejection; `None`: the client gets the provider's error.
    pub(crate) async fn retry_after_rejection(&self, rejection: &Rejection) -> Option<Self> {
        if let Some(status) = self.attempt.rejected_rewrite(rejection) {
            let Thread { world, rejected_rewrites, .. } = &*self.thread;
            rejected_rewrites.fetch_add(1, Ordering::Relaxed);
            world.reports.add((world.now)(), Report::RejectedRewrite(status.as_u16()));
        }
        match self.attempt.after_rejection(rejection) {
            NextStep::ReturnError => None,
            NextStep::SendSmaller(too_long) => self.shrink(too_long).await,
            NextStep::Send(attempt) => Some(Self { attempt, ..self.clone() }),
        }
    }

    /// The answer is over. What it says is learnt off the client's path.
    pub(crate) fn finish(self, seen: Seen) {
        // Without a runtime the process is about to end.
        if self.is_recorded()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
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
            original: self.attempt.outgoing.original_reason(),
            cured: self.shrinks().into(),
            our_time: sent.our_time,
            at: self.asked.at,
            measured: sent.measured.as_ref(),
        });
        thread.world.count(&accounted);
        let body = self.attempt.outgoing.new_body().unwrap_or(&self.asked.body);
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
        let bytes = match is_plain(&self.headers) {
            true => Some(bytes).filter(|bytes| bytes.len() <= most)?,
            false => legible(&self.headers, &bytes, most)?,
        };
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
