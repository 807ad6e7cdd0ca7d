//! What was cut, read again from a ledger (B8).

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use throughline_core::recall::{Answer, Desk, Index, Limits, Visible};
use throughline_core::tokens::Tokenizer;
use throughline_core::{Message, MessageId, Record, ToolInput};
use throughline_ledger::{Home, LedgerError, resume, session};

/// A session's whole record, ready to be asked.
pub struct Recall {
    index: Index,
    said: HashMap<MessageId, Arc<Message>>,
    visible: Visible,
    tokenizer: Tokenizer,
}

impl Recall {
    /// Reads a ledger: every message that was ever said in it, long ones from their blobs, and what its view shows now.
    pub fn open(home: &Home, path: &Path) -> Result<Self, LedgerError> {
        let resumed = resume(home, path)?;
        let model = resumed.card.as_ref().and_then(|card| card.model.clone()).unwrap_or_default();
        let mut recall = Self {
            index: Index::default(),
            said: HashMap::new(),
            visible: Visible::default(),
            tokenizer: Tokenizer::for_model(&model),
        };
        session::each_record(home, path, &mut |_, record| {
            if let Record::Message(message) = record {
                recall.index.push(&message);
                recall.said.insert(message.id.clone(), Arc::new(*message));
            }
            Ok::<_, LedgerError>(())
        })?;
        resumed.view.messages().for_each(|message| recall.visible.push(&message));
        Ok(recall)
    }

    /// Answers a call of the `Recall` tool, whatever it holds.
    pub fn answer(&self, input: &ToolInput) -> Answer {
        let desk = Desk {
            index: &self.index,
            archive: &self.said,
            visible: Some(&self.visible),
            tokenizer: self.tokenizer,
            limits: Limits::default(),
        };
        desk.answer(input)
    }
}
