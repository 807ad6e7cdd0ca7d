//! Long-term memory of a session (M): what the user says is kept beyond it, and what was kept before comes back.

use super::{Session, SessionError, reminder};
use crate::telemetry::span::{self, Work};
use throughline_core::Message;
use throughline_memory::extract::{
    Applied, EXTRACT_JOB, ExtractJob, Extracted, Proposal, Refusal, Refused, extract,
};
use throughline_memory::notes::LastTurn;
use tracing::Instrument;

/// Tokens that an extraction writes, as a rule.
const USUAL_OUTPUT: u64 = 800;

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
        self.memory.as_mut().map(crate::remember::Memory::news).unwrap_or_default()
    }

    /// What the project's instructions say: what stands there need not be remembered (M2).
    pub fn set_instructions(&mut self, instructions: Vec<String>) {
        if let Some(memory) = &mut self.memory {
            memory.set_instructions(instructions);
        }
    }

    /// Does at once what the user asks to remember and to forget (M4), and tells the model, so that it need not do it again.
    pub(super) fn grant_wishes(&mut self, message: &Message) -> Result<(), SessionError> {
        let now = self.now();
        let Some(memory) = &mut self.memory else { return Ok(()) };
        let Some(wishes) = memory.granter().grant(&self.id, message, now) else { return Ok(()) };
        let event = memory.granted(&wishes, now);
        self.append_event(event)?;
        let lines = wishes.told.iter().map(|line| format!("- {line}")).collect::<Vec<_>>().join("\n");
        self.record(reminder(&format!(
            "What the user asked of long-term memory was carried out already; do not do it again:\n{lines}"
        )))?;
        Ok(())
    }

    /// The turn is over: what the user said is looked at in the background (M3), after an extraction that still runs.
    pub(super) fn begin_extraction(&mut self) {
        let last_turn = if self.has_open_call() { LastTurn::Calls } else { LastTurn::Rests };
        if let Some(limits) = self.memory.as_mut().and_then(|memory| memory.due(last_turn)) {
            self.background.extraction_due = Some(limits);
        }
        if self.background.extraction.is_none() {
            self.start_due_extraction();
        }
    }

    /// Starts the extraction that is due, if one is. Returns whether it did.
    pub(super) fn start_due_extraction(&mut self) -> bool {
        // Outside a runtime there is no background.
        let Ok(handle) = tokio::runtime::Handle::try_current() else { return false };
        let Some(limits) = self.background.extraction_due.take() else { return false };
        let by_model = self.memory.as_ref().is_some_and(|memory| memory.settings().by_model);
        let helper = if by_model { self.helper(EXTRACT_JOB, USUAL_OUTPUT) } else { None };
        let Some(memory) = &self.memory else { return false };
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
        let work = work.instrument(span);
        self.background.extraction = Some(tokio::task::spawn_blocking(move || handle.block_on(work)));
        true
    }

    /// Takes in what came of an extraction.
    pub(super) fn take_extracted(&mut self, extracted: Extracted) -> Result<(), SessionError> {
        if let Some(receipt) = &extracted.receipt {
            self.keep_receipt(receipt)?;
        }
        let now = self.now();
        let event = match &mut self.memory {
            Some(memory) => memory.extracted(extracted, now),
            None => extracted.record().to_event(Some(now), extracted.is_complete),
        };
        self.append_event(event)
    }
}
