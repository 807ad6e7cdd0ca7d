mod checks;
mod report;

use super::handbook::Desk;
use super::here::{Here, Which};
use super::print;
use crate::outln;
use crate::output::{self, dim, green, yellow};
use checks::Audited;
use serde_json::json;
use std::process::ExitCode;
use throughline_memory::handbook::Audit as BookAudit;

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
    pub(crate) fn run(self, here: &Here<'_>, which: &Which) -> anyhow::Result<ExitCode> {
        let busy = print::Busy::new(here.json(), "auditing");
        let audited = Audited::of(here)?;
        let books = Desk::open(here.context, which)?.audit()?;
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
            let mut value = audited.json(&fixed);
            value["handbook"] = json!(books);
            output::json(&value)?;
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
        if let Some(books) = &books {
            tell_books(books);
        }
        print::problems(&audited.problems);
        Ok(ExitCode::SUCCESS)
    }
}

fn tell_books(books: &BookAudit) {
    let mark = if books.faults.is_empty() { green("✓") } else { yellow("!") };
    let all = output::count(books.statements as u64, "statement");
    let hint =
        if books.faults.is_empty() { "" } else { "; `throughline memory handbook check` tells which do not" };
    outln!(
        "{mark} handbooks     {} of {all} rest on messages that are there{}",
        output::number(books.borne_out as u64),
        dim(hint)
    );
}
