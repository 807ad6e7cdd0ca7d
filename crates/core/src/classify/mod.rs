//! Who asked for what: every text that the model did not write, split into parts and classified.
//!
//! [`classify`] is the one answer in the code base to "did the person type this?". It goes by the message's role and flags, by the
//! tags that clients wrap text in (`data/classify/tags.tsv`; unknown tags by their name and the shape of their content), and by the
//! shape of the text: a pasted log, document or review is material, the words before or behind it are the request.
//! [`typed_sentences`] gives the sentences that a person surely typed, [`SentenceKind`] tells what a sentence does.
//!
//! ```
//! use throughline_core::classify::{PartKind, classify};
//! use throughline_core::{Message, Role};
//!
//! let text = "why does this fail?\n\n```\nerror[E0308]: mismatched types\n  --> src/main.rs:3:5\n```\n";
//! let message = Message::text(Role::User, text);
//! let kinds: Vec<PartKind> = classify(&message).iter().map(|part| part.kind).collect();
//! assert_eq!(kinds, [PartKind::TypedRequest, PartKind::PastedMaterial]);
//! ```

mod ask;
mod document;
mod elements;
mod hidden;
mod lines;
mod paste;
mod person;
mod sentence;
mod spans;
mod table;
#[cfg(test)]
mod tests;
mod typed;
mod voice;

pub use ask::{Ask, Author, Directive, DirectiveKind, Override, directives, sentences};
pub use elements::Lifetime;
pub use hidden::{has_hidden, has_mixed_word};
pub(crate) use person::{holds_person_text, person_text};
pub use sentence::{SentenceKind, plain, split_sentences, without_bullet, without_lead, without_quotes};
pub use typed::{Joint, TypedSentence, typed_sentences};

use crate::{Body, Message, Role};
pub(crate) use spans::said_behind_result;
use spans::{Span, command_file_spans, is_file_text, spans};
use std::ops::Range;

/// What a part of a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PartKind {
    /// Words that the person wrote for this session.
    TypedRequest,
    /// Text in the person's message that they copied from elsewhere.
    PastedMaterial,
    /// A task or message given by another agent.
    AgentTask,
    /// Text that the client program wrote: notices, notifications, hook output.
    Harness,
    /// Output of a command that the person ran inside the client.
    LocalCommandOutput,
    /// Instructions that the client loaded: project files, skills, expanded commands.
    InstructionFile,
    /// The client's reminders and state: environment, permissions, lists of tools, skills and agents.
    Reminder,
    /// The result of a tool call.
    ToolResult,
}

impl PartKind {
    /// Every kind, in order.
    pub const ALL: [Self; 8] = [
        Self::TypedRequest,
        Self::PastedMaterial,
        Self::AgentTask,
        Self::Harness,
        Self::LocalCommandOutput,
        Self::InstructionFile,
        Self::Reminder,
        Self::ToolResult,
    ];

    /// The word that data files and reports use.
    pub fn name(self) -> &'static str {
        match self {
            Self::TypedRequest => "typed_request",
            Self::PastedMaterial => "pasted_material",
            Self::AgentTask => "agent_task",
            Self::Harness => "harness",
            Self::LocalCommandOutput => "local_command_output",
            Self::InstructionFile => "instruction_file",
            Self::Reminder => "reminder",
            Self::ToolResult => "tool_result",
        }
    }

    /// Returns true for what asks the model for work.
    pub fn is_ask(self) -> bool {
        match self {
            Self::TypedRequest | Self::AgentTask => true,
            Self::PastedMaterial
            | Self::Harness
            | Self::LocalCommandOutput
            | Self::InstructionFile
            | Self::Reminder
            | Self::ToolResult => false,
        }
    }

    /// Returns true for what tells the model how its world is: rules, environment, tools.
    pub fn is_instruction(self) -> bool {
        match self {
            Self::InstructionFile | Self::Reminder => true,
            Self::TypedRequest
            | Self::PastedMaterial
            | Self::AgentTask
            | Self::Harness
            | Self::LocalCommandOutput
            | Self::ToolResult => false,
        }
    }

    fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// A part of a message: bytes of one of its blocks. The parts of a text block cover it without gaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The block.
    pub block: usize,
    /// Bytes of the block's text; empty for a block that is not text.
    pub range: Range<usize>,
    /// What it is.
    pub kind: PartKind,
    /// How long it holds.
    pub lifetime: Lifetime,
}

impl Part {
    /// The part's text.
    pub fn text<'a>(&self, message: &'a Message) -> &'a str {
        match message.blocks.get(self.block).map(|block| &block.body) {
            Some(Body::Text(text)) => text.get(self.range.clone()).unwrap_or_default(),
            Some(
                Body::Reasoning { .. }
                | Body::ToolCall(_)
                | Body::ToolResult(_)
                | Body::Image(_)
                | Body::Document(_)
                | Body::Unknown(_),
            )
            | None => "",
        }
    }
}

/// The parts of a message that the model did not write; none for the model's own messages.
pub fn classify(message: &Message) -> Vec<Part> {
    if message.role == Role::Assistant {
        return Vec::new();
    }
    let mut parts = Vec::new();
    let mut documents = Vec::new();
    let mut command: Option<&str> = None;
    for (block, body) in message.blocks.iter().map(|block| &block.body).enumerate() {
        match body {
            Body::Text(text) => {
                let spans = match command.filter(|_| !message.flags.typed && is_file_text(text)) {
                    Some(command) => command_file_spans(text, elements::command_arguments(command)),
                    None => spans(message, text),
                };
                command = Some(text.as_str()).filter(|text| elements::is_command(text));
                for Span { range, kind, lifetime, is_document } in spans {
                    if is_document {
                        documents.push(parts.len());
                    }
                    parts.push(Part { block, range, kind, lifetime });
                }
            }
            Body::ToolResult(_) => {
                let (kind, lifetime) = (PartKind::ToolResult, Lifetime::Once);
                parts.push(Part { block, range: 0..0, kind, lifetime });
            }
            Body::Reasoning { .. }
            | Body::ToolCall(_)
            | Body::Image(_)
            | Body::Document(_)
            | Body::Unknown(_) => {}
        }
    }
    // A document beside a request is what the request is about.
    let is_asked = |at: usize, part: &Part| part.kind == PartKind::TypedRequest && !documents.contains(&at);
    if documents.len() == 1 && parts.iter().enumerate().any(|(at, part)| is_asked(at, part)) {
        documents.iter().for_each(|at| parts[*at].kind = PartKind::PastedMaterial);
    }
    parts
}

/// Returns true for a client's text that a newer one of the same subject replaces: the date, the tokens left, the state of git.
pub(crate) fn is_snapshot(text: &str) -> bool {
    table::is_in("snapshot", text)
}

/// Returns true for a change of a list: it holds beside the list and all other changes.
pub(crate) fn is_delta(text: &str) -> bool {
    table::is_in("delta", text)
}

/// Returns true for a notice that clients are known to write: it is true at its place only, whatever its role.
pub(crate) fn is_notice(text: &str) -> bool {
    text.trim_start().starts_with('<') || table::is_in("lead_harness", text)
}
