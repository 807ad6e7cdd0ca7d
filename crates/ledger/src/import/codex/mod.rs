//! Codex rollouts: `sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl`, old and new forms.
//!
//! - Items are messages, in file order. An item's own `id` is the message's where it has a unique one; else the id is
//!   made from what it says and when, `c<hash>`: wherever it stands in the file, it is the same.
//! - Events repeat items and are skipped, except where a rollout has no items at all.
//! - A rollback is an edit that goes back before the last turns; a compaction is a checkpoint that keeps by id what is
//!   in the ledger already.
//! - A fork that holds no copy of its parent's history goes on where the parent was: [`CodexImporter::forked`].

mod compact;
mod content;
mod event;
mod line;
mod meta;

use super::mend::mend;
use super::outcome::{Facts, Importer, Lane, LineOutcome, Output};
use super::scratch::{Paged, Scratch, Table};
use super::session::{Session, Unreadable, happened, shorten, timestamp};
use super::shadow::{Id, NONE, key};
use content::{Mixer, hash_of};
use jiff::Timestamp;
use line::{Line, Payload};
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::hash::Hasher;
use throughline_core::{Block, Item, Message, MessageId, Record, Role, SessionId, Turn};
use throughline_wire::responses;

/// The client's name in the ledger.
pub(super) const CLIENT: &str = "codex";

/// What a file's name tells.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The session, for files that do not say.
    pub session: Option<SessionId>,
}

/// Turns the lines of a rollout into records.
#[derive(Debug, Default)]
pub struct CodexImporter {
    options: Options,
    scratch: Scratch,
    line: u64,
    session: Session,
    /// The rollout's own first line has been seen.
    own_meta: bool,
    /// Ids that items came with.
    ids: Table,
    /// Ids that were made, by their hash: how often.
    made: Table,
    mended: u64,
    /// What each message says, hashed, by its number.
    contents: Paged<u64>,
    /// The kind of message by which the rollout tells what was said.
    told_by: ToldBy,
    window: Option<u64>,
    /// The thread's tokens when usage was last recorded.
    last_total: Option<u64>,
    /// Messages up to these numbers belong to these sessions, from which this one was forked.
    inherited: Vec<(u32, SessionId)>,
}

#[derive(Clone, Debug, Default)]
enum ToldBy {
    /// Nothing was said yet.
    #[default]
    Unknown,
    /// Events only so far; what they said, hashed.
    Events(HashSet<u128>),
    Items,
}

impl Importer for CodexImporter {
    fn line(&mut self, line: &[u8], out: &mut Vec<Output>) -> LineOutcome {
        self.line += 1;
        if line.trim_ascii().is_empty() {
            return LineOutcome::Skipped("blank line".into());
        }
        match serde_json::from_slice::<Line<'_>>(line) {
            Ok(parsed) => self.read(parsed, line, out),
            Err(error) => {
                let mended = mend(line);
                match mended.as_deref().and_then(|line| Some((serde_json::from_slice(line).ok()?, line))) {
                    Some((parsed, line)) => {
                        self.mended += 1;
                        self.read(parsed, line, out)
                    }
                    None => self.unreadable(line, &error.to_string(), out),
                }
            }
        }
    }

    fn mended(&self) -> u64 {
        self.mended
    }

    fn too_long(&mut self, bytes: u64, out: &mut Vec<Output>) -> LineOutcome {
        self.line += 1;
        self.session.unreadable(Lane::MAIN, Unreadable::too_long(self.line, bytes), out);
        LineOutcome::Unreadable(format!("line of {bytes} bytes"))
    }

    fn facts(&self, lane: Lane) -> Option<Facts> {
        (lane == Lane::MAIN && self.session.facts.session.is_some()).then(|| self.session.facts.clone())
    }
}

/// What a line says about itself.
struct At<'a> {
    time: Option<Timestamp>,
    raw: &'a [u8],
}

impl CodexImporter {
    /// An importer for a file whose name tells this.
    pub fn new(options: Options) -> Self {
        Self::remembering_in(options, &Scratch::default())
    }

    /// An importer that holds what is recent and remembers the rest elsewhere.
    pub(super) fn remembering_in(options: Options, scratch: &Scratch) -> Self {
        let mut importer = Self {
            options,
            scratch: scratch.clone(),
            session: Session::new(scratch),
            ids: Table::new(scratch),
            made: Table::new(scratch),
            contents: Paged::new(scratch),
            ..Self::default()
        };
        importer.session.facts.client = CLIENT;
        importer
    }

    /// Where it remembers the rest.
    pub(super) fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    /// Bytes held for what is remembered of messages.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        // All else is of one size, or has a limit.
        let Self { options: _, scratch: _, line: _, session, own_meta: _, ids, made, mended: _, .. } = self;
        let Self { contents, told_by: _, window: _, last_total: _, inherited: _, .. } = self;
        session.held() + ids.held() + made.held() + contents.held()
    }

    /// An importer for a fork that goes on where `self`, which has read its parent so far, stands.
    #[must_use]
    pub fn forked(mut self, options: Options) -> Self {
        if let Some(parent) = self.session.facts.session.take() {
            self.inherited.push((self.session.view.len(), parent));
        }
        let mut fork = Self::remembering_in(options, &self.scratch);
        fork.session.view = self.session.view;
        fork.ids = self.ids;
        fork.made = self.made;
        fork.contents = self.contents;
        fork.inherited = self.inherited;
        fork.window = self.window;
        fork.told_by = self.told_by;
        fork
    }

    /// The last message of the view.
    pub fn tip(&self) -> Option<MessageId> {
        self.session.view.tip().and_then(|tip| self.session.id_of(tip))
    }

    /// The ordinal of a line, without reading the rest.
    pub fn ordinal_of(line: &[u8]) -> Option<u64> {
        #[derive(serde::Deserialize, Default)]
        #[serde(default)]
        struct Head {
            ordinal: super::lenient::Number,
        }
        serde_json::from_slice::<Head>(line).ok().and_then(|head| head.ordinal.0)
    }

    fn unreadable(&mut self, line: &[u8], why: &str, out: &mut Vec<Output>) -> LineOutcome {
        self.session.unreadable(Lane::MAIN, Unreadable::new(self.line, line, why), out);
        LineOutcome::Unreadable(why.to_owned())
    }

    fn read(&mut self, line: Line<'_>, raw: &[u8], out: &mut Vec<Output>) -> LineOutcome {
        let at = At { time: timestamp(line.timestamp.get()), raw };
        let kind = line.r#type.or_empty();
        match (kind, line.payload) {
            (_, Payload::Absent) => self.bare_line(raw, out),
            ("session_meta", Payload::Value(Value::Object(payload))) => self.meta(payload, &at, out),
            ("response_item", Payload::Value(item)) => self.item(item, &at, out),
            ("turn_context", Payload::Value(Value::Object(payload))) => self.turn(payload, &at, out),
            ("compacted", Payload::Value(Value::Object(payload))) => self.compacted(payload, &at, out),
            ("token_usage_record", Payload::Value(payload)) => self.usage_record(&payload, &at, out),
            ("inter_agent_communication", Payload::Value(payload)) => {
                self.identify(&at);
                let data = json!({"line": self.line, "payload": payload});
                self.session.emit(Lane::MAIN, happened(at.time, kind, data), out);
                LineOutcome::Imported
            }
            (_, Payload::Event(event)) => self.event(&event, &at, out),
            ("", _) => LineOutcome::Skipped("no type".into()),
            (kind, Payload::Unread | Payload::Value(_)) => LineOutcome::Skipped(shorten(kind, 40).into()),
        }
    }

    /// The oldest rollouts: a first line of the session, then bare items.
    fn bare_line(&mut self, raw: &[u8], out: &mut Vec<Output>) -> LineOutcome {
        let Ok(Value::Object(object)) = serde_json::from_slice::<Value>(raw) else {
            return self.unreadable(raw, "not an object", out);
        };
        let time = timestamp(object.get("timestamp").and_then(Value::as_str));
        let at = At { time, raw };
        match object.get("type").and_then(Value::as_str) {
            Some(_) => self.item(Value::Object(object), &at, out),
            None if object.contains_key("record_type") => LineOutcome::Skipped("record_type".into()),
            None if object.contains_key("id") => self.meta(object, &at, out),
            None => LineOutcome::Skipped("no type".into()),
        }
    }

    /// Something was said, or called, or answered.
    fn item(&mut self, item: Value, at: &At<'_>, out: &mut Vec<Output>) -> LineOutcome {
        let kind = item.get("type").and_then(Value::as_str).unwrap_or_default();
        if matches!(kind, "ghost_snapshot" | "compaction_trigger" | "other") {
            return LineOutcome::Skipped(format!("item: {kind}").into());
        }
        if kind == "reasoning" && is_empty_reasoning(&item) {
            return LineOutcome::Skipped("empty reasoning".into());
        }
        let own_id = item.get("id").and_then(Value::as_str).filter(|id| !id.is_empty()).map(str::to_owned);
        let mut message = responses::decode_item(item);
        if message.blocks.iter().all(Block::is_empty) {
            return LineOutcome::Skipped("empty item".into());
        }
        let content = hash_of(&message);
        if let ToldBy::Events(said) = &self.told_by
            && said.contains(&text_hash(message.role, &message.to_text()))
        {
            return LineOutcome::Skipped("repeats an event".into());
        }
        self.told_by = ToldBy::Items;
        let id = self.fresh_id(own_id.as_deref(), content, at);
        message.at = at.time;
        self.say(message, id, content, at, out);
        LineOutcome::Imported
    }

    fn say(&mut self, mut message: Message, id: Id, content: u64, at: &At<'_>, out: &mut Vec<Output>) {
        self.identify(at);
        message.id = id.to_message_id();
        let parent = self.session.view.tip().unwrap_or(NONE);
        message.parent = self.session.id_of(parent);
        let node = self.session.remember(&message, id, parent, 0);
        self.contents.push(content);
        let hidden = message.flags.display_only;
        self.session.emit(Lane::MAIN, Record::Message(Box::new(message)), out);
        if !hidden {
            self.session.view.push(node);
        }
    }

    /// The item's own id where no other message has it, else one made from what it says.
    fn fresh_id(&mut self, own: Option<&str>, content: u64, at: &At<'_>) -> Id {
        if let Some(own) = own
            && self.take_id(own)
        {
            return Id::new(own);
        }
        let mut hasher = Mixer::default();
        hasher.write_u64(content);
        hasher.write(&at.time.map_or(0, Timestamp::as_nanosecond).to_le_bytes());
        self.make_id(hasher.finish())
    }

    fn make_id(&mut self, hash: u64) -> Id {
        let repeat = self.made.get(hash.into()).unwrap_or(0) as u32;
        self.made.put(hash.into(), repeat.saturating_add(1).into());
        Id::Made { hash, repeat }
    }

    /// An id for what a whole line says.
    fn line_id(&mut self, at: &At<'_>) -> MessageId {
        self.make_id(line_hash(at.raw)).to_message_id()
    }

    /// Whether no other message has this id, nor can get it from what it says.
    fn take_id(&mut self, own: &str) -> bool {
        let hex = |b: &u8| b.is_ascii_digit() || (b'a'..=b'f').contains(b);
        let as_if_made =
            own.strip_prefix('c').is_some_and(|rest| rest.bytes().take(16).filter(hex).count() == 16);
        let is_free = !as_if_made && self.ids.get(key(own)).is_none();
        if is_free {
            self.ids.put(key(own), 0);
        }
        is_free
    }

    fn turn(&mut self, mut payload: Map<String, Value>, at: &At<'_>, out: &mut Vec<Output>) -> LineOutcome {
        self.identify(at);
        let mut text = |name: &str| match payload.shift_remove(name) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        let (cwd, model) = (text("cwd"), text("model"));
        let facts = &mut self.session.facts;
        facts.cwd = cwd.clone().or(facts.cwd.take());
        facts.model = model.clone().or(facts.model.take());
        let turn = Turn { at: at.time, cwd, model, window: self.window, extra: payload };
        self.session.emit(Lane::MAIN, Record::Turn(Box::new(turn)), out);
        LineOutcome::Imported
    }

    /// How a checkpoint names a message: with its session, where that is a parent of this one.
    fn keep(&self, message: u32) -> Option<Item> {
        let mut item = self.session.keep(message)?;
        if let Item::Keep { origin, .. } = &mut item {
            let owner = self.inherited.iter().find(|(until, _)| message < *until);
            origin.session = owner.map(|(_, session)| session.clone());
        }
        Some(item)
    }
}

/// Neither words nor a sealed payload: there is nothing to keep or to send back.
fn is_empty_reasoning(item: &Value) -> bool {
    let nothing = |name: &str| match item.get(name) {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.is_empty(),
        Some(Value::Array(parts)) => parts.is_empty(),
        Some(Value::Bool(_) | Value::Number(_) | Value::Object(_)) => false,
    };
    ["summary", "content", "encrypted_content"].iter().all(|name| nothing(name))
}

fn line_hash(raw: &[u8]) -> u64 {
    let mut first = [0; 8];
    first.copy_from_slice(&blake3::hash(raw).as_bytes()[..8]);
    u64::from_be_bytes(first)
}

fn text_hash(role: Role, text: &str) -> u128 {
    key(&format!("{role:?}:{}", text.trim()))
}
