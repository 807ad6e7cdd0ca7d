//! What came of it, for people and for scripts.

use super::super::handbook::tell::{cost_of, home_path};
use super::super::handbook::which::called;
use super::super::print;
use super::find::Found;
use super::run::{Done, Failed};
use crate::context::Context;
use crate::outln;
use crate::output::{self, bold, cyan, dim, green, red, yellow};
use crate::times;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use throughline_core::cost::Dollars;
use throughline_memory::handbook::{Scope, Shelved, shelf};
use throughline_memory::store::{JobKey, JobKind, RunOutcome};

/// Handbooks and failures that are told one by one.
const TOLD: usize = 12;

/// What was done, in figures.
#[derive(Default)]
struct Figures {
    read: usize,
    with_findings: usize,
    findings: usize,
    written: BTreeSet<Scope>,
    tokens: u64,
    dollars: Dollars,
}

impl Figures {
    fn of(done: &Done) -> Self {
        let mut figures = Self::default();
        for (job, outcome, items, cost) in done.drained.done() {
            figures.tokens += cost.tokens;
            figures.dollars += cost.dollars;
            match (job, outcome) {
                (JobKey::Extract(_), outcome) => {
                    figures.read += 1;
                    figures.findings += items;
                    figures.with_findings += usize::from(outcome == RunOutcome::Done);
                }
                (JobKey::Consolidate(scope), RunOutcome::Done) => {
                    figures.written.insert(scope.clone());
                }
                (JobKey::Consolidate(_), RunOutcome::Nothing) => {}
            }
        }
        figures
    }
}

pub(super) fn tell(context: &Context, done: &Done) -> anyhow::Result<()> {
    let figures = Figures::of(done);
    let mut books = shelf(&context.home);
    books.retain(|book| done.scopes.contains(&book.scope));
    // Behind the one of all projects, those that say most come first.
    books.sort_by_key(|one| (one.scope != Scope::Global, std::cmp::Reverse(one.book.entries().len())));
    if context.json {
        return output::json(&json(done, &figures, &books));
    }
    if done.declined {
        outln!("Nothing was done.");
        return Ok(());
    }
    if let Some(why) = &done.drained.halted {
        outln!("{} {}", red("stopped:"), print::line(why));
        outln!("  What is done stays done: run it again when that is mended.");
    } else if done.drained.stopped {
        outln!("{} What is done stays done: run it again to go on.", yellow("stopped."));
    }
    sessions(done, &figures);
    if done.forgotten > 0 {
        let sessions = output::count(done.forgotten as u64, "session");
        outln!("{}", dim(format!("forgot what {sessions} taught, whose ledgers are gone")));
    }
    handbooks(context, &figures, &books);
    failures(context, done);
    left_out(&done.found);
    let largest = books.iter().find(|one| one.scope != Scope::Global && !one.book.is_empty());
    if let Some(largest) = largest {
        let name = print::quoted(&called(&largest.scope));
        outln!("{}", dim(format!("Next: throughline memory handbook show --project {name}")));
    }
    Ok(())
}

fn sessions(done: &Done, figures: &Figures) {
    let all = done.found.sessions.len();
    if all == 0 {
        outln!("No session was found that could be read.");
        return;
    }
    if figures.read == 0 && done.failed.is_empty() && !done.drained.stopped && done.drained.halted.is_none() {
        outln!("Nothing is new in {}.", output::count(all as u64, "session"));
        return;
    }
    let nothing = figures.read - figures.with_findings;
    let none = if nothing > 0 {
        format!(", nothing worth keeping in {}", output::number(nothing as u64))
    } else {
        String::new()
    };
    outln!(
        "Read {} in {}: {} in {}{none}. {}",
        bold(output::count(figures.read as u64, "session")),
        spent(done.took),
        bold(output::count(figures.findings as u64, "finding")),
        output::number(figures.with_findings as u64),
        dim(cost_of(done.model.as_deref(), figures.tokens, figures.dollars)),
    );
    if done.unchanged > 0 {
        outln!("{}", dim(format!("{} had nothing new", output::count(done.unchanged as u64, "session"))));
    }
}

fn spent(took: std::time::Duration) -> String {
    let seconds = took.as_secs();
    match seconds {
        0..10 => format!("{:.1} s", took.as_secs_f64()),
        10..120 => format!("{seconds} s"),
        _ => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

fn handbooks(context: &Context, figures: &Figures, books: &[Shelved]) {
    let full: Vec<&Shelved> = books.iter().filter(|book| !book.book.is_empty()).collect();
    if full.is_empty() {
        return;
    }
    outln!("\n{}", bold(output::count(full.len() as u64, "handbook")));
    for book in full.iter().take(TOLD) {
        let mark = if figures.written.contains(&book.scope) { green("✓") } else { dim("·") };
        let statements = output::count(book.book.entries().len() as u64, "statement");
        let sessions = output::count(book.book.grounds().sessions().count() as u64, "session");
        outln!("{mark} {}  {}", cyan(called(&book.scope)), dim(format!("{statements} from {sessions}")));
        outln!("    {}", dim(home_path(context, &book.folder.join("MEMORY.md"))));
    }
    if full.len() > TOLD {
        outln!(
            "  {}",
            dim(format!("… and {} more; `throughline memory handbook list` shows all", full.len() - TOLD))
        );
    }
}

fn failures(context: &Context, done: &Done) {
    let failed = done.failed.len() + done.found.not_imported.len();
    if failed == 0 {
        return;
    }
    outln!("\n{}", red(format!("{} failed", output::number(failed as u64))));
    for (path, why) in done.found.not_imported.iter().take(TOLD) {
        outln!("  {}: {}", home_path(context, path), print::line(why));
    }
    for failed in done.failed.iter().take(TOLD) {
        outln!("  {}: {}", name(failed), print::line(&failed.why));
        outln!("    {}", dim(what_to_do(context, failed)));
    }
    let hidden = done.failed.len().saturating_sub(TOLD) + done.found.not_imported.len().saturating_sub(TOLD);
    if hidden > 0 {
        outln!("  {}", dim(format!("… and {hidden} more (--json shows all)")));
    }
}

fn name(failed: &Failed) -> String {
    match &failed.job.job {
        JobKey::Extract(session) => format!("session {}", print::line(session.as_str())),
        JobKey::Consolidate(scope) => format!("handbook {}", called(scope)),
    }
}

fn what_to_do(context: &Context, failed: &Failed) -> String {
    match (failed.again(), failed.job.until, failed.job.job.kind()) {
        (true, Some(at), _) if at > context.now() => {
            format!("tried again {}: run `throughline memory refresh` then", times::until(at, context.now()))
        }
        (true, ..) => "`throughline memory refresh` tries it again".to_owned(),
        (false, _, JobKind::Extract) => {
            "not tried again unless the session goes on; `throughline sessions check` looks at its ledger"
                .to_owned()
        }
        (false, _, JobKind::Consolidate) => "not tried again until a session or a note is new".to_owned(),
    }
}

/// How many sessions are not read, and why.
pub(super) fn left_out(found: &Found) {
    if found.left_out.is_empty() {
        return;
    }
    let total: usize = found.left_out.values().sum();
    let mut reasons: Vec<_> = found.left_out.iter().collect();
    reasons.sort_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
    let told: Vec<String> =
        reasons.iter().map(|(why, n)| format!("{} {why}", output::number(**n as u64))).collect();
    outln!("{}", dim(format!("left out {}: {}", output::count(total as u64, "session"), told.join(", "))));
}

fn json(done: &Done, figures: &Figures, books: &[Shelved]) -> Value {
    let book = |one: &Shelved| {
        json!({
            "scope": one.scope.to_text(), "name": one.scope.to_string(), "path": one.folder.join("MEMORY.md"),
            "statements": one.book.entries().len(), "sessions": one.book.grounds().sessions().count(),
            "changed": figures.written.contains(&one.scope),
        })
    };
    let failed = |one: &Failed| json!({ "job": one.job.job, "why": one.why, "again": one.again(), "until": one.job.until });
    let not_imported = done.found.not_imported.iter().map(|(path, why)| json!({ "path": path, "why": why }));
    json!({
        "sessions": {
            "found": done.found.sessions.len(), "unchanged": done.unchanged, "read": figures.read,
            "with_findings": figures.with_findings, "left_out": done.found.left_out,
        },
        "forgotten": done.forgotten, "findings": figures.findings,
        "handbooks": books.iter().filter(|one| !one.book.is_empty()).map(book).collect::<Vec<_>>(),
        "cost": { "model": done.model, "tokens": figures.tokens, "dollars": figures.dollars, "seconds": done.took.as_secs_f64() },
        "failed": done.failed.iter().map(failed).collect::<Vec<_>>(),
        "not_imported": not_imported.collect::<Vec<_>>(),
        "stopped": done.drained.stopped, "halted": done.drained.halted, "declined": done.declined, "store": done.store,
    })
}
