//! Memories to and from other tools.

use super::here::{Here, tell_redacted, types};
use super::print;
use crate::commands::sessions::import::places;
use crate::outln;
use crate::output::{self, bold, cyan, dim, green, red, yellow};
use anyhow::Context as _;
use clap::ValueEnum;
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;
use throughline_memory::exchange::{Action, Exchange, Other, Plan, Proposals, Step};
use throughline_memory::topics::TopicType;

/// The other side.
#[derive(Clone, Copy, ValueEnum)]
enum Side {
    /// Claude Code's folder of memories of the project.
    Claude,
    /// Codex's folder of memories.
    Codex,
    /// A block in the project's AGENTS.md.
    Agents,
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Agents => "agents",
        }
    }

    /// Where it is: as said, else the usual place.
    fn at(self, here: &Here<'_>, path: Option<PathBuf>) -> anyhow::Result<Other> {
        let path = path.map(std::path::absolute).transpose()?;
        let nowhere = "cannot tell where that is: give the path";
        let places = places();
        let in_home = |name: &str| places.home.as_ref().map(|home| home.join(name));
        Ok(match (self, path) {
            (Self::Claude, Some(path)) => Other::Claude(path),
            (Self::Codex, Some(path)) => Other::Codex(path),
            (Self::Agents, Some(path)) if path.is_dir() => Other::Agents(path.join("AGENTS.md")),
            (Self::Agents, Some(path)) => Other::Agents(path),
            (Self::Claude, None) => {
                let home = places.claude_config_dir.clone().or_else(|| in_home(".claude"));
                Other::claude(&home.context(nowhere)?, here.project.as_deref().context(nowhere)?)
            }
            (Self::Codex, None) => {
                let home = places.codex_home.clone().or_else(|| in_home(".codex"));
                Other::codex(&home.context(nowhere)?)
            }
            (Self::Agents, None) => Other::Agents(here.root.as_ref().context(nowhere)?.join("AGENTS.md")),
        })
    }
}

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline memory import --from claude --dry-run\n  throughline memory import --from codex ~/.codex/memories\n  throughline memory import --from agents --take     (also what your AGENTS.md says outside of our block)"
)]
pub(crate) struct Import {
    /// Whose memories.
    #[arg(long, value_enum)]
    from: Side,
    /// Their folder, or the file [default: where they are usually].
    path: Option<PathBuf>,
    /// Only say what would be done.
    #[arg(long)]
    dry_run: bool,
    /// Also add what is only proposed.
    #[arg(long)]
    take: bool,
}

impl Import {
    pub(crate) fn run(self, here: &Here<'_>) -> anyhow::Result<ExitCode> {
        let other = self.from.at(here, self.path)?;
        anyhow::ensure!(
            other.path().exists(),
            "there is nothing to import: {} is not there",
            print::line(&other.path().to_string_lossy())
        );
        let store = here.store(here.target())?;
        let plan = Exchange::new(store, &other, here.now).import()?;
        let way = Way { side: self.from, other: &other, is_import: true, dry_run: self.dry_run };
        way.go(here, plan, if self.take { Proposals::Take } else { Proposals::Leave })
    }
}

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline memory export --to agents --dry-run\n  throughline memory export --to claude\n  throughline memory export --to agents docs/AGENTS.md --type feedback"
)]
pub(crate) struct Export {
    /// To whom.
    #[arg(long, value_enum)]
    to: Side,
    /// Their folder, or the file [default: where it is usually].
    path: Option<PathBuf>,
    /// Only say what would be done.
    #[arg(long)]
    dry_run: bool,
    /// Only memories of this type; may be given several times [default: all, but `user` does not go to AGENTS.md, which others read].
    #[arg(long = "type", value_name = "T", value_parser = types())]
    kinds: Vec<TopicType>,
}

impl Export {
    pub(crate) fn run(self, here: &Here<'_>) -> anyhow::Result<ExitCode> {
        let other = self.to.at(here, self.path)?;
        let store = here.store(here.target())?;
        let mut exchange = Exchange::new(store, &other, here.now);
        if !self.kinds.is_empty() {
            exchange = exchange.only(&self.kinds);
        }
        let way = Way { side: self.to, other: &other, is_import: false, dry_run: self.dry_run };
        way.go(here, exchange.export()?, Proposals::Leave)
    }
}

/// In which direction, and whether at all.
struct Way<'a> {
    side: Side,
    other: &'a Other,
    is_import: bool,
    dry_run: bool,
}

impl Way<'_> {
    fn go(&self, here: &Here<'_>, plan: Plan<'_>, proposals: Proposals) -> anyhow::Result<ExitCode> {
        let (steps, redacted) = if self.dry_run {
            (plan.steps().into_iter().cloned().collect(), Vec::new())
        } else {
            let report = plan.apply(proposals)?;
            (report.steps, report.redacted)
        };
        if here.json() {
            let changes = steps.iter().filter(|step: &&Step| step.action.is_change()).count();
            output::json(&json!({
                "with": self.side.name(), "path": self.other.path(), "dry_run": self.dry_run, "changes": changes,
                "steps": steps, "redacted": redacted,
            }))?;
            return Ok(ExitCode::SUCCESS);
        }
        let (from, to) =
            if self.is_import { (self.other.name(), "here") } else { ("here", self.other.name()) };
        print::heading(&format!("From {from} to {to}"), &self.other.path().to_string_lossy());
        for step in steps.iter().filter(|step| step.action != Action::Same) {
            self.print(step);
        }
        self.summary(here, &steps);
        tell_redacted(&redacted);
        Ok(ExitCode::SUCCESS)
    }

    fn print(&self, step: &Step) {
        let word = output::pad(word(step.action), 9);
        let word = match step.action {
            Action::Create | Action::Update | Action::Confirm => green(word),
            Action::Remove => red(word),
            Action::Propose | Action::Offer | Action::Conflict => yellow(word),
            Action::Same | Action::Skip => dim(word),
        };
        let width = output::width().saturating_sub(12);
        outln!("  {word} {}", bold(output::fit(&print::line(&step.memory), width)));
        let file = step.ours.as_deref().filter(|_| self.is_import).unwrap_or(&step.theirs);
        if file != step.memory {
            outln!("            {}", cyan(output::fit(&print::line(file), width)));
        }
        let says_why = match step.action {
            Action::Create | Action::Update | Action::Confirm | Action::Same => false,
            Action::Remove | Action::Propose | Action::Offer | Action::Conflict | Action::Skip => true,
        };
        if says_why {
            print::say("            ", &step.why);
        }
    }

    fn summary(&self, here: &Here<'_>, steps: &[Step]) {
        let all = [
            Action::Create,
            Action::Update,
            Action::Remove,
            Action::Confirm,
            Action::Propose,
            Action::Offer,
            Action::Conflict,
            Action::Same,
            Action::Skip,
        ];
        let count = |action: Action| steps.iter().filter(|step| step.action == action).count();
        let counts = all.into_iter().map(|action| (count(action), action)).filter(|(n, _)| *n > 0);
        let counts: Vec<String> = counts.map(|(n, action)| format!("{n} {}", word(action))).collect();
        match (counts.is_empty(), self.dry_run) {
            (true, _) => outln!("There is nothing to {}.", if self.is_import { "import" } else { "export" }),
            (false, true) => outln!("Would be: {}. Nothing was done.", counts.join(", ")),
            (false, false) => outln!("Done: {}.", counts.join(", ")),
        }
        if self.is_import && count(Action::Propose) > 0 {
            let again = here.command(&format!("import --from {} --take", self.side.name()));
            outln!("{}", dim(format!("`{again}` adds what is proposed")));
        }
    }
}

fn word(action: Action) -> &'static str {
    match action {
        Action::Create => "new",
        Action::Update => "changed",
        Action::Remove => "removed",
        Action::Confirm => "confirmed",
        Action::Propose => "proposed",
        Action::Offer => "near",
        Action::Conflict => "conflict",
        Action::Same => "the same",
        Action::Skip => "left out",
    }
}
