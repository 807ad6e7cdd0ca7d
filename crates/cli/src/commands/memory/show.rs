use super::here::Here;
use super::print;
use crate::outln;
use crate::output::{self, bold, dim};
use crate::times;
use serde_json::json;
use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;
use throughline_memory::usage::Used;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline memory show feedback_tests-first.md\n  throughline memory show \"Tests first\"\n  throughline memory show global/user_role.md --raw"
)]
pub(crate) struct Show {
    /// The memory: its file, a unique beginning of that, or its name.
    id: String,
    /// The file as it stands.
    #[arg(long, conflicts_with = "json")]
    raw: bool,
}

impl Show {
    pub(crate) fn run(self, here: &Here<'_>) -> anyhow::Result<ExitCode> {
        let entry = here.one(&self.id)?;
        if self.raw {
            let text = here.store(entry.id.tier)?.source(&entry.id.file)?;
            output::data().write_all(text.as_bytes())?;
            return Ok(ExitCode::SUCCESS);
        }
        // Whether somebody looked at it is worth knowing, and never worth a failure.
        let _ = here.memories.record_use(std::slice::from_ref(&entry.id), Used::Opened, (None, here.now));
        let topic = &entry.topic;
        if here.json() {
            let uses = super::list::uses(here);
            let mut value = entry.json(uses.get(&entry.id));
            value["body"] = json!(topic.body);
            output::json(&value)?;
            return Ok(ExitCode::SUCCESS);
        }
        let width = output::width();
        outln!("{}", bold(print::line(&topic.name)));
        let mut about = vec![topic.kind.map_or("no type".to_owned(), |kind| kind.to_string())];
        about.push(format!("changed {}", times::age(topic.modified, here.now)));
        if topic.meta.evidence > 0 {
            about.push(format!("said {}", print::times_said(u64::from(topic.meta.evidence))));
        }
        let state = print::state(&entry, here.now).unwrap_or_default();
        print::titled("", &entry.id.to_string(), (&about.join(" · "), &state));
        if !topic.description.is_empty() && !topic.body.starts_with(&topic.description) {
            for row in print::paragraphs(&print::line(&topic.description), "", width) {
                outln!("{}", dim(row));
            }
        }
        outln!();
        // Only a terminal needs lines of its own width.
        let columns = if std::io::stdout().is_terminal() { width } else { usize::MAX };
        for row in print::paragraphs(&topic.body, "", columns) {
            outln!("{row}");
        }
        if !topic.meta.anchors.is_empty() {
            let anchors: Vec<String> =
                topic.meta.anchors.iter().map(|anchor| print::line(&anchor.to_string())).collect();
            outln!("\n{} {}", dim("about"), anchors.join(", "));
        }
        outln!("\n{}", dim(print::line(&entry.path.to_string_lossy())));
        Ok(ExitCode::SUCCESS)
    }
}
