//! `memory build` and `memory refresh`: from sessions to handbooks.

mod dry_run;
mod estimate;
mod find;
mod progress;
mod run;
mod summary;

use super::ask::{can_ask_at, wrong_usage};
use super::handbook::which::{Named, looked_at};
use super::here::Which;
use crate::context::Context;
use crate::handbook::{ScribeArg, StoreFlag, StorePlace};
use crate::output;
use clap::Args;
use estimate::Estimate;
use find::{Found, Range};
use run::{Books, Task};
use std::process::ExitCode;
use throughline_engine::config::HandbookSettings;
use throughline_memory::handbook::HomeId;

#[derive(Args)]
#[command(
    after_help = "Examples:\n  throughline memory build                                  (all sessions of Claude Code and Codex on this machine; no model, no cost)\n  throughline memory build --since 90d --project ~/app\n  throughline memory build --from ~/backup/projects --jobs 4\n  throughline memory build --scribe model --dry-run         (what it would cost)\n\nStop it with ctrl-C and run it again: what is done stays done."
)]
pub(crate) struct Build {
    #[command(flatten)]
    range: Range,
    #[command(flatten)]
    how: How,
    /// Only say what would be done: sessions, tokens, the likely cost. Nothing is written.
    #[arg(long)]
    dry_run: bool,
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  throughline memory refresh                (what changed since; then all handbooks, with fresh notes)\n  throughline memory refresh --project . --json"
)]
pub(crate) struct Refresh {
    #[command(flatten)]
    range: Range,
    #[command(flatten)]
    how: How,
}

/// How it is done.
#[derive(Args, Clone, Debug)]
pub(super) struct How {
    /// Who reads and writes.
    #[arg(long, value_enum, default_value_t)]
    scribe: ScribeArg,
    /// Sessions that are read at the same time [default: one for each core; with a model `memory.handbook.limits.concurrency`].
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: Option<u16>,
    /// Spend without a question.
    #[arg(short = 'y', long)]
    yes: bool,
    #[command(flatten)]
    store: StoreFlag,
}

/// What both commands begin with.
struct Begun<'a> {
    context: &'a Context,
    id: HomeId,
    settings: HandbookSettings,
    place: StorePlace,
    project: Named,
}

impl<'a> Begun<'a> {
    fn new(context: &'a Context, which: &Which, how: &How, id: HomeId) -> anyhow::Result<Self> {
        if which.is_global() {
            wrong_usage("the global handbook is made of all projects' sessions: leave --global out");
        }
        let memory = context.config()?.config.memory;
        if !memory.enabled || !memory.handbook.enabled {
            super::here::note(
                "handbooks are switched off in the configuration: sessions are not told of them",
            );
        }
        let settings = memory.handbook;
        let place = StorePlace::of(context, &how.store, &settings)?;
        let project = Named::of(context, &id, which.project())?;
        Ok(Self { context, id, settings, place, project })
    }

    fn task(&self, how: &How, found: Found, books: Books) -> anyhow::Result<ExitCode> {
        let task = Task { begun: self, how, found, books };
        let done = task.run()?;
        summary::tell(self.context, &done)?;
        Ok(if done.is_success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

impl Build {
    pub(crate) fn run(self, context: &Context, which: &Which) -> anyhow::Result<ExitCode> {
        if self.dry_run {
            // Not even the home's id is made.
            let begun = Begun::new(context, which, &self.how, looked_at(context)?)?;
            return dry_run::run(&begun, &self.range, &self.how);
        }
        let begun = Begun::new(context, which, &self.how, HomeId::of(&context.home)?)?;
        let found = self.range.find(context, &begun.id, &begun.project)?;
        begun.task(&self.how, found, Books::Touched)
    }
}

impl Refresh {
    pub(crate) fn run(self, context: &Context, which: &Which) -> anyhow::Result<ExitCode> {
        let begun = Begun::new(context, which, &self.how, HomeId::of(&context.home)?)?;
        let found = self.range.find(context, &begun.id, &begun.project)?;
        begun.task(&self.how, found, Books::All)
    }
}

/// Whether to spend what it will cost, as far as that is known.
fn may_spend(context: &Context, estimate: &Estimate, yes: bool) -> anyhow::Result<bool> {
    if yes || estimate.sessions == 0 {
        return Ok(true);
    }
    let question = format!(
        "{} will read {} with {} tokens: {}.",
        estimate.model.as_deref().unwrap_or("the model"),
        output::count(estimate.sessions as u64, "session"),
        output::number(estimate.tokens),
        estimate.cost(),
    );
    if !can_ask_at(context.json) {
        wrong_usage(&format!(
            "{question} Nobody can be asked here: give --yes to spend it, or --scribe offline to spend nothing"
        ));
    }
    Ok(super::ask::ask(&format!("{question} Go on? [y/N]"))? == super::ask::Answer::Yes)
}
