//! Memories that come back (M7): what helps with what the user just said joins the turn, and whether it was used is noticed.

use super::{Scribe, Session, SessionError, reminder};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;
use throughline_core::{Event, Message, MessageId, Role};
use throughline_memory::recall::{Ask, ByModel, ByRank, Chosen, Recall, RecallLimits, Recalled, used_in};
use throughline_memory::usage::Used;
use throughline_memory::{Memories, MemoryId};
use throughline_model::Model;

/// The event that names what was recalled, and the message by which it joined the turn.
const RECALLED: &str = "memory.recalled";
/// Tools that were used lately.
const MOST_TOOLS: usize = 12;
/// Bytes of what the model did that are held until the turn is over.
const MOST_DONE: usize = 256 << 10;
/// Tokens that a choice of memories writes, as a rule.
const USUAL_OUTPUT: u64 = 100;

/// How memories come back.
#[derive(Clone, Debug)]
pub struct Recalling {
    /// How much may come.
    pub limits: RecallLimits,
    /// Whether a model chooses; else rank does.
    pub by_model: bool,
}

/// What a session knows of what came back in it.
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
    pub(super) fn new(memories: Memories, settings: Recalling) -> Self {
        Self {
            recall: Arc::new(Recall::new(memories)),
            settings,
            shown: Vec::new(),
            fresh: Vec::new(),
            request: String::new(),
            did: String::new(),
        }
    }

    /// Something was said in the session.
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

    /// Takes over what the ledger holds.
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

    /// What of the turn's memories the model made use of.
    fn take_used(&mut self) -> Vec<MemoryId> {
        let fresh = std::mem::take(&mut self.fresh);
        let did = std::mem::take(&mut self.did);
        let used = fresh.into_iter().filter(|one| used_in(&one.topic, &did, &self.request));
        used.map(|one| one.id).collect()
    }
}

impl Session {
    /// Memories that help with what the user said join the turn.
    pub(super) async fn recall_for(&mut self, text: &str) -> Result<(), SessionError> {
        // What came for earlier words of the turn is judged by what was done up to here.
        self.note_used();
        let Some(recalled) = self.recalled_for(text).await else { return Ok(()) };
        if let Some(receipt) = &recalled.receipt {
            self.keep_receipt(receipt)?;
        }
        let Some(words) = recalled.text else { return Ok(()) };
        let message = self.record(reminder(&words))?;
        let ids: Vec<MemoryId> = recalled.chosen.iter().map(|one| one.id.clone()).collect();
        let names: Vec<String> = ids.iter().map(ToString::to_string).collect();
        let data = json!({"message": message, "memories": names, "tokens": recalled.tokens});
        let now = self.now();
        self.append_event(Event { at: Some(now), name: RECALLED.to_owned(), data })?;
        self.count_use(&ids, Used::Shown);
        if let Some(memory) = &mut self.memory {
            memory.tell_recalled(&recalled.chosen);
            if let Some(recollection) = &mut memory.recollection {
                recollection.shown.push(Shown { message, ids, text: words });
                recollection.fresh = recalled.chosen;
                recollection.request = text.to_owned();
            }
        }
        Ok(())
    }

    async fn recalled_for(&self, text: &str) -> Option<Recalled> {
        let memory = self.memory.as_ref()?;
        let recollection = memory.recollection.as_ref()?;
        let entries = self.pipeline.view().entries();
        // What a compaction took away may come again.
        let in_view: BTreeSet<&MessageId> = entries.iter().map(|entry| &entry.message.id).collect();
        let shown = recollection.shown.iter().filter(|shown| in_view.contains(&shown.message));
        let known = memory.made.iter().cloned();
        let shown: BTreeSet<MemoryId> =
            shown.flat_map(|shown| shown.ids.iter().cloned()).chain(known).collect();
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
        let chooser = self.chooser(&recollection.settings);
        let recall = recollection.recall.clone();
        let limits = recollection.settings.limits.clone();
        let (text, root, now) = (text.to_owned(), memory.root().map(ToOwned::to_owned), self.now());
        let price = self.pipeline.settings().price.clone();
        let cancel = self.background.cancel.child_token();
        let work = async move {
            let ask = Ask {
                text: &text,
                tools: &tools,
                shown: &shown,
                now,
                root: root.as_deref(),
                limits: &limits,
            };
            let Some((model, permit)) = chooser else { return recall.recall(&ask, &ByRank).await };
            let by_model = ByModel { model: &*model, caps: ByModel::caps(), price: &price, cancel };
            let recalled = recall.recall(&ask, &by_model).await;
            if let (Some(permit), Some(receipt)) = (permit, &recalled.receipt) {
                // What can't be written now the governor keeps, and lets nothing begin before it is.
                let _ = permit.settle(receipt.clone());
            }
            recalled
        };
        // Files are read: not on a thread that others wait for.
        let handle = tokio::runtime::Handle::try_current().ok()?;
        tokio::task::spawn_blocking(move || handle.block_on(work)).await.ok()
    }

    /// The model that chooses memories, where one is to and the governor agrees.
    fn chooser(&self, settings: &Recalling) -> Option<(Arc<dyn Model>, Option<throughline_model::Permit>)> {
        if !settings.by_model {
            return None;
        }
        let model = match &self.models.scribe {
            Scribe::Other(model) => model.clone(),
            Scribe::Main | Scribe::Offline => self.models.main.clone(),
        };
        Some((model, self.permit("recall", USUAL_OUTPUT).ok()?))
    }

    /// What came back and was made use of is counted: use ranks it higher.
    pub(super) fn note_used(&mut self) {
        let recollection = self.memory.as_mut().and_then(|memory| memory.recollection.as_mut());
        let used = recollection.map(Recollection::take_used).unwrap_or_default();
        self.count_use(&used, Used::Used);
    }

    fn count_use(&mut self, ids: &[MemoryId], what: Used) {
        let now = self.now();
        let Some(memory) = &self.memory else { return };
        if ids.is_empty() {
            return;
        }
        if let Err(error) = memory.memories().record_use(ids, what, (Some(self.id.as_str()), now)) {
            // Counts are a help: a session goes on without.
            self.warnings.push(error.to_string());
        }
    }
}
