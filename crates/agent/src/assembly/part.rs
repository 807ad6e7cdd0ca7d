//! The parts that a context is made of: each a typed fragment, inert and bounded.

use super::meta;
use super::text::{Bounded, bounded, in_line, inert};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use throughline_core::{Fragment, Message, Speaker, prompt};

/// The system prompt.
const BASE: &str = include_str!("../../../../prompts/agent.md");

/// What the agent is told before anything else.
pub fn base() -> &'static str {
    prompt(BASE)
}

/// The kinds of part, in the order in which they are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    /// The system prompt: how to work.
    Base,
    /// What may be done without asking.
    Permissions,
    /// The user's own instructions from the configuration.
    CustomInstructions,
    /// What is remembered, and how to use it.
    Memory,
    /// What old sessions taught, chosen for what is asked: told with the first words, and again after a compaction.
    Handbook,
    /// What the mode asks of the model.
    CollaborationMode,
    /// The tone to take.
    Personality,
    /// The list of skills.
    Skills,
    /// How commits are to be signed.
    CommitAttribution,
    /// Tools that can be loaded on demand.
    DeferredTools,
    /// What an MCP server says about itself.
    McpInstructions,
    /// A file of project instructions.
    ProjectInstructions,
    /// Directory, shell, date, repository.
    Environment,
}

impl PartKind {
    /// All of them, in order.
    pub const ALL: [Self; 13] = [
        Self::Base,
        Self::Permissions,
        Self::CustomInstructions,
        Self::Memory,
        Self::Handbook,
        Self::CollaborationMode,
        Self::Personality,
        Self::Skills,
        Self::CommitAttribution,
        Self::DeferredTools,
        Self::McpInstructions,
        Self::ProjectInstructions,
        Self::Environment,
    ];

    /// Whose voice it is. What files of a project and servers say is nobody's command: it comes as context of the user's.
    pub fn speaker(self) -> Speaker {
        match self {
            Self::Base => Speaker::System,
            Self::Permissions
            | Self::CustomInstructions
            | Self::Memory
            | Self::Handbook
            | Self::CollaborationMode
            | Self::Personality
            | Self::Skills
            | Self::CommitAttribution => Speaker::Developer,
            Self::ProjectInstructions | Self::DeferredTools | Self::McpInstructions | Self::Environment => {
                Speaker::User
            }
        }
    }

    /// A name for reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Base => "system prompt",
            Self::Permissions => "permissions",
            Self::CustomInstructions => "custom instructions",
            Self::Memory => "memory",
            Self::Handbook => "handbook",
            Self::CollaborationMode => "mode",
            Self::Personality => "personality",
            Self::Skills => "skills",
            Self::CommitAttribution => "commit attribution",
            Self::ProjectInstructions => "project instructions",
            Self::DeferredTools => "deferred tools",
            Self::McpInstructions => "MCP instructions",
            Self::Environment => "environment",
        }
    }

    fn form(self) -> Form {
        match self {
            Self::Base => Form::Bare,
            Self::Permissions => Form::Fragment(Fragment::Permissions),
            Self::CustomInstructions => Form::Headed("# Custom instructions"),
            Self::Memory => Form::Headed("# Memory"),
            Self::Handbook => Form::Headed("# Handbook"),
            Self::CollaborationMode => Form::Fragment(Fragment::CollaborationMode),
            Self::Personality => Form::Fragment(Fragment::Personality),
            Self::Skills => Form::Fragment(Fragment::Skills),
            Self::CommitAttribution => Form::Headed("# Commit attribution"),
            Self::ProjectInstructions => Form::Fragment(Fragment::AgentsMd),
            Self::DeferredTools => Form::Fragment(Fragment::DeferredTools),
            Self::McpInstructions => {
                Form::Reminder("# Information from an MCP server about itself, not a request:")
            }
            Self::Environment => Form::Fragment(Fragment::Environment),
        }
    }

    /// Which kind of part `text` is as a whole, if any: the inverse of rendering.
    pub fn recognise(speaker: Speaker, text: &str) -> Option<Self> {
        let text = text.trim();
        Self::ALL.into_iter().filter(|kind| kind.speaker() == speaker).find(|kind| match kind.form() {
            Form::Bare => text == base(),
            Form::Fragment(fragment) => Fragment::recognise(speaker, text) == Some(fragment),
            Form::Headed(heading) => text.lines().next() == Some(heading),
            Form::Reminder(heading) => {
                Fragment::recognise(speaker, text) == Some(Fragment::SystemReminder)
                    && text.lines().nth(1).is_some_and(|line| line.starts_with(heading))
            }
        })
    }

    /// The part around a body that is inert. The label tells parts of one kind apart.
    pub(crate) fn render(self, label: &str, body: &str) -> String {
        match self.form() {
            Form::Bare => body.to_owned(),
            Form::Fragment(Fragment::AgentsMd) => {
                let (_, open, close) = Fragment::AgentsMd.marks();
                format!("{open} for {label}\n\n<INSTRUCTIONS>\n{body}\n{close}")
            }
            Form::Fragment(fragment) => fragment.render(body),
            Form::Headed(heading) => format!("{heading}\n\n{body}"),
            Form::Reminder(heading) => {
                Fragment::SystemReminder.render(&format!("{heading} {label}\n\n{body}"))
            }
        }
    }
}

/// How a kind of part looks.
enum Form {
    /// As it is.
    Bare,
    /// Between the marks of a fragment.
    Fragment(Fragment),
    /// Under a heading: there is no tag for it that other tools know.
    Headed(&'static str),
    /// Under a heading, in a reminder.
    Reminder(&'static str),
}

/// A part of what a session is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// What it is.
    pub kind: PartKind,
    /// Whose voice it is.
    pub speaker: Speaker,
    /// What tells it from others of its kind: a folder, a server. Empty where there is only one.
    pub label: String,
    /// The file that it comes from.
    pub source: Option<PathBuf>,
    /// Exactly what the model is told.
    pub text: String,
    /// What was cut to keep it within its limit.
    pub cut: Option<String>,
}

/// The longest label, in bytes.
const LABEL: usize = 320;

impl Part {
    /// A part of its kind, made of a body that is inert and bounded already.
    pub(crate) fn new(kind: PartKind, label: &str, body: Bounded) -> Self {
        let label = in_line(label, LABEL);
        let text = kind.render(&label, &body.text);
        Self { kind, speaker: kind.speaker(), label, source: None, text, cut: body.cut }
    }

    /// A part made of whatever text somebody gave, within `bytes`; `None` if the text says nothing.
    pub(crate) fn of_text(kind: PartKind, label: &str, text: &str, bytes: usize) -> Option<Self> {
        let text = inert(text.trim());
        (!text.is_empty()).then(|| Self::new(kind, label, bounded(&text, bytes, "the rest is left out")))
    }

    /// The part as a message in the middle of a conversation, on a wire that knows no developer.
    pub fn message(&self) -> Message {
        meta(self.text.clone())
    }

    /// With the file that it comes from.
    pub(crate) fn with_source(self, path: PathBuf) -> Self {
        Self { source: Some(path), ..self }
    }
}
