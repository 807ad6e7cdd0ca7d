//! Memories that come back (M7): what helps with what the user just said joins the turn, and whether it was used is noticed.

use jiff::Timestamp;
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;
use throughline_core::{Entry, Event, Message, MessageId, Role};
use throughline_memory::MemoryId;
use throughline_memory::recall::{Chosen, Recall, RecallLimits, Recalled, used_in};

/// The event that names what was recalled, and the message by which it joined the turn.
const RECALLED: &str = "memory.recalled";
/// Tools that were used lately.
const MOST_TOOLS: usize = 12;
/// Bytes of what the model did that are held until the turn is over.
const MOST_DONE: usize = 256 << 10;

/// How memories come back.
#[derive(Clone, Debug)]
pub struct Recalling {
    /// How much may come.
    pub limits: RecallLimits,
    /// Whether a model chooses; else rank does.
    pub by_model: bool,
}

/// What it takes to look for memories. It owns it, so that files can be read where nobody waits.
#[derive(Clone)]
pub struct Wanted {
    /// Who looks.
    pub recall: Arc<Recall>,
    /// How.
    pub settings: Recalling,
    /// Memories that need not come.
    pub shown: BTreeSet<MemoryId>,
    /// Tools that were used lately, newest last.
    pub tools: Vec<String>,
}

/// What a conversation knows of what came back in it.
pub(super) struct Recollection {
    recall: Arc<Recall>,
    settings: Recalling,
    shown: Vec<Shown>,
    /// What came with the user's last words, and those words.
    fresh: Vec<Chosen>,
    request: String,
    /// What the model said and gave to tools since.
    did: String,
}

/// Memories that joined a turn.
struct Shown {
    message: MessageId,
    ids: Vec<MemoryId>,
    text: String,
}

impl Recollection {
    pub(super) fn new(recall: Arc<Recall>, settings: Recalling) -> Self {
        Self {
            recall,
            settings,
            shown: Vec::new(),
            fresh: Vec::new(),
            request: String::new(),
            did: String::new(),
        }
    }

    /// Something was said.
    pub(super) fn hear(&mut self, message: &Message) {
        if message.role != Role::Assistant || self.fresh.is_empty() || self.did.len() >= MOST_DONE {
            return;
        }
        self.did.push_str(&message.to_text());
        for call in message.calls() {
            self.did.push('\n');
            self.did.push_str(&call.input.to_json().unwrap_or_default().to_string());
        }
        self.did.push('\n');
    }

    /// Takes over what a ledger holds.
    pub(super) fn restore(&mut self, events: &[Event]) {
        for event in events.iter().filter(|event| event.name == RECALLED) {
            let ids = event.data["memories"].as_array().into_iter().flatten();
            let ids = ids.filter_map(|id| id.as_str()?.parse().ok()).collect();
            let Some(message) = event.data["message"].as_str() else { continue };
            self.shown.push(Shown { message: MessageId::from(message), ids, text: String::new() });
        }
    }

    /// The texts that came back.
    pub(super) fn texts(&self) -> Vec<String> {
        self.shown.iter().map(|shown| shown.text.clone()).filter(|text| !text.is_empty()).collect()
    }

    /// What came by a message that is no longer in the view may come again.
    pub(super) fn wanted(&self, entries: &[Entry]) -> Wanted {
        let in_view: BTreeSet<&MessageId> = entries.iter().map(|entry| &entry.message.id).collect();
        let shown = self.shown.iter().filter(|shown| in_view.contains(&shown.message));
        let mut tools: Vec<String> = Vec::new();
        for call in entries.iter().rev().flat_map(|entry| entry.message.calls()) {
            if tools.len() == MOST_TOOLS {
                break;
            }
            if !tools.contains(&call.name) {
                tools.push(call.name.clone());
            }
        }
        tools.reverse();
        Wanted {
            recall: self.recall.clone(),
            settings: self.settings.clone(),
            shown: shown.flat_map(|shown| shown.ids.iter().cloned()).collect(),
            tools,
        }
    }

    /// Memories came by a message.
    pub(super) fn came(&mut self, message: MessageId, recalled: Recalled, words: &str) {
        let ids = recalled.chosen.iter().map(|one| one.id.clone()).collect();
        self.shown.push(Shown { message, ids, text: recalled.text.unwrap_or_default() });
        self.fresh = recalled.chosen;
        words.clone_into(&mut self.request);
    }

    /// What of the turn's memories the model made use of.
    pub(super) fn take_used(&mut self) -> Vec<MemoryId> {
        let fresh = std::mem::take(&mut self.fresh);
        let did = std::mem::take(&mut self.did);
        let used = fresh.into_iter().filter(|one| used_in(&one.topic, &did, &self.request));
        used.map(|one| one.id).collect()
    }
}

/// What the ledger is told of memories that came back.
pub(super) fn event(message: &MessageId, recalled: &Recalled, now: Timestamp) -> Event {
    let names: Vec<String> = recalled.chosen.iter().map(|one| one.id.to_string()).collect();
    let data = json!({"message": message, "memories": names, "tokens": recalled.tokens});
    Event { at: Some(now), name: RECALLED.to_owned(), data }
}
