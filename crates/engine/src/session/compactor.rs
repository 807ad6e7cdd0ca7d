//! Compactions of a session: rung after rung, until one holds.
//!
//! 1. What was written in the background: notes, or a summary ahead of need. No waiting.
//! 2. A model, by the profile's strategies: behind the parent's exact prefix first, so that the cache hits; if that is too
//!    long, without its oldest rounds (P5d).
//! 3. The offline scribe, which never fails for want of anything but room.

use super::{Scribe, Session, SessionError, summary};
use serde_json::json;
use std::sync::Arc;
use throughline_core::compaction::{self, Declined, Notes, Plan};
use throughline_core::pipeline::{Notice, Preparation};
use throughline_core::profile::{CompactLimits, Strategy};
use throughline_core::{Entry, Event, Message};
use throughline_model::{CancelToken, End, ErrorKind, Fork, Forked, Model, NoTools, Prefix, Receipt, Tail};

/// Why there is no text.
enum Unwritten {
    /// The request for it is too long, by so many tokens where that is known.
    TooLong(Option<u64>),
    /// Something else.
    Other(String),
}

impl Session {
    /// Replaces the view by the first rung that holds. The old view stands until then.
    pub(super) async fn compact(&mut self, preparation: &mut Preparation) -> Result<(), SessionError> {
        if !self.before_compaction(preparation).await? {
            return Ok(());
        }
        self.climb(preparation).await?;
        if preparation.due().is_none() {
            let entries = self.pipeline.view().entries();
            if let Some(keeper) = &mut self.notes {
                keeper.compacted(|id| entries.iter().any(|entry| entry.message.id == *id));
            }
            self.after_compaction(preparation).await;
        }
        Ok(())
    }

    async fn climb(&mut self, preparation: &mut Preparation) -> Result<(), SessionError> {
        let Some(limits) = self.pipeline.profile().compact.clone() else { return Ok(()) };
        if self.compact_with_what_is_there(preparation, &limits).await? {
            return Ok(());
        }
        if let Some(model) = self.scribe() {
            for &strategy in &limits.strategies {
                let strategy = match strategy {
                    // Without notes a model writes a summary, and the same messages stay beside it.
                    Strategy::Notes => continue,
                    Strategy::Summary | Strategy::Handoff => strategy,
                };
                if self.compact_by_model(preparation, strategy, &limits, &*model).await? {
                    return Ok(());
                }
            }
        }
        self.pipeline.compact_offline(preparation, &mut self.journal)?;
        Ok(())
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
    ) -> Result<bool, SessionError> {
        if limits.strategies.contains(&Strategy::Notes)
            && let Some(notes) = self.notes_for_compaction().await?
            && self.compact_with_notes(preparation, notes)?
        {
            return Ok(true);
        }
        match self.written_ahead(preparation).await? {
            Some(notes) => self.compact_with_notes(preparation, notes),
            None => Ok(false),
        }
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
            Ok(text) => Ok(self.pipeline.compact_with(preparation, plan, &text, &mut self.journal)?),
            Err(why) => {
                preparation.notice(Notice::Unwritten { strategy, who: model.id().to_owned(), why });
                Ok(false)
            }
        }
    }

    /// Has a model write the text of a plan, in a bounded number of requests.
    async fn write(
        &mut self,
        plan: &Plan,
        preparation: &Preparation,
        limits: &CompactLimits,
        model: &dyn Model,
    ) -> Result<Result<String, String>, SessionError> {
        let instructions = preparation.moment().instructions.as_deref();
        let ask = summary::ask(plan.strategy, plan.prose_tokens(limits), instructions);
        let entries: Vec<Entry> = self.pipeline.view().entries().to_vec();
        let tokens: Vec<u64> = self.pipeline.entry_tokens().to_vec();
        let mut gap = None;
        let mut from = 0;
        let mut tried_whole = false;
        if self.shares_prefix(model)
            && let Some((prefix, since)) = self.parent()
        {
            match self.run_fork(model, &prefix, &since, ask.clone(), Tail::default()).await? {
                Ok(text) => return Ok(Ok(text)),
                Err(Unwritten::Other(why)) => return Ok(Err(why)),
                Err(Unwritten::TooLong(by)) => {
                    gap = by;
                    tried_whole = true;
                }
            }
        }
        for retry in 0..=limits.retries {
            if tried_whole {
                if retry == limits.retries {
                    break;
                }
                match compaction::drop_oldest(&entries[from..], &tokens[from..], gap, limits) {
                    Some(at) => from += at,
                    None => break,
                }
            }
            tried_whole = true;
            let frame =
                super::Frame { wire: model.wire(), model: model.id().to_owned(), ..self.plain_frame() };
            let body = frame.request(&summary::plain(&entries[from..]));
            let Ok(prefix) = Prefix::new(model.wire(), body.to_vec()) else { break };
            let tail = Tail { without_thinking: true, ..Tail::default() };
            match self.run_fork(model, &prefix, &[], ask.clone(), tail).await? {
                Ok(text) => return Ok(Ok(text)),
                Err(Unwritten::Other(why)) => return Ok(Err(why)),
                Err(Unwritten::TooLong(by)) => gap = by,
            }
        }
        Ok(Err("the request for a summary is too long even without its oldest rounds".to_owned()))
    }

    /// A frame of its own for a request that shares nothing with the session's: no tools, no thinking.
    fn plain_frame(&self) -> super::Frame {
        let mut frame = super::Frame::new(self.frame.wire, &self.frame.model);
        frame.system.clone_from(&self.frame.system);
        frame
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

    async fn run_fork(
        &mut self,
        model: &dyn Model,
        prefix: &Prefix,
        since: &[Message],
        ask: Message,
        tail: Tail,
    ) -> Result<Result<String, Unwritten>, SessionError> {
        let price = self.pipeline.settings().price.clone();
        let fork = Fork {
            job: "summary",
            model,
            prefix,
            since,
            ask,
            caps: &self.settings.summary,
            price: &price,
            tail,
            cancel: CancelToken::new(),
        };
        let forked = fork.run(&mut NoTools).await;
        self.keep_receipt(&forked.receipt)?;
        Ok(outcome(forked))
    }

    /// What a job cost goes to the ledger.
    pub(super) fn keep_receipt(&mut self, receipt: &Receipt) -> Result<(), SessionError> {
        self.append_event(Event { at: Some(self.now()), name: "receipt".to_owned(), data: json!(receipt) })
    }
}

/// What a fork wrote, or why it did not.
fn outcome(forked: Forked) -> Result<String, Unwritten> {
    match forked.end {
        // An answer that reached a limit may be whole enough: the check sees to the rest.
        End::Done | End::Capped(_) => summary::read(&forked.text)
            .ok_or_else(|| Unwritten::Other(format!("the answer holds no summary ({})", forked.end))),
        End::Failed(error) if error.kind() == ErrorKind::TooLong => Err(Unwritten::TooLong(error.gap())),
        End::Failed(error) => Err(Unwritten::Other(error.to_string())),
        End::Cancelled => Err(Unwritten::Other("it was cancelled".to_owned())),
    }
}
