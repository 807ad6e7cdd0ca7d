//! What a person asks of an agent between turns.

use super::kit::Kit;
use super::{Agent, AgentError, Desk};
use crate::Todo;
use crate::assembly;
use crate::files::Restored;
use serde::Serialize;
use std::sync::Arc;
use throughline_core::pipeline::Pass;
use throughline_core::profile::Profile;
use throughline_core::{Message, MessageId};
use throughline_engine::session::{Models, WindowUse};

/// What going back did.
#[derive(Clone, Debug, Default)]
pub struct Rewound {
    /// The words of the message that was gone back to: to be said again, perhaps otherwise.
    pub words: String,
    /// What became of the files, where they were to be put back.
    pub files: Option<Restored>,
}

/// How full the window is, by part.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WindowReport {
    /// What is in the window.
    #[serde(flatten)]
    pub used: WindowUse,
    /// What the session was told, by part, as far as it is known: these are inside the system prompt and the instructions.
    pub told: Option<assembly::ContextReport>,
}

impl Agent {
    /// Goes back to before a message of the user's; files that tools changed since are put back where that is wanted. They are put back
    /// first: if that fails, the conversation stays where it is.
    pub fn rewind(&mut self, message: &MessageId, files: bool) -> Result<Rewound, AgentError> {
        let words = self.words_of(message).unwrap_or_default();
        let restored = match files {
            true => {
                let restored = self.kit.files.restore(message.as_str(), &self.kit.workspace);
                Some(restored.map_err(|error| AgentError::Setup(error.to_string()))?)
            }
            false => None,
        };
        self.session.rewind(message)?;
        // The model knows again what it knew then.
        self.kit.files.forget_seen();
        if let Some(briefing) = &mut self.briefing {
            briefing.told = briefing.first.clone();
        }
        self.keep_told()?;
        Ok(Rewound { words, files: restored })
    }

    /// The files that tools changed since a message of the user's.
    pub fn changed_since(&self, message: &MessageId) -> Vec<crate::FileDiff> {
        self.kit.files.changes_since(message.as_str()).unwrap_or_default()
    }

    fn words_of(&self, message: &MessageId) -> Option<String> {
        let said = self.session.user_messages();
        said.iter().find(|said| said.id == *message).map(|said| Message::user_words(said))
    }

    /// Goes on with another model. If what is there does not fit its window, the old one condenses it first.
    pub async fn switch_model(
        &mut self,
        models: Models,
        desk: &Desk<'_>,
    ) -> Result<Option<Pass>, AgentError> {
        self.remind();
        let mut kit = Kit::clone(&self.kit);
        kit.models = models.clone();
        if let Some(briefing) = &self.briefing {
            kit.frame.system = briefing.system(kit.wire());
        }
        let pass = self.session.switch_model(models, kit.frame(), kit.frame.window).await?;
        self.kit = Arc::new(kit);
        self.tell_model()?;
        self.hear_session(desk);
        Ok(pass)
    }

    /// Goes on under other rules.
    pub fn set_profile(&mut self, profile: Profile) {
        self.session.set_profile(profile);
    }

    /// How full the window is, by part.
    pub fn window(&mut self) -> WindowReport {
        let wire = self.kit.wire();
        let mut counter = throughline_core::tokens::Counter::for_model(self.kit.models.main.id());
        let told = self.briefing.as_ref().map(|briefing| briefing.assembled.show(wire, &mut counter));
        WindowReport { used: self.session.window_use(), told }
    }

    /// The todo list.
    pub fn todos(&self) -> Vec<Todo> {
        self.kit.todos.list()
    }
}
