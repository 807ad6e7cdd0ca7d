//! What became of a session's messages, told from its ledger alone.
//!
//! Reading takes no lock and waits for nobody. The fold is [`View`]'s own; this only remembers which change took what away.

mod change;
mod fold;
mod passages;
#[cfg(test)]
mod tests;

pub(crate) use change::{Change, Undo, stage_name};
pub(crate) use passages::{Length, Passage, words};

use crate::manage::{Accounted, Figures};
use serde::Serialize;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use throughline_core::tokens::Counter;
use throughline_core::{EditId, Event, Message, MessageId, View};
use throughline_ledger::{Home, LedgerError};

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Fate {
    /// The model sees it as it was said.
    AsSaid,
    /// The model sees something shorter in place of a part of it.
    Replaced,
    /// A summary or a placeholder stands for it.
    Condensed,
    /// It is left out.
    Dropped,
    /// We put it there: a summary, a memory, a reminder.
    Ours,
}

impl Fate {
    /// Each of them, in the order of the bar.
    pub(crate) const ALL: [Self; 5] =
        [Self::AsSaid, Self::Replaced, Self::Ours, Self::Condensed, Self::Dropped];

    /// As people call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::AsSaid => "as said",
            Self::Replaced => "replaced",
            Self::Condensed => "condensed",
            Self::Dropped => "dropped",
            Self::Ours => "ours",
        }
    }

    /// What it means, in a sentence.
    pub(crate) fn means(self) -> &'static str {
        match self {
            Self::AsSaid => "The model sees it as it was said.",
            Self::Replaced => "The model sees a preview or a note in place of a long or old result.",
            Self::Condensed => "A summary stands for it.",
            Self::Dropped => "It is left out.",
            Self::Ours => "Throughline put it there: a summary, a memory, a reminder.",
        }
    }
}

/// One message of the conversation.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// As it was said.
    pub(crate) message: Arc<Message>,
    /// As the model sees it, where that is something else.
    pub(crate) shown: Option<Arc<Message>>,
    pub(crate) fate: Fate,
    /// The change that decided it.
    pub(crate) by: Option<EditId>,
    /// No stage touches it.
    pub(crate) is_pinned: bool,
    /// Tokens as it was said.
    pub(crate) said_tokens: u64,
    /// Tokens of what the model sees of it.
    pub(crate) shown_tokens: u64,
}

/// Tokens and messages of one fate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Share {
    pub(crate) messages: u64,
    /// Tokens that the model sees.
    pub(crate) shown: u64,
    /// Tokens that it is spared.
    pub(crate) spared: u64,
}

/// What became of a session's messages.
#[derive(Debug, Default)]
pub(crate) struct Story {
    /// The conversation in order, with what we put into it.
    pub(crate) lines: Vec<Line>,
    /// Messages that the client itself left behind, by a rewind or its own compaction.
    pub(crate) left: u64,
    /// Every change of the view, oldest first.
    pub(crate) changes: Vec<Change>,
    /// What happened besides, oldest first.
    pub(crate) events: Vec<Event>,
    /// The view as it stands.
    pub(crate) view: View,
    messages: HashMap<MessageId, Arc<Message>>,
    order: Vec<MessageId>,
}

impl Story {
    /// Reads a ledger.
    pub(crate) fn read(home: &Home, path: &Path) -> Result<Self, LedgerError> {
        fold::read(home, path)
    }

    /// Counts tokens as the model does.
    pub(crate) fn count(&mut self, counter: &mut Counter) {
        for line in &mut self.lines {
            line.said_tokens = counter.message(&line.message).total();
            line.shown_tokens = match (line.fate, &line.shown) {
                (Fate::Condensed | Fate::Dropped, _) => 0,
                (Fate::AsSaid | Fate::Replaced | Fate::Ours, Some(shown)) => counter.message(shown).total(),
                (Fate::AsSaid | Fate::Replaced | Fate::Ours, None) => line.said_tokens,
            };
        }
    }

    /// What its requests came to.
    pub(crate) fn figures(&self) -> Figures {
        let mut figures = Figures::default();
        self.events.iter().filter_map(Accounted::of).for_each(|one| figures.add(&one.figures()));
        figures
    }

    /// What something that we told was made of, as the ledger says: memories, other sessions.
    pub(crate) fn sources(&self, message: &Message) -> Vec<String> {
        let told = |event: &&Event| event.data["message"] == message.id.as_str();
        let events = self.events.iter().filter(told);
        let lists = events.flat_map(|event| ["memories", "sessions"].map(|key| event.data[key].as_array()));
        lists.flatten().flatten().filter_map(|one| one.as_str().map(str::to_owned)).collect()
    }

    /// Tokens by fate, in the order of [`Fate::ALL`].
    pub(crate) fn shares(&self) -> [(Fate, Share); 5] {
        Fate::ALL.map(|fate| {
            let mut share = Share::default();
            for line in self.lines.iter().filter(|line| line.fate == fate) {
                share.messages += 1;
                share.shown += line.shown_tokens;
                share.spared += line.said_tokens.saturating_sub(line.shown_tokens);
            }
            (fate, share)
        })
    }
}
