//! The instruction fragments that hold: what is left of all that clients told about rules, environment, tools and skills.

use super::Need;
use crate::classify::{Lifetime, Part, PartKind, classify};
use crate::compaction::is_supplied_anew;
use crate::{Entry, Message, MessageId, Role};
use std::collections::{HashMap, HashSet};

/// A fragment that holds.
#[derive(Clone, Debug)]
pub struct InForce<'a> {
    /// The entry of the view that holds it.
    pub at: usize,
    /// The message.
    pub message: MessageId,
    /// Its text.
    pub text: &'a str,
    /// What it is about.
    pub need: Need,
    /// The block that it stands in.
    pub block: usize,
}

/// The fragments of a view that hold, in order. Of a state the newest is left, of changes all.
pub fn in_force(view: &[Entry]) -> Vec<InForce<'_>> {
    let mut found: Vec<(Option<String>, InForce<'_>)> = Vec::new();
    for (at, entry) in view.iter().enumerate() {
        let message = &*entry.message;
        if message.flags.summary
            || message.flags.display_only
            || !entry.overlays.is_empty()
            || !may_hold(message)
            || is_supplied_anew(message)
        {
            continue;
        }
        for part in classify(message) {
            let text = part.text(message);
            if !holds(message, &part, text) {
                continue;
            }
            if text.trim().is_empty() {
                continue;
            }
            let need = match part.kind {
                PartKind::InstructionFile => Need::ProjectInstructions,
                PartKind::TypedRequest
                | PartKind::PastedMaterial
                | PartKind::AgentTask
                | PartKind::Harness
                | PartKind::LocalCommandOutput
                | PartKind::Reminder
                | PartKind::ToolResult => Need::Fragment,
            };
            let fragment = InForce { at, message: message.id.clone(), text, need, block: part.block };
            found.push((subject(message, &part, text), fragment));
        }
    }
    let mut newest: HashMap<String, usize> = HashMap::new();
    for (at, (subject, _)) in found.iter().enumerate() {
        if let Some(subject) = subject {
            newest.insert(subject.clone(), at);
        }
    }
    let newest: HashSet<usize> = newest.into_values().collect();
    let mut texts: HashSet<&str> = HashSet::new();
    let holding =
        found.into_iter().enumerate().filter(|(at, (subject, _))| subject.is_none() || newest.contains(at));
    // The same text twice says it once.
    holding.map(|(_, (_, fragment))| fragment).filter(|fragment| texts.insert(fragment.text.trim())).collect()
}

/// Returns false for messages that hold results only: nothing in them is a fragment.
fn may_hold(message: &Message) -> bool {
    match message.role {
        Role::System | Role::Developer => true,
        Role::User => message.blocks.iter().any(|block| matches!(&block.body, crate::Body::Text(_))),
        Role::Assistant | Role::Tool => false,
    }
}

/// In the roles of the application everything is told for good, but for notices.
fn holds(message: &Message, part: &Part, text: &str) -> bool {
    match message.role {
        Role::System | Role::Developer => part.kind != PartKind::Harness || !crate::classify::is_notice(text),
        Role::User => part.kind.is_instruction() && part.lifetime != Lifetime::Once,
        Role::Assistant | Role::Tool => false,
    }
}

/// What a state is about: a newer fragment of the same subject takes its place. `None` for what holds beside all others.
fn subject(message: &Message, part: &Part, text: &str) -> Option<String> {
    if crate::classify::is_delta(text) {
        return None;
    }
    let is_tagged = text.trim_start().starts_with('<');
    let is_snapshot = crate::classify::is_snapshot(text);
    match (part.lifetime, message.role) {
        (Lifetime::Delta, _) => return None,
        (Lifetime::Once | Lifetime::State, Role::System | Role::Developer) if !is_tagged && !is_snapshot => {
            return None;
        }
        (Lifetime::Once | Lifetime::State, _) => {}
    }
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    // A tag alone on its line says little: the next line tells the subject.
    let second = if first.starts_with('<') && first.ends_with('>') && !first.contains("</") {
        lines.next()
    } else {
        None
    };
    // A picture of the environment is one subject, whatever stands in its first line.
    let second = second.filter(|line| !line.starts_with('<')).unwrap_or_default();
    Some(format!("{first} {second}").chars().filter(|c| !c.is_ascii_digit()).take(100).collect())
}
