//! `throughline` alone: import what there is, or the sample, and list it.

use super::sessions::import::{How, import_and_index, places, tell};
use super::sessions::list::{print, without_copies};
use crate::context::Context;
use crate::outln;
use crate::output::dim;
use std::path::PathBuf;
use std::process::ExitCode;
use throughline_core::MemoryMode;
use throughline_ledger::import::{Outcome, discover, discover_in};
use throughline_ledger::{SyncPolicy, Writer, list};

/// The tag of sessions that came with Throughline.
const SAMPLE: &str = "sample";

pub(crate) fn run(context: &Context) -> anyhow::Result<ExitCode> {
    let mut found = discover(&places());
    let mut sample = false;
    if found.files.is_empty()
        && list(&context.home)?.is_empty()
        && let Some(folder) = sample_folder()
    {
        found = discover_in(&[folder]);
        sample = true;
    }
    let report = import_and_index(context, &found, How::default())?;
    if sample {
        for file in report.files.iter().filter(|file| file.outcome == Outcome::Imported) {
            for session in &file.sessions {
                mark_as_sample(context, session.as_str())?;
            }
        }
    }
    if !context.json {
        if sample {
            outln!("No sessions of Claude Code or Codex on this machine yet: here are the samples.");
        }
        if !report.files.is_empty() {
            tell(&report, false);
            outln!();
        }
    }
    let mut listed = list(&context.home)?;
    without_copies(&mut listed);
    listed.retain(|session| session.card.parent_session.is_none());
    if context.json {
        crate::output::json(
            &serde_json::json!({ "import": report, "sessions": listed, "total": listed.len() }),
        )?;
        return Ok(ExitCode::SUCCESS);
    }
    print(context, &listed, 20)?;
    if !context.json && !listed.is_empty() {
        outln!("\n{}", dim("Next: throughline sessions show ID, sessions search WORDS, --help"));
    }
    Ok(ExitCode::SUCCESS)
}

/// The samples beside the sources this binary was built from, or in the current folder.
fn sample_folder() -> Option<PathBuf> {
    let built_from = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples"));
    [PathBuf::from("examples"), built_from].into_iter().find(|folder| folder.join("claude").is_dir())
}

/// Nobody said what is in the samples: no memory is to be made of them.
fn mark_as_sample(context: &Context, session: &str) -> anyhow::Result<()> {
    let path = context.home.find(session)?;
    let mut writer = Writer::open(&context.home, &path, SyncPolicy::Turn)?;
    writer.update_card(|card| {
        card.tags.push(SAMPLE.to_owned());
        card.memory_mode = MemoryMode::Disabled;
    })?;
    Ok(writer.end_turn()?)
}
