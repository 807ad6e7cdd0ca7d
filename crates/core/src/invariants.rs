//! The API rules that every view must keep on every wire (W2): a checker and a repairer.
//!
//! - the first thing said is the user's;
//! - each tool call is answered, right after the message that made it, and each answer has its call before it;
//! - reasoning stays with the answer it led to;
//! - nothing is empty.
//!
//! [`repair`] makes any list of messages keep them, changes as little as it can, and reports every change:
//! a repair that was needed is never silent.

use crate::{Block, Body, CallId, CallKind, Flags, Message, MessageId, ResultContent, Role, ToolResult};
use serde::Serialize;
use std::borrow::Borrow;
use std::collections::{HashMap, HashSet};
use std::fmt;

/// A rule that is broken, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The message.
    pub message: MessageId,
    /// The rule.
    pub rule: Rule,
    /// The call concerned, where one is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
}

/// The rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// The conversation begins with the user.
    UserFirst,
    /// A call has its result, after it and before anything else is said.
    CallAnswered,
    /// A result has its call before it, and answers it once.
    ResultHasCall,
    /// Reasoning is followed by what it led to.
    ReasoningLeads,
    /// No block and no message is empty.
    NotEmpty,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.rule {
            Rule::UserFirst => "the conversation does not begin with the user",
            Rule::CallAnswered => "a tool call has no result right after it",
            Rule::ResultHasCall => "a tool result has no call before it",
            Rule::ReasoningLeads => "reasoning is not followed by what it led to",
            Rule::NotEmpty => "a block or message is empty",
        };
        write!(f, "message {}: {what}", self.message)?;
        match &self.call {
            Some(call) => write!(f, " (call {call})"),
            None => Ok(()),
        }
    }
}

/// What stands for a result that was never recorded.
pub const NO_RESULT: &str = "[no result was recorded for this call]";
/// What opens a conversation whose beginning is gone.
pub const EARLIER_GONE: &str = "[earlier conversation is not shown]";

/// Which rules `messages` break. Empty for everything that a real client sends and a provider accepts.
///
/// ```
/// use throughline_core::{Message, Role, invariants};
///
/// let messages = [Message::text(Role::User, "hi"), Message::text(Role::Assistant, "hello")];
/// assert!(invariants::check(&messages).is_empty());
/// assert_eq!(invariants::check(&messages[1..]).len(), 1);
/// ```
pub fn check<M: Borrow<Message>>(messages: &[M]) -> Vec<Violation> {
    let mut found = Vec::new();
    let report = |m: &Message, rule, call: Option<&CallId>| Violation {
        message: m.id.clone(),
        rule,
        call: call.cloned(),
    };
    if let Some(first) = messages.iter().map(Borrow::borrow).find(|m| !is_scaffold(m))
        && first.role != Role::User
    {
        found.push(report(first, Rule::UserFirst, None));
    }
    // Calls that wait for their result, with the message that made them, in order.
    let mut open: Vec<(&CallId, &Message)> = Vec::new();
    // The caller whose results have begun: nothing may be added to its answer any more.
    let mut closed: Option<&Message> = None;
    for (at, message) in messages.iter().map(Borrow::borrow).enumerate() {
        if message.blocks.is_empty() || message.blocks.iter().any(Block::is_empty) {
            found.push(report(message, Rule::NotEmpty, None));
        }
        for result in message.results() {
            match open.iter().position(|(id, _)| **id == result.call) {
                Some(i) => closed = Some(open.remove(i).1),
                None => found.push(report(message, Rule::ResultHasCall, Some(&result.call))),
            }
        }
        // Whatever is said next, other than by the system, must come after all results.
        if says_something(message) {
            match closed {
                None if continues_open_turn(&open, message) => {}
                Some(caller) if message.group.is_some() && caller.group == message.group => {
                    found.push(report(message, Rule::CallAnswered, None));
                }
                Some(_) | None => {
                    found.extend(open.drain(..).map(|(id, m)| report(m, Rule::CallAnswered, Some(id))));
                    closed = None;
                }
            }
        }
        open.extend(message.calls().filter(|c| c.kind.needs_result()).map(|c| (&c.id, message)));
        if is_reasoning_only(message) && !leads_somewhere(&messages[at + 1..]) {
            found.push(report(message, Rule::ReasoningLeads, None));
        }
    }
    found.extend(open.into_iter().map(|(id, m)| report(m, Rule::CallAnswered, Some(id))));
    found
}

/// System and developer messages may stand anywhere.
fn is_scaffold(message: &Message) -> bool {
    match message.role {
        Role::System | Role::Developer => true,
        Role::User | Role::Assistant | Role::Tool => false,
    }
}

/// Whether a message holds more than results: then the turn before it must be complete.
fn says_something(message: &Message) -> bool {
    !is_scaffold(message)
        && message.blocks.iter().any(|block| !matches!(block.body, Body::ToolResult(_)))
        && message.results().next().is_none()
}

/// Parallel calls come as several records of one answer: an assistant message that follows an open call without any
/// result between them is its continuation.
fn continues_open_turn(open: &[(&CallId, &Message)], message: &Message) -> bool {
    message.role == Role::Assistant
        && open.last().is_some_and(|(_, caller)| {
            caller.group == message.group || caller.group.is_none() || message.group.is_none()
        })
}

fn is_reasoning_only(message: &Message) -> bool {
    message.role == Role::Assistant
        && !message.blocks.is_empty()
        && message.blocks.iter().all(|block| matches!(block.body, Body::Reasoning { .. }))
}

/// Whether an assistant message that is not mere reasoning comes next.
fn leads_somewhere<M: Borrow<Message>>(rest: &[M]) -> bool {
    rest.iter()
        .map(Borrow::borrow)
        .find(|m| !is_scaffold(m) && !is_reasoning_only(m))
        .is_some_and(|m| m.role == Role::Assistant)
}

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
}

/// Makes `messages` keep every rule. What is in order already is returned as it is.
pub fn repair(messages: Vec<Message>) -> (Vec<Message>, Vec<Repair>) {
    if check(&messages).is_empty() {
        return (messages, Vec::new());
    }
    let mut repairs = Vec::new();
    let messages = drop_empty(messages, &mut repairs);
    let messages = pair_calls(messages, &mut repairs);
    let messages = drop_stray_reasoning(messages, &mut repairs);
    let messages = begin_with_user(messages, &mut repairs);
    (messages, repairs)
}

fn note(repairs: &mut Vec<Repair>, message: &Message, rule: Rule, call: Option<&CallId>, action: Action) {
    let violation = Violation { message: message.id.clone(), rule, call: call.cloned() };
    repairs.push(Repair { violation, action });
}

fn drop_empty(messages: Vec<Message>, repairs: &mut Vec<Repair>) -> Vec<Message> {
    messages
        .into_iter()
        .filter_map(|mut message| {
            let before = message.blocks.len();
            message.blocks.retain(|block| !block.is_empty());
            if message.blocks.len() != before || before == 0 {
                note(repairs, &message, Rule::NotEmpty, None, Action::Dropped);
            }
            (!message.blocks.is_empty()).then_some(message)
        })
        .collect()
}

/// Puts each call's result right behind the answer that made the call, invents what is missing, drops what is
/// left over.
fn pair_calls(messages: Vec<Message>, repairs: &mut Vec<Repair>) -> Vec<Message> {
    // Pair each result with the newest earlier call of its id that has none yet; ids may collide over a long session.
    let mut waiting: HashMap<CallId, Vec<usize>> = HashMap::new();
    let mut answered: HashSet<(usize, CallId)> = HashSet::new();
    let mut belongs: HashMap<(usize, usize), usize> = HashMap::new(); // (message, block) of a result → caller
    for (at, message) in messages.iter().enumerate() {
        for (b, block) in message.blocks.iter().enumerate() {
            match &block.body {
                Body::ToolCall(call) if call.kind.needs_result() => {
                    waiting.entry(call.id.clone()).or_default().push(at);
                }
                Body::ToolResult(result) => {
                    if let Some(caller) = waiting.get_mut(&result.call).and_then(Vec::pop) {
                        belongs.insert((at, b), caller);
                        answered.insert((caller, result.call.clone()));
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

    let turn_end = turn_ends(&messages);
    let mut held: HashMap<usize, Vec<Message>> = HashMap::new(); // results, by the last message of their caller's turn
    let mut rest: Vec<(usize, Message)> = Vec::new();
    for (at, mut message) in messages.into_iter().enumerate() {
        // Two calls of one answer that share an id can't both be answered: keep the first.
        let mut made: HashSet<CallId> = HashSet::new();
        let mut repeated = Vec::new();
        message.blocks.retain(|block| match &block.body {
            Body::ToolCall(call) if call.kind.needs_result() && !made.insert(call.id.clone()) => {
                repeated.push(call.id.clone());
                false
            }
            _ => true,
        });
        for id in &repeated {
            note(repairs, &message, Rule::CallAnswered, Some(id), Action::Dropped);
        }
        if message.results().next().is_none() {
            if !message.blocks.is_empty() {
                rest.push((at, message));
            }
            continue;
        }
        // A message that answers exactly the turn before it, whole, stays as it is.
        let callers: Vec<Option<usize>> = message
            .blocks
            .iter()
            .enumerate()
            .filter(|(_, block)| matches!(block.body, Body::ToolResult(_)))
            .map(|(b, _)| belongs.get(&(at, b)).copied())
            .collect();
        let mut words = message.clone();
        words.blocks.retain(|block| !matches!(block.body, Body::ToolResult(_)));
        let mut results = message.clone();
        let mut b = 0;
        results.blocks.retain(|block| {
            let is_result = matches!(block.body, Body::ToolResult(_));
            let keep = is_result && belongs.contains_key(&(at, b));
            b += 1;
            keep
        });
        for (caller, result) in callers.iter().zip(message.results()) {
            if caller.is_none() {
                note(repairs, &message, Rule::ResultHasCall, Some(&result.call), Action::Dropped);
            }
        }
        let homes: HashSet<usize> = callers.iter().flatten().map(|c| turn_end[*c]).collect();
        if let (1, Some(&home)) = (homes.len(), homes.iter().next()) {
            // Words after the results of the very turn that precedes them may stay beside them.
            if rest.last().is_some_and(|(last, _)| *last == home) && results.blocks.len() == callers.len() {
                held.entry(home).or_default().push(message);
                continue;
            }
            if rest.last().is_some_and(|(last, _)| *last != home) {
                note(repairs, &message, Rule::CallAnswered, None, Action::Moved);
            }
            held.entry(home).or_default().push(results);
        } else {
            // Results of several turns in one message: each goes home.
            for (b, block) in message.blocks.iter().enumerate() {
                if let Some(caller) = belongs.get(&(at, b)) {
                    let mut one = results.clone();
                    one.blocks = vec![block.clone()];
                    one.id = derived(&message.id, b);
                    note(repairs, &one, Rule::CallAnswered, None, Action::Moved);
                    held.entry(turn_end[*caller]).or_default().push(one);
                }
            }
        }
        if !words.blocks.is_empty() {
            words.id = derived(&message.id, message.blocks.len());
            rest.push((at, words));
        }
    }

    let mut out: Vec<Message> = Vec::with_capacity(rest.len());
    let mut unanswered: Vec<(Message, CallId, CallKind)> = Vec::new();
    for (at, message) in rest {
        for call in message.calls().filter(|c| c.kind.needs_result()) {
            if !answered.contains(&(at, call.id.clone())) {
                unanswered.push((message.clone(), call.id.clone(), call.kind));
            }
        }
        out.push(message);
        if turn_end[at] != at {
            continue;
        }
        // Invented results come first, so that words beside real results end the turn.
        for (caller, id, kind) in unanswered.drain(..) {
            note(repairs, &caller, Rule::CallAnswered, Some(&id), Action::Inserted);
            out.push(no_result(&caller, id, kind));
        }
        let mut results = held.remove(&at).unwrap_or_default();
        results.sort_by_key(|m| m.blocks.iter().any(|b| !matches!(b.body, Body::ToolResult(_))));
        out.extend(results);
    }
    out
}

/// For each message the last message of the turn it belongs to: assistant records of one group, or adjacent ones,
/// are one turn, whatever results were recorded between them.
fn turn_ends(messages: &[Message]) -> Vec<usize> {
    let mut ends: Vec<usize> = (0..messages.len()).collect();
    let mut next: Option<usize> = None; // the turn's end, seen from behind
    for at in (0..messages.len()).rev() {
        let message = &messages[at];
        if message.role == Role::Assistant {
            match next {
                Some(end) if same_turn(&messages[at..=end]) => ends[at] = end,
                Some(_) | None => next = Some(at),
            }
        } else if says_something(message) {
            next = None;
        }
    }
    ends
}

/// Whether the first and last of these are one answer: the same group, or no results between them.
fn same_turn(span: &[Message]) -> bool {
    match span {
        [first, .., last] if first.group.is_some() && first.group == last.group => true,
        [first, between @ .., last] => {
            between.iter().all(|m| m.results().next().is_none())
                && (first.group == last.group || first.group.is_none() || last.group.is_none())
        }
        _ => true,
    }
}

/// Ids of messages that a repair splits off are the same each time: prompt caches depend on it.
fn derived(id: &MessageId, n: usize) -> MessageId {
    MessageId::new(format!("{id}.{n}"))
}

fn no_result(caller: &Message, call: CallId, kind: CallKind) -> Message {
    let id = MessageId::new(format!("{}.{call}", caller.id));
    let result = ToolResult { call, kind, content: ResultContent::Text(NO_RESULT.into()), is_error: Some(true) };
    let mut message = Message::new(Role::Tool, vec![Body::ToolResult(result).into()]);
    message.id = id;
    message.parent = Some(caller.id.clone());
    message.at = caller.at;
    message.flags = Flags { meta: true, ..Flags::default() };
    message
}

fn drop_stray_reasoning(mut messages: Vec<Message>, repairs: &mut Vec<Repair>) -> Vec<Message> {
    for at in (0..messages.len()).rev() {
        if is_reasoning_only(&messages[at]) && !leads_somewhere(&messages[at + 1..]) {
            let gone = messages.remove(at);
            note(repairs, &gone, Rule::ReasoningLeads, None, Action::Dropped);
        }
    }
    messages
}

fn begin_with_user(mut messages: Vec<Message>, repairs: &mut Vec<Repair>) -> Vec<Message> {
    if let Some(at) = messages.iter().position(|m| !is_scaffold(m))
        && messages[at].role != Role::User
    {
        let mut opening = Message::text(Role::User, EARLIER_GONE);
        opening.id = MessageId::new(format!("{}.before", messages[at].id));
        opening.flags.meta = true;
        note(repairs, &messages[at], Rule::UserFirst, None, Action::Inserted);
        messages.insert(at, opening);
    }
    messages
}
