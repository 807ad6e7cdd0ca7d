//! What `exec` prints.

use super::Format;
use crate::output;
use serde_json::{Value, json};
use std::io::Write;
use std::sync::{Mutex, PoisonError};
use throughline_agent::agent::{Agent, AgentError, EndReason, TurnEnd};
use throughline_agent::{Event, Listener, Spending};

/// Prints in one of the formats. What people should know goes to standard error, so that standard output is the outcome alone.
pub(super) struct Printer {
    format: Format,
    /// What people were warned of, for the outcome.
    warnings: Mutex<Vec<String>>,
}

/// How a turn ended.
pub(super) struct Outcome {
    /// Why; `None`: it failed.
    pub(super) why: Option<EndReason>,
    text: String,
    error: Option<String>,
    steps: usize,
    session: String,
    ledger: String,
    model: String,
    spending: Spending,
}

impl Outcome {
    pub(super) fn new(ended: Result<TurnEnd, AgentError>, agent: &Agent) -> Self {
        let (why, text, steps, error) = match ended {
            Ok(TurnEnd { why, text, steps }) => (Some(why), text, steps, why.words().map(str::to_owned)),
            Err(error) => (None, String::new(), 0, Some(error.to_string())),
        };
        Self {
            why,
            text,
            error,
            steps,
            session: agent.session().id().to_string(),
            ledger: agent.session().path().display().to_string(),
            model: agent.session().frame().model.clone(),
            spending: agent.spending(),
        }
    }

    fn to_json(&self, warnings: &[String]) -> Value {
        json!({
            "type": "result",
            "outcome": self.why.map_or(json!("failed"), |why| json!(why)),
            "text": self.text,
            "error": self.error,
            "session": self.session,
            "ledger": self.ledger,
            "model": self.model,
            "steps": self.steps,
            "spent": self.spending,
            "warnings": warnings,
        })
    }
}

impl Printer {
    pub(super) fn new(format: Format) -> Self {
        Self { format, warnings: Mutex::default() }
    }

    pub(super) fn begin(&self, agent: &Agent, warnings: &[String]) -> anyhow::Result<()> {
        for warning in warnings {
            self.warn(warning);
        }
        if self.format == Format::StreamJson {
            let session = agent.session();
            self.line(&json!({
                "type": "session",
                "session": session.id().as_str(),
                "ledger": session.path(),
                "cwd": agent.workspace().cwd(),
                "model": session.frame().model,
                "permission_mode": agent.mode().get(),
                "tools": agent.tool_names(),
                "warnings": warnings,
            }))?;
        }
        Ok(())
    }

    pub(super) fn end(&self, outcome: &Outcome) -> anyhow::Result<()> {
        if let (Format::Text | Format::Json, Some(error)) = (self.format, &outcome.error) {
            crate::errln!("{}: {error}", output::red("error"));
        }
        let whole = || outcome.to_json(&self.warnings.lock().unwrap_or_else(PoisonError::into_inner));
        match self.format {
            Format::Text if outcome.text.is_empty() => {}
            Format::Text => writeln!(output::data(), "{}", outcome.text)?,
            Format::Json => output::json(&whole())?,
            Format::StreamJson => self.line(&whole())?,
        }
        Ok(())
    }

    /// Something is wrong with the input.
    pub(super) fn problem(&self, why: &str) {
        // Whoever reads the stream must learn of it there.
        if self.line(&json!({"type": "warning", "text": why})).is_err() {
            self.warn(why);
        }
    }

    fn warn(&self, text: &str) {
        crate::errln!("{}: {text}", output::yellow("warning"));
        self.note(text);
    }

    /// Keeps a warning for the outcome.
    fn note(&self, text: &str) {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).push(text.to_owned());
    }

    fn line(&self, value: &Value) -> anyhow::Result<()> {
        output::compact_json(value)
    }
}

impl Listener for Printer {
    fn hear(&self, event: Event) {
        let warning = match &event {
            Event::Warning { text } => Some(text.clone()),
            Event::Notice { notice } if notice.is_warning() => Some(notice.to_string()),
            Event::Notice { .. }
            | Event::Asking { .. }
            | Event::Text { .. }
            | Event::Thinking { .. }
            | Event::Answered { .. }
            | Event::Spent(_)
            | Event::ToolStarted { .. }
            | Event::ToolProgress { .. }
            | Event::ToolEnded { .. }
            | Event::Todos { .. }
            | Event::Compacted { .. }
            | Event::Memory { .. }
            | Event::Steered { .. }
            | Event::Sub { .. }
            | Event::Interrupted => None,
        };
        match self.format {
            Format::StreamJson => {
                // A reader that went away is noticed at the end.
                drop(serde_json::to_value(&event).map(|value| self.line(&value)));
                warning.iter().for_each(|text| self.note(text));
            }
            Format::Text | Format::Json => warning.iter().for_each(|text| self.warn(text)),
        }
    }
}
