use super::entry::{Entry, State};
use super::here::{Here, types};
use super::print;
use crate::outln;
use crate::output::{self, dim};
use serde_json::json;
use std::collections::HashMap;
use std::process::ExitCode;
use throughline_memory::topics::TopicType;
use throughline_memory::usage::Counts;
use throughline_memory::{MemoryId, Tier};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline memory list --type feedback\n  throughline memory list --global --json\n  throughline memory list --all        (also what is superseded or expired)"
)]
pub(crate) struct List {
    /// Only memories of this type.
    #[arg(long = "type", value_name = "T", value_parser = types())]
    kind: Option<TopicType>,
    /// Also those that another one took the place of, and those whose time is over.
    #[arg(long)]
    all: bool,
    /// At most so many.
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<usize>,
}

impl List {
    pub(crate) fn run(self, here: &Here<'_>) -> anyhow::Result<ExitCode> {
        let (mut entries, problems) = here.all();
        let kept = entries.len();
        entries.retain(|entry| self.kind.is_none_or(|kind| entry.topic.kind == Some(kind)));
        let of_type = entries.len();
        entries.retain(|entry| self.all || entry.state.is_live());
        let over = of_type - entries.len();
        let total = entries.len();
        entries.truncate(self.limit.unwrap_or(total));
        let uses = uses(here);
        if here.json() {
            let rows: Vec<_> = entries.iter().map(|entry| entry.json(uses.get(&entry.id))).collect();
            output::json(&json!({
                "memories": rows, "total": total, "not_live": over, "problems": problems,
            }))?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut is_first = true;
        for (tier, store) in here.memories.stores() {
            let own: Vec<&Entry> = entries.iter().filter(|entry| entry.id.tier == tier).collect();
            if own.is_empty() {
                continue;
            }
            if !std::mem::replace(&mut is_first, false) {
                outln!();
            }
            print::heading(heading(tier), &store.folder().to_string_lossy());
            for entry in own {
                print::row(entry, uses.get(&entry.id), here.now);
            }
        }
        if entries.is_empty() && kept == 0 {
            outln!("Nothing is remembered here yet. `{}` begins it,", here.command("add TEXT"));
            outln!("or say \"remember …\" in a session.");
        } else if entries.is_empty() {
            outln!(
                "None of {} fits{}.",
                print::memories(kept),
                if over > 0 { "; --all shows those that are over" } else { "" }
            );
        }
        if total > entries.len() {
            outln!("{}", dim(format!("… and {} more (-n {total} shows all)", total - entries.len())));
        }
        if over > 0 && !entries.is_empty() {
            outln!(
                "\n{}",
                dim(format!("{} superseded or expired (--all shows them)", print::memories(over)))
            );
        }
        print::problems(&problems);
        Ok(ExitCode::SUCCESS)
    }
}

fn heading(tier: Tier) -> &'static str {
    match tier {
        Tier::Project => "Of this project",
        Tier::Worktree => "Of this worktree",
        Tier::Team => "Of the team",
        Tier::Global => "For every project",
    }
}

/// How often each memory was shown and used. What can't be read counts for nothing: it is no more than that.
pub(super) fn uses(here: &Here<'_>) -> HashMap<MemoryId, Counts> {
    let of_tier = |tier: Tier| {
        let counts = here.memories.usage(tier).and_then(|log| log.counts().ok()).unwrap_or_default();
        counts.into_iter().map(move |(file, counts)| (MemoryId::new(tier, file), counts))
    };
    here.memories.stores().flat_map(|(tier, _)| of_tier(tier)).collect()
}

/// How a state is told in a sentence.
pub(super) fn told(state: &State) -> &'static str {
    match state {
        State::Live => "It holds.",
        State::Superseded { .. } => "Another memory says it now: sessions are not told this one.",
        State::Expired { .. } => "Its time is over: sessions are not told it.",
    }
}
