//! Memories that come back (M7): what helps with what the user just said joins the turn, and whether it was used is noticed.

use super::{Scribe, Session, SessionError, reminder};
use crate::remember::Recalling;
use std::sync::Arc;
use throughline_memory::MemoryId;
use throughline_memory::recall::{Ask, ByModel, ByRank, Recalled};
use throughline_memory::usage::Used;
use throughline_model::Model;

/// Tokens that a choice of memories writes, as a rule.
const USUAL_OUTPUT: u64 = 100;

impl Session {
    /// Memories that help with what the user said join the turn.
    pub(super) async fn recall_for(&mut self, text: &str) -> Result<(), SessionError> {
        // What came for earlier words of the turn is judged by what was done up to here.
        self.note_used();
        let Some(recalled) = self.recalled_for(text).await else { return Ok(()) };
        if let Some(receipt) = &recalled.receipt {
            self.keep_receipt(receipt)?;
        }
        let Some(words) = &recalled.text else { return Ok(()) };
        let message = self.record(reminder(words))?;
        let ids: Vec<MemoryId> = recalled.chosen.iter().map(|one| one.id.clone()).collect();
        let now = self.now();
        if let Some(memory) = &mut self.memory {
            let event = memory.recalled(message, (recalled, text), now);
            self.append_event(event)?;
        }
        self.count_use(&ids, Used::Shown);
        Ok(())
    }

    async fn recalled_for(&self, text: &str) -> Option<Recalled> {
        let memory = self.memory.as_ref()?;
        let wanted = memory.wanted(self.pipeline.view().entries())?;
        let chooser = self.chooser(&wanted.settings);
        let (text, root, now) = (text.to_owned(), memory.root().map(ToOwned::to_owned), self.now());
        let price = self.pipeline.settings().price.clone();
        let cancel = self.background.cancel.child_token();
        let work = async move {
            let ask = Ask {
                text: &text,
                tools: &wanted.tools,
                shown: &wanted.shown,
                now,
                root: root.as_deref(),
                limits: &wanted.settings.limits,
            };
            let recall = &wanted.recall;
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
        let used = self.memory.as_mut().map(crate::remember::Memory::take_used).unwrap_or_default();
        self.count_use(&used, Used::Used);
    }

    fn count_use(&mut self, ids: &[MemoryId], what: Used) {
        let now = self.now();
        let Some(memory) = &self.memory else { return };
        if ids.is_empty() {
            return;
        }
        let memories = &memory.settings().memories;
        if let Err(error) = memories.record_use(ids, what, (Some(self.id.as_str()), now)) {
            // Counts are a help: a session goes on without.
            self.warnings.push(error.to_string());
        }
    }
}
