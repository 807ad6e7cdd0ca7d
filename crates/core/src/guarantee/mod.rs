//! The guarantee (G): what every outgoing request must contain, whatever stage, strategy, wire or client produced it.
//!
//! - the newest request and every request in force, verbatim; of long ones the ask and all sentences that bind;
//! - for each kind of instruction fragment (project instructions, environment, skills, tools, agents, reminders) the state that
//!   results from all its fragments, whichever role they came in ([`fragments`]);
//! - every tool result that the model has not seen yet: whole, or its beginning and end with a way to read the rest;
//! - handles of what is still running: the client will refer to them;
//! - the API rules (W2).
//!
//! [`Required::read`] says what a view demands, [`Required::check`] holds a request against it. Both are pure. The pipeline builds
//! compactions so that they keep the guarantee, checks each before it takes effect, and tries the next rung if one does not.

pub mod fragments;
mod results;

pub use fragments::{InForce, in_force};
pub use results::is_shown;

use crate::facts::{Facts, Request};
use crate::{Body, Entry, Message, MessageId, Role, ToolResult, invariants};
use serde::{Deserialize, Serialize};
use std::borrow::Borrow;
use std::collections::{HashMap, HashSet};

/// What a requirement is about, the most important first. Where not everything fits, the last are given up first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    /// The newest request.
    NewestRequest,
    /// A request in force, or a sentence of one that binds.
    Request,
    /// The handle of something that is still running.
    Handle,
    /// A rule of the API.
    ApiRule,
    /// Instructions that the client loaded from files.
    ProjectInstructions,
    /// A tool result that the model has not seen.
    UnseenResult,
    /// Another fragment of the client: environment, tools, skills, agents, reminders.
    Fragment,
}

impl Need {
    /// The word for reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::NewestRequest => "newest request",
            Self::Request => "request in force",
            Self::Handle => "open handle",
            Self::ApiRule => "API rule",
            Self::ProjectInstructions => "project instructions",
            Self::UnseenResult => "unseen result",
            Self::Fragment => "fragment",
        }
    }
}

/// Something that a request does not contain though it must.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// What it is about.
    pub need: Need,
    /// The message that holds it.
    pub message: Option<MessageId>,
    /// The beginning of what is missing.
    pub missing: String,
}

/// What a request must contain.
#[derive(Clone, Debug, Default)]
pub struct Required {
    passages: Vec<Passage>,
    unseen: Vec<(MessageId, ToolResult)>,
}

/// A text that must be there verbatim.
#[derive(Clone, Debug)]
struct Passage {
    need: Need,
    message: MessageId,
    text: String,
}

/// Which fragments the host gives again by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retold {
    /// None: they must be in what is sent.
    Nothing,
    /// All of them: it tells its whole context anew.
    Fragments,
}

impl Required {
    /// What the view demands, with what is known of the session.
    pub fn read(facts: &Facts, view: &[Entry], retold: Retold) -> Self {
        let mut required = Self::default();
        let newest = facts.requests().newest().map(|request| request.seen);
        for request in facts.requests().in_force() {
            let need = if Some(request.seen) == newest { Need::NewestRequest } else { Need::Request };
            required.add_request(need, request);
        }
        for handle in facts.open_handles() {
            required.add(Need::Handle, &handle.message, &handle.id);
        }
        if retold == Retold::Nothing {
            for fragment in in_force(view) {
                required.add(fragment.need, &fragment.message, fragment.text.trim());
            }
        }
        required.unseen = unseen(view).map(|(message, result)| (message.clone(), result.clone())).collect();
        required
    }

    fn add_request(&mut self, need: Need, request: &Request) {
        for passage in request.ask.passages() {
            self.add(need, &request.ask.message, passage);
        }
        for directive in &request.ask.directives {
            self.add(need, &request.ask.message, &directive.sentence);
        }
    }

    fn add(&mut self, need: Need, message: &MessageId, text: &str) {
        if !text.is_empty() {
            self.passages.push(Passage { need, message: message.clone(), text: text.to_owned() });
        }
    }

    /// What a request lacks, the most important first.
    pub fn check<M: Borrow<Message>>(&self, sent: &[M]) -> Vec<Violation> {
        let told = Told::read(sent);
        let mut violations: Vec<Violation> = Vec::new();
        for passage in &self.passages {
            let is_there = match passage.need {
                Need::Handle => told.anywhere.contains(&passage.text),
                Need::NewestRequest
                | Need::Request
                | Need::ApiRule
                | Need::ProjectInstructions
                | Need::UnseenResult
                | Need::Fragment => told.instructions.contains(&passage.text),
            };
            if !is_there {
                violations.push(Violation {
                    need: passage.need,
                    message: Some(passage.message.clone()),
                    missing: crate::text::one_line(&passage.text, 120),
                });
            }
        }
        for (message, result) in &self.unseen {
            let shown = told.results.get(result.call.as_str());
            if !shown.is_some_and(|shown| is_shown(result, shown)) {
                let text = result.content.to_text();
                violations.push(Violation {
                    need: Need::UnseenResult,
                    message: Some(message.clone()),
                    missing: crate::text::one_line(&text, 120),
                });
            }
        }
        let messages: Vec<&Message> = sent.iter().map(Borrow::borrow).collect();
        for broken in invariants::check(&messages) {
            violations.push(Violation { need: Need::ApiRule, message: None, missing: broken.to_string() });
        }
        violations.sort_by_key(|violation| violation.need);
        violations.dedup_by(|a, b| a == b);
        violations
    }
}

/// The results behind the model's last answer: it has not seen them.
pub fn unseen(view: &[Entry]) -> impl Iterator<Item = (&MessageId, &ToolResult)> {
    let answered = view.iter().rposition(|entry| entry.message.role == Role::Assistant);
    let from = answered.map_or(view.len(), |at| at + 1);
    view[from..].iter().flat_map(|entry| entry.message.results().map(|result| (&entry.message.id, result)))
}

/// The texts of a request.
struct Told<'a> {
    /// What the model reads as said to it: everything but its own words and tool results.
    instructions: String,
    /// Everything.
    anywhere: String,
    /// Results by call.
    results: HashMap<&'a str, &'a ToolResult>,
}

impl<'a> Told<'a> {
    fn read<M: Borrow<Message>>(sent: &'a [M]) -> Self {
        let mut told = Told { instructions: String::new(), anywhere: String::new(), results: HashMap::new() };
        let mut seen: HashSet<&MessageId> = HashSet::new();
        for message in sent.iter().map(Borrow::borrow) {
            if !seen.insert(&message.id) {
                continue;
            }
            for block in &message.blocks {
                let text = block.to_text();
                told.anywhere.push_str(&text);
                told.anywhere.push('\0');
                match (&block.body, message.role) {
                    (Body::Text(text), Role::User | Role::System | Role::Developer) => {
                        told.instructions.push_str(text);
                        told.instructions.push('\0');
                    }
                    (Body::ToolResult(result), _) => {
                        told.results.insert(result.call.as_str(), result);
                    }
                    (
                        Body::Text(_)
                        | Body::Reasoning { .. }
                        | Body::ToolCall(_)
                        | Body::Image(_)
                        | Body::Document(_)
                        | Body::Unknown(_),
                        _,
                    ) => {}
                }
            }
        }
        told
    }
}
