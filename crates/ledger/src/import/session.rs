//! One session while it is being imported.

use super::outcome::{Facts, Lane, Output};
use super::scratch::Scratch;
use super::shadow::{Id, Kind, NONE, Node, Shadow};
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use throughline_core::{
    Block, Body, Checkpoint, ClientSession, Edit, EditId, Event, Item, Message, MessageId, Meta, Op, Origin,
    Record, Stage,
};

/// Characters of the first prompt that a card shows.
const PROMPT: usize = 200;
/// Bytes of an unreadable line that are kept.
const UNREADABLE: usize = 1 << 20;
/// Unreadable lines that are held while the session is not yet known.
const HELD: usize = 16;

/// Records of one lane, with the memory that the next ones need.
#[derive(Debug, Default)]
pub(super) struct Session {
    pub(super) facts: Facts,
    pub(super) view: Shadow,
    pub(super) client_version: Option<String>,
    /// What else the first line shall say.
    pub(super) extra: Map<String, Value>,
    opened: bool,
    held: Vec<Event>,
    /// The id of the message remembered last, which the next one mostly names as its parent.
    newest: Option<(u32, MessageId)>,
}

impl Session {
    pub(super) fn new(scratch: &Scratch) -> Self {
        Self { view: Shadow::new(scratch), ..Self::default() }
    }

    /// Puts a record out, behind the session's first line.
    pub(super) fn emit(&mut self, lane: Lane, record: Record, out: &mut Vec<Output>) {
        if !self.opened {
            let Some(id) = self.facts.session.clone() else { return };
            self.opened = true;
            let created = self.facts.created.unwrap_or_default();
            let mut meta = Meta::new(id, created, self.facts.client);
            meta.cwd = self.facts.cwd.clone();
            meta.client_version = self.client_version.clone();
            meta.parent_session = self.facts.parent_session.clone();
            meta.client_session = Some(ClientSession::of_transcript(self.facts.client, &meta.id));
            meta.extra = std::mem::take(&mut self.extra);
            out.push(Output::Record { lane, record: Record::Meta(Box::new(meta)) });
            for event in self.held.drain(..) {
                out.push(Output::Record { lane, record: Record::Event(Box::new(event)) });
            }
        }
        out.push(Output::Record { lane, record });
    }

    /// Bytes held for what is remembered of messages.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        // All else is of one size, or has a limit.
        let Self { facts: _, view, client_version: _, extra: _, opened: _, held: _, newest: _ } = self;
        view.held()
    }

    /// Whether its first line is out.
    pub(super) fn is_open(&self) -> bool {
        self.opened
    }

    /// Keeps what is left of a line that can't be read. Before the session is known only the first few are held.
    pub(super) fn unreadable(&mut self, lane: Lane, line: Unreadable<'_>, out: &mut Vec<Output>) {
        let kept = &line.text[..line.text.len().min(UNREADABLE)];
        let mut data = json!({"line": line.number, "reason": line.reason});
        if !kept.is_empty() {
            data["text"] = String::from_utf8_lossy(kept).into();
        }
        if (kept.len() as u64) < line.bytes {
            data["bytes"] = line.bytes.into();
        }
        let event = Event { at: None, name: "unreadable_line".to_owned(), data };
        if self.opened {
            self.emit(lane, Record::Event(Box::new(event)), out);
        } else if self.held.len() < HELD {
            self.held.push(event);
        }
    }

    pub(super) fn seen_at(&mut self, at: Option<Timestamp>) {
        if let Some(at) = at {
            self.facts.created.get_or_insert(at);
            self.facts.updated = self.facts.updated.max(Some(at));
        }
    }

    /// Remembers a message and counts it.
    pub(super) fn remember(&mut self, message: &Message, id: Id, parent: u32, group: u64) -> u32 {
        let real = message.is_real_user();
        let chars = if real { words(message).map(|t| t.chars().count()).sum::<usize>() } else { 0 };
        self.facts.messages += 1;
        if real {
            self.facts.turns += 1;
            if self.facts.prompt.is_none() {
                let words = message.user_words();
                self.facts.prompt = (!words.trim().is_empty()).then(|| shorten(&words, PROMPT));
            }
        }
        self.seen_at(message.at);
        let kind = if message.flags.display_only {
            Kind::Hidden
        } else if message.results().next().is_some() {
            Kind::Result
        } else if real {
            Kind::RealUser
        } else {
            Kind::Other
        };
        let chars = chars.min(u32::MAX as usize) as u32;
        let node = self.view.add(&id, Node { parent, entry: NONE, chars, group, kind });
        self.newest = Some((node, message.id.clone()));
        node
    }

    pub(super) fn id_of(&self, message: u32) -> Option<MessageId> {
        match &self.newest {
            Some((newest, id)) if *newest == message => Some(id.clone()),
            Some(_) | None => self.view.id(message).map(|id| id.to_message_id()),
        }
    }

    /// How a checkpoint names a message; the driver fills in where it is.
    pub(super) fn keep(&self, message: u32) -> Option<Item> {
        let id = self.id_of(message)?;
        Some(Item::Keep { id, origin: Origin::default(), overlays: Vec::new(), pinned: None })
    }

    /// An edit by the client whose session this is.
    pub(super) fn edit(&mut self, lane: Lane, edit: ImportEdit<'_>, out: &mut Vec<Output>) {
        let edit = Edit {
            id: EditId::new(edit.id),
            at: edit.at,
            stage: Stage::Import,
            reason: edit.reason.to_owned(),
            freed: None,
            ops: edit.ops,
        };
        self.emit(lane, Record::Edit(Box::new(edit)), out);
    }

    pub(super) fn rewind(&mut self, lane: Lane, edit: RewindBy<'_>, out: &mut Vec<Output>) {
        let mut ops: Vec<Op> = edit.undo.into_iter().map(|edit| Op::Undo { edit }).collect();
        ops.push(Op::Rewind { to: edit.to.and_then(|m| self.id_of(m)) });
        self.view.rewind(edit.to);
        self.view.turned_by(EditId::new(edit.id.as_str()));
        self.edit(lane, ImportEdit { id: edit.id, at: edit.at, reason: edit.reason, ops }, out);
    }

    pub(super) fn checkpoint(&mut self, lane: Lane, checkpoint: Checkpoint, out: &mut Vec<Output>) {
        self.view.turned_by(checkpoint.id.clone());
        self.emit(lane, Record::Checkpoint(Box::new(checkpoint)), out);
    }
}

/// A line that can't be read, and as much of it as is there.
pub(super) struct Unreadable<'a> {
    pub(super) number: u64,
    pub(super) text: &'a [u8],
    /// Its whole length.
    pub(super) bytes: u64,
    pub(super) reason: &'a str,
}

impl<'a> Unreadable<'a> {
    pub(super) fn new(number: u64, text: &'a [u8], reason: &'a str) -> Self {
        Self { number, text, bytes: text.len() as u64, reason }
    }

    pub(super) fn too_long(number: u64, bytes: u64) -> Self {
        Self { number, text: &[], bytes, reason: "longer than any line that is read" }
    }
}

/// Something that no model is told.
pub(super) fn happened(at: Option<Timestamp>, name: &str, data: Value) -> Record {
    Record::Event(Box::new(Event { at, name: name.to_owned(), data }))
}

/// Who made an edit, when and why.
pub(super) struct ImportEdit<'a> {
    pub(super) id: String,
    pub(super) at: Option<Timestamp>,
    pub(super) reason: &'a str,
    pub(super) ops: Vec<Op>,
}

/// As [`ImportEdit`], for going back.
pub(super) struct RewindBy<'a> {
    /// The last message to keep.
    pub(super) to: Option<u32>,
    /// What is undone first.
    pub(super) undo: Vec<EditId>,
    pub(super) id: String,
    pub(super) at: Option<Timestamp>,
    pub(super) reason: &'a str,
}

fn words(message: &Message) -> impl Iterator<Item = &str> {
    message.blocks.iter().filter_map(|block: &Block| match &block.body {
        Body::Text(text) => Some(text.as_str()),
        Body::Reasoning { .. }
        | Body::ToolCall(_)
        | Body::ToolResult(_)
        | Body::Image(_)
        | Body::Document(_)
        | Body::Unknown(_) => None,
    })
}

/// The first line's beginning, cut between characters.
pub(super) fn shorten(text: &str, limit: usize) -> String {
    let text = text.trim();
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", text[..at].trim_end()),
    }
}

/// A point in time as clients write it.
pub(super) fn timestamp(text: Option<&str>) -> Option<Timestamp> {
    text?.parse().ok()
}
