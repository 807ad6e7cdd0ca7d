//! What a change did, as text: before and after.

use super::Story;
use super::change::{Change, What};
use serde::Serialize;
use throughline_core::text::middle_cut;
use throughline_core::{Body, Item, Message, MessageId, Op, Role};

/// A place that a change touched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Passage {
    /// Whose words they were.
    pub(crate) who: String,
    pub(crate) before: String,
    /// What stands there; `None`: nothing does.
    pub(crate) after: Option<String>,
}

/// How much of a change is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Length {
    /// Places.
    pub(crate) passages: usize,
    /// Bytes of each text.
    pub(crate) bytes: usize,
}

impl Length {
    /// In a list of changes.
    pub(crate) const LISTED: Self = Self { passages: 3, bytes: 1_500 };
    /// On a page of its own.
    pub(crate) const ALONE: Self = Self { passages: 100, bytes: 64 << 10 };
}

impl Story {
    /// What a change did, as far as `length` allows, and how many places it touched in all.
    pub(crate) fn passages(&self, change: &Change, length: Length) -> (Vec<Passage>, usize) {
        let mut told = Told { story: self, length, passages: Vec::new(), all: 0 };
        match &change.what {
            What::Edit(edit) => edit.ops.iter().for_each(|op| told.op(op)),
            What::Checkpoint(checkpoint) => {
                let new = checkpoint.items.iter().filter_map(|item| match item {
                    Item::New(message) => Some(&**message),
                    Item::Keep { .. } => None,
                });
                let after: Vec<String> = new.map(words).collect();
                told.span(&change.took, after.join("\n\n"));
            }
        }
        (told.passages, told.all)
    }
}

struct Told<'a> {
    story: &'a Story,
    length: Length,
    passages: Vec<Passage>,
    all: usize,
}

impl Told<'_> {
    fn op(&mut self, op: &Op) {
        match op {
            Op::Replace { message, block, with } => {
                let Some(message) = self.story.messages.get(message) else { return };
                let before = message.blocks.get(*block).map(|block| block.to_text().into_owned());
                let after = with.to_text().into_owned();
                self.add(self.who(message), before.unwrap_or_default(), Some(after));
            }
            Op::Remove { messages } => {
                for message in messages.iter().filter_map(|id| self.story.messages.get(id)) {
                    self.add(self.who(message), words(message), None);
                }
            }
            Op::Fold { first, last, with } => {
                let at = |id| self.story.order.iter().position(|other| other == id);
                let (Some(from), Some(to)) = (at(first), at(last)) else { return };
                let span = self.story.order.get(from..=to).unwrap_or_default();
                self.span(span, words(with));
            }
            Op::Rewind { .. } | Op::Pin { .. } | Op::Unpin { .. } | Op::Undo { .. } => {}
        }
    }

    /// Many messages for which one text stands.
    fn span(&mut self, span: &[MessageId], after: String) {
        let mut before = String::new();
        for message in span.iter().filter_map(|id| self.story.messages.get(id)) {
            if before.len() > self.length.bytes {
                break;
            }
            before.push_str(&format!("{}: {}\n", self.who(message), words(message)));
        }
        let who = match span.len() {
            0 => "the conversation".to_owned(),
            1 => "1 message".to_owned(),
            many => format!("{many} messages"),
        };
        self.add(who, before, Some(after));
    }

    fn add(&mut self, who: String, before: String, after: Option<String>) {
        self.all += 1;
        if self.passages.len() < self.length.passages {
            let cut = |text: String| middle_cut(&text, self.length.bytes);
            self.passages.push(Passage { who, before: cut(before), after: after.map(cut) });
        }
    }

    fn who(&self, message: &Message) -> String {
        self.story.who(message)
    }
}

impl Story {
    /// Whose words a message is.
    pub(crate) fn who(&self, message: &Message) -> String {
        if message.flags.summary {
            return "summary".to_owned();
        }
        if message.flags.meta {
            return "told by Throughline".to_owned();
        }
        if let Some(result) = message.results().next() {
            return match self.tool_of(message, &result.call) {
                Some(name) => format!("result of {name}"),
                None => "tool result".to_owned(),
            };
        }
        if let Some(call) = message.calls().next() {
            return format!("model → {}", call.name);
        }
        match message.role {
            Role::User if message.is_real_user() => "user",
            Role::User => "client",
            Role::Assistant => "model",
            Role::System | Role::Developer => "system",
            Role::Tool => "tool",
        }
        .to_owned()
    }

    /// The tool whose result this is: the call stands a few messages before it.
    fn tool_of(&self, message: &Message, call: &throughline_core::CallId) -> Option<String> {
        const NEAR: usize = 16;
        let mut at = message.parent.as_ref();
        for _ in 0..NEAR {
            let before = self.messages.get(at?)?;
            if let Some(call) = before.calls().find(|made| made.id == *call) {
                return Some(call.name.clone());
            }
            at = before.parent.as_ref();
        }
        None
    }
}

/// A message as text, with what has no words named.
pub(crate) fn words(message: &Message) -> String {
    let parts: Vec<String> = message
        .blocks
        .iter()
        .map(|block| match &block.body {
            Body::Text(text) => text.clone(),
            Body::Reasoning { text, .. } if text.is_empty() => "[reasoning]".to_owned(),
            Body::Reasoning { text, .. } => text.clone(),
            Body::ToolCall(call) => format!("{} {}", call.name, call.input.to_text()),
            Body::ToolResult(result) => result.content.to_text().into_owned(),
            Body::Image(_) => "[picture]".to_owned(),
            Body::Document(_) => "[document]".to_owned(),
            Body::Unknown(value) => value.to_string(),
        })
        .collect();
    parts.join("\n")
}
