//! Everything that a session is told, made from its sources.

use super::environment::{self, Fields};
use super::part::{Part, PartKind, base};
use super::project;
use super::skills::{Budget, Skills, listing};
use super::sources::{AssemblyLimits, Sources};
use super::text::{Bounded, shown};
use super::{Told, meta, meta_of};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use throughline_core::{Block, Message, Role, Speaker, Wire};

/// Everything that a session is told (A1), part by part, and what people should know about it.
#[derive(Clone, Debug)]
pub struct Assembled {
    /// The parts, in the order in which they are told.
    pub parts: Vec<Part>,
    /// Files that could not be read, imports that were refused, what was cut.
    pub warnings: Vec<String>,
    pub(crate) environment: Fields,
    pub(crate) skills: Skills,
    pub(crate) deferred: Vec<String>,
    pub(crate) limits: AssemblyLimits,
    compact: Option<String>,
}

/// Warnings that are worth reading one by one.
const WARNINGS: usize = 100;

impl Assembled {
    /// Everything, from files as they are now and from what is given. Whatever is in them, this returns, and every part is within
    /// its limit.
    pub fn full(sources: &Sources) -> Self {
        let mut warnings = Vec::new();
        let cwd = sources.cwd.canonicalize().unwrap_or_else(|error| {
            warnings.push(format!("{} can't be looked into: {error}", shown(&sources.cwd)));
            sources.cwd.clone()
        });
        let project = project::read(sources, &cwd);
        let skills = Skills::discover(sources);
        warnings.extend(project.warnings);
        warnings.extend(skills.warnings().iter().cloned());
        let environment = environment::fields(&cwd, &sources.environment, sources.limits.environment_bytes);
        let deferred = sources.deferred.as_deref().unwrap_or_default();
        let mut assembled = Self {
            parts: Vec::new(),
            warnings,
            environment,
            skills,
            deferred: deferred
                .lines()
                .map(str::trim_end)
                .filter(|line| !line.is_empty())
                .map(str::to_owned)
                .collect(),
            limits: sources.limits,
            compact: project.compact,
        };
        assembled.add_developer_parts(sources);
        assembled.add_tools(sources);
        assembled.parts.extend(project.documents.into_iter().map(part_of));
        let body = Bounded { text: environment::render(&assembled.environment), cut: None };
        assembled.parts.push(Part::new(PartKind::Environment, "", body));
        if assembled.warnings.len() > WARNINGS {
            let more = assembled.warnings.len() - WARNINGS;
            assembled.warnings.truncate(WARNINGS);
            assembled.warnings.push(format!("and {more} more of this kind"));
        }
        assembled
    }

    fn add_developer_parts(&mut self, sources: &Sources) {
        let limits = &sources.limits;
        self.parts.push(Part::new(PartKind::Base, "", Bounded { text: base().to_owned(), cut: None }));
        let memory = [
            sources.memory.as_deref(),
            sources.memory_writing.as_deref().filter(|_| sources.kind.writes_memory()),
        ];
        let memory = memory.into_iter().flatten().collect::<Vec<_>>().join("\n\n");
        let given = [
            (PartKind::Permissions, sources.permissions.as_deref(), limits.custom_bytes),
            (PartKind::CustomInstructions, sources.custom.as_deref(), limits.custom_bytes),
            (PartKind::Memory, Some(memory.as_str()), limits.memory_bytes),
            (PartKind::CollaborationMode, sources.mode_text.as_deref(), limits.custom_bytes),
            (PartKind::Personality, sources.personality.as_deref(), limits.custom_bytes),
        ];
        for (kind, text, bytes) in given {
            self.add_text(Part::of_text(kind, "", text.unwrap_or_default(), bytes));
        }
        let list = listing(&self.skills.for_model(), Budget::of(sources), limits.skill_description_chars);
        if let Some(list) = list {
            let body = Bounded { text: list.text, cut: list.cut };
            self.parts.push(Part::new(PartKind::Skills, "", body));
        }
        let attribution = sources.attribution.as_deref().unwrap_or_default();
        self.add_text(Part::of_text(PartKind::CommitAttribution, "", attribution, limits.custom_bytes));
    }

    fn add_tools(&mut self, sources: &Sources) {
        let limits = &sources.limits;
        let deferred = self.deferred.join("\n");
        self.add_text(Part::of_text(PartKind::DeferredTools, "", &deferred, limits.deferred_bytes));
        for (server, text) in sources.mcp.iter().take(limits.mcp_servers) {
            self.add_text(Part::of_text(PartKind::McpInstructions, server, text, limits.mcp_bytes));
        }
        if sources.mcp.len() > limits.mcp_servers {
            let over = sources.mcp.len() - limits.mcp_servers;
            self.warnings.push(format!("what {over} MCP servers say about themselves is left out"));
        }
    }

    fn add_text(&mut self, part: Option<Part>) {
        let Some(part) = part else { return };
        if let Some(cut) = &part.cut {
            let name = part.kind.name();
            let of = if part.label.is_empty() { String::new() } else { format!(" of {}", part.label) };
            self.warnings.push(format!("{name}{of}: too long for the context: {cut}"));
        }
        self.parts.push(part);
    }

    fn spoken(&self, speaker: Speaker) -> impl Iterator<Item = &Part> {
        self.parts.iter().filter(move |part| part.speaker == speaker)
    }

    /// The system prompt: on wires that know no developer, what developers say is in it.
    pub fn system(&self, wire: Wire) -> String {
        let developer = self.spoken(Speaker::Developer).filter(|_| !has_developer(wire));
        let parts = self.spoken(Speaker::System).chain(developer);
        parts.map(|part| part.text.as_str()).collect::<Vec<_>>().join("\n\n")
    }

    /// What a conversation begins with, and what comes back after a compaction (A2): the developer's bundle where the wire has such
    /// a role, then the user's context. A part is a block of its own, and none is taken for a person's words.
    ///
    /// What is known of tools is a message before that of the project and the environment: the latter are settings, which outlast a
    /// turn that is snipped, and a message is one only if all of it is.
    pub fn messages(&self, wire: Wire) -> Vec<Message> {
        self.head(wire).into_iter().map(|(_, message)| message).collect()
    }

    /// The same, with what each message is.
    pub(crate) fn head(&self, wire: Wire) -> Vec<(HeadMessage, Message)> {
        let all = HeadMessage::ALL.into_iter().filter(|which| match which {
            HeadMessage::Developer => has_developer(wire),
            HeadMessage::Tools | HeadMessage::Setting => true,
        });
        all.filter_map(|which| Some((which, self.head_message(which)?))).collect()
    }

    /// A message of the head as it would be now; `None` if there is nothing to say in it.
    pub(crate) fn head_message(&self, which: HeadMessage) -> Option<Message> {
        let parts = self.parts.iter().filter(|part| HeadMessage::of(part.kind) == Some(which));
        let blocks: Vec<Block> = parts.map(|part| Block::text(part.text.as_str())).collect();
        let message = match which {
            HeadMessage::Developer => Message::new(Role::Developer, blocks),
            HeadMessage::Tools | HeadMessage::Setting => meta_of(blocks),
        };
        (!message.blocks.is_empty()).then_some(message)
    }

    /// What to tell a model that was told `old` and should know `new` (A2): only what changed, each as its fragment.
    pub fn changes(old: &Self, new: &Self, wire: Wire) -> Vec<Message> {
        old.told().changes(new, wire)
    }

    /// What is enough to know of this later to tell what changed.
    pub fn told(&self) -> Told {
        Told::of(self)
    }

    /// What project files say about summaries (P5b).
    pub fn compact_instructions(&self) -> Option<&str> {
        self.compact.as_deref()
    }

    /// What the user's and the project's files say, file by file.
    pub fn instructions(&self) -> Vec<String> {
        let is_said =
            |part: &&Part| matches!(part.kind, PartKind::ProjectInstructions | PartKind::CustomInstructions);
        self.parts.iter().filter(is_said).map(|part| part.text.clone()).collect()
    }

    /// The skills that were found.
    pub fn skills(&self) -> &Skills {
        &self.skills
    }

    /// The bodies of the skills that a text of the user's names as `@name`, as messages to stand before it; what can't be read is a
    /// warning.
    pub fn mentioned(&self, words: &str) -> (Vec<Message>, Vec<String>) {
        let mut messages = Vec::new();
        let mut warnings = Vec::new();
        for skill in self.skills.mentions(words) {
            match self.skills.load(&skill.name) {
                Ok(body) => messages.push(meta(body.text)),
                Err(error) => warnings.push(error.to_string()),
            }
        }
        (messages, warnings)
    }
}

/// A message at the head of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HeadMessage {
    /// The developer's bundle.
    Developer,
    /// What is known of tools.
    Tools,
    /// Where the work is done and by which rules.
    Setting,
}

impl HeadMessage {
    const ALL: [Self; 3] = [Self::Developer, Self::Tools, Self::Setting];

    /// The message that a kind of part stands in; `None`: it stands elsewhere.
    pub(crate) fn of(kind: PartKind) -> Option<Self> {
        match kind {
            PartKind::Base | PartKind::Handbook => None,
            PartKind::Permissions
            | PartKind::CustomInstructions
            | PartKind::Memory
            | PartKind::CollaborationMode
            | PartKind::Personality
            | PartKind::Skills
            | PartKind::CommitAttribution => Some(Self::Developer),
            PartKind::DeferredTools | PartKind::McpInstructions => Some(Self::Tools),
            PartKind::ProjectInstructions | PartKind::Environment => Some(Self::Setting),
        }
    }
}

/// Whether a wire has a role for developers.
pub(crate) fn has_developer(wire: Wire) -> bool {
    match wire {
        Wire::Responses => true,
        Wire::Anthropic | Wire::Chat => false,
    }
}

/// Project instructions for the files of a folder that the working folder's do not cover (A3), as they are now: outer ones first,
/// each with the folder that it is about. Nothing outside the project.
pub(crate) fn scoped_instructions(sources: &Sources, folder: &Path) -> Vec<(PathBuf, Part)> {
    let documents = project::read_scoped(sources, folder).documents.into_iter();
    documents.filter_map(|document| Some((document.folder.clone()?, part_of(document)))).collect()
}

fn part_of(document: project::Document) -> Part {
    let label = label_of(document.folder.as_deref(), &document.path);
    let body = Bounded { text: document.body, cut: document.cut };
    Part::new(PartKind::ProjectInstructions, &label, body).with_source(document.path)
}

/// What a file is about, and which it is unless that goes without saying.
fn label_of(folder: Option<&Path>, path: &Path) -> String {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    match folder {
        None => format!("every project (from {})", shown(path)),
        Some(folder) if file == "AGENTS.md" => shown(folder),
        Some(folder) => format!("{} (from {file})", shown(folder)),
    }
}
