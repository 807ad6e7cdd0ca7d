//! Turns that do not come to their end: the user stops them, or the process died.

use super::{Session, SessionError};
use throughline_core::{
    Block, Body, CallKind, Flags, Fragment, GroupId, Message, MessageId, ResultContent, Role, ToolCall,
    ToolResult,
};
use throughline_wire::Response;

/// What the model is told when the user stopped it.
const ABORTED: &str =
    "The user stopped the turn here. Commands may have run in part: look before you rely on their effects.";

impl Session {
    /// The user stops the turn: what the model had said by then is kept, every open call gets its answer, and the model will be told.
    /// The history is valid afterwards.
    pub fn interrupt(&mut self, partial: Option<&Response>) -> Result<(), SessionError> {
        for message in partial.map(|response| response.messages.as_slice()).unwrap_or_default() {
            self.record_said(message)?;
        }
        self.close_calls("[stopped by the user before it was done]")?;
        let mut message = Message::text(Role::User, Fragment::TurnAborted.render(ABORTED));
        message.flags = Flags { meta: true, ..Flags::default() };
        self.record(message)?;
        self.journal.end_turn()?;
        Ok(())
    }

    /// A turn fails: what the model had said by then is kept, and every open call gets an answer that says why it was not carried
    /// out. The history is valid afterwards.
    pub fn break_off(&mut self, partial: Option<&Response>, words: &str) -> Result<(), SessionError> {
        for message in partial.map(|response| response.messages.as_slice()).unwrap_or_default() {
            self.record_said(message)?;
        }
        self.close_calls(words).map(drop)
    }

    /// The words of an answer that was cut off. Reasoning without its seal and calls that may be cut in half can't be sent again.
    fn record_said(&mut self, message: &Message) -> Result<(), SessionError> {
        let mut said = Message { blocks: Vec::new(), shape: None, ..message.clone() };
        said.blocks.extend(message.blocks.iter().filter_map(|block| match &block.body {
            Body::Text(text) if !text.trim().is_empty() => Some(Block::text(text.as_str())),
            Body::Text(_)
            | Body::Reasoning { .. }
            | Body::ToolCall(_)
            | Body::ToolResult(_)
            | Body::Image(_)
            | Body::Document(_)
            | Body::Unknown(_) => None,
        }));
        if said.role == Role::Assistant && !said.blocks.is_empty() {
            said.id = MessageId::fresh();
            said.group = None;
            said.bare = false;
            self.record(said)?;
        }
        Ok(())
    }

    /// Answers every call that has no result yet. How many there were.
    pub fn close_calls(&mut self, words: &str) -> Result<usize, SessionError> {
        let open = self.open_calls();
        let results = open.iter().map(|call| {
            let content = ResultContent::Text(words.to_owned());
            let result = ToolResult { call: call.id.clone(), kind: call.kind, content, is_error: Some(true) };
            Block::from(Body::ToolResult(result))
        });
        let blocks: Vec<Block> = results.collect();
        if !blocks.is_empty() {
            self.record_results(blocks)?;
        }
        Ok(open.len())
    }

    /// Records results of an answer's calls, as they come. Those of one answer are one message for the provider, which wants them
    /// together.
    pub fn record_results(&mut self, results: Vec<Block>) -> Result<MessageId, SessionError> {
        let entries = self.pipeline.view().entries();
        let answer = entries.iter().rfind(|entry| entry.message.role == Role::Assistant);
        let group = answer.map(|entry| GroupId::new(format!("results:{}", entry.message.id)));
        self.record(Message { group, ..Message::new(Role::User, results) })
    }

    /// Calls that have no result yet, in order.
    pub fn open_calls(&self) -> Vec<ToolCall> {
        let entries = self.pipeline.view().entries();
        // Whatever has an answer of the model behind it is closed.
        let from = entries.iter().rposition(|entry| entry.message.is_real_user()).unwrap_or(0);
        let answered: Vec<_> = entries[from..]
            .iter()
            .flat_map(|entry| entry.message.results())
            .map(|result| &result.call)
            .collect();
        let calls = entries[from..].iter().flat_map(|entry| entry.message.calls());
        calls
            .filter(|call| call.kind.needs_result() && !answered.contains(&&call.id))
            .filter(|call| call.kind != CallKind::Hosted)
            .cloned()
            .collect()
    }
}
