//! The smaller sections.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use throughline_core::cost::Ttl;
use throughline_core::stages::OwnTools;
use throughline_ledger::SyncPolicy;

/// `[window]`: what is known of the model's context, where the built-in figures are wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Window {
    /// The tokens that the model can hold. Unset: `model.context_window`, else by the model's name.
    pub tokens: Option<u64>,
    /// The most tokens of an answer. Unset: `model.max_output`, else by the request.
    pub max_output: Option<u64>,
    /// How long the provider's cache lives.
    pub cache_ttl: Ttl,
    /// Whether the provider can edit its cache (P3b), on Anthropic's wire.
    pub cache_edits: bool,
}

impl Window {
    pub(super) fn check(&self) -> Result<(), String> {
        if self.tokens == Some(0) { Err("a window has at least one token".to_owned()) } else { Ok(()) }
    }
}

/// `[tools]`: which of our own tools the model is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tools {
    /// `Snip` (P2).
    pub snip: Option<bool>,
    /// `Recall` (B8).
    pub recall: Option<bool>,
}

impl Tools {
    /// Those that are wanted, where nothing is said `usual`.
    pub fn unless_said(self, usual: OwnTools) -> OwnTools {
        OwnTools { snip: self.snip.unwrap_or(usual.snip), recall: self.recall.unwrap_or(usual.recall) }
    }
}

/// `[agent]`: our own agent, `throughline chat` and `throughline exec`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AgentSettings {
    /// The most answers of the model in one turn.
    pub max_steps: usize,
    /// What the agent is told in every session.
    pub instructions: String,
    /// Whether it may fetch pages.
    pub web_fetch: bool,
    /// Seconds that `exec` waits at its end for notes and memories that a model is writing.
    pub finish_seconds: u64,
}

impl Default for AgentSettings {
    fn default() -> Self {
        Self { max_steps: 200, instructions: String::new(), web_fetch: false, finish_seconds: 60 }
    }
}

impl AgentSettings {
    pub(super) fn check(&self) -> Result<(), String> {
        if self.max_steps == 0 {
            return Err("a turn has at least one step".to_owned());
        }
        if self.finish_seconds == 0 {
            return Err(
                "at least one second, or what was just asked of the model would be paid for and lost"
                    .to_owned(),
            );
        }
        Ok(())
    }
}

/// `[storage]`: where and how sessions are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Storage {
    /// The folder of sessions, blobs and indexes. Unset: the home folder.
    pub root: Option<PathBuf>,
    /// When appended records are forced to disk.
    pub sync: Sync,
}

impl Storage {
    pub(super) fn check(&self) -> Result<(), String> {
        match &self.root {
            Some(root) if !root.is_absolute() => Err("it must be absolute".to_owned()),
            Some(_) | None => Ok(()),
        }
    }
}

/// When appended records are forced to disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sync {
    /// After every append.
    Always,
    /// At the end of every turn.
    #[default]
    Turn,
    /// When the system sees fit.
    Never,
}

impl From<Sync> for SyncPolicy {
    fn from(sync: Sync) -> Self {
        match sync {
            Sync::Always => Self::Always,
            Sync::Turn => Self::Turn,
            Sync::Never => Self::Never,
        }
    }
}

/// `[telemetry]`: OpenTelemetry spans and metrics. Nothing that was said is in them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Telemetry {
    /// Whether any are sent.
    pub enabled: bool,
    /// Where to: an OTLP collector over HTTP.
    pub endpoint: String,
    /// The name that they carry.
    pub service_name: String,
}

impl Default for Telemetry {
    fn default() -> Self {
        Self {
            enabled: false,
            endpoint: "http://localhost:4318".to_owned(),
            service_name: "throughline".to_owned(),
        }
    }
}

/// Whose words summaries and notes are (`scribe.use`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Writer {
    /// The built-in scribe's: no model is asked.
    #[default]
    Offline,
    /// The session's own model's.
    Model,
    /// Those of the model that the `[scribe]` section describes.
    Own,
}
