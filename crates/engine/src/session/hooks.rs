//! The moments of a session at which hooks of the user's run.

use super::{Session, SessionError, reminder};
use crate::hooks::{Context, Event, EventName, Outcome, Start, ToolUse};
use serde_json::json;
use std::path::Path;
use throughline_core::pipeline::Preparation;
use throughline_core::{Block, Message, MessageId, Role};
use throughline_model::CancelToken;

/// The event that keeps which messages start hooks have put into the conversation.
const START_CONTEXT: &str = "session.start_context";

impl Session {
    /// The session begins or goes on. What hooks say is told to the model.
    pub async fn started(&mut self, source: Start) -> Result<(), SessionError> {
        let outcome = self.run_hooks(Event::SessionStart { source }).await;
        let mut ids = self.kept_ids(START_CONTEXT);
        for message in context(&outcome) {
            ids.push(self.record(message)?);
        }
        if outcome.context.is_empty() { Ok(()) } else { self.keep(START_CONTEXT, json!(ids)) }
    }

    /// The user says something. A hook can refuse it: then nothing is recorded.
    pub async fn say(&mut self, text: &str) -> Result<MessageId, SessionError> {
        self.say_with(text, Vec::new()).await
    }

    /// The same, with pictures or other blocks beside the words.
    pub async fn say_with(&mut self, text: &str, beside: Vec<Block>) -> Result<MessageId, SessionError> {
        let outcome = self.run_hooks(Event::UserPromptSubmit { prompt: text }).await;
        if let Some(why) = outcome.refusal() {
            return Err(SessionError::Blocked(why.to_owned()));
        }
        let mut message = Message::text(Role::User, text);
        message.flags.typed = true;
        message.blocks.extend(beside);
        let id = self.record(message.clone())?;
        for message in context(&outcome) {
            self.record(message)?;
        }
        message.id = id.clone();
        self.begin_handbooks();
        self.grant_wishes(&message)?;
        self.recall_for(text).await?;
        Ok(id)
    }

    /// A tool is about to run. What hooks say decides whether it may.
    pub async fn before_tool(&mut self, tool: ToolUse<'_>) -> Outcome {
        self.run_hooks(Event::PreToolUse { tool }).await
    }

    /// A tool has run. What hooks say is told the model.
    pub async fn after_tool(&mut self, tool: ToolUse<'_>, response: &serde_json::Value) -> Outcome {
        self.run_hooks(Event::PostToolUse { tool, response }).await
    }

    /// The user's attention is wanted.
    pub async fn notify(&mut self, kind: &str, message: &str) {
        self.run_hooks(Event::Notification { kind, message }).await;
    }

    /// The agent is about to end its turn. A hook can make it go on, with what it says as the reason.
    pub async fn stopping(&mut self, again: bool) -> Option<String> {
        let last = self.last_words();
        let outcome = self.run_hooks(Event::Stop { again, last: last.as_deref() }).await;
        outcome.blocked.filter(|_| outcome.halted.is_none())
    }

    /// The same where the agent is a helper of this kind.
    pub async fn helper_stopping(&mut self, agent: &str, again: bool) -> Option<String> {
        let last = self.last_words();
        let outcome = self.run_hooks(Event::SubagentStop { agent, again, last: last.as_deref() }).await;
        outcome.blocked.filter(|_| outcome.halted.is_none())
    }

    fn last_words(&self) -> Option<String> {
        let last = self.pipeline.view().entries().iter().rev().find(|e| e.message.role == Role::Assistant);
        last.map(|entry| entry.message.to_text())
    }

    /// The session ends: what runs in the background is stopped, and what is written is safe.
    pub async fn close(self, reason: &str) -> Result<(), SessionError> {
        self.finish(reason, std::future::ready(())).await
    }

    /// The session ends: notes and memories that are being written are waited for until `stop` is ready; then they are stopped.
    /// The user's words of the last turn are looked at in any case.
    pub async fn finish(mut self, reason: &str, stop: impl Future<Output = ()>) -> Result<(), SessionError> {
        self.run_hooks(Event::SessionEnd { reason }).await;
        self.stop_handbooks();
        self.background.cancel_ahead.cancel();
        let cancel = self.background.cancel.clone();
        let stopped = async {
            stop.await;
            cancel.cancel();
            std::future::pending().await
        };
        tokio::select! {
            // Who wants to stop at once starts nothing more.
            biased;
            settled = stopped => settled,
            settled = self.settle() => settled,
        }?;
        self.journal.end_turn()?;
        Ok(())
    }

    /// Asks hooks whether the view may be replaced, and what to tell the model behind the summary. Whether it may.
    pub(super) async fn before_compaction(
        &mut self,
        preparation: &mut Preparation,
    ) -> Result<bool, SessionError> {
        let Some(due) = preparation.due() else { return Ok(false) };
        if self.settings.hooks.has(EventName::PreCompact) {
            let instructions = preparation.moment().instructions.clone();
            let event = Event::PreCompact { trigger: due.trigger, instructions: instructions.as_deref() };
            let outcome = self.run_hooks(event).await;
            if let Some(why) = outcome.refusal() {
                self.warnings.push(format!("a hook kept the view from being replaced: {why}"));
                return Ok(false);
            }
            // What a hook says before a compaction is for whoever writes the summary.
            preparation.add_instructions(&outcome.context);
        }
        if self.settings.hooks.has(EventName::SessionStart) {
            let outcome = self.run_hooks(Event::SessionStart { source: Start::Compact }).await;
            let said = context(&outcome);
            if !said.is_empty() {
                // What start hooks say now takes the place of what they said before.
                let before = self.kept_ids(START_CONTEXT);
                let ids = before.iter().chain(said.iter().map(|message| &message.id));
                self.keep(START_CONTEXT, json!(ids.collect::<Vec<_>>()))?;
                let host = preparation.host_mut();
                host.required.extend(said);
                host.outdated.extend(before);
            }
        }
        Ok(true)
    }

    /// Tells hooks what the view was replaced by.
    pub(super) async fn after_compaction(&mut self, preparation: &Preparation) {
        if !self.settings.hooks.has(EventName::PostCompact) {
            return;
        }
        let Some(compacted) = preparation.compacted().cloned() else { return };
        let entries = self.pipeline.view().entries();
        let summary = entries.iter().find(|entry| entry.message.flags.summary);
        let summary = summary.map(|entry| entry.message.to_text()).unwrap_or_default();
        let event = Event::PostCompact {
            trigger: compacted.trigger,
            summary: &summary,
            tokens_before: compacted.tokens_before,
            tokens_after: compacted.tokens_after,
        };
        self.run_hooks(event).await;
    }

    async fn run_hooks(&mut self, event: Event<'_>) -> Outcome {
        let hooks = self.settings.hooks.clone();
        if !hooks.has(event.name()) {
            return Outcome::default();
        }
        let ledger = self.journal.path().to_owned();
        let cwd = self.cwd.clone();
        let context = Context {
            session: &self.id,
            ledger: Some(&ledger),
            cwd: Path::new(cwd.as_deref().unwrap_or(".")),
            cancel: CancelToken::new(),
        };
        let outcome = hooks.run(event, context).await;
        self.warnings.extend(outcome.failures.iter().map(ToString::to_string));
        self.warnings.extend(outcome.messages.iter().cloned());
        outcome
    }
}

/// What hooks want the model to know, as the client's words.
fn context(outcome: &Outcome) -> Vec<Message> {
    outcome.context.iter().map(|text| reminder(text)).collect()
}
