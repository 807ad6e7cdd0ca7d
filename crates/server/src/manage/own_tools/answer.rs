//! What calls of our tools are answered with.

use super::super::{ManageError, Thread};
use throughline_core::stages::snip;
use throughline_core::tokens::Tokenizer;
use throughline_core::{ToolCall, recall};
use throughline_engine::Recall;
use throughline_wire::stitch::OwnResult;

/// Tokens that all the results of one answer may have. A result has 5,000 at most.
const MOST_TOKENS: u64 = 20_000;

/// Told to a model that asks too often.
const ENOUGH: &str = "Not looked up: this was asked often enough for one answer. Go on with what you have, and use your other tools.";
/// Told where something went wrong on our side.
pub(super) const FAILED: &str =
    "Not looked up: the record can't be read right now. Go on without it, and use your other tools.";

/// A result that says that there is none.
pub(super) fn none(call: &ToolCall, why: &str) -> OwnResult {
    OwnResult { call: call.id.clone(), text: why.to_owned(), is_error: true }
}

/// What the results of one answer may still cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    tokens: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { tokens: MOST_TOKENS }
    }
}

impl Budget {
    /// Nothing more.
    pub(super) fn exhaust(&mut self) {
        self.tokens = 0;
    }
}

impl Thread {
    /// Answers calls of our tools, each with something the model can read.
    pub(super) fn answer(
        &self,
        calls: &[ToolCall],
        budget: &mut Budget,
    ) -> Result<Vec<OwnResult>, ManageError> {
        let mut record = None;
        let mut results = Vec::with_capacity(calls.len());
        for call in calls {
            let result = if budget.tokens == 0 {
                none(call, ENOUGH)
            } else if call.name == recall::NAME {
                let record = match &record {
                    Some(record) => record,
                    None => {
                        let path = self.place.path(&self.world.home);
                        record.insert(Recall::open(&self.world.home, &path)?)
                    }
                };
                let recall::Answer { text, is_error } = record.answer(&call.input);
                OwnResult { call: call.id.clone(), text, is_error }
            } else {
                let request = snip::parse(&call.input);
                let proposed = self.work(|working| Ok(working.preparer.propose_snip(&request)))?;
                match proposed {
                    Some(outcome) => {
                        let (text, is_error) = snip::answer(&outcome);
                        OwnResult { call: call.id.clone(), text, is_error }
                    }
                    None => none(call, FAILED),
                }
            };
            budget.tokens = budget.tokens.saturating_sub(Tokenizer::O200k.count(&result.text));
            results.push(result);
        }
        Ok(results)
    }
}
