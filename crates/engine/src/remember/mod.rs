//! Long-term memory of one conversation (M): what the user says is kept beyond it, and what was kept before comes back.
//!
//! [`Memory`] knows what was said and what came back. It asks nobody and records nothing: whoever holds it, a
//! [session](crate::session) or a proxy, runs what it hands out and tells it what came of that.

mod recollection;

pub use recollection::{Recalling, Wanted};

use crate::config::{ExtractBy, MemorySettings, RecallBy};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use recollection::Recollection;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use throughline_core::{Entry, Event, Message, MessageId, SessionId};
use throughline_memory::extract::{
    Applied, Did, ExtractJob, ExtractLimits, ExtractRecord, ExtractTrigger, Extracted, Granted, Skip,
    TurnEnd, Wish, Wished, grant_now, wrote_memory,
};
use throughline_memory::notes::{LastTurn, Thread};
use throughline_memory::recall::{Recall, RecallLimits, Recalled};
use throughline_memory::{Memories, MemoryId};

/// What the user said that is held on to: what is proposed for memory is held against it.
const MOST_SAID: usize = 200;
/// The event that names a message whose wishes were granted at once.
const GRANTED: &str = "memory.granted";

/// How a conversation remembers.
#[derive(Clone, Debug)]
pub struct Remembering {
    /// Where memories are.
    pub memories: Memories,
    /// The project's folder, for anchors.
    pub root: Option<PathBuf>,
    /// The user's time zone: "Thursday" is a day there.
    pub zone: TimeZone,
    /// What extraction may do, and how often; `None`: only what the user asks to remember is kept.
    pub extract: Option<ExtractLimits>,
    /// Whether a model may look for what is worth keeping, where one writes.
    pub by_model: bool,
    /// How memories come back; `None`: they do not.
    pub recall: Option<Recalling>,
}

impl Remembering {
    /// As the settings say; `None` if nothing is remembered.
    pub fn of(settings: &MemorySettings, memories: Memories, zone: TimeZone) -> Option<Self> {
        if memories.is_off() {
            return None;
        }
        let MemorySettings { extract, recall, .. } = settings;
        let limits = ExtractLimits {
            every_turns: u32::try_from(extract.every_turns).unwrap_or(u32::MAX),
            ..ExtractLimits::default()
        };
        let recalling = Recalling {
            limits: RecallLimits { most: recall.most, tokens: recall.tokens, ..RecallLimits::default() },
            by_model: recall.select == RecallBy::Model,
        };
        Some(Self {
            memories,
            root: None,
            zone,
            extract: (extract.every_turns > 0).then_some(limits),
            by_model: extract.by == ExtractBy::Scribe,
            recall: recall.enabled.then_some(recalling),
        })
    }
}

/// What a conversation knows of its own remembering.
pub struct Memory {
    settings: Remembering,
    trigger: ExtractTrigger,
    /// The last message that was looked at.
    cursor: Option<MessageId>,
    /// What the user said, the newest last.
    said: Vec<Arc<Message>>,
    /// Messages whose wishes were granted at once.
    granted: Vec<MessageId>,
    /// Whether the model wrote a memory itself in this turn.
    wrote: bool,
    /// The texts of the project's instructions.
    instructions: Vec<String>,
    /// Memories that were made of what was said here: they need not come back.
    made: BTreeSet<MemoryId>,
    /// What came back.
    recollection: Option<Recollection>,
    /// What people should know, since they were last told.
    news: Vec<String>,
}

impl Memory {
    /// Nothing was said yet.
    pub fn new(settings: Remembering) -> Self {
        let recall = Arc::new(Recall::new(settings.memories.clone()));
        Self::sharing(settings, recall)
    }

    /// The same, over what another conversation of the same folder knows of its memories.
    pub fn sharing(settings: Remembering, recall: Arc<Recall>) -> Self {
        let recalling = settings.recall.clone();
        Self {
            recollection: recalling.map(|recalling| Recollection::new(recall, recalling)),
            settings,
            trigger: ExtractTrigger::default(),
            cursor: None,
            said: Vec::new(),
            granted: Vec::new(),
            made: BTreeSet::new(),
            wrote: false,
            instructions: Vec::new(),
            news: Vec::new(),
        }
    }

    /// How it remembers.
    pub fn settings(&self) -> &Remembering {
        &self.settings
    }

    /// The project's folder.
    pub fn root(&self) -> Option<&Path> {
        self.settings.root.as_deref()
    }

    /// What people should know, since they were last told.
    pub fn news(&mut self) -> Vec<String> {
        std::mem::take(&mut self.news)
    }

    /// What the project's instructions say: what stands there need not be remembered (M2).
    pub fn set_instructions(&mut self, instructions: Vec<String>) {
        self.instructions = instructions;
    }

    /// Something was said.
    pub fn hear(&mut self, message: &Arc<Message>) {
        if let Some(recollection) = &mut self.recollection {
            recollection.hear(message);
        }
        if message.is_real_user() {
            self.said.push(message.clone());
            let spare = self.said.len().saturating_sub(MOST_SAID);
            self.said.drain(..spare);
        }
        if message.calls().next().is_some() {
            let folders: Vec<PathBuf> =
                self.settings.memories.stores().map(|(_, store)| store.folder().to_owned()).collect();
            self.wrote |= wrote_memory([&**message], &folders);
        }
    }

    /// Takes over what a ledger holds: what the user said, and how far extraction came.
    pub fn restore(&mut self, said: Vec<Arc<Message>>, events: &[Event]) {
        self.cursor = ExtractRecord::cursor(events.iter().rev());
        let granted = events.iter().filter(|event| event.name == GRANTED);
        self.granted =
            granted.filter_map(|event| event.data["message"].as_str().map(MessageId::from)).collect();
        said.iter().for_each(|message| self.hear(message));
        if let Some(recollection) = &mut self.recollection {
            recollection.restore(events);
        }
        // Calls of earlier turns say nothing about the next one.
        self.wrote = false;
    }

    /// An extraction of what the user said since the cursor.
    pub fn job(&self, session: &SessionId, now: Timestamp) -> ExtractJob {
        let settings = &self.settings;
        ExtractJob {
            memories: settings.memories.clone(),
            session: session.clone(),
            messages: self.said.iter().map(|message| (**message).clone()).collect(),
            cursor: self.cursor.clone(),
            granted: self.granted.clone(),
            instructions: self.instructions.clone(),
            recalled: self.recollection.as_ref().map(Recollection::texts).unwrap_or_default(),
            root: settings.root.clone(),
            now,
            zone: settings.zone.clone(),
            limits: settings.extract.clone().unwrap_or_default(),
        }
    }

    /// The extraction that is due when a turn is over, if one is.
    pub fn due(&mut self, last_turn: LastTurn) -> Option<ExtractLimits> {
        let limits = self.settings.extract.clone()?;
        let end = TurnEnd { thread: Thread::Main, last_turn, wrote: std::mem::take(&mut self.wrote) };
        match self.trigger.turn_ended(end, &limits) {
            Ok(()) => Some(limits),
            Err(Skip::WroteItself) => {
                // What was said counts as looked at: the model looked.
                self.cursor = self.said.last().map(|message| message.id.clone()).or(self.cursor.take());
                None
            }
            Err(Skip::NotMain | Skip::NotComplete | Skip::NotYet) => None,
        }
    }

    /// What came of an extraction; the event is for the ledger.
    pub fn extracted(&mut self, extracted: Extracted, now: Timestamp) -> Event {
        let event = extracted.record().to_event(Some(now), extracted.is_complete);
        self.news.extend(extracted.applied.iter().filter(|one| one.did.is_change()).map(done));
        self.made.extend(extracted.applied.iter().map(|one| one.id.clone()));
        self.cursor = extracted.cursor;
        event
    }

    /// Who can do at once what the user asks to remember and to forget (M4). It owns what it needs: files are written, which need not be
    /// waited for.
    pub fn granter(&self) -> Granter {
        Granter { settings: self.settings.clone(), instructions: self.instructions.clone() }
    }

    /// What was granted; the event is for the ledger.
    pub fn granted(&mut self, wishes: &Wishes, now: Timestamp) -> Event {
        self.news.extend(wishes.told.iter().cloned());
        self.granted.push(wishes.message.clone());
        self.made.extend(wishes.made.iter().cloned());
        let data = json!({"message": wishes.message, "did": wishes.told});
        Event { at: Some(now), name: GRANTED.to_owned(), data }
    }

    /// What it takes to look for memories that help; `None` if none come back. What stands in the view already is left out.
    pub fn wanted(&self, entries: &[Entry]) -> Option<Wanted> {
        let mut wanted = self.recollection.as_ref()?.wanted(entries);
        wanted.shown.extend(self.made.iter().cloned());
        Some(wanted)
    }

    /// Memories came back by a message, for words of the user's; the event is for the ledger.
    pub fn recalled(
        &mut self,
        message: MessageId,
        (recalled, words): (Recalled, &str),
        now: Timestamp,
    ) -> Event {
        let names: Vec<&str> = recalled.chosen.iter().map(|one| one.topic.name.as_str()).collect();
        self.news.push(format!("recalled: {}", names.join("; ")));
        let event = recollection::event(&message, &recalled, now);
        if let Some(recollection) = &mut self.recollection {
            recollection.came(message, recalled, words);
        }
        event
    }

    /// What of the turn's memories the model made use of.
    pub fn take_used(&mut self) -> Vec<MemoryId> {
        self.recollection.as_mut().map(Recollection::take_used).unwrap_or_default()
    }
}

/// Does at once what the user asks of memory.
#[derive(Clone, Debug)]
pub struct Granter {
    settings: Remembering,
    instructions: Vec<String>,
}

/// What became of the wishes in a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wishes {
    /// The message.
    pub message: MessageId,
    /// What was done, or why not, in words.
    pub told: Vec<String>,
    /// The memories that were made.
    made: Vec<MemoryId>,
}

impl Granter {
    /// Does what a message asks for; `None` if that is nothing.
    pub fn grant(&self, session: &SessionId, message: &Message, now: Timestamp) -> Option<Wishes> {
        let limits = self.settings.extract.clone().unwrap_or_default();
        let granted = grant_now(&Wished {
            memories: &self.settings.memories,
            session,
            message,
            instructions: &self.instructions,
            root: self.settings.root.as_deref(),
            now,
            zone: &self.settings.zone,
            limits: &limits,
        });
        if granted.is_empty() {
            return None;
        }
        Some(Wishes {
            message: message.id.clone(),
            told: granted.iter().map(in_words).collect(),
            made: granted.iter().filter_map(|one| Some(one.outcome.as_ref().ok()?.id.clone())).collect(),
        })
    }
}

/// What became of a wish, in words.
fn in_words(granted: &Granted) -> String {
    match &granted.outcome {
        Ok(applied) => done(applied),
        Err(refused) => {
            let what = match granted.wish {
                Wish::Remember { .. } => "not remembered",
                Wish::Forget { .. } => "not forgotten",
            };
            format!("{what}: {} ({})", refused.what, refused.why)
        }
    }
}

fn done(applied: &Applied) -> String {
    let Applied { id, name, did, redacted, .. } = applied;
    let did = match did {
        Did::Saved => "remembered",
        Did::Confirmed => "said again",
        Did::Known => "known already",
        Did::Changed => "changed",
        Did::Superseded { old } => return format!("remembered: {name} ({id}), in place of {old}"),
        Did::Forgotten => "forgotten",
    };
    let secrets = if redacted.is_empty() {
        String::new()
    } else {
        format!("; secrets are never kept, these were taken out: {}", redacted.join(", "))
    };
    format!("{did}: {name} ({id}){secrets}")
}
