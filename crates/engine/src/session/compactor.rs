//! Compactions of a session: rung after rung, until one holds.
//!
//! 1. What was written in the background: notes, or a summary ahead of need. What is being written is waited for, up to a limit.
//! 2. A model, by the profile's strategies: behind the parent's exact prefix first, so that the cache hits; if that is too
//!    long, without its oldest rounds (P5d).
//! 3. The offline scribe, which never fails for want of anything but room.

use super::ahead::AheadSummary;
use super::{Scribe, Session, SessionError};
use crate::summary::{self, Subject, SummaryWriter};
use crate::telemetry::span::{self, Writer};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use throughline_core::compaction::{Declined, Notes, Plan};
use throughline_core::pipeline::{Notice, Preparation, WriterOutcome};
use throughline_core::profile::{CompactLimits, Strategy};
use throughline_core::{Event, Message, MessageId};
use throughline_model::{Model, Prefix, Receipt};
use tracing::Instrument;

/// The event that keeps which messages the host supplied for the newest compaction.
const HOST_CONTEXT: &str = "session.host_context";

impl Session {
    /// Says something of the host's that holds until the next compaction: behind it stands what the
    /// [`HostContext`](throughline_core::compaction::HostContext) supplies then.
    pub fn tell(&mut self, message: Message) -> Result<MessageId, SessionError> {
        let id = self.record(message)?;
        let mut supplied = self.kept_ids(HOST_CONTEXT);
        supplied.push(id.clone());
        self.keep(HOST_CONTEXT, json!(supplied))?;
        Ok(id)
    }

    /// Replaces the view by the first rung that holds. The old view stands until then.
    pub(super) async fn compact(&mut self, preparation: &mut Preparation) -> Result<(), SessionError> {
        let Some(due) = preparation.due() else { return Ok(()) };
        let span = span::compact(&self.id, &self.frame.model, due);
        let result = self.replace(preparation).instrument(span.clone()).await;
        span::compacted(&span, preparation.compacted(), &result);
        result.map(drop)
    }

    /// Who wrote what stands there now, if the view was replaced.
    async fn replace(&mut self, preparation: &mut Preparation) -> Result<Option<Writer>, SessionError> {
        // What the host supplies now takes the place of what it supplied before.
        let host = preparation.host_mut();
        let supplied: Vec<MessageId> =
            host.required.iter().chain(&host.reminders).map(|message| message.id.clone()).collect();
        host.outdated.extend(self.kept_ids(HOST_CONTEXT));
        if !self.before_compaction(preparation).await? {
            return Ok(None);
        }
        self.supply_files(preparation).await;
        let writer = self.climb(preparation).await?;
        if preparation.due().is_none() {
            self.keep(HOST_CONTEXT, json!(supplied))?;
            self.pipeline.rebase();
            let entries = self.pipeline.view().entries();
            if let Some(keeper) = &mut self.notes {
                keeper.compacted(|id| entries.iter().any(|entry| entry.message.id == *id));
            }
            self.after_compaction(preparation).await;
        }
        Ok(writer)
    }

    /// Reads the files that may come back, as they are now.
    async fn supply_files(&self, preparation: &mut Preparation) {
        let Some(reader) = self.file_reader.clone() else { return };
        let paths = self.pipeline.files_wanted();
        let read = move || -> BTreeMap<String, String> {
            let files = paths.into_iter().filter_map(|path| reader(&path).map(|content| (path, content)));
            files.collect()
        };
        // Not on a thread that others wait for; outside a runtime there is none.
        let files = match tokio::runtime::Handle::try_current() {
            Ok(handle) => handle.spawn_blocking(read).await.unwrap_or_default(),
            Err(_) => read(),
        };
        preparation.host_mut().files = Some(files);
    }

    async fn climb(&mut self, preparation: &mut Preparation) -> Result<Option<Writer>, SessionError> {
        let Some(limits) = self.pipeline.profile().compact.clone() else { return Ok(None) };
        if let Some(writer) = self.compact_with_what_is_there(preparation, &limits).await? {
            return Ok(Some(writer));
        }
        if let Some(model) = self.scribe() {
            for &strategy in &limits.strategies {
                let strategy = match strategy {
                    // Without notes a model writes a summary, and the same messages stay beside it.
                    Strategy::Notes => continue,
                    Strategy::Summary | Strategy::Handoff => strategy,
                };
                if !self.pipeline.may_ask_writer(preparation.due()) {
                    preparation.notice(Notice::WriterPaused(limits.failures));
                    break;
                }
                if self.compact_by_model(preparation, strategy, &limits, &*model).await? {
                    return Ok(Some(Writer::Model));
                }
            }
        }
        self.pipeline.compact_offline(preparation, &mut self.journal)?;
        Ok(preparation.compacted().map(|_| Writer::Offline))
    }

    pub(super) fn scribe(&self) -> Option<Arc<dyn Model>> {
        match &self.models.scribe {
            Scribe::Offline => None,
            Scribe::Main => Some(self.models.main.clone()),
            Scribe::Other(model) => Some(model.clone()),
        }
    }

    /// Whether requests to a model may begin with the bytes of the session's own.
    pub(super) fn shares_prefix(&self, model: &dyn Model) -> bool {
        model.wire() == self.frame.wire && model.id() == self.frame.model
    }

    /// Uses a text that covers a part of the view; what is newer stays as it is (P5a).
    async fn compact_with_what_is_there(
        &mut self,
        preparation: &mut Preparation,
        limits: &CompactLimits,
    ) -> Result<Option<Writer>, SessionError> {
        if limits.strategies.contains(&Strategy::Notes)
            && let Some(notes) = self.notes_for_compaction().await?
            && self.compact_with_notes(preparation, notes)?
        {
            return Ok(Some(Writer::Notes));
        }
        match self.written_ahead(preparation).await? {
            Some(summary) if limits.strategies.contains(&summary.strategy) => {
                Ok(self.compact_with_summary(preparation, summary)?.then_some(Writer::Ahead))
            }
            // Of a profile that is no longer in force.
            Some(_) | None => Ok(None),
        }
    }

    /// Uses a summary that was written ahead of need, in the layout that it was written for; what came after it stays.
    fn compact_with_summary(
        &mut self,
        preparation: &mut Preparation,
        summary: AheadSummary,
    ) -> Result<bool, SessionError> {
        let AheadSummary { strategy, text, covers } = summary;
        match self.pipeline.plan_covering(preparation, strategy, covers.as_ref()) {
            Ok(plan) => self.use_text(preparation, plan, &text),
            Err(why) => {
                preparation.notice(Notice::Declined { strategy, why });
                Ok(false)
            }
        }
    }

    /// Replaces the view by what a model wrote for a plan. Returns whether that was good enough; the breaker is told.
    fn use_text(
        &mut self,
        preparation: &mut Preparation,
        plan: Plan,
        text: &str,
    ) -> Result<bool, SessionError> {
        let is_used = self.pipeline.compact_with(preparation, plan, text, &mut self.journal)?;
        self.writer_ended(if is_used { WriterOutcome::Used } else { WriterOutcome::Failed })?;
        Ok(is_used)
    }

    /// Tells the breaker what came of asking a model for a summary.
    pub(super) fn writer_ended(&mut self, outcome: WriterOutcome) -> Result<(), SessionError> {
        let now = self.now();
        Ok(self.pipeline.writer_ended(outcome, Some(now), &mut self.journal)?)
    }

    fn compact_with_notes(
        &mut self,
        preparation: &mut Preparation,
        notes: Notes,
    ) -> Result<bool, SessionError> {
        let text = notes.text.clone();
        preparation.set_notes(Some(notes));
        let done = match self.pipeline.plan(preparation, Strategy::Notes) {
            Ok(plan) => self.pipeline.compact_with(preparation, plan, &text, &mut self.journal)?,
            Err(why) => {
                preparation.notice(Notice::Declined { strategy: Strategy::Notes, why });
                false
            }
        };
        preparation.set_notes(None);
        Ok(done)
    }

    async fn compact_by_model(
        &mut self,
        preparation: &mut Preparation,
        strategy: Strategy,
        limits: &CompactLimits,
        model: &dyn Model,
    ) -> Result<bool, SessionError> {
        let plan = match self.pipeline.plan(preparation, strategy) {
            Ok(plan) => plan,
            Err(Declined::Nothing) => return Ok(false),
            Err(why) => {
                preparation.notice(Notice::Declined { strategy, why });
                return Ok(false);
            }
        };
        match self.write(&plan, preparation, limits, model).await? {
            Ok(text) => self.use_text(preparation, plan, &text),
            Err(why) => {
                self.writer_ended(WriterOutcome::Failed)?;
                preparation.notice(Notice::Unwritten { strategy, who: model.id().to_owned(), why });
                Ok(false)
            }
        }
    }

    /// Has a model write the text of a plan.
    async fn write(
        &mut self,
        plan: &Plan,
        preparation: &Preparation,
        limits: &CompactLimits,
        model: &dyn Model,
    ) -> Result<Result<String, String>, SessionError> {
        let instructions = preparation.moment().instructions.as_deref();
        let subject = Subject {
            ask: summary::ask(plan.strategy, plan.prose_tokens(limits), instructions),
            parent: if self.shares_prefix(model) { self.parent() } else { None },
            entries: self.pipeline.view().entries(),
            tokens: self.pipeline.entry_tokens(),
        };
        let writer = SummaryWriter {
            model,
            system: &self.frame.system,
            limits,
            caps: &self.settings.summary,
            price: &self.pipeline.settings().price,
        };
        let written = writer.write(subject).await;
        for receipt in &written.receipts {
            self.keep_receipt(receipt)?;
        }
        Ok(written.text)
    }

    /// The last request, and what was said since.
    pub(super) fn parent(&self) -> Option<(Prefix, Vec<Message>)> {
        let sent = self.sent.as_ref()?;
        let entries = self.pipeline.view().entries();
        let from = match &sent.last {
            Some(last) => entries.iter().rposition(|entry| entry.message.id == *last)? + 1,
            None => 0,
        };
        let since = entries[from..].iter().map(|entry| Arc::unwrap_or_clone(entry.shown())).collect();
        Some((sent.prefix.clone(), since))
    }

    /// What a job cost goes to the ledger.
    pub(super) fn keep_receipt(&mut self, receipt: &Receipt) -> Result<(), SessionError> {
        span::receipt(receipt);
        self.spent.add(&receipt.usage, receipt.dollars, receipt.requests.into());
        self.append_event(Event { at: Some(self.now()), name: "receipt".to_owned(), data: json!(receipt) })
    }
}
