//! How full a session's window is, and with what; what it has cost.

use super::{Session, SessionError};
use serde::Serialize;
use serde_json::json;
use throughline_core::{Event, Message, Role, Usage};

/// What a part of the window holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Share {
    /// The system prompt.
    System,
    /// The definitions of tools.
    Tools,
    /// What the client tells: instructions, environment, reminders.
    Scaffold,
    /// Summaries and placeholders of what was said before.
    Summaries,
    /// The user's words.
    User,
    /// The model's words, reasoning and calls.
    Assistant,
    /// What tools gave.
    Results,
}

impl Share {
    /// All of them, in the order of a request.
    pub const ALL: [Self; 7] = [
        Self::System,
        Self::Tools,
        Self::Scaffold,
        Self::Summaries,
        Self::User,
        Self::Assistant,
        Self::Results,
    ];

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Self::System => "system prompt",
            Self::Tools => "tools",
            Self::Scaffold => "instructions",
            Self::Summaries => "summaries",
            Self::User => "your messages",
            Self::Assistant => "answers",
            Self::Results => "tool results",
        }
    }

    fn of(message: &Message) -> Self {
        if message.flags.summary {
            return Self::Summaries;
        }
        if message.results().next().is_some() {
            return Self::Results;
        }
        match message.role {
            Role::Assistant => Self::Assistant,
            Role::System | Role::Developer => Self::Scaffold,
            Role::Tool => Self::Results,
            Role::User if message.is_real_user() => Self::User,
            Role::User => Self::Scaffold,
        }
    }
}

/// How full a session's window is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WindowUse {
    /// Tokens by part, as we count them; parts that hold nothing are left out.
    pub parts: Vec<(Share, u64)>,
    /// Tokens of all parts, as the provider counts as far as that is known.
    pub tokens: u64,
    /// Tokens that the model takes.
    pub window: u64,
    /// Tokens at which the view is replaced by itself.
    pub threshold: Option<u64>,
    /// How many messages are pinned.
    pub pinned: usize,
}

/// What a session has taken, background work included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spent {
    /// Requests.
    pub requests: u64,
    /// Tokens.
    pub usage: Usage,
    /// Dollars, as far as prices are known.
    pub dollars: f64,
}

impl Spent {
    pub(super) fn add(&mut self, usage: &Usage, dollars: f64, requests: u64) {
        self.requests += requests;
        self.dollars += dollars;
        let total = &mut self.usage;
        for (sum, more) in [
            (&mut total.input, usage.input),
            (&mut total.cache_read, usage.cache_read),
            (&mut total.cache_write, usage.cache_write),
            (&mut total.output, usage.output),
            (&mut total.reasoning, usage.reasoning),
        ] {
            *sum = sum.saturating_add(more);
        }
    }

    /// What an event of an earlier run tells.
    pub(super) fn recall(&mut self, event: &Event) {
        let read = |key: &str| event.data.get(key);
        let usage = read("usage").and_then(|usage| serde_json::from_value::<Usage>(usage.clone()).ok());
        let dollars = read("dollars").and_then(serde_json::Value::as_f64).unwrap_or(0.0);
        match (event.name.as_str(), usage) {
            ("usage", Some(usage)) => self.add(&usage, dollars, 1),
            ("receipt", usage) => {
                let requests = read("requests").and_then(serde_json::Value::as_u64).unwrap_or(1);
                self.add(&usage.unwrap_or_default(), dollars, requests);
            }
            (_, _) => {}
        }
    }
}

impl Session {
    /// How full the window is, and with what.
    pub fn window_use(&mut self) -> WindowUse {
        let mut parts: std::collections::BTreeMap<Share, u64> = Default::default();
        let tools = serde_json::Value::Array(self.frame.tools.clone()).to_string();
        parts.insert(Share::System, self.pipeline.count_text(&self.frame.system));
        if !self.frame.tools.is_empty() {
            parts.insert(Share::Tools, self.pipeline.count_text(&tools));
        }
        let entries = self.pipeline.view().entries();
        for (entry, tokens) in entries.iter().zip(self.pipeline.entry_tokens()) {
            *parts.entry(Share::of(&entry.message)).or_default() += tokens;
        }
        let pinned = entries.iter().filter(|entry| entry.pinned.is_some()).count();
        WindowUse {
            parts: parts.into_iter().filter(|(_, tokens)| *tokens > 0).collect(),
            tokens: self.pipeline.tokens(),
            window: self.pipeline.settings().window,
            threshold: self.pipeline.threshold(),
            pinned,
        }
    }

    /// What the session has taken since it began, background work and earlier runs included.
    pub fn spent(&self) -> Spent {
        self.spent
    }

    /// Something was done on the session's behalf, such as by a sub-agent: it counts as the session's.
    pub fn add_spent(&mut self, job: &str, spent: Spent) -> Result<(), SessionError> {
        let Spent { requests, usage, dollars } = spent;
        self.spent.add(&usage, dollars, requests);
        let data = json!({"job": job, "requests": requests, "usage": usage, "dollars": dollars});
        self.append_event(Event { at: Some(self.now()), name: "receipt".to_owned(), data })
    }

    /// The user's messages that the view shows, oldest first.
    pub fn user_messages(&self) -> Vec<std::sync::Arc<Message>> {
        let entries = self.pipeline.view().entries().iter();
        entries.filter(|entry| entry.message.is_real_user()).map(|entry| entry.message.clone()).collect()
    }
}
