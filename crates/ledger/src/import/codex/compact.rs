//! Compactions: the new history, whole. What the ledger has already is kept by id; only the rest is new.

use super::content::hash_of;
use super::{At, CodexImporter};
use crate::import::outcome::{Lane, LineOutcome, Output};
use crate::import::shadow::{Id, Kind, NONE};
use serde_json::{Map, Value};
use std::collections::{HashMap, VecDeque};
use throughline_core::{Block, Body, Checkpoint, EditId, Item, Message, Role};
use throughline_wire::responses;

/// Codex keeps 20,000 tokens of the person's own messages, and counts four bytes each.
const KEPT_CHARS: usize = 80_000;

/// An item of the new history, by its number there.
struct Replacement {
    n: usize,
    own_id: Option<String>,
    /// It is a summary that only the provider can read.
    sealed: bool,
    message: Message,
    content: u64,
}

impl Replacement {
    /// `None` where it says nothing.
    fn read(n: usize, raw: Value) -> Option<Self> {
        let own_id = raw.get("id").and_then(Value::as_str).filter(|id| !id.is_empty()).map(str::to_owned);
        let sealed = matches!(
            raw.get("type").and_then(Value::as_str),
            Some("compaction" | "compaction_summary" | "context_compaction")
        );
        let message = responses::decode_item(raw);
        let says_something = !message.blocks.iter().all(Block::is_empty);
        let content = hash_of(&message);
        says_something.then_some(Self { n, own_id, sealed, message, content })
    }
}

/// Live messages that say the same.
#[derive(Default)]
struct Live {
    messages: VecDeque<u32>,
    wanted: usize,
}

/// What the line of a compaction says.
struct Told<'a> {
    summary: &'a str,
    /// An id for the line.
    line: &'a str,
    at: &'a At<'a>,
}

impl CodexImporter {
    pub(super) fn compacted(
        &mut self,
        mut payload: Map<String, Value>,
        at: &At<'_>,
        out: &mut Vec<Output>,
    ) -> LineOutcome {
        self.identify(at);
        let summary = match payload.shift_remove("message") {
            Some(Value::String(text)) => text,
            _ => String::new(),
        };
        let line = self.line_id(at);
        let told = Told { summary: &summary, line: line.as_str(), at };
        let (items, view, strategy) = match payload.shift_remove("replacement_history") {
            Some(Value::Array(history)) => self.replaced(history, &told),
            _ => self.rebuilt(&told),
        };
        self.session.view.replace(&view);
        let checkpoint = Checkpoint {
            id: EditId::new(format!("{line}.compacted")),
            at: at.time,
            strategy: strategy.to_owned(),
            trigger: String::new(),
            tokens_before: None,
            tokens_after: None,
            check: None,
            preserved: None,
            items,
        };
        self.session.checkpoint(Lane::MAIN, checkpoint, out);
        LineOutcome::Imported
    }

    fn replaced(&mut self, history: Vec<Value>, told: &Told<'_>) -> (Vec<Item>, Vec<u32>, &'static str) {
        let history: Vec<Replacement> =
            history.into_iter().enumerate().filter_map(|(n, raw)| Replacement::read(n, raw)).collect();
        let mut live = self.live(&history);
        let (mut items, mut view) = (Vec::new(), Vec::new());
        for Replacement { n, own_id, sealed, mut message, content } in history {
            let kept = live.get_mut(&content).and_then(|live| live.messages.pop_front());
            if let Some((kept, item)) = kept.and_then(|m| Some((m, self.keep(m)?))) {
                items.push(item);
                view.push(kept);
                continue;
            }
            message.flags.summary = sealed || is_summary(&message, told.summary);
            let id = self.new_id(own_id, n, told);
            view.push(self.bring_in(&mut message, id, content, told.at));
            items.push(Item::New(Box::new(message)));
        }
        (items, view, "handoff")
    }

    /// The live messages that say what a history says, as many as it does, oldest first.
    fn live(&self, history: &[Replacement]) -> HashMap<u64, Live> {
        let mut live: HashMap<u64, Live> = HashMap::new();
        for item in history {
            live.entry(item.content).or_default().wanted += 1;
        }
        for message in self.session.view.backwards() {
            if let Some(live) = self.contents.get(message as usize).and_then(|content| live.get_mut(&content))
            {
                live.messages.push_front(message);
                live.messages.truncate(live.wanted);
            }
        }
        live
    }

    /// Old rollouts tell only the summary: the newest words of the person stay, then it.
    fn rebuilt(&mut self, told: &Told<'_>) -> (Vec<Item>, Vec<u32>, &'static str) {
        let mut left = KEPT_CHARS;
        let mut view = Vec::new();
        for message in self.session.view.backwards() {
            let Some(node) = self.session.view.node(message).filter(|n| n.kind == Kind::RealUser) else {
                continue;
            };
            let Some(rest) = left.checked_sub(node.chars as usize) else { break };
            left = rest;
            view.push(message);
        }
        view.reverse();
        let mut items: Vec<Item> = view.iter().filter_map(|m| self.keep(*m)).collect();
        if !told.summary.trim().is_empty() {
            let mut message = Message::text(Role::User, told.summary);
            message.flags.summary = true;
            let content = hash_of(&message);
            let id = self.new_id(None, 0, told);
            view.push(self.bring_in(&mut message, id, content, told.at));
            items.push(Item::New(Box::new(message)));
        }
        (items, view, "handoff")
    }

    fn bring_in(&mut self, message: &mut Message, id: Id, content: u64, at: &At<'_>) -> u32 {
        message.id = id.to_message_id();
        message.at = at.time;
        let parent = self.session.view.tip().unwrap_or(NONE);
        message.parent = self.session.id_of(parent);
        let node = self.session.remember(message, id, parent, 0);
        self.contents.push(content);
        node
    }

    fn new_id(&mut self, own: Option<String>, n: usize, told: &Told<'_>) -> Id {
        if let Some(own) = own
            && self.take_id(&own)
        {
            return Id::new(&own);
        }
        Id::Text(format!("{}-{n}", told.line).into())
    }
}

/// The item that carries the summary, with Codex's words before it.
fn is_summary(message: &Message, summary: &str) -> bool {
    !summary.trim().is_empty()
        && message.role == Role::User
        && message.blocks.iter().any(|block| match &block.body {
            Body::Text(text) => text.contains(summary.trim()),
            Body::Reasoning { .. }
            | Body::ToolCall(_)
            | Body::ToolResult(_)
            | Body::Image(_)
            | Body::Document(_)
            | Body::Unknown(_) => false,
        })
}
