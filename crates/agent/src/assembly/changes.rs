//! What changed since a session was last told (A2).

use super::assembled::{Assembled, has_developer};
use super::environment::{self, Fields};
use super::meta;
use super::part::{Part, PartKind};
use super::skills::line;
use super::text::{bounded, in_line, inert};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use throughline_core::{Fragment, Message, Role, Speaker, Wire};

/// What a session was told: enough to say later what changed, and small enough to be kept in its ledger.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Told {
    parts: Vec<ToldPart>,
    environment: Fields,
    /// Name to what was said of it.
    skills: BTreeMap<String, String>,
    deferred: BTreeSet<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ToldPart {
    kind: PartKind,
    label: String,
    hash: String,
}

/// Something to tell.
struct Change {
    kind: PartKind,
    text: String,
}

impl Told {
    pub(crate) fn of(assembled: &Assembled) -> Self {
        let parts = assembled.parts.iter().map(|part| ToldPart {
            kind: part.kind,
            label: part.label.clone(),
            hash: hash(&part.text),
        });
        Self {
            parts: parts.collect(),
            environment: assembled.environment.clone(),
            skills: skill_lines(assembled).into_iter().map(|(name, line)| (name, hash(&line))).collect(),
            deferred: deferred_lines(assembled),
        }
    }

    /// What to tell a model that was told this and should know `new`: nothing if nothing changed. A message for each change, and
    /// none of them is taken for a person's words.
    pub fn changes(&self, new: &Assembled, wire: Wire) -> Vec<Message> {
        self.changes_by_kind(new, wire).into_iter().map(|(_, message)| message).collect()
    }

    /// The same, each with the kind of part that changed.
    pub(crate) fn changes_by_kind(&self, new: &Assembled, wire: Wire) -> Vec<(PartKind, Message)> {
        let mut changes: Vec<Change> = Vec::new();
        for part in &new.parts {
            match part.kind {
                // The system prompt is not part of the conversation; what the handbook has is told by itself.
                PartKind::Base | PartKind::Handbook => {}
                // These say what is different in them.
                PartKind::Skills | PartKind::DeferredTools | PartKind::Environment => {}
                PartKind::Permissions
                | PartKind::CustomInstructions
                | PartKind::Memory
                | PartKind::CollaborationMode
                | PartKind::Personality
                | PartKind::CommitAttribution
                | PartKind::ProjectInstructions
                | PartKind::McpInstructions => {
                    if !self.has(part) {
                        changes.push(Change { kind: part.kind, text: part.text.clone() });
                    }
                }
            }
        }
        changes.extend(self.gone(new));
        changes.extend(self.skills_changed(new));
        changes.extend(self.deferred_changed(new));
        if let Some(fields) = environment::difference(&self.environment, &new.environment) {
            let kind = PartKind::Environment;
            changes.push(Change { kind, text: kind.render("", &environment::render(&fields)) });
        }
        changes.sort_by_key(|change| change.kind);
        let spoken = |change: Change| (change.kind, spoken(change.kind.speaker(), change.text, wire));
        changes.into_iter().map(spoken).collect()
    }

    /// Whether exactly this was told. Two parts may share a label, where paths are too long to be shown whole.
    fn has(&self, part: &Part) -> bool {
        let hash = hash(&part.text);
        self.parts.iter().any(|old| old.kind == part.kind && old.label == part.label && old.hash == hash)
    }

    fn gone(&self, new: &Assembled) -> Vec<Change> {
        let is_there =
            |old: &ToldPart| new.parts.iter().any(|part| part.kind == old.kind && part.label == old.label);
        self.parts
            .iter()
            .filter(|old| !is_there(old))
            .filter_map(|old| {
                let body = farewell(old.kind)?;
                Some(Change { kind: old.kind, text: old.kind.render(&inert(&old.label), body) })
            })
            .collect()
    }

    fn skills_changed(&self, new: &Assembled) -> Option<Change> {
        let now = skill_lines(new);
        let came = now.iter().filter(|(name, line)| self.skills.get(*name) != Some(&hash(line)));
        let came: Vec<&str> = came.map(|(_, line)| line.as_str()).collect();
        let gone = self.skills.keys().filter(|name| !now.contains_key(*name));
        let gone: Vec<String> = gone.map(|name| format!("- {}", in_line(name, 64))).collect();
        let body = two_lists(("Skills that are new or different:", &came), ("Skills that are gone:", &gone))?;
        let body =
            bounded(&body, new.limits.skills_chars, "call the Skill tool without a name to list all").text;
        let kind = PartKind::Skills;
        Some(Change { kind, text: kind.render("", &body) })
    }

    fn deferred_changed(&self, new: &Assembled) -> Option<Change> {
        let now = deferred_lines(new);
        let came: Vec<&String> = now.difference(&self.deferred).collect();
        let gone: Vec<&String> = self.deferred.difference(&now).collect();
        let body = two_lists(("Tools that came:", &came), ("Tools that are gone:", &gone))?;
        let body = bounded(&inert(&body), new.limits.deferred_bytes, "search for the rest").text;
        let kind = PartKind::DeferredTools;
        Some(Change { kind, text: kind.render("", &body) })
    }
}

/// What is compared of a line about a deferred tool.
const DEFERRED_LINE: usize = 400;

/// What is said when a part is no longer there; `None` where that is said elsewhere.
fn farewell(kind: PartKind) -> Option<&'static str> {
    match kind {
        PartKind::Base
        | PartKind::Handbook
        | PartKind::Skills
        | PartKind::DeferredTools
        | PartKind::Environment => None,
        PartKind::CollaborationMode => {
            Some("The mode that was described before has ended: its rules no longer hold.")
        }
        PartKind::ProjectInstructions => {
            Some("These instructions no longer hold: the file is gone, or the work is elsewhere now.")
        }
        PartKind::McpInstructions => {
            Some("This server is gone, or says nothing any more: what it said no longer holds.")
        }
        PartKind::Permissions
        | PartKind::CustomInstructions
        | PartKind::Memory
        | PartKind::Personality
        | PartKind::CommitAttribution => Some("What was said here before no longer holds."),
    }
}

fn two_lists<A: AsRef<str>, B: AsRef<str>>(came: (&str, &[A]), gone: (&str, &[B])) -> Option<String> {
    let mut lines: Vec<&str> = Vec::new();
    if !came.1.is_empty() {
        lines.push(came.0);
        lines.extend(came.1.iter().map(AsRef::as_ref));
    }
    if !gone.1.is_empty() {
        lines.push(gone.0);
        lines.extend(gone.1.iter().map(AsRef::as_ref));
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// The lines that name a tool. Lines in parentheses say how many more there are.
fn deferred_lines(assembled: &Assembled) -> BTreeSet<String> {
    let lines = assembled.deferred.iter().filter(|line| !line.starts_with('('));
    lines.map(|line| in_line(line, DEFERRED_LINE)).collect()
}

fn skill_lines(assembled: &Assembled) -> BTreeMap<String, String> {
    let chars = assembled.limits.skill_description_chars;
    assembled.skills.for_model().into_iter().map(|skill| (skill.name.clone(), line(skill, chars))).collect()
}

/// Tells the model that another one answered before it. On a wire that knows no developer it is a reminder.
pub fn model_switch(from: &str, to: &str, wire: Wire) -> Message {
    let (from, to) = (in_line(from, 100), in_line(to, 100));
    let body = format!(
        "Up to here {from} answered in this conversation; from here on {to} does. Go on where it stopped: what was decided and done \
         stands, and tools and instructions are those you are given now."
    );
    spoken(Speaker::Developer, Fragment::ModelSwitch.render(&body), wire)
}

/// Tells the model what was chosen of its handbooks.
pub fn handbook(text: &str, wire: Wire) -> Message {
    let kind = PartKind::Handbook;
    spoken(kind.speaker(), kind.render("", &inert(text)), wire)
}

/// A fragment as a message in the middle of a conversation.
fn spoken(speaker: Speaker, text: String, wire: Wire) -> Message {
    match speaker {
        Speaker::Developer | Speaker::System if has_developer(wire) => Message::text(Role::Developer, text),
        Speaker::Developer | Speaker::System => meta(Fragment::SystemReminder.render(&text)),
        Speaker::User | Speaker::Assistant | Speaker::Notes => meta(text),
    }
}

fn hash(text: &str) -> String {
    let mut hex = blake3::hash(text.as_bytes()).to_hex().to_string();
    hex.truncate(32);
    hex
}
