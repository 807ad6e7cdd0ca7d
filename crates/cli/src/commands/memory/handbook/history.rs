use super::super::print;
use super::Desk;
use super::tell::home_path;
use super::which::called;
use crate::handbook::StoreFlag;
use crate::outln;
use crate::output::{self, cyan, dim};
use crate::times;
use serde_json::json;
use std::process::ExitCode;
use throughline_memory::handbook::phase2::undo_handbook;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline memory handbook history\n  throughline memory handbook history --global -n 5 --json"
)]
pub(crate) struct History {
    /// At most so many.
    #[arg(short = 'n', long, default_value_t = 30)]
    limit: usize,
}

impl History {
    pub(crate) fn run(self, desk: &Desk<'_>) -> anyhow::Result<ExitCode> {
        anyhow::ensure!(self.limit > 0, "-n 0 asks for nothing");
        let scope = desk.scope()?;
        let past = desk.workspace(&scope).history(self.limit)?;
        if desk.context.json {
            output::json(&json!({ "scope": scope.to_text(), "records": past.records, "off": past.off }))?;
            return Ok(ExitCode::SUCCESS);
        }
        if past.records.is_empty() {
            outln!("No edition of the handbook of {} is recorded.", called(&scope));
        }
        for record in &past.records {
            let id: String = record.id.chars().take(12).collect();
            let undone = if record.undone { "  undone" } else { "" };
            let room = output::width().saturating_sub(id.len() + 22 + undone.len());
            let what = output::fit(&print::line(&record.what), room);
            outln!("{}  {}  {what}{}", cyan(id), dim(times::local(record.at)), dim(undone));
        }
        if let Some(why) = &past.off {
            super::super::here::note(&format!("git does not keep it: {}", print::line(why)));
        }
        if !past.records.is_empty() {
            outln!("{}", dim("`throughline memory undo --handbook CHANGE` takes one back"));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Takes back an edition: the last that is not taken back, or the one named. Those who share the store get what was before, too.
pub(crate) fn undo(desk: &Desk<'_>, change: Option<&str>, flag: &StoreFlag) -> anyhow::Result<ExitCode> {
    let scope = desk.scope()?;
    let workspace = desk.workspace(&scope);
    let undone = desk.context.block_on(async {
        let store = desk.store(flag).await?;
        let undone = undo_handbook(store.as_deref(), &workspace, (change, desk.context.now())).await?;
        anyhow::Ok(undone)
    })??;
    if desk.context.json {
        output::json(&json!({ "scope": scope.to_text(), "undone": undone }))?;
        return Ok(ExitCode::SUCCESS);
    }
    outln!("Undid: {}", print::line(&undone.record.what));
    outln!(
        "  {} as before in {}",
        output::count(undone.changed.len() as u64, "file"),
        home_path(desk.context, workspace.folder())
    );
    if !undone.edits.is_empty() {
        super::super::here::note(&format!(
            "changed by hand since, and in the history as it was: {}",
            print::line(&undone.edits.join(", "))
        ));
    }
    outln!(
        "It does not come back before there is something new; `throughline memory handbook history` shows all."
    );
    Ok(ExitCode::SUCCESS)
}
