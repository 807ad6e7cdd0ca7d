//! What the next request is made of, brought up to date rather than made anew.

use crate::marks::{self, Placed};
use crate::written::Written;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use throughline_core::pipeline::{Pass, Pipeline};
use throughline_core::{CallId, Entry, Message, MessageId, Role, Wire, invariants};
use throughline_wire::splice::{Body, Changes, Slot, SpliceError};

/// The messages of the next request, in order. While nothing is decided, a request costs what is new in it.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    messages: Vec<Shown>,
    /// Whether every message is one of the client's, as the client sent it.
    plain: bool,
    valid: Valid,
}

#[derive(Debug)]
struct Shown {
    message: Arc<Message>,
    /// Nothing stands in place of any of its blocks.
    as_said: bool,
}

/// How far the messages were found to keep the rules.
#[derive(Debug, Default)]
struct Valid {
    /// Everything before is in order, and every call in it is answered.
    upto: usize,
    calls: HashSet<CallId>,
}

impl Layout {
    /// Takes in what a pass left. Returns what had to be put right.
    pub(crate) fn bring_up(&mut self, pipeline: &Pipeline, pass: &Pass) -> Vec<invariants::Repair> {
        let entries = pipeline.view().entries();
        let grew_only = !pass.changed()
            && pass.unchanged >= self.messages.len()
            && self.messages.len() <= entries.len()
            && !pipeline.marks()
            && self.last_is(entries);
        if !grew_only {
            self.messages.clear();
            self.valid = Valid::default();
            self.plain = true;
            let shown = pipeline.messages();
            self.messages
                .extend(shown.into_iter().zip(entries).map(|(message, entry)| as_shown(message, entry)));
        } else {
            self.messages
                .extend(entries[self.messages.len()..].iter().map(|entry| as_shown(entry.shown(), entry)));
        }
        let from = self.valid.upto.min(self.messages.len());
        self.plain = self.plain && self.messages[from..].iter().all(|shown| shown.as_said);
        if self.check(from) {
            return Vec::new();
        }
        let owned: Vec<Message> = self.messages.iter().map(|shown| (*shown.message).clone()).collect();
        let (repaired, repairs) = invariants::repair(owned);
        let before: HashMap<MessageId, Shown> =
            self.messages.drain(..).map(|shown| (shown.message.id.clone(), shown)).collect();
        self.messages.extend(repaired.into_iter().map(|message| {
            let as_said =
                before.get(&message.id).is_some_and(|shown| shown.as_said && *shown.message == message);
            Shown { message: Arc::new(message), as_said }
        }));
        // What was put right is put right again each time: nothing of it may be taken for granted.
        self.valid = Valid::default();
        self.plain = false;
        repairs
    }

    /// Whether the view still ends, as far as it is known here, with the message that is known to be there.
    fn last_is(&self, entries: &[Entry]) -> bool {
        match self.messages.last() {
            Some(shown) => {
                entries.get(self.messages.len() - 1).is_some_and(|entry| entry.message.id == shown.message.id)
            }
            None => false,
        }
    }

    /// Checks the rules from a place on where everything before is in order.
    fn check(&mut self, from: usize) -> bool {
        let suffix: Vec<&Message> = self.messages[from..].iter().map(|shown| &*shown.message).collect();
        let fine = invariants::check(&suffix)
            .iter()
            .all(|broken| from > 0 && broken.rule == invariants::Rule::UserFirst);
        let calls = |messages: &[&Message]| -> Vec<CallId> {
            let calls = messages.iter().flat_map(|message| message.calls());
            calls.filter(|call| call.kind.needs_result()).map(|call| call.id.clone()).collect()
        };
        let unique = calls(&suffix).iter().all(|call| !self.valid.calls.contains(call));
        if !fine || !unique {
            return false;
        }
        // The next check begins at the last place where no call waits.
        let settled = invariants::settled(&suffix);
        self.valid.upto = from + settled;
        self.valid.calls.extend(calls(&suffix[..settled]));
        true
    }

    /// The messages of the request.
    pub(crate) fn messages(&self) -> impl Iterator<Item = &Message> {
        self.messages.iter().map(|shown| &*shown.message)
    }

    /// Whether the request is, message for message, what the client sent.
    pub(crate) fn is_as_sent(&self, ids: &[MessageId]) -> bool {
        self.plain
            && self.messages.len() == ids.len()
            && self.messages.last().map(|shown| &shown.message.id) == ids.last()
    }

    /// What must change in the client's body.
    pub(crate) fn changes(
        &self,
        body: &Body,
        places: &HashMap<MessageId, usize>,
        written: &mut Written,
    ) -> Result<Changes, SpliceError> {
        changes(body, elements(&self.messages, body, places, written))
    }

    /// What must change in a body that has the client's messages up to `last` and goes on by itself. `None` if that message is
    /// no longer shown: what stands in its place covers more.
    pub(crate) fn changes_up_to(
        &self,
        last: &MessageId,
        body: &Body,
        places: &HashMap<MessageId, usize>,
        written: &mut Written,
    ) -> Result<Option<Changes>, SpliceError> {
        let (Some(shown), Some(place)) =
            (self.messages.iter().rposition(|shown| shown.message.id == *last), places.get(last))
        else {
            return Ok(None);
        };
        // What was told behind it belongs to it.
        let told =
            self.messages[shown + 1..].iter().take_while(|shown| !places.contains_key(&shown.message.id));
        let until = shown + 1 + told.count();
        let mut elements = elements(&self.messages[..until], body, places, written);
        elements.extend((place + 1..body.len()).map(|at| Placed { slot: Slot::Keep(at), place: Some(at) }));
        changes(body, elements).map(Some)
    }
}

/// What must change for the conversation to consist of these elements, marked for the cache where the client marks it.
fn changes(body: &Body, mut elements: Vec<Placed<'_>>) -> Result<Changes, SpliceError> {
    match body.wire() {
        Wire::Anthropic => marks::put_back(&mut elements, body),
        Wire::Responses | Wire::Chat => {}
    }
    let slots: Vec<Slot<'_>> = elements.into_iter().map(|element| element.slot).collect();
    body.changes(&slots)
}

/// What stands at each place of a request.
fn elements<'a>(
    messages: &'a [Shown],
    body: &Body,
    places: &HashMap<MessageId, usize>,
    written: &mut Written,
) -> Vec<Placed<'a>> {
    let mut elements: Vec<Placed<'_>> = Vec::with_capacity(messages.len());
    for Shown { message, as_said } in in_order(messages, body.wire(), places) {
        let place = places.get(&message.id).copied();
        match place {
            Some(at) if *as_said => elements.push(Placed { slot: Slot::Keep(at), place }),
            Some(_) | None => {
                let fragments = written.fragments(body.wire(), message);
                elements.extend(fragments.into_iter().map(|it| Placed { slot: Slot::Written(it), place }));
            }
        }
    }
    elements
}

/// The messages in an order that the wire allows. Anthropic's takes a system message in the middle of a conversation only right before
/// an answer or at the end: what we say behind one, or put in the place of what stood there, goes in front of it. What the client
/// sent is in the client's order wherever nothing of ours is between two answers.
fn in_order<'a>(
    messages: &'a [Shown],
    wire: Wire,
    places: &HashMap<MessageId, usize>,
) -> impl Iterator<Item = &'a Shown> {
    let is_system = |shown: &Shown| matches!(shown.message.role, Role::System | Role::Developer);
    let is_answer = |shown: &Shown| shown.message.role == Role::Assistant;
    let mut order: Vec<&Shown> = Vec::with_capacity(messages.len());
    for run in messages.chunk_by(|a, b| is_answer(a) == is_answer(b)) {
        let is_ours = |shown: &Shown| !places.contains_key(&shown.message.id);
        if wire == Wire::Anthropic && run.iter().any(is_system) && run.iter().any(is_ours) {
            order.extend(run.iter().filter(|shown| !is_system(shown)));
            order.extend(run.iter().filter(|shown| is_system(shown)));
        } else {
            order.extend(run);
        }
    }
    order.into_iter()
}

fn as_shown(message: Arc<Message>, entry: &Entry) -> Shown {
    let as_said =
        entry.overlays.is_empty() && (Arc::ptr_eq(&entry.message, &message) || *entry.message == *message);
    Shown { message, as_said }
}
