use crate::{Block, Body, GroupId, MessageId, Shape, ToolCall, ToolResult};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The person, or the client on their behalf.
    User,
    /// The model.
    Assistant,
    /// Instructions from whoever runs the model.
    System,
    /// Instructions from the application (OpenAI's name for most system messages).
    Developer,
    /// A tool, on wires where results are messages of their own.
    Tool,
}

/// What is known about a message beyond its words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Flags {
    /// Written by the client, not by a person.
    #[serde(skip_serializing_if = "is_false")]
    pub meta: bool,
    /// Known to be typed by a person: never taken for scaffold, even where it imitates a tag.
    #[serde(skip_serializing_if = "is_false")]
    pub typed: bool,
    /// A summary that replaced history.
    #[serde(skip_serializing_if = "is_false")]
    pub summary: bool,
    /// For people only: no model is sent it.
    #[serde(skip_serializing_if = "is_false")]
    pub display_only: bool,
    /// An error that the client shows as an answer.
    #[serde(skip_serializing_if = "is_false")]
    pub error: bool,
}

impl Flags {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

fn is_false(b: &bool) -> bool {
    !b
}

/// One message, or one record of it: clients that write a record per block give the records of one answer
/// the same [`group`](Message::group), and the wire encoders join them again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Stable for ever.
    pub id: MessageId,
    /// The message before this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<MessageId>,
    /// When it was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// Who speaks.
    pub role: Role,
    /// The API message this belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupId>,
    /// What is known beyond the words.
    #[serde(default, skip_serializing_if = "Flags::is_default")]
    pub flags: Flags,
    /// The content, in order.
    pub blocks: Vec<Block>,
    /// On the wire the content was not a list of blocks but its one block, bare: a plain string, or a Responses item
    /// that is no `message`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub bare: bool,
    /// How the message object looked on the wire, where that differs from our canonical form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<Shape>,
}

impl Message {
    /// A message with a fresh id.
    pub fn new(role: Role, blocks: Vec<Block>) -> Self {
        Self {
            id: MessageId::fresh(),
            parent: None,
            at: None,
            role,
            group: None,
            flags: Flags::default(),
            blocks,
            bare: false,
            shape: None,
        }
    }

    /// A message of one text block.
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        Self::new(role, vec![Block::text(text)])
    }

    /// Returns true if a person, or whoever speaks in their place, said this: the one definition, used for turns, snips,
    /// rollbacks, notes and memory. See [`classify`](crate::classify).
    ///
    /// True for user messages that hold at least one text or picture which is neither a tool result nor something that a client
    /// put there, and that are not marked as client-made.
    pub fn is_real_user(&self) -> bool {
        if self.role != Role::User || self.flags.meta || self.flags.summary || self.flags.display_only {
            return false;
        }
        let is_media = |block: &Block| match &block.body {
            Body::Image(_) | Body::Document(_) => true,
            Body::Text(_)
            | Body::Reasoning { .. }
            | Body::ToolCall(_)
            | Body::ToolResult(_)
            | Body::Unknown(_) => false,
        };
        self.blocks.iter().any(is_media) || crate::classify::holds_person_text(self)
    }

    /// The words a person said, what the client put there left out; empty unless [`is_real_user`](Self::is_real_user).
    pub fn user_words(&self) -> String {
        if self.role != Role::User || self.flags.meta || self.flags.summary || self.flags.display_only {
            return String::new();
        }
        crate::classify::person_text(self).unwrap_or_default()
    }

    /// The tool calls made here.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.blocks.iter().filter_map(|block| match &block.body {
            Body::ToolCall(call) => Some(call),
            Body::Text(_)
            | Body::Reasoning { .. }
            | Body::ToolResult(_)
            | Body::Image(_)
            | Body::Document(_)
            | Body::Unknown(_) => None,
        })
    }

    /// The tool results given here.
    pub fn results(&self) -> impl Iterator<Item = &ToolResult> {
        self.blocks.iter().filter_map(|block| match &block.body {
            Body::ToolResult(result) => Some(result),
            Body::Text(_)
            | Body::Reasoning { .. }
            | Body::ToolCall(_)
            | Body::Image(_)
            | Body::Document(_)
            | Body::Unknown(_) => None,
        })
    }

    /// All legible text, blocks joined by newlines; see [`text_of`](Self::text_of).
    pub fn to_text(&self) -> String {
        let texts = self.blocks.iter().map(|block| self.text_of(block));
        texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
    }

    /// The legible text of one of its blocks. What an answer cites is none of its words.
    pub fn text_of<'a>(&self, block: &'a Block) -> std::borrow::Cow<'a, str> {
        match &block.body {
            Body::Text(text) if self.role == Role::Assistant => crate::citation::strip(text),
            Body::Text(_)
            | Body::Reasoning { .. }
            | Body::ToolCall(_)
            | Body::ToolResult(_)
            | Body::Image(_)
            | Body::Document(_)
            | Body::Unknown(_) => block.to_text(),
        }
    }
}
