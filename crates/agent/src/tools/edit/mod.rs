//! Edit: parts of a file, each found by its exact text.

mod apply;
mod nearest;

use super::file_call::{Args, act, counted, shown_change};
use crate::files::text::Text;
use crate::files::{Change, Files, MAX_FILE, Old};
use crate::workspace::{OpenError, Workspace, read_whole};
use crate::{Access, FileDiff, Tool, ToolContext, ToolOutput};
use apply::Replacement;
use serde_json::{Value, json};
use throughline_core::{ToolDefinition, prompt, text};
use throughline_model::BoxFuture;

/// Replaces text in a file that the model has read: every edit of a call, or none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Edit;

impl Tool for Edit {
    fn definition(&self) -> ToolDefinition<'_> {
        let old =
            json!({"type": "string", "description": "The text to replace, exactly as it is in the file"});
        let new = json!({"type": "string", "description": "The text to put in its place"});
        let all = json!({"type": "boolean", "description": "Replace every occurrence; false if left out"});
        ToolDefinition {
            name: "Edit",
            description: prompt(include_str!("../../../../../prompts/tool_edit.md")),
            parameters: json!({
                "type": "object",
                "properties": {
                    "file_path": {"type": "string", "description": "The file, absolute or relative to the working folder"},
                    "old_string": old,
                    "new_string": new,
                    "replace_all": all,
                    "edits": {
                        "type": "array",
                        "description": "Several edits instead of one, made in this order",
                        "items": {
                            "type": "object",
                            "properties": {"old_string": old, "new_string": new, "replace_all": all},
                            "required": ["old_string", "new_string"],
                            "additionalProperties": false
                        }
                    }
                },
                "required": ["file_path"],
                "additionalProperties": false
            }),
        }
    }

    fn access(&self, input: &Value, workspace: &Workspace) -> Result<Access, String> {
        let request = Request::of(input)?;
        let path = workspace.resolve(&request.path).map_err(|error| error.to_string())?;
        Ok(Access::Write { paths: vec![path] })
    }

    fn run<'a>(&'a self, input: &'a Value, cx: ToolContext<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let request = match Request::of(input) {
                Ok(request) => request,
                Err(reason) => return ToolOutput::failed(reason),
            };
            let (workspace, files) = (cx.workspace.clone(), cx.files.clone());
            act(cx.cancel, move || edit(&request, &workspace, &files)).await
        })
    }

    fn preview(&self, input: &Value, workspace: &Workspace) -> Vec<FileDiff> {
        let preview = || {
            let request = Request::of(input).ok()?;
            let path = workspace.resolve(&request.path).ok()?;
            let (bytes, _) = read_whole(&path, MAX_FILE).ok()?;
            let before = Text::decode(&bytes)?.text;
            let after = apply::apply(&before, &request.edits).ok()?.text;
            Some(FileDiff { path, before: Some(before), after })
        };
        preview().into_iter().collect()
    }

    fn summary(&self, input: &Value) -> String {
        let path = Args::of(input).and_then(|args| args.text("file_path"));
        path.map_or_else(|_| "Edit".to_owned(), |path| format!("Edit {}", text::one_line(path, 80)))
    }
}

struct Request {
    path: String,
    edits: Vec<Replacement>,
}

impl Request {
    fn of(input: &Value) -> Result<Self, String> {
        let args = Args::of(input)?;
        let path = args.text("file_path")?.to_owned();
        let is_single = args.get("old_string").is_some() || args.get("new_string").is_some();
        let edits = match (is_single, args.get("edits")) {
            (true, None) => vec![replacement(args)?],
            // Some models send an empty list beside a single edit.
            (true, Some(Value::Array(list))) if list.is_empty() => vec![replacement(args)?],
            (true, Some(_)) => {
                return Err("give `old_string` and `new_string`, or `edits`, not both".to_owned());
            }
            (false, Some(Value::Array(list))) if !list.is_empty() => list
                .iter()
                .enumerate()
                .map(|(at, edit)| {
                    Args::of(edit)
                        .and_then(replacement)
                        .map_err(|reason| format!("edit {}: {reason}", at + 1))
                })
                .collect::<Result<_, _>>()?,
            (false, _) => {
                return Err("give `old_string` and `new_string`, or a list `edits` of them".to_owned());
            }
        };
        Ok(Self { path, edits })
    }
}

fn replacement(args: Args<'_>) -> Result<Replacement, String> {
    Ok(Replacement {
        old: args.text("old_string")?.to_owned(),
        new: args.text("new_string")?.to_owned(),
        all: args.flag("replace_all", false)?,
    })
}

fn edit(request: &Request, workspace: &Workspace, files: &Files) -> Result<ToolOutput, String> {
    let path = workspace.permitted(&request.path).map_err(|error| error.to_string())?;
    let shown = workspace.shown(&path);
    let (bytes, mode) = read_whole(&path, MAX_FILE).map_err(|error| match error {
        OpenError::Missing { .. } => {
            format!("{shown} does not exist: use Write to make it, or Glob to find it")
        }
        OpenError::Folder { .. } => format!("{shown} is a folder: give the path of a file"),
        OpenError::TooLarge { .. } => format!("{error}: change it with Bash"),
        OpenError::Special { .. } | OpenError::Link { .. } | OpenError::Io { .. } => error.to_string(),
    })?;
    let unchanged = |reason: String| format!("{reason}\nNothing was changed in {shown}.");
    files.is_current(&path, &bytes).map_err(|reason| unchanged(format!("{shown}: {reason}.")))?;
    let Some(text) = Text::decode(&bytes) else {
        return Err(format!("{shown} is a binary file, which Edit can't change: use Bash"));
    };
    let edited = apply::apply(&text.text, &request.edits).map_err(unchanged)?;
    let after = Text::encode(&edited.text, text.encoding).map_err(unchanged)?;
    if after == bytes {
        return Err(unchanged("The edits undo each other: the file would stay as it is.".to_owned()));
    }
    let change = Change { path: &path, before: Old::File { bytes: &bytes, mode }, after: &after };
    let undo = files.change(change).map_err(|error| error.to_string())?;
    let count = counted(edited.lines.len() as u64, "replacement", "replacements");
    let said = format!("Edited {shown}: {count}, at {}.{}", apply::at_lines(&edited.lines), undo.note());
    Ok(ToolOutput::done(said).shown(shown_change(&path, Some(&bytes), &after)))
}
