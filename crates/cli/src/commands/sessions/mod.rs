//! `throughline sessions …`

mod change;
mod check;
mod export;
pub(crate) mod import;
pub(crate) mod list;
mod rebuild_index;
mod recall;
mod search;
mod show;

use crate::context::Context;
use clap::Subcommand;
use std::process::ExitCode;

#[derive(Subcommand)]
pub(crate) enum Sessions {
    /// List sessions, newest first.
    List(list::List),
    /// Print a session as a readable transcript.
    Show(show::Show),
    /// Find messages in all sessions.
    Search(search::Search),
    /// Read again what was said in a session, as the Recall tool does: by words or by handle.
    Recall(recall::Recall),
    /// Begin a new session where another one stood; nothing is copied.
    Fork(change::Fork),
    /// Take the last turns out of the view.
    Rollback(change::Rollback),
    /// Take back an edit, a rollback or a compaction.
    Undo(change::Undo),
    /// Import sessions of Claude Code and Codex.
    Import(import::Import),
    /// Write a session out: as JSONL, as Markdown, or as a provider's messages.
    Export(export::Export),
    /// Name a session.
    Title(change::Title),
    /// Add and remove tags.
    Tag(change::Tag),
    /// Verify ledgers and say what is wrong.
    Check(check::Check),
    /// Build the search index anew from the ledgers.
    RebuildIndex(rebuild_index::RebuildIndex),
}

impl Sessions {
    pub(crate) fn run(self, context: &Context) -> anyhow::Result<ExitCode> {
        match self {
            Self::List(command) => command.run(context),
            Self::Show(command) => command.run(context),
            Self::Search(command) => command.run(context),
            Self::Recall(command) => command.run(context),
            Self::Fork(command) => command.run(context),
            Self::Rollback(command) => command.run(context),
            Self::Undo(command) => command.run(context),
            Self::Import(command) => command.run(context),
            Self::Export(command) => command.run(context),
            Self::Title(command) => command.run(context),
            Self::Tag(command) => command.run(context),
            Self::Check(command) => command.run(context),
            Self::RebuildIndex(command) => command.run(context),
        }
    }
}
