//! Makes any list of messages keep the rules, with as little change as possible.
//!
//! Messages are taken apart into pieces (the words of a message, each of its results), every result is sent home
//! to the turn that made its call, and neighbouring pieces of one message are put together again: a message that
//! was in order comes out as it went in.

use super::{
    Rule, Violation, check, has_words, is_reasoning_only, is_result, is_scaffold, leads_somewhere,
    may_continue, may_say,
};
use crate::{Block, Body, CallId, CallKind, Flags, Message, MessageId, ResultContent, Role, ToolResult};
use serde::Serialize;
use std::collections::HashMap;

/// What stands for a result that was never recorded.
pub const NO_RESULT: &str = "[no result was recorded for this call]";
/// What opens a conversation whose beginning is gone.
pub const EARLIER_GONE: &str = "[earlier conversation is not shown]";

/// One change that [`repair`] made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Repair {
    /// The rule that was broken.
    pub violation: Violation,
    /// What was done.
    pub action: Action,
}

/// What a repair did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Put something in.
    Inserted,
    /// Took something out.
    Dropped,
    /// Put something where it belongs.
    Moved,
    /// Gave a call and its result another id.
    Renamed,
}

/// Makes `messages` keep every rule. What is in order already is returned as it is.
///
/// ```
/// use throughline_core::{Message, Role, invariants};
///
/// let (fixed, repairs) = invariants::repair(vec![Message::text(Role::Assistant, "hello")]);
/// assert_eq!(fixed.len(), 2, "a conversation begins with the user");
/// assert_eq!(repairs.len(), 1, "and a repair is never silent");
/// ```
pub fn repair(messages: Vec<Message>) -> (Vec<Message>, Vec<Repair>) {
    if check(&messages).is_empty() {
        return (messages, Vec::new());
    }
    let mut log = Log::default();
    let mut messages = drop_misplaced(messages, &mut log);
    loop {
        let paired = pair_calls(messages, &mut log);
        let before = paired.len();
        messages = drop_stray_reasoning(paired, &mut log);
        // Reasoning that goes may bring records of one answer together that it had kept apart.
        if messages.len() == before {
            break;
        }
    }
    let messages = begin_with_user(messages, &mut log);
    (messages, log.0)
}

#[derive(Default)]
struct Log(Vec<Repair>);

impl Log {
    fn note(&mut self, message: &Message, rule: Rule, call: Option<&CallId>, action: Action) {
        let violation = Violation { message: message.id.clone(), rule, call: call.cloned() };
        self.0.push(Repair { violation, action });
    }
}

/// Empty blocks, and blocks in a message of the wrong role, go; so do messages that have nothing left.
fn drop_misplaced(messages: Vec<Message>, log: &mut Log) -> Vec<Message> {
    let mut keep = |mut message: Message| {
        let before = message.blocks.len();
        message.blocks.retain(|block| !block.is_empty());
        if message.blocks.len() != before || before == 0 {
            log.note(&message, Rule::NotEmpty, None, Action::Dropped);
        }
        let before = message.blocks.len();
        message.blocks.retain(|block| may_say(message.role, block));
        if message.blocks.len() != before {
            log.note(&message, Rule::RightSpeaker, None, Action::Dropped);
        }
        (!message.blocks.is_empty()).then_some(message)
    };
    messages.into_iter().filter_map(&mut keep).collect()
}

/// A call, by the place of its block.
type Place = (usize, usize);

/// Puts each result right behind the turn that made its call, invents what is missing, drops what is left over.
fn pair_calls(mut messages: Vec<Message>, log: &mut Log) -> Vec<Message> {
    let callers = match_results(&messages);
    rename_repeated(&mut messages, &callers, log);

    let ends = turn_ends(&messages);
    let mut homes: HashMap<usize, Vec<Place>> = HashMap::new(); // results, by the last message of their turn
    for (at, message) in messages.iter().enumerate() {
        for (b, block) in message.blocks.iter().enumerate() {
            if let Body::ToolResult(result) = &block.body {
                match callers.get(&(at, b)) {
                    Some((caller, _)) => homes.entry(ends[*caller]).or_default().push((at, b)),
                    None => log.note(message, Rule::ResultHasCall, Some(&result.call), Action::Dropped),
                }
            }
        }
    }
    let answered: std::collections::HashSet<Place> = callers.values().copied().collect();

    let mut out = Assembly::new(&messages);
    let mut unanswered: Vec<(usize, CallId, CallKind)> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        for (b, block) in message.blocks.iter().enumerate() {
            if !is_result(block) {
                out.take(at, b, log);
            }
            if let Body::ToolCall(call) = &block.body
                && call.kind.needs_result()
                && !answered.contains(&(at, b))
            {
                unanswered.push((at, call.id.clone(), call.kind));
            }
        }
        if ends[at] == at && message.role == Role::Assistant {
            // Invented results come first, so that words beside the real ones can stay beside them.
            for (caller, id, kind) in unanswered.drain(..) {
                log.note(&messages[caller], Rule::CallAnswered, Some(&id), Action::Inserted);
                out.insert(no_result(&messages[caller], id, kind));
            }
            for (result_at, b) in homes.remove(&at).unwrap_or_default() {
                out.take(result_at, b, log);
            }
        }
    }
    out.finish()
}

/// Each result's call: the newest earlier one of its id that has no result yet.
fn match_results(messages: &[Message]) -> HashMap<Place, Place> {
    let mut waiting: HashMap<&CallId, Vec<Place>> = HashMap::new();
    let mut callers = HashMap::new();
    for (at, message) in messages.iter().enumerate() {
        for (b, block) in message.blocks.iter().enumerate() {
            match &block.body {
                Body::ToolCall(call) if call.kind.needs_result() => {
                    waiting.entry(&call.id).or_default().push((at, b));
                }
                Body::ToolResult(result) => {
                    if let Some(call) = waiting.get_mut(&result.call).and_then(Vec::pop) {
                        callers.insert((at, b), call);
                    }
                }
                Body::ToolCall(_)
                | Body::Text(_)
                | Body::Reasoning { .. }
                | Body::Image(_)
                | Body::Document(_)
                | Body::Unknown(_) => {}
            }
        }
    }
    callers
}

/// Gives the second and later calls of an id, and their results, ids of their own. The new ids depend on the
/// conversation alone: prompt caches need them to be the same each time.
fn rename_repeated(messages: &mut [Message], callers: &HashMap<Place, Place>, log: &mut Log) {
    let mut used: std::collections::HashSet<CallId> = messages
        .iter()
        .flat_map(Message::calls)
        .filter(|call| call.kind.needs_result())
        .map(|call| call.id.clone())
        .collect();
    let mut seen = std::collections::HashSet::new();
    let mut numbers: HashMap<CallId, usize> = HashMap::new();
    let mut renamed: HashMap<Place, CallId> = HashMap::new();
    for (at, message) in messages.iter_mut().enumerate() {
        let mut changes = Vec::new();
        for (b, block) in message.blocks.iter_mut().enumerate() {
            if let Body::ToolCall(call) = &mut block.body
                && call.kind.needs_result()
                && !seen.insert(call.id.clone())
            {
                let next = numbers.entry(call.id.clone()).or_insert(2);
                let fresh = loop {
                    let candidate = CallId::new(format!("{}.{next}", call.id));
                    *next += 1;
                    if used.insert(candidate.clone()) {
                        break candidate;
                    }
                };
                changes.push(std::mem::replace(&mut call.id, fresh.clone()));
                renamed.insert((at, b), fresh);
            }
        }
        for id in changes {
            log.note(message, Rule::UniqueCalls, Some(&id), Action::Renamed);
        }
    }
    for (&(at, b), call) in callers {
        if let Some(id) = renamed.get(call)
            && let Body::ToolResult(result) = &mut messages[at].blocks[b].body
        {
            result.call = id.clone();
        }
    }
}

/// For each message the last message of the turn it belongs to: assistant records of one group, or adjacent ones,
/// are one turn, whatever results were recorded between them.
fn turn_ends(messages: &[Message]) -> Vec<usize> {
    let mut ends: Vec<usize> = (0..messages.len()).collect();
    let mut next: Option<usize> = None; // the assistant message after this one, unless words came between
    for at in (0..messages.len()).rev() {
        let message = &messages[at];
        if message.role == Role::Assistant {
            if let Some(next) = next
                && same_turn(message, &messages[at + 1..next], &messages[next])
            {
                ends[at] = ends[next];
            }
            next = Some(at);
        } else if has_words(message) {
            next = None;
        }
    }
    ends
}

/// Whether two records are one answer: the same group, or nothing that tells them apart and no results between them.
fn same_turn(first: &Message, between: &[Message], next: &Message) -> bool {
    if first.group.is_some() && first.group == next.group {
        return true;
    }
    may_continue(first, next) && between.iter().all(|m| m.results().next().is_none())
}

/// Puts blocks together to messages again, in their new order.
struct Assembly<'a> {
    source: &'a [Message],
    out: Vec<Message>,
    /// The message whose blocks were taken last, and the next of its blocks.
    last: Option<Place>,
    /// The furthest place taken so far: what comes later from before it was moved.
    furthest: Place,
    /// How many messages each source message was split into.
    splits: HashMap<usize, usize>,
}

impl<'a> Assembly<'a> {
    fn new(source: &'a [Message]) -> Self {
        Self { source, out: Vec::new(), last: None, furthest: (0, 0), splits: HashMap::new() }
    }

    fn take(&mut self, at: usize, b: usize, log: &mut Log) {
        let source = &self.source[at];
        let block: &Block = &source.blocks[b];
        if (at, b) < self.furthest {
            let call = match &block.body {
                Body::ToolResult(result) => Some(&result.call),
                Body::Text(_)
                | Body::Reasoning { .. }
                | Body::ToolCall(_)
                | Body::Image(_)
                | Body::Document(_)
                | Body::Unknown(_) => None,
            };
            log.note(source, Rule::CallAnswered, call, Action::Moved);
        } else {
            self.furthest = (at, b);
        }
        match (self.last, self.out.last_mut()) {
            (Some((last, _)), Some(message)) if last == at => message.blocks.push(block.clone()),
            _ => {
                let mut message = Message { blocks: vec![block.clone()], ..shell(source) };
                let n = self.splits.entry(at).or_default();
                if *n > 0 {
                    message.id = MessageId::new(format!("{}.{n}", source.id));
                }
                *n += 1;
                self.out.push(message);
            }
        }
        self.last = Some((at, b));
    }

    fn insert(&mut self, message: Message) {
        self.out.push(message);
        self.last = None;
    }

    fn finish(self) -> Vec<Message> {
        self.out
    }
}

/// A message without its blocks.
fn shell(message: &Message) -> Message {
    Message {
        id: message.id.clone(),
        parent: message.parent.clone(),
        at: message.at,
        role: message.role,
        group: message.group.clone(),
        flags: message.flags,
        blocks: Vec::new(),
        bare: message.bare,
        shape: message.shape.clone(),
    }
}

fn no_result(caller: &Message, call: CallId, kind: CallKind) -> Message {
    let id = MessageId::new(format!("{}.{call}", caller.id));
    let result =
        ToolResult { call, kind, content: ResultContent::Text(NO_RESULT.into()), is_error: Some(true) };
    let mut message = Message::new(Role::Tool, vec![Body::ToolResult(result).into()]);
    message.id = id;
    message.parent = Some(caller.id.clone());
    message.at = caller.at;
    message.flags = Flags { meta: true, ..Flags::default() };
    message
}

fn drop_stray_reasoning(messages: Vec<Message>, log: &mut Log) -> Vec<Message> {
    let leads = leads_somewhere(&messages);
    let mut keep = leads.into_iter();
    let mut messages = messages;
    messages.retain(|message| {
        let stays = keep.next().unwrap_or(true) || !is_reasoning_only(message);
        if !stays {
            log.note(message, Rule::ReasoningLeads, None, Action::Dropped);
        }
        stays
    });
    messages
}

fn begin_with_user(mut messages: Vec<Message>, log: &mut Log) -> Vec<Message> {
    if let Some(at) = messages.iter().position(|m| !is_scaffold(m))
        && messages[at].role != Role::User
    {
        let mut opening = Message::text(Role::User, EARLIER_GONE);
        opening.id = MessageId::new(format!("{}.before", messages[at].id));
        opening.flags.meta = true;
        log.note(&messages[at], Rule::UserFirst, None, Action::Inserted);
        messages.insert(at, opening);
    }
    messages
}
