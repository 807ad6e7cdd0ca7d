//! Write: a whole file.

use super::file_call::{Args, act, counted, shown_change};
use crate::files::{Change, Files, MAX_FILE, Old, Part, Stamp, Undo};
use crate::workspace::{OpenError, Workspace, open_read, read_whole};
use crate::{Access, FileDiff, Tool, ToolContext, ToolOutput};
use serde_json::{Value, json};
use throughline_core::{ToolDefinition, prompt, text};
use throughline_model::BoxFuture;

/// Makes a file, or replaces one that the model has read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Write;

impl Tool for Write {
    fn definition(&self) -> ToolDefinition<'_> {
        ToolDefinition {
            name: "Write",
            description: prompt(include_str!("../../../../prompts/tool_write.md")),
            parameters: json!({
                "type": "object",
                "properties": {
                    "file_path": {"type": "string", "description": "The file, absolute or relative to the working folder"},
                    "content": {"type": "string", "description": "All that the file shall hold"}
                },
                "required": ["file_path", "content"],
                "additionalProperties": false
            }),
        }
    }

    fn access(&self, input: &Value, workspace: &Workspace) -> Result<Access, String> {
        let (path, _) = fields(input)?;
        let path = workspace.resolve(path).map_err(|error| error.to_string())?;
        Ok(Access::Write { paths: vec![path] })
    }

    fn run<'a>(&'a self, input: &'a Value, cx: ToolContext<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let (path, content) = match fields(input) {
                Ok((path, content)) => (path.to_owned(), content.to_owned()),
                Err(reason) => return ToolOutput::failed(reason),
            };
            let (workspace, files) = (cx.workspace.clone(), cx.files.clone());
            act(cx.cancel, move || write(&path, &content, &workspace, &files)).await
        })
    }

    fn preview(&self, input: &Value, workspace: &Workspace) -> Vec<FileDiff> {
        let preview = || {
            let (path, after) = fields(input).ok()?;
            let path = workspace.resolve(path).ok()?;
            let old = read_whole(&path, MAX_FILE).ok();
            let before = old.map(|(bytes, _)| String::from_utf8_lossy(&bytes).into_owned());
            Some(FileDiff { path, before, after: after.to_owned() })
        };
        preview().into_iter().collect()
    }

    fn summary(&self, input: &Value) -> String {
        match fields(input) {
            Ok((path, _)) => format!("Write {}", text::one_line(path, 80)),
            Err(_) => "Write".to_owned(),
        }
    }
}

fn fields(input: &Value) -> Result<(&str, &str), String> {
    let args = Args::of(input)?;
    Ok((args.text("file_path")?, args.text("content")?))
}

fn write(asked: &str, content: &str, workspace: &Workspace, files: &Files) -> Result<ToolOutput, String> {
    let path = workspace.permitted(asked).map_err(|error| error.to_string())?;
    let shown = workspace.shown(&path);
    if content.len() as u64 > MAX_FILE {
        return Err(format!("`content` is over {MAX_FILE} bytes, more than is written at once"));
    }
    let old = match read_whole(&path, MAX_FILE) {
        Ok(old) => Some(old),
        Err(OpenError::Missing { .. } | OpenError::TooLarge { .. }) => None,
        Err(OpenError::Folder { .. }) => return Err(format!("{shown} is a folder: give the path of a file")),
        Err(error) => return Err(error.to_string()),
    };
    let refused = |reason| format!("{shown} exists, and {reason}. Nothing was written");
    let before = match &old {
        Some((bytes, _)) if bytes == content.as_bytes() => {
            files.saw(&path, bytes, Part::Whole);
            return Ok(ToolOutput::done(format!("{shown} holds exactly this already; nothing was written.")));
        }
        Some((bytes, mode)) => {
            files.is_current(&path, bytes).map_err(refused)?;
            Old::File { bytes, mode: *mode }
        }
        None => match open_read(&path) {
            Ok(large) => {
                let stamp = Stamp { len: large.len, modified: large.modified };
                files.is_current_large(&path, stamp).map_err(refused)?;
                Old::Large { bytes: large.len }
            }
            Err(OpenError::Missing { .. }) => Old::Absent,
            Err(error) => return Err(error.to_string()),
        },
    };
    let change = Change { path: &path, before, after: content.as_bytes() };
    let undo = files.change(change).map_err(|error| error.to_string())?;
    files.saw(&path, content.as_bytes(), Part::Whole);
    let lines = counted(content.lines().count() as u64, "line", "lines");
    let what = match before {
        Old::Absent => "a new file",
        Old::File { .. } | Old::Large { .. } => "replaced",
    };
    let kept = undo.note();
    let change = shown_change(&path, old.as_ref().map(|(bytes, _)| bytes.as_slice()), content.as_bytes());
    Ok(ToolOutput::done(format!("Wrote {shown} ({what}, {lines}).{kept}")).shown(change))
}

impl Undo {
    /// What is said where the old content can't be had back.
    pub(super) fn note(self) -> &'static str {
        match self {
            Self::Possible => "",
            Self::TooLarge => {
                " The old content was over 10 MB and was not put away: this can't be undone by rewinding."
            }
        }
    }
}
