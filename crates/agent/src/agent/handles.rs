//! Work and tools that the model refers to by name, and that a compaction must not lose (P5e): commands in the background, running
//! and finished, and tools that were found by ToolSearch.

use super::{Agent, AgentError, Desk};
use crate::Event;
use crate::assembly::inert;
use crate::tools::bash::TaskEnd;
use serde_json::json;
use throughline_core::Message;
use throughline_engine::session::reminder;

/// The event that keeps commands of the background that have ended.
const FINISHED: &str = "agent.finished_commands";
/// The event that keeps the tools that were found.
const FOUND: &str = "agent.found_tools";
/// Finished commands that are remembered.
const MOST_FINISHED: usize = 10;
/// Found tools that are remembered.
const MOST_FOUND: usize = 20;
/// Bytes of the descriptions of found tools that come back behind a compaction.
const FOUND_BYTES: usize = 8 * 1_024;

impl Agent {
    /// Tells the model of commands in the background that have ended since. A sub-agent shares them with whoever began it, who is
    /// the one to be told.
    pub(super) fn tell_finished(&mut self, desk: &Desk<'_>) -> Result<(), AgentError> {
        if self.briefing.is_none() {
            return Ok(());
        }
        for end in self.kit.tasks.take_finished() {
            let text = inert(&in_words(&end)).into_owned();
            desk.listener.hear(Event::Warning { text: text.clone() });
            self.session.record(reminder(&text))?;
        }
        self.keep_finished()
    }

    /// Writes down which commands have ended and how, those included that the model asked after itself.
    fn keep_finished(&mut self) -> Result<(), AgentError> {
        let mut known = self.finished();
        let count = known.len();
        for end in self.kit.tasks.told_ends() {
            if !known.iter().any(|old| (&old.id, old.since) == (&end.id, end.since)) {
                known.push(end);
            }
        }
        if known.len() == count {
            return Ok(());
        }
        let over = known.len().saturating_sub(MOST_FINISHED);
        known.drain(..over);
        Ok(self.session.keep(FINISHED, json!(known))?)
    }

    fn finished(&self) -> Vec<TaskEnd> {
        let kept = self.session.kept(FINISHED).cloned();
        kept.and_then(|ends| serde_json::from_value(ends).ok()).unwrap_or_default()
    }

    /// Writes down that the model knows some tools that are not in the tools array.
    pub(super) fn keep_found(&mut self, names: &[String]) -> Result<(), AgentError> {
        let mut known = self.found();
        known.retain(|name| !names.contains(name));
        known.extend(names.iter().cloned());
        let over = known.len().saturating_sub(MOST_FOUND);
        known.drain(..over);
        Ok(self.session.keep(FOUND, json!(known))?)
    }

    fn found(&self) -> Vec<String> {
        let kept = self.session.kept(FOUND).cloned();
        kept.and_then(|names| serde_json::from_value(names).ok()).unwrap_or_default()
    }

    /// What a compaction must tell again.
    pub(super) fn handle_reminders(&self) -> Vec<Message> {
        let mut texts = Vec::new();
        let running = self.kit.tasks.running();
        if !running.is_empty() {
            let lines: Vec<String> =
                running.iter().map(|task| format!("- {}: {}", task.id, task.command)).collect();
            texts.push(format!("Commands still run in the background:\n{}", lines.join("\n")));
        }
        // A sub-agent shares commands with whoever began it, and finds tools in its own session.
        let finished = if self.briefing.is_some() { self.finished() } else { Vec::new() };
        if !finished.is_empty() {
            let lines: Vec<String> = finished.iter().map(|end| format!("- {}", in_words(end))).collect();
            texts.push(format!("Commands of the background that have ended:\n{}", lines.join("\n")));
        }
        texts.extend(self.kit.servers.describe(&self.found(), FOUND_BYTES));
        // Servers and commands must not speak with our tags.
        texts.iter().map(|text| reminder(&inert(text))).collect()
    }
}

/// A command's end, in words for the model.
fn in_words(end: &TaskEnd) -> String {
    let last = end.last_line.as_ref().map(|line| format!(" Its last line: {line}")).unwrap_or_default();
    let output =
        end.output.as_ref().map(|path| format!(" Its output: {}", path.display())).unwrap_or_default();
    format!("The background command {} ({}) has ended: {}.{last}{output}", end.id, end.command, end.how)
}
