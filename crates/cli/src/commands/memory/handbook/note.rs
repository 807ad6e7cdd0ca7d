use super::Desk;
use super::tell::home_path;
use super::which::called;
use crate::outln;
use crate::output;
use serde_json::json;
use std::process::ExitCode;
use throughline_memory::handbook::phase2::NOTES;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline memory handbook note \"The staging database is reset every Sunday\"\n  throughline memory handbook note --global \"I read diffs before prose\""
)]
pub(crate) struct Note {
    /// What to remember.
    #[arg(required = true)]
    text: Vec<String>,
}

impl Note {
    pub(crate) fn run(self, desk: &Desk<'_>) -> anyhow::Result<ExitCode> {
        let scope = desk.written_scope()?;
        let workspace = desk.workspace(&scope);
        let note = workspace.add_note(&self.text.join(" "), desk.context.now())?;
        let path = workspace.folder().join(NOTES).join(&note.file);
        if desk.context.json {
            output::json(
                &json!({ "scope": scope.to_text(), "file": note.file, "path": path, "text": note.text }),
            )?;
        } else {
            outln!("Noted in the handbook of {}: {}", called(&scope), home_path(desk.context, &path));
            outln!("The next session is told; `throughline memory refresh` works it in.");
        }
        Ok(ExitCode::SUCCESS)
    }
}
