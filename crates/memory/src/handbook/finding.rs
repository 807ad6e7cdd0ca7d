//! What one session taught.

use super::Evidence;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a session taught, as a whole: what phase 1 makes of it (H2).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Extraction {
    /// Single statements, those that matter most first.
    pub findings: Vec<Finding>,
    /// The session in Markdown, for who wants to know more.
    pub summary: String,
    /// A few words for a file's name: lower-case letters, digits, `-`.
    pub slug: String,
}

impl Extraction {
    /// Whether nothing was worth keeping: a normal result.
    pub fn is_empty(&self) -> bool {
        self.findings.is_empty()
    }
}

/// One statement, with what it rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// What it is about.
    pub kind: FindingKind,
    /// How it is known.
    pub basis: Basis,
    /// The statement: one line, no secrets, nobody's order but the user's.
    pub text: String,
    /// Words that stand letter by letter in the evidence, if any are worth it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
    /// The places that bear it out: at least one.
    pub evidence: Vec<Evidence>,
    /// Words by which it is looked for: names, paths, commands, errors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    /// Where it holds.
    #[serde(default)]
    pub reach: Reach,
    /// How it went, if it is a task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<TaskOutcome>,
}

/// What a statement is about, in the order of worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// How the user wants things: their own words.
    Preference,
    /// How something is done here: commands in order, seen to work.
    Procedure,
    /// What went wrong, and what put it right.
    Pitfall,
    /// What holds of the machine and the project, and is in no file of it.
    Environment,
    /// What was asked, what came of it, and where.
    Task,
}

impl FindingKind {
    /// All, in the order of worth.
    pub const ALL: [Self; 5] =
        [Self::Preference, Self::Procedure, Self::Pitfall, Self::Environment, Self::Task];

    /// A stable word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Preference => "preference",
            Self::Procedure => "procedure",
            Self::Pitfall => "pitfall",
            Self::Environment => "environment",
            Self::Task => "task",
        }
    }
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How a statement is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// The user said so, in words they typed.
    Said,
    /// It was seen to happen: a call and its result.
    Observed,
    /// The agent said so, and nobody checked.
    Concluded,
}

/// Where a statement holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// In the session's project, as far as is known.
    #[default]
    Project,
    /// Everywhere: the user's own words say so.
    Everywhere,
}

/// How a task went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskOutcome {
    /// It was done: checks passed, or the user was content.
    Success,
    /// Some of it was done.
    Partial,
    /// It did not work out.
    Failed,
    /// Nothing shows how it went.
    Uncertain,
}
