//! What is proposed to memory, and what became of it.

use super::refusal::Refusal;
use crate::topics::TopicType;
use crate::{MemoryId, Tier};
use serde::{Deserialize, Serialize};
use throughline_core::MessageId;

/// A change of memory that somebody proposes: a model, or the offline scribe. It does nothing until the gate has passed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// What is to be done.
    pub action: Action,
    /// What it is about; `None`: as the user's words say.
    pub kind: Option<TopicType>,
    /// What it is called; empty: as the user's words say.
    pub name: String,
    /// When it helps; empty: as the user's words say.
    pub description: String,
    /// What is to be remembered; empty: the user's words.
    pub body: String,
    /// The user's words that bear it out, verbatim.
    pub quotes: Vec<String>,
    /// The message that they stand in, where it is known. Which one it is, the gate finds out by itself.
    pub message: Option<MessageId>,
    /// Where it is to hold. It may narrow what the user said, never widen it.
    pub tier: Option<Tier>,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A memory is to be saved.
    Add,
    /// One is to say something else.
    Update {
        /// Its file.
        file: String,
    },
    /// One is to be forgotten.
    Forget {
        /// Its file.
        file: String,
    },
}

impl Proposal {
    /// To save what the user said, in their words.
    pub(super) fn of_words(quotes: Vec<String>, message: MessageId) -> Self {
        Self {
            action: Action::Add,
            kind: None,
            name: String::new(),
            description: String::new(),
            body: String::new(),
            quotes,
            message: Some(message),
            tier: None,
        }
    }

    /// A word for reports: what it is about.
    pub(super) fn label(&self) -> String {
        let file = match &self.action {
            Action::Add => "",
            Action::Update { file } | Action::Forget { file } => file,
        };
        let quote = self.quotes.first().map(String::as_str).unwrap_or_default();
        let label =
            [file, &self.name, quote].into_iter().find(|text| !text.trim().is_empty()).unwrap_or_default();
        label_of(label)
    }
}

/// A line for reports, without secrets.
pub(super) fn label_of(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    throughline_redact::redact(&line).text().chars().take(120).collect()
}

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    /// Which memory.
    pub id: MemoryId,
    /// What it is called.
    pub name: String,
    /// What was done with it.
    pub did: Did,
    /// The user's words that it rests on.
    pub quote: String,
    /// The kinds of secrets that were taken out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<String>,
}

/// What was done with a memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Did {
    /// It is new.
    Saved,
    /// It was there, and the user said it again.
    Confirmed,
    /// It was there, from this very message. Nothing was written.
    Known,
    /// It says something else now.
    Changed,
    /// It took the place of another.
    Superseded {
        /// The file of the other.
        old: String,
    },
    /// It is forgotten.
    Forgotten,
}

impl Did {
    /// Whether the folder was written to.
    pub fn is_change(&self) -> bool {
        match self {
            Self::Saved | Self::Confirmed | Self::Changed | Self::Superseded { .. } | Self::Forgotten => true,
            Self::Known => false,
        }
    }
}

/// What was not done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// What it was about.
    pub what: String,
    /// Why not.
    pub why: Refusal,
}
