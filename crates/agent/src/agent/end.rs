//! How turns end.

use serde::Serialize;
use throughline_engine::session::SessionError;

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TurnEnd {
    /// Why.
    pub why: EndReason,
    /// What the model said last.
    pub text: String,
    /// How many answers the model gave.
    pub steps: usize,
}

/// Why a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// The model has nothing more to do.
    Done,
    /// The answer reached the token limit.
    Truncated,
    /// The user stopped it.
    Interrupted,
    /// The turn had as many steps as it may have.
    MaxSteps,
    /// The turn cost as much as it may.
    MaxCost,
    /// A hook stopped it.
    Halted,
}

impl EndReason {
    /// In words, where there is something to say.
    pub fn words(self) -> Option<&'static str> {
        match self {
            Self::Done => None,
            Self::Truncated => Some("the answer reached the model's limit and was cut off"),
            Self::Interrupted => Some("interrupted"),
            Self::MaxSteps => Some("stopped: the turn had as many steps as it may have"),
            Self::MaxCost => Some("stopped: the turn cost as much as it may"),
            Self::Halted => Some("stopped by a hook"),
        }
    }
}

/// Why an agent can't begin or go on. What was said so far is in the ledger, whatever it is.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The session, its ledger or its model.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The folder of the work.
    #[error("can't work in {folder}: {why}; give a folder that exists and can be read")]
    Workspace {
        /// Which.
        folder: String,
        /// Why not.
        why: String,
    },
    /// The configuration.
    #[error("{0}")]
    Setup(String),
}

impl AgentError {
    /// What the model had said before it failed, as far as anything had come.
    pub(super) fn partial(&self) -> Option<&throughline_wire::Response> {
        match self {
            Self::Session(SessionError::Model(error)) => error.partial(),
            Self::Session(_) | Self::Workspace { .. } | Self::Setup(_) => None,
        }
    }
}
