use super::super::print;
use super::Desk;
use crate::handbook::StoreFlag;
use crate::outln;
use crate::output::{self, bold, cyan, dim};
use crate::times;
use serde_json::{Value, json};
use std::process::ExitCode;
use throughline_core::cost::Dollars;
use throughline_memory::handbook::Scope;
use throughline_memory::store::{JobKey, Output, Run, Store};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline memory handbook receipts                 (this project's sessions)\n  throughline memory handbook receipts --all --since 30d --json"
)]
pub(crate) struct Receipts {
    /// Those of all projects.
    #[arg(long)]
    all: bool,
    /// Only what was made after this: a date, a time, or an age such as 30d.
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// At most so many sessions.
    #[arg(short = 'n', long, default_value_t = 20)]
    limit: usize,
    #[command(flatten)]
    store: StoreFlag,
}

/// What was made and what it cost.
struct Ledger {
    outputs: Vec<Output>,
    books: Vec<Run>,
}

/// Receipts that are read of the store.
const MOST: usize = 100_000;

impl Receipts {
    pub(crate) fn run(self, desk: &Desk<'_>) -> anyhow::Result<ExitCode> {
        let scope = if self.all { Scope::Global } else { desk.scope()? };
        let ledger = desk.context.block_on(async {
            match desk.store(&self.store).await? {
                Some(store) => self.read(desk, store.as_ref(), &scope).await,
                None => Ok(Ledger { outputs: Vec::new(), books: Vec::new() }),
            }
        })??;
        if desk.context.json {
            output::json(&json(&ledger))?;
        } else {
            self.tell(desk, &ledger);
        }
        Ok(ExitCode::SUCCESS)
    }

    async fn read(&self, desk: &Desk<'_>, store: &dyn Store, scope: &Scope) -> anyhow::Result<Ledger> {
        let since = self.since.as_deref().map(|when| times::parse(when, desk.context.now())).transpose()?;
        let mut outputs = store.outputs(scope, None, MOST).await?;
        outputs.retain(|output| since.is_none_or(|since| output.generated >= since));
        outputs.sort_by(|a, b| b.used.cmp(&a.used).then_with(|| b.generated.cmp(&a.generated)));
        let runs = store.runs(since, MOST).await?.into_iter();
        let books = runs.filter(|run| match &run.job {
            JobKey::Extract(_) => false,
            JobKey::Consolidate(own) => self.all || own == scope,
        });
        Ok(Ledger { outputs, books: books.collect() })
    }

    fn tell(&self, desk: &Desk<'_>, ledger: &Ledger) {
        if ledger.outputs.is_empty() && ledger.books.is_empty() {
            outln!("No session was read for this handbook yet. `throughline memory build` does.");
            return;
        }
        for output in ledger.outputs.iter().take(self.limit) {
            let id: String = output.source.session.as_str().chars().take(13).collect();
            let used = match (output.used, output.last_used) {
                (0, _) | (_, None) => "not used yet".to_owned(),
                (n, Some(last)) => {
                    format!("used {}, {}", print::times_said(n), times::age(last, desk.context.now()))
                }
            };
            let findings = output::count(output.extraction.findings.len() as u64, "finding");
            outln!(
                "{}  {}  {findings}, {}  {}",
                cyan(print::line(&id)),
                dim(times::local(output.source.updated)),
                paid(&output.cost),
                dim(used)
            );
        }
        if ledger.outputs.len() > self.limit {
            outln!("{}", dim(format!("… and {} more (-n shows them)", ledger.outputs.len() - self.limit)));
        }
        let (tokens, dollars) = total(ledger);
        let used: u64 = ledger.outputs.iter().map(|output| output.used).sum();
        outln!(
            "{}: {}, {} of handbooks; {} tokens, {dollars}; {}",
            bold("in all"),
            output::count(ledger.outputs.len() as u64, "session"),
            output::count(ledger.books.len() as u64, "edition"),
            output::number(tokens),
            if used == 0 { "not used yet".to_owned() } else { format!("used {}", print::times_said(used)) }
        );
    }
}

fn paid(cost: &throughline_memory::store::Cost) -> String {
    match &cost.model {
        None => "offline".to_owned(),
        Some(model) => {
            format!("{} tokens of {}, {}", output::number(cost.tokens), print::line(model), cost.dollars)
        }
    }
}

fn total(ledger: &Ledger) -> (u64, Dollars) {
    let costs =
        ledger.outputs.iter().map(|output| &output.cost).chain(ledger.books.iter().map(|run| &run.cost));
    costs.fold((0, Dollars::ZERO), |(tokens, dollars), cost| (tokens + cost.tokens, dollars + cost.dollars))
}

fn json(ledger: &Ledger) -> Value {
    let session = |output: &Output| {
        json!({
            "session": output.source.session, "project": output.source.project, "updated": output.source.updated,
            "generated": output.generated, "findings": output.extraction.findings.len(), "cost": output.cost,
            "used": output.used, "last_used": output.last_used, "selected": output.selected,
        })
    };
    let (tokens, dollars) = total(ledger);
    let used: u64 = ledger.outputs.iter().map(|output| output.used).sum();
    json!({
        "sessions": ledger.outputs.iter().map(session).collect::<Vec<_>>(), "handbooks": ledger.books,
        "total": { "sessions": ledger.outputs.len(), "tokens": tokens, "dollars": dollars, "used": used },
    })
}
