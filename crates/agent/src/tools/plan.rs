//! ExitPlanMode: a plan is shown to the user, who decides on it.

use super::file_call::{Args, act};
use crate::permissions::Mode;
use crate::workspace::Workspace;
use crate::{Access, Shown, Tool, ToolContext, ToolOutput};
use serde_json::{Value, json};
use std::path::PathBuf;
use throughline_core::{ToolDefinition, prompt, text};
use throughline_ledger::write_private;
use throughline_model::BoxFuture;
use throughline_redact::redact;

/// The name by which the model calls it. The turn loop knows it: it asks the user, and changes the mode.
pub const EXIT_PLAN_MODE: &str = "ExitPlanMode";

const DESCRIPTION: &str = include_str!("../../../../prompts/tool_exit_plan_mode.md");

/// Characters of a plan that somebody still reads.
const MOST_CHARS: usize = 60_000;

/// Takes a plan and keeps it in a private file, without secrets. Whether it is carried out is not decided here.
#[derive(Clone, Debug)]
pub struct ExitPlanMode {
    file: PathBuf,
}

impl ExitPlanMode {
    /// A tool that keeps the plan in this file. Its folder is made if it is not there.
    pub fn new(file: PathBuf) -> Self {
        Self { file }
    }
}

impl Tool for ExitPlanMode {
    fn definition(&self) -> ToolDefinition<'_> {
        ToolDefinition {
            name: EXIT_PLAN_MODE,
            description: prompt(DESCRIPTION),
            parameters: json!({
                "type": "object",
                "properties": {"plan": {"type": "string", "description": "The plan, in Markdown."}},
                "required": ["plan"],
            }),
        }
    }

    fn access(&self, input: &Value, _: &Workspace) -> Result<Access, String> {
        plan(input).map(|_| Access::Inner)
    }

    fn run<'a>(&'a self, input: &'a Value, cx: ToolContext<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let plan = match plan(input) {
                Ok(plan) => plan.to_owned(),
                Err(why) => return ToolOutput::failed(why),
            };
            let (file, kept) = (self.file.clone(), plan.clone());
            let mode = cx.mode;
            act(cx.cancel, move || {
                let text = match save(&file, &kept) {
                    Ok(()) => told(mode).to_owned(),
                    // A plan that can't be kept can still be decided on.
                    Err(why) => format!("{} (It could not be kept in a file: {why}.)", told(mode)),
                };
                Ok(ToolOutput::done(text).shown(Shown::Plan(plan)))
            })
            .await
        })
    }

    fn summary(&self, input: &Value) -> String {
        let first = plan(input).ok().and_then(|plan| plan.lines().find(|line| !line.trim().is_empty()));
        match first {
            Some(line) => format!("Plan: {}", text::one_line(line.trim_start_matches(['#', ' ']), 80)),
            None => EXIT_PLAN_MODE.to_owned(),
        }
    }
}

fn plan(input: &Value) -> Result<&str, String> {
    let plan = Args::of(input)?.text("plan")?.trim();
    let length = plan.chars().count();
    if plan.is_empty() {
        return Err("`plan` is empty: write what will be done, where, and how it is checked".to_owned());
    }
    if length > MOST_CHARS {
        return Err(format!(
            "`plan` has {length} characters, over the limit of {MOST_CHARS}; leave out the code"
        ));
    }
    Ok(plan)
}

fn told(mode: Mode) -> &'static str {
    match mode {
        Mode::Plan => "The plan is shown to the user, who decides on it.",
        Mode::Ask | Mode::AcceptEdits | Mode::Full => {
            "You are not in plan mode, so there is nothing to leave. The plan is shown to the user; go on with it."
        }
    }
}

fn save(file: &std::path::Path, plan: &str) -> Result<(), String> {
    let place = file.parent().zip(file.file_name().and_then(|name| name.to_str()));
    let Some((folder, name)) = place else { return Err(format!("{} is no file name", file.display())) };
    let text = format!("{}\n", redact(plan));
    write_private(folder, name, text.as_bytes()).map_err(|error| error.to_string())
}
