mod checks;
mod report;

use super::here::Here;
use super::print;
use crate::outln;
use crate::output::{self, green};
use checks::Audited;
use std::process::ExitCode;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline memory audit\n  throughline memory audit --full --tier project\n  throughline memory audit --json | jq '.checks.duplicate.rate'\n  throughline memory audit --fix        (puts MEMORY.md in order; nothing else is changed)"
)]
pub(crate) struct Audit {
    /// Everything that was found, not the first few of each kind.
    #[arg(long)]
    full: bool,
    /// Put the index in order: lines for memories that have none, none for memories that are gone or over.
    #[arg(long)]
    fix: bool,
}

impl Audit {
    pub(crate) fn run(self, here: &Here<'_>) -> anyhow::Result<ExitCode> {
        let busy = print::Busy::new(here.json(), "auditing");
        let audited = Audited::of(here)?;
        drop(busy);
        let mut fixed = Vec::new();
        if self.fix {
            for index in audited.indexes.iter().filter(|index| !index.is_in_order()) {
                let repair = here.store(index.tier)?.repair_index(here.now)?;
                here.tell_unrecorded(repair.unrecorded.as_deref());
                fixed.push(index.tier);
            }
        }
        if here.json() {
            output::json(&audited.json(&fixed))?;
            return Ok(ExitCode::SUCCESS);
        }
        report::print(here, &audited, self.full);
        if self.fix {
            match fixed.as_slice() {
                [] => outln!("{} The index is in order: nothing was to be done.", green("✓")),
                _ => outln!(
                    "{} The index is in order now. `{}` takes that back.",
                    green("✓"),
                    here.command("undo")
                ),
            }
        }
        print::problems(&audited.problems);
        Ok(ExitCode::SUCCESS)
    }
}
