//! What the session is told, beyond what is said in it.

use super::{Agent, AgentError, Briefing, Desk};
use crate::Event;
use crate::assembly::{Assembled, mode_text, model_switch};
use crate::permissions::describe;
use serde_json::json;
use throughline_core::Message;
use throughline_core::pipeline::Pass;
use throughline_engine::session::reminder;

/// The event that keeps what a session was told.
pub(super) const TOLD: &str = "agent.told";
/// The event that keeps which model the session was told of.
const MODEL: &str = "agent.model";

impl Agent {
    /// Tells the model what changed since it was last told (A2): files are read again, and the mode, the date, skills and servers are
    /// looked at.
    pub(super) fn tell_changes(&mut self) -> Result<(), AgentError> {
        let Some(briefing) = &mut self.briefing else { return Ok(()) };
        let mode = self.kit.mode.get();
        briefing.sources.permissions = Some(describe(mode, &self.kit.policy));
        briefing.sources.mode_text = mode_text(mode).map(str::to_owned);
        briefing.sources.deferred = briefing.servers.deferred_listing();
        briefing.sources.mcp = briefing.servers.instructions();
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
            self.session.record(message)?;
        }
        self.keep_told()
    }

    /// Writes down what the session was told.
    pub(super) fn keep_told(&mut self) -> Result<(), AgentError> {
        let Some(briefing) = &self.briefing else { return Ok(()) };
        let Briefing { first, told, has_developer, .. } = briefing;
        let told = json!({"first": first, "told": told, "developer": has_developer});
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

    /// What a compaction must not lose: what differs from the head of the conversation, and what runs in the background.
    pub(super) fn remind(&mut self) {
        let mut reminders: Vec<Message> = Vec::new();
        if let Some(briefing) = &self.briefing {
            reminders.extend(briefing.first.changes(&briefing.assembled, self.kit.wire()));
        }
        reminders.extend(self.handbook_reminder());
        let running = self.kit.tasks.running();
        if !running.is_empty() {
            let lines: Vec<String> =
                running.iter().map(|task| format!("- {}: {}", task.id, task.command)).collect();
            reminders.push(reminder(&format!("Commands still run in the background:\n{}", lines.join("\n"))));
        }
        self.session.remind(reminders);
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

    /// Tells the model of commands in the background that have ended since. A sub-agent shares them with whoever began it, who is
    /// the one to be told.
    pub(super) fn tell_finished(&mut self, desk: &Desk<'_>) -> Result<(), AgentError> {
        if self.briefing.is_none() {
            return Ok(());
        }
        for end in self.kit.tasks.take_finished() {
            let said = end.last_line.map(|line| format!(" Its last line: {line}")).unwrap_or_default();
            let text =
                format!("The background command {} ({}) has ended: {}.{said}", end.id, end.command, end.how);
            desk.listener.hear(Event::Warning { text: text.clone() });
            self.session.record(reminder(&text))?;
        }
        Ok(())
    }
}
