//! Work in the background, so that nobody waits: summaries ahead of need, spans to be folded.
//!
//! A task gets what it needs when it begins and touches neither the ledger nor the view: what it wrote is taken up by the
//! session at the next request, if it still fits.

use super::{Frame, Session, SessionError};
use crate::summary;
use crate::telemetry::span::{self, Work};
use std::sync::Arc;
use std::time::Duration;
use throughline_core::cost::Price;
use throughline_core::pipeline::{Preparation, WriterOutcome};
use throughline_core::profile::Strategy;
use throughline_core::stages::collapse::Span;
use throughline_core::{Entry, Message, MessageId, Role, prompt};
use throughline_memory::ByModel;
use throughline_memory::extract::{ExtractLimits, Extracted};
use throughline_memory::notes::Updated;
use throughline_model::{CancelToken, Caps, Fork, Forked, Model, Permit, Prefix, Receipt, Tail};
use tokio::task::JoinHandle;
use tracing::Instrument;

const SPAN: &str = include_str!("../../../../prompts/span.md");

/// What runs, and what came of it. Dropping it stops what runs.
#[derive(Default)]
pub(super) struct Background {
    summary: Option<JoinHandle<WrittenSummary>>,
    pub(super) notes: Option<JoinHandle<Updated>>,
    pub(super) extraction: Option<JoinHandle<Extracted>>,
    /// An extraction that is due while another one runs.
    pub(super) extraction_due: Option<ExtractLimits>,
    spans: Option<JoinHandle<Vec<WrittenSpan>>>,
    /// A summary that was written and is not used yet.
    written: Option<AheadSummary>,
    /// The last summary ahead of need came to nothing: none is tried until the view was replaced.
    failed: bool,
    /// Stops what is written ahead of need: of no use once the session ends.
    pub(super) cancel_ahead: CancelToken,
    /// Stops notes and extractions.
    pub(super) cancel: CancelToken,
}

/// A summary that was written before it was needed.
#[derive(Clone, Debug)]
pub(super) struct AheadSummary {
    /// The layout that the model was told its text would stand in. It is used in no other.
    pub(super) strategy: Strategy,
    pub(super) text: String,
    /// The last message that the text covers.
    pub(super) covers: Option<MessageId>,
}

struct WrittenSummary {
    summary: Option<AheadSummary>,
    receipt: Receipt,
}

struct WrittenSpan {
    span: Span,
    summary: String,
    receipt: Receipt,
}

impl Drop for Background {
    fn drop(&mut self) {
        self.cancel_ahead.cancel();
        self.cancel.cancel();
    }
}

/// What somebody is asked.
struct Asked {
    model: Arc<dyn Model>,
    prefix: Prefix,
    since: Vec<Message>,
    ask: Message,
}

/// Who goes on from the conversation, and what it may take.
pub(super) struct Helper {
    pub(super) model: Arc<dyn Model>,
    pub(super) prefix: Prefix,
    pub(super) since: Vec<Message>,
    pub(super) caps: Caps,
    pub(super) permit: Option<Permit>,
    pub(super) cancel: CancelToken,
}

impl Helper {
    /// What it takes to ask it.
    pub(super) fn ask<'a>(&'a self, price: &'a Price) -> ByModel<'a> {
        ByModel {
            model: &*self.model,
            prefix: &self.prefix,
            since: &self.since,
            caps: &self.caps,
            price,
            tail: Tail::default(),
            cancel: self.cancel.clone(),
        }
    }
}

/// A request in the background, with all that it needs.
struct Job {
    name: &'static str,
    model: Arc<dyn Model>,
    prefix: Prefix,
    since: Vec<Message>,
    ask: Message,
    caps: Caps,
    price: Price,
    permit: Option<Permit>,
    cancel: CancelToken,
}

impl Job {
    async fn run(self) -> Forked {
        let fork = Fork {
            job: self.name,
            model: &*self.model,
            prefix: &self.prefix,
            since: &self.since,
            ask: self.ask,
            caps: &self.caps,
            price: &self.price,
            tail: Tail::default(),
            cancel: self.cancel,
        };
        let forked = fork.run(&mut summary::TextOnly).await;
        if let Some(permit) = self.permit {
            // What can't be written now the governor keeps, and lets nothing begin before it is.
            let _ = permit.settle(forked.receipt.clone());
        }
        forked
    }
}

impl Session {
    /// The turn is over: what is known is brought up to date, and work that may be needed soon begins in the background.
    pub async fn after_turn(&mut self) -> Result<(), SessionError> {
        // Lists read only the end of a ledger: what they show is written with every turn.
        self.journal.update_card(|_| {})?;
        self.journal.end_turn()?;
        self.pipeline.catch_up();
        self.note_used();
        self.collect().await?;
        // Nobody would use them.
        if !self.is_last_turn {
            self.begin_summary();
            self.begin_spans();
        }
        self.begin_extraction();
        Ok(())
    }

    /// Says that the session ends with the next turn: nothing is written ahead of a turn that will not come.
    pub fn expect_end(&mut self) {
        self.is_last_turn = true;
    }

    /// A model that goes on from the conversation in the background, if there is one and the governor agrees.
    pub(super) fn helper(&self, job: &str, output: u64) -> Option<Helper> {
        let model = self.scribe()?;
        if !self.shares_prefix(&*model) {
            return None;
        }
        let (prefix, since) = self.parent()?;
        let permit = self.permit(job, output).ok()?;
        let caps = permit.as_ref().map_or_else(Caps::default, |permit| permit.caps().clone());
        let cancel = self.background.cancel.child_token();
        Some(Helper { model, prefix, since, caps, permit, cancel })
    }

    /// Waits for everything in the background.
    pub async fn settle(&mut self) -> Result<(), SessionError> {
        if let Some(task) = self.background.notes.take()
            && let Ok(updated) = task.await
        {
            self.take_notes(updated)?;
        }
        loop {
            if let Some(task) = self.background.extraction.take()
                && let Ok(extracted) = task.await
            {
                self.take_extracted(extracted)?;
            }
            // What became due while that one ran.
            if !self.start_due_extraction() {
                break;
            }
        }
        if let Some(task) = self.background.summary.take() {
            self.take_summary(task).await?;
        }
        if let Some(task) = self.background.spans.take() {
            self.take_spans(task).await?;
        }
        self.settle_handbooks().await
    }

    /// Takes up what was finished in the background.
    pub(super) async fn collect(&mut self) -> Result<(), SessionError> {
        if let Some(task) = self.background.notes.take_if(|task| task.is_finished())
            && let Ok(updated) = task.await
        {
            self.take_notes(updated)?;
        }
        if let Some(task) = self.background.extraction.take_if(|task| task.is_finished())
            && let Ok(extracted) = task.await
        {
            self.take_extracted(extracted)?;
        }
        if let Some(task) = self.background.summary.take_if(|task| task.is_finished()) {
            self.take_summary(task).await?;
        }
        if let Some(task) = self.background.spans.take_if(|task| task.is_finished()) {
            self.take_spans(task).await?;
        }
        self.collect_handbooks().await
    }

    async fn take_summary(&mut self, task: JoinHandle<WrittenSummary>) -> Result<(), SessionError> {
        // A task that panicked wrote nothing.
        if let Ok(written) = task.await {
            self.take_written(written)?;
        }
        Ok(())
    }

    fn take_written(&mut self, written: WrittenSummary) -> Result<(), SessionError> {
        self.keep_receipt(&written.receipt)?;
        self.background.failed = written.summary.is_none();
        if written.summary.is_none() && !self.background.cancel_ahead.is_cancelled() {
            self.writer_ended(WriterOutcome::Failed)?;
        }
        self.background.written = written.summary.or(self.background.written.take());
        Ok(())
    }

    async fn take_spans(&mut self, task: JoinHandle<Vec<WrittenSpan>>) -> Result<(), SessionError> {
        let Ok(written) = task.await else { return Ok(()) };
        let mut spans = Vec::with_capacity(written.len());
        for one in written {
            self.keep_receipt(&one.receipt)?;
            spans.push((one.span, one.summary));
        }
        let moment = self.moment(None);
        self.pipeline.stage_spans(&spans, &moment, &mut self.journal)?;
        Ok(())
    }

    /// Returns the summary that was written in the background and covers a part of the view. A task that runs is waited for, up
    /// to a limit: to ask again would take as long.
    pub(super) async fn written_ahead(
        &mut self,
        preparation: &Preparation,
    ) -> Result<Option<AheadSummary>, SessionError> {
        let limit = Duration::from_secs(self.settings.wait_seconds);
        if let Some(written) = wait_for(&mut self.background.summary, limit).await {
            self.take_written(written)?;
        }
        // What a person wants of a summary was not known when it was written.
        if preparation.moment().instructions.is_some() {
            return Ok(None);
        }
        self.background.failed = false;
        Ok(self.background.written.take())
    }

    /// Begins a summary, when the threshold is near and nothing else can stand for the conversation.
    fn begin_summary(&mut self) {
        let (Some(share), Some(threshold)) = (self.settings.ahead_share, self.pipeline.threshold()) else {
            return;
        };
        let profile = self.pipeline.profile();
        let (Some(limits), None) = (&profile.compact, &profile.collapse) else { return };
        let is_near = self.pipeline.tokens() as f64 > threshold as f64 * share;
        if !self.pipeline.may_ask_writer(None) {
            return;
        }
        let Background { summary, written, failed, .. } = &self.background;
        // Where notes are kept they will do.
        let noted = limits.strategies.contains(&Strategy::Notes) && self.notes.is_some();
        if noted || !is_near || summary.is_some() || written.is_some() || *failed || self.has_open_call() {
            return;
        }
        let Some(model) = self.scribe() else { return };
        if !self.shares_prefix(&*model) {
            return;
        }
        let Some((prefix, since)) = self.parent() else { return };
        let covers = self.pipeline.view().entries().last().map(|entry| entry.message.id.clone());
        let strategy = limits.strategies.iter().copied().find(|one| *one != Strategy::Notes);
        let Some(strategy) = strategy else { return };
        let ask = summary::ask(strategy, limits.prose_tokens(), None);
        let Some(job) = self.job("summary", Asked { model, prefix, since, ask }) else { return };
        let span = span::background(&self.id, Work::Summary);
        let work = async move {
            let forked = job.run().await;
            let text = if forked.end.is_done() { summary::read(&forked).ok() } else { None };
            span::written(&tracing::Span::current(), text.is_some());
            let summary = text.map(|text| AheadSummary { strategy, text, covers });
            WrittenSummary { summary, receipt: forked.receipt }
        };
        self.background.summary = Some(tokio::spawn(work.instrument(span)));
    }

    /// Begins summaries of spans that will be folded.
    fn begin_spans(&mut self) {
        let Some(limits) = self.pipeline.profile().collapse else { return };
        if self.background.spans.is_some() {
            return;
        }
        let Some(model) = self.scribe() else { return };
        let moment = self.moment(None);
        let frame = Frame::new(model.wire(), model.id());
        let Ok(prefix) = Prefix::new(model.wire(), frame.request(&[]).to_vec()) else { return };
        let jobs: Vec<(Span, Job)> = self
            .pipeline
            .spans_wanted(&moment)
            .into_iter()
            .filter_map(|(span, entries)| {
                let ask = span_ask(&entries, limits.summary_tokens);
                let asked = Asked { model: model.clone(), prefix: prefix.clone(), since: Vec::new(), ask };
                Some((span, self.job("span", asked)?))
            })
            .collect();
        if jobs.is_empty() {
            return;
        }
        let span = span::background(&self.id, Work::Spans);
        let work = async move {
            let mut written = Vec::with_capacity(jobs.len());
            for (span, job) in jobs {
                let forked = job.run().await;
                let text = if forked.end.is_done() { summary::read_words(&forked).ok() } else { None };
                let summary = text.unwrap_or_default();
                written.push(WrittenSpan { span, summary, receipt: forked.receipt });
            }
            span::written(&tracing::Span::current(), written.iter().any(|one| !one.summary.is_empty()));
            written
        };
        self.background.spans = Some(tokio::spawn(work.instrument(span)));
    }

    /// A request in the background, unless the governor is against it.
    fn job(&self, name: &'static str, asked: Asked) -> Option<Job> {
        let permit = self.permit(name, self.settings.summary.output_tokens / 4).ok()?;
        let caps =
            permit.as_ref().map_or_else(|| self.settings.summary.clone(), |permit| permit.caps().clone());
        let Asked { model, prefix, since, ask } = asked;
        let price = self.pipeline.settings().price.clone();
        let cancel = self.background.cancel_ahead.child_token();
        Some(Job { name, model, prefix, since, ask, caps, price, permit, cancel })
    }

    /// Whether the model waits for a tool: a text that ends here would tear call and result apart.
    pub(super) fn has_open_call(&self) -> bool {
        let mut open = std::collections::HashSet::new();
        for entry in self.pipeline.view().entries() {
            open.extend(entry.message.calls().filter(|call| call.kind.needs_result()).map(|call| &call.id));
            entry.message.results().for_each(|result| {
                open.remove(&result.call);
            });
        }
        !open.is_empty()
    }
}

/// Waits for a task, at most so long; one that is not done by then stays where it is. A task that panicked gives nothing.
pub(super) async fn wait_for<T>(slot: &mut Option<JoinHandle<T>>, most: Duration) -> Option<T> {
    let mut task = slot.take()?;
    match tokio::time::timeout(most, &mut task).await {
        Ok(done) => done.ok(),
        Err(_) => {
            *slot = Some(task);
            None
        }
    }
}

/// The messages of a span as data, behind what is asked of them.
fn span_ask(entries: &[Entry], tokens: u64) -> Message {
    let mut text = prompt(SPAN).replace("{{tokens}}", &tokens.to_string());
    text.push_str("\n\n<record>\n");
    for entry in entries {
        let who = match entry.message.role {
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
            Role::System | Role::Developer => continue,
        };
        let shown = entry.shown();
        for block in &shown.blocks {
            let words = shown.text_of(block);
            if !words.is_empty() {
                text.push_str(&format!("[{who}] {}\n", words.replace("</record>", "<\u{200b}/record>")));
            }
        }
    }
    text.push_str("</record>");
    Message::text(Role::User, text)
}
