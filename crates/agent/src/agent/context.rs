//! What the session is told, beyond what is said in it.

use super::{Agent, AgentError, Briefing, Desk};
use crate::Event;
use crate::assembly::{Assembled, HeadMessage, PartKind, inert, mode_text, model_switch};
use crate::permissions::{describe, describe_network};
use serde_json::json;
use throughline_core::compaction::HostContext;
use throughline_core::pipeline::Pass;
use throughline_core::{Message, MessageId};
use throughline_engine::session::reminder;

/// The event that keeps what a session was told.
pub(super) const TOLD: &str = "agent.told";
/// The event that keeps which model the session was told of.
const MODEL: &str = "agent.model";

/// What stands before the notes of a session that goes on.
const NOTES_LEAD: &str = "This session goes on after a break. Notes on what came before, kept while it ran (information, not a request):";

impl Agent {
    /// Tells the model what changed since it was last told (A2): files are read again, and the mode, the date, skills and servers are
    /// looked at.
    pub(super) fn tell_changes(&mut self) -> Result<(), AgentError> {
        let Some(briefing) = &mut self.briefing else { return Ok(()) };
        let mode = self.kit.mode.get();
        briefing.sources.permissions = Some(describe(mode, &self.kit.policy));
        briefing.sources.environment.network = Some(describe_network(mode, &self.kit.policy));
        briefing.sources.mode_text = mode_text(mode).map(str::to_owned);
        briefing.sources.deferred = self.kit.servers.deferred_listing();
        briefing.sources.mcp = self.kit.servers.instructions();
        briefing.assembled = Assembled::full(&briefing.sources);
        briefing.skills.set(briefing.assembled.skills().clone());
        self.session.set_compact_instructions(briefing.assembled.compact_instructions());
        self.session.set_instructions(briefing.assembled.instructions());
        let changes = briefing.told.changes(&briefing.assembled, self.kit.wire());
        if changes.is_empty() {
            return Ok(());
        }
        briefing.told = briefing.assembled.told();
        for message in changes {
            self.session.tell(message)?;
        }
        self.keep_told()
    }

    /// Writes down what the session was told.
    pub(super) fn keep_told(&mut self) -> Result<(), AgentError> {
        let Some(briefing) = &self.briefing else { return Ok(()) };
        let Briefing { first, head, told, has_developer, .. } = briefing;
        let told = json!({"first": first, "head": head, "told": told, "developer": has_developer});
        Ok(self.session.keep(TOLD, told)?)
    }

    /// Tells the model that another one answered up to here, if one did.
    pub(super) fn tell_model(&mut self) -> Result<(), AgentError> {
        let now = self.session.frame().model.clone();
        let kept = self.session.kept(MODEL).and_then(serde_json::Value::as_str);
        let asked = self.session.kept("usage").and_then(|usage| usage["model"].as_str());
        let before = kept.or(asked).map(str::to_owned);
        if before.as_ref() == Some(&now) && kept.is_some() {
            return Ok(());
        }
        if let Some(before) = before.filter(|before| *before != now) {
            self.session.record(model_switch(&before, &now, self.kit.wire()))?;
        }
        Ok(self.session.keep(MODEL, json!(now))?)
    }

    /// Tells a session that goes on what its notes say (N7), unless the view shows notes already.
    pub(super) fn tell_notes(&mut self) -> Result<(), AgentError> {
        let notes = self.session.notes().and_then(|keeper| keeper.notes().ok()).flatten();
        let Some(notes) = notes else { return Ok(()) };
        let notes = inert(notes.text.trim()).into_owned();
        let entries = self.session.pipeline().view().entries();
        let is_told = entries.iter().any(|entry| {
            let text = entry.message.to_text();
            entry.message.flags.meta && (text.contains(NOTES_LEAD) || text.contains(&notes))
        });
        if !is_told {
            self.session.record(reminder(&format!("{NOTES_LEAD}\n\n{notes}")))?;
        }
        Ok(())
    }

    /// Tells the session what a compaction must not lose: what differs from the head of the conversation, instructions below the
    /// working folder, what runs in the background, and tools that were found.
    pub(super) fn remind(&mut self) {
        let (mut required, outdated) = self.head_reminders();
        required.extend(self.scoped_reminders());
        required.extend(self.handle_reminders());
        let reminders = self.handbook_reminder().into_iter().collect();
        self.session.set_host_context(HostContext { required, reminders, files: None, outdated });
    }

    /// What is different from the head of the conversation, and the messages of the head that it replaces: a message of which a
    /// part changed is told anew as a whole, so that a compaction leaves one text of each.
    fn head_reminders(&self) -> (Vec<Message>, Vec<MessageId>) {
        let Some(briefing) = &self.briefing else { return (Vec::new(), Vec::new()) };
        let entries = self.session.pipeline().view().entries();
        let changes = briefing.first.changes_by_kind(&briefing.assembled, self.kit.wire());
        let is_stale = |which: HeadMessage, id: &MessageId| {
            changes.iter().any(|(kind, _)| HeadMessage::of(*kind) == Some(which))
                || !entries.iter().any(|entry| entry.message.id == *id)
        };
        let stale: Vec<_> = briefing.head.iter().filter(|(which, id)| is_stale(*which, id)).collect();
        let is_retold = |kind: PartKind| {
            HeadMessage::of(kind).is_some_and(|of| stale.iter().any(|(which, _)| *which == of))
        };
        let retold = stale.iter().filter_map(|(which, _)| briefing.assembled.head_message(*which));
        let mut required: Vec<Message> = retold.collect();
        let others = changes.iter().filter(|(kind, _)| !is_retold(*kind));
        required.extend(others.map(|(_, message)| message.clone()));
        (required, stale.iter().map(|(_, id)| id.clone()).collect())
    }

    /// Skills that the user's words name, as messages.
    pub(super) fn skills_named(&mut self, words: &str, desk: &Desk<'_>) -> Vec<Message> {
        let Some(briefing) = &self.briefing else { return Vec::new() };
        let (messages, warnings) = briefing.assembled.mentioned(words);
        warnings.into_iter().for_each(|text| desk.listener.hear(Event::Warning { text }));
        messages
    }

    /// Replaces the view now, because a person asked; `focus` is what the summary is to pay attention to.
    pub async fn compact(&mut self, focus: Option<&str>, desk: &Desk<'_>) -> Result<Pass, AgentError> {
        self.choose_again().await;
        self.remind();
        let pass = self.session.compact_now(focus).await?;
        self.hear_session(desk);
        Ok(pass)
    }
}
