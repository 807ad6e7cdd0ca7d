//! What came of jobs.

use super::{JobKey, Watermark, WorkerId};
use crate::handbook::{Extraction, HomeId, ProjectKey, Scope};
use crate::notes::Author;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use throughline_core::cost::Dollars;
use throughline_core::{MessageId, SessionId};

/// Where an output comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// The session.
    pub session: SessionId,
    /// Its project.
    pub project: ProjectKey,
    /// The home that has its ledger.
    pub home: HomeId,
    /// Its ledger, relative to the home's sessions folder.
    pub ledger: String,
    /// The client that held it.
    pub client: String,
    /// Where it ran.
    pub cwd: Option<String>,
    /// On which branch.
    pub branch: Option<String>,
    /// When it began.
    pub created: Option<Timestamp>,
    /// When something was last said in it.
    pub updated: Timestamp,
}

/// What a job took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Who did it.
    pub by: Author,
    /// Which model, if one did.
    pub model: Option<String>,
    /// Tokens of all prompts and answers.
    pub tokens: u64,
    /// Money.
    pub dollars: Dollars,
    /// Seconds.
    pub seconds: f64,
}

/// What came of phase 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Extracted {
    /// Where it comes from.
    pub source: Source,
    /// What was found; `None`: nothing worth keeping.
    pub extraction: Option<Extraction>,
    /// What it took.
    pub cost: Cost,
}

/// An output of phase 1, as it is kept.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Output {
    /// Where it comes from.
    pub source: Source,
    /// What was found.
    pub extraction: Extraction,
    /// What it took.
    pub cost: Cost,
    /// When it was made.
    pub generated: Timestamp,
    /// How many answers made use of it.
    pub used: u64,
    /// When one last did.
    pub last_used: Option<Timestamp>,
    /// Whether its project's handbook rests on it.
    pub selected: bool,
}

/// What came of phase 2.
#[derive(Clone, Debug, PartialEq)]
pub struct Consolidated {
    /// Sessions that the handbook rests on, as they were: one that changed since is not marked.
    pub selected: Vec<(SessionId, Timestamp)>,
    /// The number of its new edition, where something changed. It is [published](super::Store::publish) by then: this is for the receipt.
    pub edition: Option<u64>,
    /// What it took.
    pub cost: Cost,
}

/// The files of a handbook at one time, for those who share it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edition {
    /// Whose.
    pub scope: Scope,
    /// Counted from 1. In what is to be published it says nothing.
    pub number: u64,
    /// When it was made.
    pub at: Timestamp,
    /// Paths in the handbook's folder, `/` between parts, with their bytes.
    pub files: BTreeMap<String, Vec<u8>>,
}

/// An answer made use of memories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cited {
    /// The session in which it was given.
    pub by: SessionId,
    /// The answer.
    pub answer: MessageId,
    /// Sessions whose memories it used.
    pub sessions: Vec<SessionId>,
    /// When.
    pub at: Timestamp,
}

/// What was taken out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Outputs.
    pub outputs: u64,
}

/// Something that was done: the receipt of a job. For one job and watermark there is at most one that is done.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    /// What.
    pub job: JobKey,
    /// Up to where.
    pub watermark: Watermark,
    /// By whom.
    pub worker: WorkerId,
    /// When it ended.
    pub at: Timestamp,
    /// How.
    pub outcome: RunOutcome,
    /// What it took.
    pub cost: Cost,
}

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// Something came of it.
    Done,
    /// Nothing was worth keeping, or nothing had changed.
    Nothing,
}
