//! What a session is told of its handbooks (H4): chosen for the first thing that is asked of it, and anew when the view is replaced.

use super::{Agent, AgentError};
use crate::assembly;
use serde_json::json;
use std::sync::Arc;
use throughline_core::Message;
use throughline_core::tokens::Counter;
use throughline_memory::handbook::read::{Briefed, Reading};

/// The event that keeps what a session was told of its handbooks, and by which it is known that it was.
const TOLD: &str = "agent.handbook";
/// With the window this full (percent of what makes it be replaced), a choice for the current words is at hand.
const NEAR: u64 = 60;

/// What an agent knows of the handbooks it may read.
pub(super) struct Shelf {
    reading: Arc<Reading>,
    /// What comes back behind a compaction.
    chosen: Option<Message>,
    /// The user has said something since the agent began.
    is_begun: bool,
}

impl Shelf {
    pub(super) fn new(reading: Reading) -> Self {
        Self { reading: Arc::new(reading), chosen: None, is_begun: false }
    }
}

impl Agent {
    /// The user said something. The first time the model is told what the handbooks have for it; later a choice is made only if the view may be
    /// replaced before the turn is over.
    ///
    /// It stands behind the user's words, not at the head of the conversation, which stays the same from session to session and
    /// outlasts compactions: each of them brings back a choice for what is asked then.
    pub(super) async fn tell_handbook(&mut self, words: &str) -> Result<(), AgentError> {
        let Some(shelf) = self.shelf() else { return Ok(()) };
        let is_first = !std::mem::replace(&mut shelf.is_begun, true);
        let pipeline = self.session.pipeline();
        let is_near = pipeline.threshold().is_some_and(|most| pipeline.tokens() * 100 > most * NEAR);
        if !is_first && !is_near {
            return Ok(());
        }
        let Some(briefed) = self.choose(words).await else { return Ok(()) };
        // Once in a session, however often it is resumed.
        if is_first && self.session.kept(TOLD).is_none() {
            self.session.tell(assembly::handbook(&briefed.text, self.kit.wire()))?;
            let Briefed { tokens, lines, sessions, .. } = &briefed;
            self.session.keep(TOLD, json!({"tokens": tokens, "lines": lines, "sessions": sessions}))?;
        }
        Ok(())
    }

    /// Chooses anew before a person has the view replaced.
    pub(super) async fn choose_again(&mut self) {
        let words = self.session.user_messages().last().map(|message| message.user_words());
        self.choose(&words.unwrap_or_default()).await;
    }

    /// What is to be told again behind a compaction.
    pub(super) fn handbook_reminder(&self) -> Option<Message> {
        self.briefing.as_ref()?.shelf.as_ref()?.chosen.clone()
    }

    /// A choice for some words; it is what comes back behind the next compaction.
    async fn choose(&mut self, words: &str) -> Option<Briefed> {
        let reading = self.shelf()?.reading.clone();
        let (words, model) = (words.to_owned(), self.session.frame().model.clone());
        // Files are read: not on a thread that others wait for.
        let choice = move || reading.choose(&words, &mut Counter::for_model(&model));
        let briefed = tokio::task::spawn_blocking(choice).await.ok().flatten();
        let wire = self.kit.wire();
        let message = briefed.as_ref().map(|briefed| assembly::handbook(&briefed.text, wire));
        self.shelf()?.chosen = message;
        briefed
    }

    fn shelf(&mut self) -> Option<&mut Shelf> {
        self.briefing.as_mut()?.shelf.as_mut()
    }
}
