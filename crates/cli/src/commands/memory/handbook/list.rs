use super::Desk;
use super::tell::home_path;
use super::which::called;
use crate::outln;
use crate::output::{self, cyan, dim};
use crate::times;
use serde_json::{Value, json};
use std::process::ExitCode;
use throughline_memory::handbook::{FindingKind, Shelved};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline memory handbook list\n  throughline memory handbook list --json | jq -r '.handbooks[].path'"
)]
pub(crate) struct List {}

impl List {
    pub(crate) fn run(self, desk: &Desk<'_>) -> anyhow::Result<ExitCode> {
        if desk.context.json {
            output::json(&json!({ "handbooks": desk.books.iter().map(json_of).collect::<Vec<_>>() }))?;
            return Ok(ExitCode::SUCCESS);
        }
        if desk.books.is_empty() {
            outln!(
                "There are no handbooks yet. `throughline memory build` makes them of the sessions on this machine."
            );
        }
        for one in &desk.books {
            let updated = one
                .book
                .updated()
                .map_or(String::new(), |at| format!(", {}", times::age(at, desk.context.now())));
            let statements = output::count(one.book.entries().len() as u64, "statement");
            let sessions = output::count(one.book.grounds().sessions().count() as u64, "session");
            outln!("{}  {}", cyan(called(&one.scope)), dim(format!("{statements} from {sessions}{updated}")));
            outln!("    {}", dim(home_path(desk.context, &one.folder.join("MEMORY.md"))));
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn json_of(one: &Shelved) -> Value {
    let count = |kind: FindingKind| (kind.name().to_owned(), json!(one.book.of(kind).count()));
    let by_kind: serde_json::Map<String, Value> = FindingKind::ALL.into_iter().map(count).collect();
    json!({
        "scope": one.scope.to_text(), "name": one.scope.to_string(), "path": one.folder.join("MEMORY.md"),
        "updated": one.book.updated(), "statements": one.book.entries().len(), "by_kind": by_kind,
        "sessions": one.book.grounds().sessions().count(), "flaws": one.flaws.len(),
    })
}
