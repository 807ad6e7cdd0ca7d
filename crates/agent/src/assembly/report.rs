//! What a session would be told, for people: `exec --show-context`.

use super::assembled::{Assembled, has_developer};
use super::part::{Part, PartKind};
use serde::Serialize;
use std::fmt::{self, Write};
use std::path::PathBuf;
use throughline_core::tokens::Counter;
use throughline_core::{Role, Speaker, Wire};

/// What a session would be told, by part and tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ContextReport {
    /// The parts, in order.
    pub parts: Vec<PartReport>,
    /// Tokens of all parts.
    pub tokens: u64,
    /// Bytes of all parts.
    pub bytes: usize,
    /// What people should know.
    pub warnings: Vec<String>,
}

/// A part, at a glance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PartReport {
    /// What it is.
    pub kind: PartKind,
    /// A folder, a server; empty where there is only one part of its kind.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub label: String,
    /// The file that it comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<PathBuf>,
    /// The role in which it is told on this wire.
    pub role: Role,
    /// Its tokens.
    pub tokens: u64,
    /// Its bytes.
    pub bytes: usize,
    /// What was cut to keep it within its limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut: Option<String>,
}

impl Assembled {
    /// Its parts as they are told on a wire, and what they take.
    pub fn show(&self, wire: Wire, counter: &mut Counter) -> ContextReport {
        let parts: Vec<PartReport> = self
            .parts
            .iter()
            .map(|part| PartReport {
                kind: part.kind,
                label: part.label.clone(),
                source: part.source.clone(),
                role: role(part, wire),
                tokens: counter.text(&part.text),
                bytes: part.text.len(),
                cut: part.cut.clone(),
            })
            .collect();
        ContextReport {
            tokens: parts.iter().map(|part| part.tokens).sum(),
            bytes: parts.iter().map(|part| part.bytes).sum(),
            parts,
            warnings: self.warnings.clone(),
        }
    }

    /// Exactly what is told on a wire, each part under a line that names its role and kind.
    pub fn to_text(&self, wire: Wire) -> String {
        let mut out = String::new();
        let order = [Role::System, Role::Developer, Role::User];
        for part in order.iter().flat_map(|at| self.parts.iter().filter(move |part| role(part, wire) == *at))
        {
            let name = part.kind.name();
            let label = if part.label.is_empty() { String::new() } else { format!(": {}", part.label) };
            let _ = writeln!(out, "──── {} · {name}{label}\n{}\n", word(role(part, wire)), part.text);
        }
        out
    }
}

fn role(part: &Part, wire: Wire) -> Role {
    match part.speaker {
        Speaker::System => Role::System,
        Speaker::Developer if has_developer(wire) => Role::Developer,
        Speaker::Developer => Role::System,
        Speaker::User | Speaker::Assistant | Speaker::Notes => Role::User,
    }
}

fn word(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::System => "system",
        Role::Developer => "developer",
        Role::Tool => "tool",
    }
}

impl fmt::Display for ContextReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.parts {
            let PartReport { kind, label, source: _, role, tokens, bytes: _, cut } = part;
            let label = if label.is_empty() { String::new() } else { format!(": {label}") };
            let cut = cut.as_ref().map_or(String::new(), |cut| format!(" ({cut})"));
            writeln!(f, "{tokens:>7}  {:<9}  {}{label}{cut}", word(*role), kind.name())?;
        }
        writeln!(f, "{:>7}  tokens in all", self.tokens)?;
        self.warnings.iter().try_for_each(|warning| writeln!(f, "warning: {warning}"))
    }
}
