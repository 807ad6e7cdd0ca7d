//! The changes of memories, and how to take them back.

use super::handbook::Desk;
use super::here::{Here, Which, note};
use super::print;
use crate::context::Context;
use crate::handbook::StoreFlag;
use crate::outln;
use crate::output::{self, cyan, dim};
use crate::times;
use anyhow::bail;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::process::ExitCode;
use throughline_memory::topics::{ChangeKind, Recorded, TopicError, TopicStore};
use throughline_memory::{MemoryId, Tier};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline memory history\n  throughline memory history feedback_tests-first.md --json"
)]
pub(crate) struct History {
    /// Only the changes of this memory; one that was forgotten is named by its whole file.
    id: Option<String>,
    /// At most so many.
    #[arg(short = 'n', long, default_value_t = 30)]
    limit: usize,
}

/// A change of a tier.
pub(super) struct Changed {
    pub(super) tier: Tier,
    pub(super) change: Recorded,
}

impl Changed {
    pub(super) fn json(&self) -> Value {
        let Recorded { id, at, kind, what, files, undoes, undone, .. } = &self.change;
        let files: Vec<MemoryId> = files.iter().map(|file| MemoryId::new(self.tier, file.clone())).collect();
        json!({
            "id": id, "tier": self.tier, "at": at, "kind": kind, "what": what, "files": files, "undoes": undoes,
            "undone": undone,
        })
    }

    pub(super) fn print(&self, indent: &str) {
        let Recorded { id, at, what, undone, .. } = &self.change;
        let tier = if self.tier == Tier::Project { String::new() } else { format!(" ({})", self.tier) };
        let undone = if *undone { "  undone" } else { "" };
        let id: String = id.chars().take(12).collect();
        let room = output::width().saturating_sub(indent.len() + id.len() + 20 + tier.len() + undone.len());
        let what = output::fit(&print::line(what), room);
        outln!("{indent}{}  {}  {what}{}{}", cyan(id), dim(times::local(*at)), dim(tier), dim(undone));
    }
}

impl History {
    pub(crate) fn run(self, here: &Here<'_>) -> anyhow::Result<ExitCode> {
        anyhow::ensure!(self.limit > 0, "-n 0 asks for nothing");
        let id = self.id.as_deref().map(|text| meant(here, text)).transpose()?;
        let mut changes = Vec::new();
        let mut problems = Vec::new();
        for (tier, store) in here.memories.stores() {
            if id.as_ref().is_some_and(|id| id.tier != tier) {
                continue;
            }
            match store.history(id.as_ref().map(|id| id.file.as_str()), self.limit) {
                Ok(own) => changes.extend(own.into_iter().map(|change| Changed { tier, change })),
                Err(error) => problems.push(error.to_string()),
            }
        }
        changes.sort_by_key(|changed| std::cmp::Reverse(changed.change.at));
        changes.truncate(self.limit);
        if here.json() {
            let rows: Vec<Value> = changes.iter().map(Changed::json).collect();
            output::json(&json!({ "changes": rows, "problems": problems }))?;
            return Ok(ExitCode::SUCCESS);
        }
        for problem in &problems {
            note(&print::line(problem));
        }
        if changes.is_empty() && problems.is_empty() {
            outln!("No change is recorded{}.", if id.is_some() { " of it" } else { "" });
        }
        for changed in &changes {
            changed.print("");
        }
        if !changes.is_empty() {
            outln!("{}", dim(format!("`{}` takes one back", here.command("undo CHANGE"))));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// A memory that is there, or one that was.
fn meant(here: &Here<'_>, text: &str) -> anyhow::Result<MemoryId> {
    match here.one(text) {
        Ok(entry) => Ok(entry.id),
        Err(error) => match text.parse::<MemoryId>() {
            Ok(id) if id.file.ends_with(".md") => Ok(id),
            Ok(_) | Err(_) => Err(error),
        },
    }
}

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline memory undo                  (the last change)\n  throughline memory undo 3fa9c1d20b7e     (that one, by its id in `memory history`)\n  throughline memory undo --handbook       (the last edition of the handbook)"
)]
pub(crate) struct Undo {
    /// The change, by its id or a beginning of it [default: the last one that is not undone].
    change: Option<String>,
    /// Of the handbook: the last edition that is not undone, or the one named.
    #[arg(long)]
    handbook: bool,
    #[command(flatten)]
    store: StoreFlag,
}

/// Memories that are told of an undone change.
const TOLD: usize = 10;
/// Changes that are looked at for the last one.
const LOOKED_AT: usize = 200;

impl Undo {
    /// Whether the handbook is meant.
    pub(super) fn is_of_handbook(&self) -> bool {
        self.handbook
    }

    pub(crate) fn run_on_handbook(self, context: &Context, which: &Which) -> anyhow::Result<ExitCode> {
        super::handbook::undo(&Desk::open(context, which)?, self.change.as_deref(), &self.store)
    }

    pub(crate) fn run(self, here: &Here<'_>) -> anyhow::Result<ExitCode> {
        let (tier, store) = match &self.change {
            Some(id) => of_change(here, id)?,
            None => newest(here)?,
        };
        let undone = store.undo(self.change.as_deref(), here.now)?;
        let ids = |files: &[String]| -> Vec<MemoryId> {
            files.iter().map(|file| MemoryId::new(tier, file.clone())).collect()
        };
        let by = store.history(None, 1).unwrap_or_default().into_iter().next().map(|change| change.id);
        if here.json() {
            let change = Changed { tier, change: undone.change.clone() }.json();
            output::json(&json!({
                "undone": change, "by": by, "restored": ids(&undone.restored), "removed": ids(&undone.removed),
                "changed_since": ids(&undone.over), "unrecorded": undone.unrecorded,
            }))?;
            return Ok(ExitCode::SUCCESS);
        }
        outln!("Undid: {}", print::line(&undone.change.what));
        let parts = [(&undone.restored, "is as it was before"), (&undone.removed, "is put away")];
        for (files, what) in parts {
            for id in ids(files).iter().take(TOLD) {
                outln!("  {} {what}", cyan(print::line(&id.to_string())));
            }
            if files.len() > TOLD {
                outln!("  {}", dim(format!("… and {} more", files.len() - TOLD)));
            }
        }
        for id in ids(&undone.over) {
            note(&format!(
                "{} had been changed since; the history has that too",
                print::line(&id.to_string())
            ));
        }
        if let Some(by) = by.filter(|_| undone.unrecorded.is_none()) {
            outln!("`{}` redoes it.", here.command(&format!("undo {by}")));
        }
        here.tell_unrecorded(undone.unrecorded.as_deref());
        Ok(ExitCode::SUCCESS)
    }
}

/// The tier whose history has a change.
fn of_change<'h>(here: &'h Here<'_>, id: &str) -> anyhow::Result<(Tier, &'h TopicStore)> {
    let has = |store: &TopicStore| match store.history(None, 1_000) {
        Ok(changes) => changes.iter().any(|change| change.id.starts_with(id)),
        Err(_) => false,
    };
    let found: Vec<(Tier, &TopicStore)> = here.memories.stores().filter(|(_, store)| has(store)).collect();
    match found.as_slice() {
        [only] => Ok(*only),
        [] => Err(TopicError::NoChange { id: id.to_owned() }.into()),
        _ => bail!("changes of several tiers begin with {}; give more of the id", print::quoted(id)),
    }
}

/// The tier whose last change, of those that can be taken back without being named, is the newest.
fn newest<'h>(here: &'h Here<'_>) -> anyhow::Result<(Tier, &'h TopicStore)> {
    let mut errors = Vec::new();
    let mut best: Option<(Timestamp, Tier, &TopicStore)> = None;
    for (tier, store) in here.memories.stores() {
        match store.history(None, LOOKED_AT) {
            Ok(changes) => {
                let last = changes.iter().find(|change| is_ours(change)).map(|change| change.at);
                if let Some(last) = last.filter(|last| best.as_ref().is_none_or(|(at, ..)| last > at)) {
                    best = Some((last, tier, store));
                }
            }
            Err(error) => errors.push(error),
        }
    }
    match (best, errors.into_iter().next()) {
        (Some((_, tier, store)), _) => Ok((tier, store)),
        (None, Some(error)) => Err(error.into()),
        (None, None) => bail!("there is no change to undo; `{}` shows the changes", here.command("history")),
    }
}

fn is_ours(change: &Recorded) -> bool {
    let is_one = change.kind.is_some_and(|kind| match kind {
        ChangeKind::Undo | ChangeKind::Purge | ChangeKind::Found => false,
        ChangeKind::Add
        | ChangeKind::Update
        | ChangeKind::Confirm
        | ChangeKind::Supersede
        | ChangeKind::Merge
        | ChangeKind::Forget
        | ChangeKind::Repair => true,
    });
    is_one && !change.undone
}
