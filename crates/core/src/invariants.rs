//! The API rules that every view must keep on every wire (W2): a checker and a repairer.
//!
//! - the first thing said is the user's;
//! - only the model calls tools and reasons, and only a user or tool message answers a call;
//! - each tool call is answered, right after the message that made it, and each answer has its call before it;
//! - no two calls share an id;
//! - reasoning stays with the answer it led to;
//! - nothing is empty.
//!
//! [`repair`] makes any list of messages keep them, changes as little as it can, and reports every change:
//! a repair that was needed is never silent.

mod repair;

pub use repair::{Action, EARLIER_GONE, NO_RESULT, Repair, repair};

use crate::{Block, Body, CallId, Message, MessageId, Role};
use serde::Serialize;
use std::borrow::Borrow;
use std::collections::HashSet;
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
    /// Calls and reasoning are the model's, results are not.
    RightSpeaker,
    /// No two calls share an id.
    UniqueCalls,
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
            Rule::RightSpeaker => "a block stands in a message of the wrong role",
            Rule::UniqueCalls => "two tool calls share an id",
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
    // The answer that is being given, and whether results to it have begun: then nothing may be added to it.
    let mut answer: Option<&Message> = None;
    let mut closed = false;
    let mut made: HashSet<&CallId> = HashSet::new();
    let leads = leads_somewhere(messages);
    for (at, message) in messages.iter().map(Borrow::borrow).enumerate() {
        if message.blocks.is_empty() || message.blocks.iter().any(Block::is_empty) {
            found.push(report(message, Rule::NotEmpty, None));
        }
        if message.blocks.iter().any(|block| !may_say(message.role, block)) {
            found.push(report(message, Rule::RightSpeaker, None));
        }
        if results_behind_words(message) {
            found.push(report(message, Rule::CallAnswered, None));
        }
        for result in message.results() {
            match open.iter().position(|(id, _)| **id == result.call) {
                Some(i) => {
                    open.remove(i);
                    closed = true;
                }
                None => found.push(report(message, Rule::ResultHasCall, Some(&result.call))),
            }
        }
        // Whatever is said next, other than by the system, must come after all results.
        if has_words(message) {
            let continued =
                message.role == Role::Assistant && answer.is_some_and(|a| may_continue(a, message));
            match closed {
                false if continued => {}
                true if continued
                    && answer.is_some_and(|a| a.group.is_some() && a.group == message.group) =>
                {
                    found.push(report(message, Rule::CallAnswered, None));
                }
                true | false => {
                    found.extend(open.drain(..).map(|(id, m)| report(m, Rule::CallAnswered, Some(id))));
                    closed = false;
                }
            }
            answer = (message.role == Role::Assistant).then_some(message);
        }
        for call in message.calls().filter(|call| call.kind.needs_result()) {
            if !made.insert(&call.id) {
                found.push(report(message, Rule::UniqueCalls, Some(&call.id)));
            }
            open.push((&call.id, message));
        }
        if is_reasoning_only(message) && !leads[at] {
            found.push(report(message, Rule::ReasoningLeads, None));
        }
    }
    found.extend(open.into_iter().map(|(id, m)| report(m, Rule::CallAnswered, Some(id))));
    found
}

/// The last place at which a conversation that keeps the rules can be parted: no call before it waits for a result behind it,
/// and no record of an answer is parted from the others.
pub fn settled<M: Borrow<Message>>(messages: &[M]) -> usize {
    let mut open: HashSet<&CallId> = HashSet::new();
    let mut place = 0;
    let mut answer: Option<&Message> = None;
    let mut closed = true;
    for (at, message) in messages.iter().map(Borrow::borrow).enumerate() {
        let begins = match message.role {
            Role::User => has_words(message),
            // Another answer, behind all results of the one before.
            Role::Assistant => closed && answer.is_none_or(|a| a.group.is_none() || a.group != message.group),
            Role::System | Role::Developer | Role::Tool => false,
        };
        if open.is_empty() && begins {
            place = at;
        }
        if message.role == Role::Assistant {
            answer = Some(message);
            closed = false;
        }
        message.results().for_each(|result| {
            open.remove(&result.call);
            closed = true;
        });
        open.extend(message.calls().filter(|call| call.kind.needs_result()).map(|call| &call.id));
    }
    place
}

/// System and developer messages may stand anywhere.
fn is_scaffold(message: &Message) -> bool {
    match message.role {
        Role::System | Role::Developer => true,
        Role::User | Role::Assistant | Role::Tool => false,
    }
}

/// Whether a message holds more than results: then the turn before it must be complete.
fn has_words(message: &Message) -> bool {
    !is_scaffold(message) && message.blocks.iter().any(|block| !is_result(block))
}

/// Whether `next` may be another record of the answer that `first` is a record of: clients write parallel calls as
/// several records.
fn may_continue(first: &Message, next: &Message) -> bool {
    first.group == next.group || first.group.is_none() || next.group.is_none()
}

fn is_reasoning_only(message: &Message) -> bool {
    message.role == Role::Assistant
        && !message.blocks.is_empty()
        && message.blocks.iter().all(|block| matches!(block.body, Body::Reasoning { .. }))
}

/// For each message, whether an assistant message that is not mere reasoning comes next.
fn leads_somewhere<M: Borrow<Message>>(messages: &[M]) -> Vec<bool> {
    let mut leads = vec![false; messages.len()];
    let mut next_is_answer = false;
    for (at, message) in messages.iter().map(Borrow::borrow).enumerate().rev() {
        leads[at] = next_is_answer;
        if !is_scaffold(message) && !is_reasoning_only(message) {
            next_is_answer = message.role == Role::Assistant;
        }
    }
    leads
}

fn is_result(block: &Block) -> bool {
    matches!(block.body, Body::ToolResult(_))
}

/// Whether a message of this role may hold the block.
fn may_say(role: Role, block: &Block) -> bool {
    match &block.body {
        Body::ToolCall(_) | Body::Reasoning { .. } => role == Role::Assistant,
        Body::ToolResult(_) => role == Role::User || role == Role::Tool,
        Body::Text(_) | Body::Image(_) | Body::Document(_) | Body::Unknown(_) => true,
    }
}

/// In one message, results come before words: otherwise the words stand between a call and its result.
fn results_behind_words(message: &Message) -> bool {
    message.blocks.iter().skip_while(|block| is_result(block)).any(is_result)
}
