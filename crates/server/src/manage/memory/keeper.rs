//! What one conversation knows of its own remembering, while it is busy.

use super::desk::{Awaited, Desk};
use super::looked::Looked;
use super::notes::SessionNotes;
use super::place::Place;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use throughline_core::{Event, Fragment, Message, Role, SessionId, Speaker};
use throughline_engine::Restored;
use throughline_engine::remember::Memory;
use throughline_memory::handbook::{Outside, OutsideWatch};

/// What the user said before that is looked back at.
const MOST_SAID: usize = 200;
/// Bytes of what a client tells the model itself that are held.
const MOST_INSTRUCTIONS: usize = 64 << 10;
/// Events of a ledger that matter here, by the beginning of their names.
const EVENTS: [&str; 3] = ["memory.", "notes.", "handbook."];
/// The event by which it is known that work on handbooks began.
const BEGUN: &str = "handbook.start";

/// What one conversation knows of its own remembering. At rest its ledger knows it.
pub(in crate::manage) struct Keeper {
    pub(super) desk: Arc<Desk>,
    pub(super) session: SessionId,
    /// Where the client says it runs.
    cwd: Option<String>,
    pub(super) place: Option<Arc<Place>>,
    pub(super) finding: Option<Awaited<Arc<Place>>>,
    pub(super) memory: Option<Memory>,
    pub(super) looking: Option<Awaited<Looked>>,
    /// What comes back behind a compaction.
    pub(super) start: Option<Message>,
    /// What the user said last.
    pub(super) words: String,
    /// What the client tells the model itself.
    pub(super) instructions: Vec<String>,
    pub(super) watch: Option<OutsideWatch>,
    pub(super) notes: SessionNotes,
    /// Work on handbooks began.
    pub(super) is_begun: bool,
    /// What the user said is being looked at.
    pub(super) is_extracting: bool,
    /// Until the memories are known: what was said, and what the ledger holds.
    said: Vec<Arc<Message>>,
    pub(super) events: Vec<Event>,
    /// Words that were heard, by their hashes.
    heard: HashSet<u64>,
}

impl Keeper {
    /// For a conversation that begins, or goes on from its ledger.
    pub(in crate::manage) fn new(
        desk: Arc<Desk>,
        (session, cwd): (&SessionId, Option<&str>),
        restored: Option<&Restored>,
    ) -> Self {
        let handbook = &desk.options.settings.handbook;
        let watch = (handbook.enabled && handbook.disable_on_external_context)
            .then(|| OutsideWatch::new(Outside::except(&desk.options.own_servers)));
        let mut keeper = Self {
            notes: SessionNotes::default(),
            session: session.clone(),
            cwd: cwd.map(str::to_owned),
            place: None,
            finding: None,
            memory: None,
            looking: None,
            start: None,
            words: String::new(),
            instructions: Vec::new(),
            watch,
            is_begun: false,
            is_extracting: false,
            said: Vec::new(),
            events: Vec::new(),
            heard: HashSet::new(),
            desk,
        };
        if let Some(restored) = restored {
            keeper.restore(restored);
        }
        keeper
    }

    fn restore(&mut self, restored: &Restored) {
        let is_ours = |event: &&Event| EVENTS.iter().any(|prefix| event.name.starts_with(prefix));
        self.events = restored.events.iter().filter(is_ours).cloned().collect();
        self.is_begun = self.events.iter().any(|event| event.name == BEGUN);
        for message in &restored.messages {
            if let Some(watch) = &mut self.watch {
                watch.push(message);
            }
            if is_said(message) {
                self.heard.insert(hash(&message.user_words()));
                self.said.push(message.clone());
            }
            self.take_instructions(message);
        }
        let spare = self.said.len().saturating_sub(MOST_SAID);
        self.said.drain(..spare);
        self.words = self.said.last().map(|message| message.user_words()).unwrap_or_default();
    }

    /// Where the client says it runs.
    pub(super) fn cwd(&self) -> Option<&str> {
        self.cwd.as_deref()
    }

    /// The memories are known: what was said up to here counts.
    pub(super) fn found(&mut self, place: Arc<Place>) {
        self.memory = place.memory();
        self.place = Some(place);
        if let Some(memory) = &mut self.memory {
            memory.restore(std::mem::take(&mut self.said), &self.events);
            memory.set_instructions(self.instructions.clone());
        }
    }

    /// Takes in what a request brought. Words that a client says again, because it goes on from elsewhere, are not said twice. The
    /// newest words, if nobody answered them yet.
    pub(super) fn hear(&mut self, fresh: &[Arc<Message>], diverged: bool) -> Option<Arc<Message>> {
        let mut newest = None;
        let known = self.instructions.len();
        for message in fresh {
            if let Some(watch) = &mut self.watch {
                watch.push(message);
            }
            self.take_instructions(message);
            self.notes.hear(message);
            if message.role == Role::Assistant {
                newest = None;
            }
            if !is_said(message) {
                continue;
            }
            let words = message.user_words();
            let is_new = self.heard.insert(hash(&words));
            if diverged && !is_new {
                continue;
            }
            self.words = words;
            newest = Some(message.clone());
            match &mut self.memory {
                Some(memory) => memory.hear(message),
                None => {
                    self.said.push(message.clone());
                    let spare = self.said.len().saturating_sub(MOST_SAID);
                    self.said.drain(..spare);
                }
            }
        }
        if let Some(memory) = self.memory.as_mut().filter(|_| self.instructions.len() > known) {
            memory.set_instructions(self.instructions.clone());
        }
        newest
    }

    /// What the client itself tells the model: system messages, and scaffold in the user's role.
    fn take_instructions(&mut self, message: &Message) {
        let is_told = match message.role {
            Role::System | Role::Developer => true,
            Role::User => !message.flags.meta && !message.flags.summary,
            Role::Assistant | Role::Tool => false,
        };
        let held: usize = self.instructions.iter().map(String::len).sum();
        if !is_told || held >= MOST_INSTRUCTIONS {
            return;
        }
        for block in &message.blocks {
            let text = message.text_of(block);
            let is_scaffold =
                message.role != Role::User || Fragment::recognise(Speaker::User, &text).is_some();
            if is_scaffold && !text.is_empty() && !self.instructions.contains(&text.to_string()) {
                self.instructions.push(text.to_string());
            }
        }
    }
}

/// How texts begin by which Claude Code goes on by itself, in the user's role.
const ORDERS: [&str; 3] =
    ["Stop hook feedback:", "Output token limit hit. Resume directly", "Base directory for this skill:"];

/// Whether a person said it, and not the client in their place.
fn is_said(message: &Message) -> bool {
    let words = message.user_words();
    message.is_real_user() && !ORDERS.iter().any(|order| words.trim_start().starts_with(order))
}

fn hash(words: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    words.hash(&mut hasher);
    hasher.finish()
}
