use super::here::{Here, tell_redacted};
use super::print;
use crate::outln;
use crate::output::{self, cyan};
use serde_json::json;
use std::process::ExitCode;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline memory confirm feedback_tests-first.md\n  throughline memory confirm project_freeze --json"
)]
pub(crate) struct Confirm {
    /// The memory: its file, a unique beginning of that, or its name.
    id: String,
}

impl Confirm {
    pub(crate) fn run(self, here: &Here<'_>) -> anyhow::Result<ExitCode> {
        let entry = here.one(&self.id)?;
        anyhow::ensure!(
            entry.topic.meta.superseded_by.is_none(),
            "{}: {}",
            print::line(&entry.id.to_string()),
            super::list::told(&entry.state)
        );
        let store = here.store(entry.id.tier)?;
        let saved = store.confirm(&entry.id.file, here.by_person(""))?;
        let entry = here.entry(entry.id.tier, store, store.read(&saved.file)?);
        if here.json() {
            output::json(&json!({
                "id": entry.id, "evidence": entry.topic.meta.evidence, "ends": entry.ends, "state": entry.state.name(),
                "unrecorded": saved.unrecorded,
            }))?;
        } else {
            let said = print::times_said(u64::from(entry.topic.meta.evidence));
            outln!("{} was said {said} now.", cyan(print::line(&entry.id.to_string())));
            if let Some(state) = print::state(&entry, here.now) {
                outln!(
                    "It {state} all the same: {}",
                    here.command(&format!("edit {} --expires never", print::quoted(&entry.id.to_string())))
                );
            }
            here.tell_unrecorded(saved.unrecorded.as_deref());
        }
        tell_redacted(&saved.redacted);
        Ok(ExitCode::SUCCESS)
    }
}
