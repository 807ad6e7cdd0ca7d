//! One file per command.

pub(crate) mod chat;
pub(crate) mod compact;
pub(crate) mod config;
pub(crate) mod doctor;
pub(crate) mod exec;
mod given;
pub(crate) mod memory;
pub(crate) mod prepare;
pub(crate) mod replay;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod sessions;
pub(crate) mod skillify;
pub(crate) mod start;
pub(crate) mod stats;
pub(crate) mod tokens;
pub(crate) mod worker;

use clap::ValueEnum;
use throughline_core::Wire;

/// Who writes a text.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ScribeArg {
    /// From facts, without a model.
    Offline,
    /// By the model of the configuration (`[scribe]`, else `[model]`, else the usual variables).
    Model,
}

/// A provider format.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum WireArg {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Responses.
    Responses,
    /// OpenAI Chat Completions.
    Chat,
}

impl From<WireArg> for Wire {
    fn from(wire: WireArg) -> Self {
        match wire {
            WireArg::Anthropic => Self::Anthropic,
            WireArg::Responses => Self::Responses,
            WireArg::Chat => Self::Chat,
        }
    }
}
