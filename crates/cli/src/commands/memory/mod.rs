//! `memory`: what is remembered beyond sessions, for people to see and to mend.

mod add;
mod anchors;
mod ask;
mod audit;
mod build;
mod confirm;
mod edit;
mod entry;
mod exchange;
mod forget;
mod handbook;
mod here;
mod history;
mod list;
mod merge;
mod print;
mod reset;
mod search;
mod show;
mod tool;
mod why;

use crate::context::Context;
use clap::Subcommand;
use here::{Here, Which};
use std::process::ExitCode;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline memory add \"Never push on Fridays, because nobody is there to look\"\n  throughline memory list\n  throughline memory why feedback_never-push\n  throughline memory forget feedback_never-push\n  throughline memory undo\n  throughline memory build                 (handbooks of all sessions on this machine)\n\nA memory is named by its file (`feedback_tests.md`, `global/user_role.md`), a unique beginning of that, or its name."
)]
pub(crate) struct Memory {
    #[command(flatten)]
    which: Which,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List what is remembered.
    List(list::List),
    /// Show a memory.
    Show(show::Show),
    /// Find memories by words.
    Search(search::Search),
    /// Remember something.
    Add(add::Add),
    /// Note that a memory still holds: it counts as said again.
    Confirm(confirm::Confirm),
    /// Change a memory, by options or in your editor.
    Edit(edit::Edit),
    /// Forget a memory; it can be had back, unless it is purged.
    Forget(forget::Forget),
    /// Explain a memory: who said it, when it was shown and used, what became of it.
    Why(why::Why),
    /// Look for what is doubled, unused, stale, secret or contradictory.
    Audit(audit::Audit),
    /// Make memories that say much the same one.
    Merge(merge::Merge),
    /// Take over memories of Claude Code, Codex or an AGENTS.md.
    Import(exchange::Import),
    /// Give memories to Claude Code, Codex or an AGENTS.md.
    Export(exchange::Export),
    /// Make handbooks of all sessions on this machine.
    Build(build::Build),
    /// Read what changed since, and work it into the handbooks.
    Refresh(build::Refresh),
    /// Read, search and question the handbook.
    Handbook(handbook::Handbook),
    /// List the changes of memories.
    History(history::History),
    /// Take back a change: the last one, or the one named.
    Undo(history::Undo),
    /// Put all memories of a tier away.
    Reset(reset::Reset),
    /// Serve Anthropic's memory tool: a JSON call per line in, a JSON answer per line out.
    Tool(tool::Tool),
}

impl Memory {
    pub(crate) fn run(self, context: &Context) -> anyhow::Result<ExitCode> {
        let which = &self.which;
        let here = || Here::open(context, which);
        match self.command {
            Command::List(command) => command.run(&here()?),
            Command::Show(command) => command.run(&here()?),
            Command::Search(command) => command.run(&here()?, which),
            Command::Add(command) => command.run(&here()?),
            Command::Confirm(command) => command.run(&here()?),
            Command::Edit(command) => command.run(&here()?),
            Command::Forget(command) => command.run(&here()?),
            Command::Why(command) => command.run(&here()?),
            Command::Audit(command) => command.run(&here()?, which),
            Command::Merge(command) => command.run(&here()?),
            Command::Import(command) => command.run(&here()?),
            Command::Export(command) => command.run(&here()?),
            Command::Build(command) => command.run(context, which),
            Command::Refresh(command) => command.run(context, which),
            Command::Handbook(command) => command.run(context, which),
            Command::History(command) => command.run(&here()?),
            // Handbooks may be of projects that have no topics.
            Command::Undo(command) if command.is_of_handbook() => command.run_on_handbook(context, which),
            Command::Reset(command) if command.is_of_handbook() => command.run_on_handbook(context, which),
            Command::Undo(command) => command.run(&here()?),
            Command::Reset(command) => command.run(&here()?, which),
            Command::Tool(command) => command.run(&here()?),
        }
    }
}
