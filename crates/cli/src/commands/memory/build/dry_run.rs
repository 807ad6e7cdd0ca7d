//! What would be done, without doing it.

use super::super::handbook::which::called;
use super::estimate::{Estimate, Reading};
use super::find::{Range, Session, eligibility, failures, sessions};
use super::progress::counted;
use super::run::due;
use super::{Begun, How};
use crate::handbook::Hands;
use crate::outln;
use crate::output::{self, bold, dim};
use serde_json::json;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::process::ExitCode;
use throughline_ledger::import::import;
use throughline_ledger::{Home, Listed, SyncPolicy, list};
use throughline_memory::handbook::{ProjectKey, Scope};

/// Transcripts are read by way of a home that is thrown away: the real one stays as it is.
pub(super) fn run(begun: &Begun<'_>, range: &Range, how: &How) -> anyhow::Result<ExitCode> {
    let context = begun.context;
    let scratch = tempfile::tempdir()?;
    let aside = Home::new(scratch.path());
    let bar = output::bar(context.json, 0, "reading");
    let report = import(&aside, &range.discover()?, SyncPolicy::Never, &mut |progress| {
        bar.set_length(progress.total);
        bar.set_position(progress.done);
    })?;
    bar.finish_and_clear();
    let listed = newest(list(&context.home)?, list(&aside)?);
    let by = eligibility(context, range.since(context.now())?);
    let mut found = sessions(&context.home, &begun.id, &listed, &by);
    found.not_imported = failures(&report);
    found.only(&begun.project)?;
    let hands = Hands::new(context, &begun.settings, how.scribe)?;
    let (due, unchanged) = if begun.place.is_there() {
        context
            .block_on(async { due(begun.place.open().await?.as_ref(), found.sessions.clone()).await })??
    } else {
        (found.sessions.clone(), 0)
    };
    let projects = by_project(&due);
    let bar = counted(context.json, due.len() as u64, "counting");
    let home_of = |ledger: &Path| if ledger.starts_with(scratch.path()) { &aside } else { &context.home };
    // One for each project, and the global one.
    let books = if due.is_empty() { 0 } else { projects.len() + 1 };
    let reading = Reading { model: hands.model_id(), limits: &begun.settings.limits, books };
    let estimate = reading.estimate(&due, home_of, || bar.inc(1));
    bar.finish_and_clear();
    if context.json {
        output::json(&json!({
            "dry_run": true, "sessions": due.len(), "unchanged": unchanged, "left_out": found.left_out,
            "tokens": estimate.tokens, "model": estimate.model, "dollars": estimate.dollars, "projects": projects,
            "not_imported": found.not_imported, "store": begun.place.to_string(),
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    tell(&estimate, &projects, unchanged);
    super::summary::left_out(&found);
    Ok(ExitCode::SUCCESS)
}

/// Of a session that is in both, the one that went on for longer.
fn newest(own: Vec<Listed>, aside: Vec<Listed>) -> Vec<Listed> {
    let mut known: HashMap<String, Listed> = HashMap::new();
    for listed in own.into_iter().chain(aside) {
        let id = listed
            .card
            .session
            .as_ref()
            .map_or_else(|| listed.path.to_string_lossy().into_owned(), ToString::to_string);
        match known.get(&id) {
            Some(there) if there.card.updated >= listed.card.updated => {}
            Some(_) | None => drop(known.insert(id, listed)),
        }
    }
    known.into_values().collect()
}

fn by_project(sessions: &[Session]) -> BTreeMap<ProjectKey, usize> {
    let mut projects = BTreeMap::new();
    for session in sessions {
        *projects.entry(session.project.clone()).or_default() += 1;
    }
    projects
}

/// Projects that are told one by one.
const TOLD: usize = 20;

fn tell(estimate: &Estimate, projects: &BTreeMap<ProjectKey, usize>, unchanged: usize) {
    let sessions = output::count(estimate.sessions as u64, "session");
    if estimate.sessions == 0 {
        outln!("Nothing would be read.");
    } else {
        outln!(
            "{} would be read: {} tokens. {}",
            bold(&sessions),
            output::number(estimate.tokens),
            dim(estimate.cost())
        );
    }
    let mut rows: Vec<(&ProjectKey, &usize)> = projects.iter().collect();
    rows.sort_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
    for (project, n) in rows.iter().take(TOLD) {
        let name = called(&Scope::Project((*project).clone()));
        outln!("  {:>5}  {name}", output::number(**n as u64));
    }
    if rows.len() > TOLD {
        outln!("  {}", dim(format!("… and {} more projects", rows.len() - TOLD)));
    }
    if unchanged > 0 {
        outln!("{}", dim(format!("{} read already", output::count(unchanged as u64, "session"))));
    }
    outln!("{}", dim("Nothing was written."));
}
