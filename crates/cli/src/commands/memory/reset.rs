use super::ask::{agreed, agreed_at};
use super::handbook::{Desk, Resetting};
use super::here::{Here, Which};
use super::print;
use crate::context::Context;
use crate::handbook::StoreFlag;
use crate::outln;
use crate::output;
use serde_json::json;
use std::process::ExitCode;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline memory reset                     (this project's; asks first)\n  throughline memory reset --tier global --yes\n  throughline memory reset --purge --yes       (for good, with the history)\n  throughline memory reset --handbook --yes    (only the handbook; `memory build` makes it again)"
)]
pub(crate) struct Reset {
    /// Do it without a question.
    #[arg(short = 'y', long)]
    yes: bool,
    /// For good: also the history and what was forgotten before. Nothing of it can be had back.
    #[arg(long)]
    purge: bool,
    /// Only the handbook; your notes in it stay.
    #[arg(long, conflicts_with = "purge")]
    handbook: bool,
    #[command(flatten)]
    store: StoreFlag,
}

impl Reset {
    pub(crate) fn run(self, here: &Here<'_>, which: &Which) -> anyhow::Result<ExitCode> {
        let desk = Desk::open(here.context, which)?;
        let book = if which.has_handbook() { Resetting::of(&desk, &self.store)? } else { None };
        let tier = here.target();
        let store = here.store(tier)?;
        let count = store.all()?.0.len();
        if count == 0 && !self.purge && book.is_none() {
            if here.json() {
                output::json(
                    &json!({ "tier": tier, "forgotten": [], "change": null, "unrecorded": null, "handbook": null }),
                )?;
            } else {
                outln!("There is nothing to forget in {}.", print::line(&store.folder().to_string_lossy()));
            }
            return Ok(ExitCode::SUCCESS);
        }
        let whose = print::line(&store.folder().to_string_lossy());
        let question = if self.purge {
            format!("Remove all {tier} memories in {whose} for good ({count}, and their history)?")
        } else {
            format!("Forget all {} of tier {tier} in {whose}?", print::memories(count))
        };
        let also = book.as_ref().map_or(String::new(), |book| format!(" Also {}?", book.what()));
        if !agreed(here, &format!("{question}{also}"), self.yes)? {
            outln!("Nothing was done.");
            return Ok(ExitCode::FAILURE);
        }
        if let Some(book) = &book {
            book.run(self.purge)?;
        }
        let handbook = book.as_ref().map(Resetting::folder);
        if self.purge {
            let cleared = store.purge_all()?;
            if here.json() {
                output::json(&json!({ "tier": tier, "purged": cleared.files, "handbook": handbook }))?;
            } else {
                outln!("Removed {} for good.", print::memories(cleared.files.len()));
            }
            return Ok(ExitCode::SUCCESS);
        }
        let cleared = store.forget_all(here.now)?;
        let newest = store.history(None, 1).unwrap_or_default();
        let change = newest.first().map(|change| change.id.clone()).filter(|_| cleared.unrecorded.is_none());
        if here.json() {
            output::json(&json!({
                "tier": tier, "forgotten": cleared.files, "change": change, "unrecorded": cleared.unrecorded,
                "handbook": handbook,
            }))?;
            return Ok(ExitCode::SUCCESS);
        }
        outln!("Forgot {}.", print::memories(cleared.files.len()));
        match change {
            Some(change) => outln!("`{}` brings them back.", here.command(&format!("undo {change}"))),
            None => {
                here.tell_unrecorded(cleared.unrecorded.as_deref());
                let kept = store.folder().join(".throughline/forgotten");
                outln!("Their files are kept in {}.", print::line(&kept.to_string_lossy()));
            }
        }
        if let Some(book) = &book {
            book.tell();
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Whether only the handbook is meant.
    pub(super) fn is_of_handbook(&self) -> bool {
        self.handbook
    }

    pub(crate) fn run_on_handbook(self, context: &Context, which: &Which) -> anyhow::Result<ExitCode> {
        let desk = Desk::open(context, which)?;
        let book = if which.has_handbook() { Resetting::of(&desk, &self.store)? } else { None };
        let Some(book) = book else {
            if context.json {
                output::json(&json!({ "handbook": null }))?;
            } else {
                outln!("There is no handbook here.");
            }
            return Ok(ExitCode::SUCCESS);
        };
        if !agreed_at(context.json, &format!("Really {}?", book.what()), self.yes)? {
            outln!("Nothing was done.");
            return Ok(ExitCode::FAILURE);
        }
        book.run(false)?;
        if context.json {
            output::json(&json!({ "handbook": book.folder() }))?;
        } else {
            book.tell();
        }
        Ok(ExitCode::SUCCESS)
    }
}
