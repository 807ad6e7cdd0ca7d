use super::super::print;
use super::Desk;
use super::tell::home_path;
use crate::handbook::StoreFlag;
use crate::outln;
use crate::output::{self, cyan, dim, green, yellow};
use serde_json::json;
use std::collections::HashSet;
use std::process::ExitCode;
use throughline_core::SessionId;
use throughline_memory::handbook::{Audit, Scope, Shelved, audit};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline memory handbook check                 (all handbooks)\n  throughline memory handbook check --project . --json"
)]
pub(crate) struct Check {
    /// Everything that was found, not the first few.
    #[arg(long)]
    full: bool,
    #[command(flatten)]
    store: StoreFlag,
}

/// Faults that are told.
const TOLD: usize = 10;

impl Check {
    pub(crate) fn run(self, desk: &Desk<'_>) -> anyhow::Result<ExitCode> {
        let books: Vec<Shelved> = match desk.which.project().is_some() || desk.which.is_global() {
            true => vec![desk.book()?.clone()],
            false => desk.books.clone(),
        };
        let busy = print::Busy::new(desk.context.json, "checking");
        let audit = audited(desk, &books, &self.store)?;
        drop(busy);
        if desk.context.json {
            let flaws: usize = books.iter().map(|one| one.flaws.len()).sum();
            output::json(
                &json!({ "handbooks": books.len(), "rate": audit.rate(), "flaws": flaws, "audit": audit }),
            )?;
        } else {
            self.tell(desk, &books, &audit);
        }
        Ok(if audit.faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn tell(&self, desk: &Desk<'_>, books: &[Shelved], audit: &Audit) {
        let mark = if audit.faults.is_empty() { green("✓") } else { yellow("!") };
        outln!(
            "{mark} {} of {} in {} rest on messages that are there ({:.1} %); {} looked up",
            output::number(audit.borne_out as u64),
            output::count(audit.statements as u64, "statement"),
            output::count(books.len() as u64, "handbook"),
            audit.rate() * 100.0,
            output::count(audit.places as u64, "place"),
        );
        if audit.elsewhere > 0 {
            let places = output::count(audit.elsewhere as u64, "place");
            outln!(
                "  {}",
                dim(format!("{places} in sessions of other machines, which cannot be looked into here"))
            );
        }
        let shown = if self.full { audit.faults.len() } else { TOLD };
        for fault in audit.faults.iter().take(shown) {
            outln!("  {}", cyan(home_path(desk.context, &fault.folder)));
            print::say("    ", &fault.statement);
            outln!("    {}", yellow(print::line(&fault.what.to_string())));
        }
        if audit.faults.len() > shown {
            outln!("  {}", dim(format!("… and {} more (--full shows them)", audit.faults.len() - shown)));
        }
        for one in books.iter().filter(|one| !one.flaws.is_empty()) {
            outln!("  {}", cyan(home_path(desk.context, &one.folder)));
            for flaw in one.flaws.iter().take(shown) {
                outln!("    {}", yellow(print::line(&flaw.to_string())));
            }
        }
    }
}

/// Looks whether handbooks are borne out. Sessions of other machines are known by the store.
pub(crate) fn audited(desk: &Desk<'_>, books: &[Shelved], flag: &StoreFlag) -> anyhow::Result<Audit> {
    let elsewhere = desk.context.block_on(elsewhere(desk, flag))??;
    Ok(audit(&desk.context.home, books, |session| elsewhere.contains(session))?)
}

async fn elsewhere(desk: &Desk<'_>, flag: &StoreFlag) -> anyhow::Result<HashSet<SessionId>> {
    let Some(store) = desk.store(flag).await?.filter(|store| store.is_shared()) else {
        return Ok(HashSet::new());
    };
    let outputs = store.outputs(&Scope::Global, None, usize::MAX).await?;
    let others = outputs.into_iter().filter(|output| output.source.home != desk.id);
    Ok(others.map(|output| output.source.session).collect())
}
