//! What hooks are told.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::path::Path;
use throughline_core::SessionId;
use throughline_core::compaction::Trigger;
use throughline_model::CancelToken;

/// The moments at which hooks run, by the names that configuration and hooks use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum EventName {
    /// A session begins or goes on.
    SessionStart,
    /// The user said something; the model has not heard it yet.
    UserPromptSubmit,
    /// A tool is about to run.
    PreToolUse,
    /// A tool has run.
    PostToolUse,
    /// The view is about to be replaced.
    PreCompact,
    /// The view was replaced.
    PostCompact,
    /// The agent is about to end its turn.
    Stop,
    /// A helper agent is about to end.
    SubagentStop,
    /// The user's attention is wanted.
    Notification,
    /// A session ends.
    SessionEnd,
}

impl EventName {
    /// All of them, in the order of a session.
    pub const ALL: [Self; 10] = [
        Self::SessionStart,
        Self::UserPromptSubmit,
        Self::PreToolUse,
        Self::PostToolUse,
        Self::PreCompact,
        Self::PostCompact,
        Self::Stop,
        Self::SubagentStop,
        Self::Notification,
        Self::SessionEnd,
    ];

    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            Self::SessionStart => "SessionStart",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::PreToolUse => "PreToolUse",
            Self::PostToolUse => "PostToolUse",
            Self::PreCompact => "PreCompact",
            Self::PostCompact => "PostCompact",
            Self::Stop => "Stop",
            Self::SubagentStop => "SubagentStop",
            Self::Notification => "Notification",
            Self::SessionEnd => "SessionEnd",
        }
    }

    /// What a matcher is held against; `None`: there is nothing to match.
    pub fn matches_on(self) -> Option<&'static str> {
        match self {
            Self::SessionStart => Some("source"),
            Self::PreToolUse | Self::PostToolUse => Some("tool_name"),
            Self::PreCompact | Self::PostCompact => Some("trigger"),
            Self::SubagentStop => Some("agent_type"),
            Self::Notification => Some("notification_type"),
            Self::SessionEnd => Some("reason"),
            Self::UserPromptSubmit | Self::Stop => None,
        }
    }

    /// Whether a hook can hold up what the event announces. Elsewhere its objection is a message to the user.
    pub fn can_block(self) -> bool {
        match self {
            Self::UserPromptSubmit
            | Self::PreToolUse
            | Self::PostToolUse
            | Self::PreCompact
            | Self::Stop
            | Self::SubagentStop => true,
            Self::SessionStart | Self::PostCompact | Self::Notification | Self::SessionEnd => false,
        }
    }

    /// Whether plain text that a hook prints is for the model.
    pub(super) fn plain_text_is_context(self) -> bool {
        match self {
            Self::SessionStart | Self::UserPromptSubmit => true,
            Self::PreToolUse
            | Self::PostToolUse
            | Self::PreCompact
            | Self::PostCompact
            | Self::Stop
            | Self::SubagentStop
            | Self::Notification
            | Self::SessionEnd => false,
        }
    }
}

/// How a session came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// New.
    Startup,
    /// An old one goes on.
    Resume,
    /// Off another one.
    Fork,
    /// The view was replaced, and what hooks said at the start is gone from it.
    Compact,
}

impl Start {
    /// The word that hooks get.
    pub fn name(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Resume => "resume",
            Self::Fork => "fork",
            Self::Compact => "compact",
        }
    }
}

/// One call of a tool.
#[derive(Clone, Copy, Debug)]
pub struct ToolUse<'a> {
    /// The tool.
    pub name: &'a str,
    /// Its arguments.
    pub input: &'a Value,
    /// The call's id.
    pub id: &'a str,
}

/// Something that hooks may want to know of, or to prevent.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A session begins or goes on.
    SessionStart {
        /// How.
        source: Start,
    },
    /// The user said something.
    UserPromptSubmit {
        /// The user's words.
        prompt: &'a str,
    },
    /// A tool is about to run.
    PreToolUse {
        /// The call.
        tool: ToolUse<'a>,
    },
    /// A tool has run.
    PostToolUse {
        /// The call.
        tool: ToolUse<'a>,
        /// What came of it.
        response: &'a Value,
    },
    /// The view is about to be replaced.
    PreCompact {
        /// What set it off.
        trigger: Trigger,
        /// What the user wants the summary to pay attention to.
        instructions: Option<&'a str>,
    },
    /// The view was replaced.
    PostCompact {
        /// What set it off.
        trigger: Trigger,
        /// The new summary.
        summary: &'a str,
        /// Tokens of the view before.
        tokens_before: u64,
        /// Tokens of the view after.
        tokens_after: u64,
    },
    /// The agent is about to end its turn.
    Stop {
        /// Whether it goes on only because a hook made it. A hook that never lets go is to look at this.
        again: bool,
        /// Its last words.
        last: Option<&'a str>,
    },
    /// A helper agent is about to end.
    SubagentStop {
        /// What kind of helper.
        agent: &'a str,
        /// See [`Event::Stop`].
        again: bool,
        /// Its last words.
        last: Option<&'a str>,
    },
    /// The user's attention is wanted.
    Notification {
        /// What kind.
        kind: &'a str,
        /// In words.
        message: &'a str,
    },
    /// A session ends.
    SessionEnd {
        /// Why.
        reason: &'a str,
    },
}

/// Where an event happened.
#[derive(Clone, Debug)]
pub struct Context<'a> {
    /// The session.
    pub session: &'a SessionId,
    /// Its ledger, where it has one.
    pub ledger: Option<&'a Path>,
    /// The folder of the work. Hooks run there.
    pub cwd: &'a Path,
    /// Stops the hooks.
    pub cancel: CancelToken,
}

impl Event<'_> {
    /// The name of the moment.
    pub fn name(&self) -> EventName {
        match self {
            Self::SessionStart { .. } => EventName::SessionStart,
            Self::UserPromptSubmit { .. } => EventName::UserPromptSubmit,
            Self::PreToolUse { .. } => EventName::PreToolUse,
            Self::PostToolUse { .. } => EventName::PostToolUse,
            Self::PreCompact { .. } => EventName::PreCompact,
            Self::PostCompact { .. } => EventName::PostCompact,
            Self::Stop { .. } => EventName::Stop,
            Self::SubagentStop { .. } => EventName::SubagentStop,
            Self::Notification { .. } => EventName::Notification,
            Self::SessionEnd { .. } => EventName::SessionEnd,
        }
    }

    /// The words that a matcher is held against: it fits if it fits one of them. Empty: any matcher fits.
    pub(super) fn subjects(&self) -> Vec<&str> {
        match self {
            Self::SessionStart { source } => vec![source.name()],
            Self::PreToolUse { tool } | Self::PostToolUse { tool, .. } => vec![tool.name],
            Self::PreCompact { trigger, .. } | Self::PostCompact { trigger, .. } => {
                vec![manual_or_auto(*trigger), trigger.name()]
            }
            Self::SubagentStop { agent, .. } => vec![agent],
            Self::Notification { kind, .. } => vec![kind],
            Self::SessionEnd { reason } => vec![reason],
            Self::UserPromptSubmit { .. } | Self::Stop { .. } => Vec::new(),
        }
    }

    /// What a hook reads.
    pub(super) fn payload(&self, context: &Context<'_>) -> Value {
        let mut fields = Map::new();
        let mut put = |key: &str, value: Value| fields.insert(key.to_owned(), value);
        put("session_id", context.session.as_str().into());
        put("ledger_path", context.ledger.map(|path| path.to_string_lossy()).into());
        put("cwd", context.cwd.to_string_lossy().into());
        put("hook_event_name", self.name().name().into());
        match self {
            Self::SessionStart { source } => {
                put("source", source.name().into());
            }
            Self::UserPromptSubmit { prompt } => {
                put("prompt", (*prompt).into());
            }
            Self::PreToolUse { tool } => put_tool(&mut put, tool),
            Self::PostToolUse { tool, response } => {
                put_tool(&mut put, tool);
                put("tool_response", (*response).clone());
            }
            Self::PreCompact { trigger, instructions } => {
                put("trigger", manual_or_auto(*trigger).into());
                put("trigger_detail", trigger.name().into());
                put("custom_instructions", instructions.unwrap_or_default().into());
            }
            Self::PostCompact { trigger, summary, tokens_before, tokens_after } => {
                put("trigger", manual_or_auto(*trigger).into());
                put("trigger_detail", trigger.name().into());
                put("compact_summary", (*summary).into());
                put("tokens_before", json!(tokens_before));
                put("tokens_after", json!(tokens_after));
            }
            Self::Stop { again, last } => {
                put("stop_hook_active", (*again).into());
                put("last_assistant_message", (*last).into());
            }
            Self::SubagentStop { agent, again, last } => {
                put("agent_type", (*agent).into());
                put("stop_hook_active", (*again).into());
                put("last_assistant_message", (*last).into());
            }
            Self::Notification { kind, message } => {
                put("notification_type", (*kind).into());
                put("message", (*message).into());
            }
            Self::SessionEnd { reason } => {
                put("reason", (*reason).into());
            }
        }
        Value::Object(fields)
    }
}

fn put_tool(put: &mut impl FnMut(&str, Value) -> Option<Value>, tool: &ToolUse<'_>) {
    put("tool_name", tool.name.into());
    put("tool_input", tool.input.clone());
    put("tool_use_id", tool.id.into());
}

/// The two words that hooks of other agents know.
fn manual_or_auto(trigger: Trigger) -> &'static str {
    match trigger {
        Trigger::Manual => "manual",
        Trigger::PreTurn | Trigger::MidTurn | Trigger::ModelSwitch | Trigger::TooLong => "auto",
    }
}
