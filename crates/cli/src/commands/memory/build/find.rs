//! Which sessions there are to be read.

use super::super::handbook::which::Named;
use crate::commands::sessions::import::{How, import_and_index, places};
use crate::context::Context;
use anyhow::bail;
use jiff::{SignedDuration, Timestamp};
use std::collections::BTreeMap;
use std::path::PathBuf;
use throughline_core::SessionId;
use throughline_ledger::import::{Discovery, ImportReport, Outcome, discover, discover_in};
use throughline_ledger::{Home, Listed, list};
use throughline_memory::handbook::phase1::{Eligibility, Ineligible, candidates, eligible};
use throughline_memory::handbook::{HomeId, ProjectKey};
use throughline_memory::store::{JobKey, Wanted, Watermark};

/// What is asked for.
#[derive(clap::Args, Clone, Debug)]
pub(super) struct Range {
    /// Transcripts of these files and folders [default: those of Claude Code and Codex on this machine].
    #[arg(long, value_name = "DIR", num_args = 1..)]
    from: Vec<PathBuf>,
    /// Only sessions that went on after this: a date, a time, or an age such as 30d.
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
}

/// A session that is being written right now is read the next time.
const RESTED: SignedDuration = SignedDuration::from_mins(10);

/// A session that may be read.
#[derive(Clone, Debug)]
pub(super) struct Session {
    pub(super) id: SessionId,
    pub(super) project: ProjectKey,
    pub(super) ledger: PathBuf,
    pub(super) watermark: Watermark,
    pub(super) wanted: Wanted,
}

impl Session {
    pub(super) fn key(&self) -> JobKey {
        JobKey::Extract(self.id.clone())
    }
}

/// What there is.
pub(super) struct Found {
    /// Newest first.
    pub(super) sessions: Vec<Session>,
    /// How many are left out, by reason.
    pub(super) left_out: BTreeMap<Ineligible, usize>,
    /// Transcripts that could not be imported, and why.
    pub(super) not_imported: Vec<(PathBuf, String)>,
}

impl Range {
    pub(super) fn since(&self, now: Timestamp) -> anyhow::Result<Option<Timestamp>> {
        self.since.as_deref().map(|when| crate::times::parse(when, now)).transpose()
    }

    /// The transcripts of other clients.
    pub(super) fn discover(&self) -> anyhow::Result<Discovery> {
        if self.from.is_empty() {
            return Ok(discover(&places()));
        }
        let found = discover_in(&self.from);
        // What was named and is not there is a mistake; what lies in it and can't be read is told.
        if let Some(missing) = found.passed_over.iter().find(|passed| self.from.contains(&passed.path)) {
            bail!("cannot read {}: {}", missing.path.display(), missing.reason);
        }
        Ok(found)
    }

    /// Imports what other clients have, and says what may be read.
    pub(super) fn find(&self, context: &Context, id: &HomeId, project: &Named) -> anyhow::Result<Found> {
        let since = self.since(context.now())?;
        // Searching brings its index up to date by itself.
        let report = import_and_index(context, &self.discover()?, How { no_index: true, copies: false })?;
        let mut found = sessions(&context.home, id, &list(&context.home)?, &eligibility(context, since));
        found.not_imported = failures(&report);
        found.only(project)?;
        Ok(found)
    }
}

/// What a session must be like: rested for a while, whatever its age.
pub(super) fn eligibility(context: &Context, since: Option<Timestamp>) -> Eligibility {
    Eligibility { idle: Some(RESTED), since, ..Eligibility::everything(context.now()) }
}

/// The sessions in a list that may be read.
pub(super) fn sessions(home: &Home, id: &HomeId, listed: &[Listed], by: &Eligibility) -> Found {
    let (_, left_out) = eligible(listed, by);
    let sessions = candidates(home, id, listed, by).into_iter().filter_map(|candidate| {
        let ledger = candidate.listed.path.clone();
        match &candidate.wanted {
            Wanted::Extract { session, watermark, .. } => Some(Session {
                id: session.clone(),
                project: candidate.project,
                ledger,
                watermark: *watermark,
                wanted: candidate.wanted.clone(),
            }),
            Wanted::Consolidate(_) => None,
        }
    });
    Found { sessions: sessions.collect(), left_out, not_imported: Vec::new() }
}

impl Found {
    /// Leaves only those of a project, if one is named.
    pub(super) fn only(&mut self, project: &Named) -> anyhow::Result<()> {
        let keys = self.sessions.iter().map(|session| &session.project);
        let Some(key) = project.key(keys)? else { return Ok(()) };
        let before = self.sessions.len();
        self.sessions.retain(|session| session.project == key);
        let others = before - self.sessions.len();
        if others > 0 {
            *self.left_out.entry(Ineligible::OtherProject).or_default() += others;
        }
        Ok(())
    }
}

pub(super) fn failures(report: &ImportReport) -> Vec<(PathBuf, String)> {
    let failed = report.files.iter().filter_map(|file| match &file.outcome {
        Outcome::Failed(why) => Some((file.path.clone(), why.clone())),
        Outcome::Imported
        | Outcome::Continued
        | Outcome::Unchanged
        | Outcome::Proxied
        | Outcome::Replaced
        | Outcome::Empty
        | Outcome::Foreign => None,
    });
    failed.collect()
}
