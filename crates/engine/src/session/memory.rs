//! Long-term memory of a session (M): what the user says is kept beyond it, and what was kept before comes back.

use super::recalled::{Recalling, Recollection};
use super::{Session, SessionError, reminder};
use crate::config::{ExtractBy, MemorySettings, RecallBy};
use crate::telemetry::span::{self, Work};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use throughline_core::{Event, Message, MessageId, SessionId};
use throughline_memory::extract::{
    Applied, Did, EXTRACT_JOB, ExtractJob, ExtractLimits, ExtractRecord, ExtractTrigger, Extracted, Granted,
    Proposal, Refusal, Refused, Skip, TurnEnd, Wish, Wished, extract, grant_now, wrote_memory,
};
use throughline_memory::notes::{LastTurn, Thread};
use throughline_memory::recall::{Chosen, RecallLimits};
use throughline_memory::{Memories, MemoryId};
use tracing::Instrument;

/// Tokens that an extraction writes, as a rule.
const USUAL_OUTPUT: u64 = 800;
/// What the user said that is held on to: what is proposed for memory is held against it.
const MOST_SAID: usize = 200;
/// The event that names a message whose wishes were granted at once.
const GRANTED: &str = "memory.granted";

/// How a session remembers.
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

/// What a session knows of its own remembering.
pub(super) struct Memory {
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
    pub(super) made: BTreeSet<MemoryId>,
    /// What came back.
    pub(super) recollection: Option<Recollection>,
    /// What people should know, since they were last told.
    news: Vec<String>,
}

impl Memory {
    pub(super) fn new(settings: Remembering) -> Self {
        let recall = settings.recall.clone();
        Self {
            recollection: recall.map(|recall| Recollection::new(settings.memories.clone(), recall)),
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

    pub(super) fn memories(&self) -> &Memories {
        &self.settings.memories
    }

    pub(super) fn root(&self) -> Option<&Path> {
        self.settings.root.as_deref()
    }

    /// People are told what came back.
    pub(super) fn tell_recalled(&mut self, chosen: &[Chosen]) {
        let names: Vec<&str> = chosen.iter().map(|one| one.topic.name.as_str()).collect();
        self.news.push(format!("recalled: {}", names.join("; ")));
    }

    /// Something was said in the session.
    pub(super) fn hear(&mut self, message: &Arc<Message>) {
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

    /// Takes over what the ledger holds: what the user said, and how far extraction came.
    pub(super) fn restore(&mut self, said: Vec<Arc<Message>>, events: &[Event]) {
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
    fn job(&self, session: &SessionId, now: Timestamp) -> ExtractJob {
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
    fn due(&mut self, last_turn: LastTurn) -> Option<ExtractLimits> {
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
}

impl Session {
    /// A change of memory that the model proposes by itself. It is made only as far as the user's own words bear it out.
    pub fn propose_memory(&mut self, proposal: &Proposal) -> Result<Applied, Refused> {
        let now = self.now();
        let Some(memory) = &self.memory else {
            let why = Refusal::Folder("this session keeps no memories".to_owned());
            return Err(Refused { what: String::new(), why });
        };
        // All that the user said counts here, not only what is new.
        ExtractJob { cursor: None, granted: Vec::new(), ..memory.job(&self.id, now) }.propose(proposal)
    }

    /// What was remembered and forgotten, in words for people, since this was last asked.
    pub fn memory_news(&mut self) -> Vec<String> {
        self.memory.as_mut().map(|memory| std::mem::take(&mut memory.news)).unwrap_or_default()
    }

    /// What the project's instructions say: what stands there need not be remembered (M2).
    pub fn set_instructions(&mut self, instructions: Vec<String>) {
        if let Some(memory) = &mut self.memory {
            memory.instructions = instructions;
        }
    }

    /// Does at once what the user asks to remember and to forget (M4), and tells the model, so that it need not do it again.
    pub(super) fn grant_wishes(&mut self, message: &Message) -> Result<(), SessionError> {
        let now = self.now();
        let Some(memory) = &mut self.memory else { return Ok(()) };
        let settings = &memory.settings;
        let limits = settings.extract.clone().unwrap_or_default();
        let granted = grant_now(&Wished {
            memories: &settings.memories,
            session: &self.id,
            message,
            instructions: &memory.instructions,
            root: settings.root.as_deref(),
            now,
            zone: &settings.zone,
            limits: &limits,
        });
        if granted.is_empty() {
            return Ok(());
        }
        let told: Vec<String> = granted.iter().map(in_words).collect();
        memory.news.extend(told.iter().cloned());
        memory.granted.push(message.id.clone());
        memory.made.extend(granted.iter().filter_map(|one| Some(one.outcome.as_ref().ok()?.id.clone())));
        let data = serde_json::json!({"message": message.id, "did": told});
        self.append_event(Event { at: Some(now), name: GRANTED.to_owned(), data })?;
        let lines = told.iter().map(|line| format!("- {line}")).collect::<Vec<_>>().join("\n");
        self.record(reminder(&format!(
            "What the user asked of long-term memory was carried out already; do not do it again:\n{lines}"
        )))?;
        Ok(())
    }

    /// The turn is over: what the user said is looked at in the background (M3).
    pub(super) fn begin_extraction(&mut self) {
        if tokio::runtime::Handle::try_current().is_err() || self.background.extraction.is_some() {
            return;
        }
        let last_turn = if self.has_open_call() { LastTurn::Calls } else { LastTurn::Rests };
        let Some(limits) = self.memory.as_mut().and_then(|memory| memory.due(last_turn)) else { return };
        let by_model = self.memory.as_ref().is_some_and(|memory| memory.settings.by_model);
        let helper = if by_model { self.helper(EXTRACT_JOB, USUAL_OUTPUT) } else { None };
        let Some(memory) = &self.memory else { return };
        let job = ExtractJob { limits, ..memory.job(&self.id, self.now()) };
        let price = self.pipeline.settings().price.clone();
        let span = span::background(&self.id, Work::Extraction);
        let work = async move {
            let model = helper.as_ref().map(|helper| helper.ask(&price));
            let extracted = extract(job, model).await;
            if let (Some(permit), Some(receipt)) =
                (helper.and_then(|helper| helper.permit), &extracted.receipt)
            {
                // What can't be written now the governor keeps, and lets nothing begin before it is.
                let _ = permit.settle(receipt.clone());
            }
            extracted
        };
        // Files are written: not on a thread that others wait for.
        let handle = tokio::runtime::Handle::current();
        let work = work.instrument(span);
        self.background.extraction = Some(tokio::task::spawn_blocking(move || handle.block_on(work)));
    }

    /// Takes in what came of an extraction.
    pub(super) fn take_extracted(&mut self, extracted: Extracted) -> Result<(), SessionError> {
        if let Some(receipt) = &extracted.receipt {
            self.keep_receipt(receipt)?;
        }
        let event = extracted.record().to_event(Some(self.now()), extracted.is_complete);
        if let Some(memory) = &mut self.memory {
            memory.news.extend(extracted.applied.iter().filter(|one| one.did.is_change()).map(done));
            memory.made.extend(extracted.applied.iter().map(|one| one.id.clone()));
            memory.cursor = extracted.cursor;
        }
        self.append_event(event)
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
