//! Glob: files by name.

pub(super) mod pattern;
pub(super) mod walk;

use super::file_call::{Args, counted, look};
use crate::workspace::{Workspace, modified};
use crate::{Access, Shown, Tool, ToolContext, ToolOutput};
use pattern::Pattern;
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::path::PathBuf;
use std::time::SystemTime;
use throughline_core::{ToolDefinition, prompt, text};
use throughline_model::{BoxFuture, CancelToken};
use walk::{Unread, Walk};

/// Files that are listed.
const RESULTS: usize = 200;

/// Finds files by a pattern of their names, newest first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Glob;

impl Tool for Glob {
    fn definition(&self) -> ToolDefinition<'_> {
        ToolDefinition {
            name: "Glob",
            description: prompt(include_str!("../../../../../prompts/tool_glob.md")),
            parameters: json!({
                "type": "object",
                "properties": {
                    "pattern": {"type": "string", "description": "Such as `**/*.rs`, `src/*.{ts,tsx}` or `Cargo.toml`"},
                    "path": {"type": "string", "description": "The folder to look in; the working folder if left out"}
                },
                "required": ["pattern"],
                "additionalProperties": false
            }),
        }
    }

    fn access(&self, input: &Value, workspace: &Workspace) -> Result<Access, String> {
        let request = Request::of(input)?;
        let folder = workspace.resolve(&request.folder).map_err(|error| error.to_string())?;
        Ok(Access::Read { paths: vec![folder] })
    }

    fn run<'a>(&'a self, input: &'a Value, cx: ToolContext<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let request = match Request::of(input) {
                Ok(request) => request,
                Err(reason) => return ToolOutput::failed(reason),
            };
            let (workspace, cancel) = (cx.workspace.clone(), cx.cancel.clone());
            look(cx.cancel, move || glob(&request, &workspace, &cancel)).await
        })
    }

    fn summary(&self, input: &Value) -> String {
        let Ok(args) = Args::of(input) else { return "Glob".to_owned() };
        let pattern = text::one_line(args.text("pattern").unwrap_or_default(), 80);
        match args.optional_text("path") {
            Ok(Some(path)) => format!("Glob {pattern} in {}", text::one_line(path, 80)),
            Ok(None) | Err(_) => format!("Glob {pattern}"),
        }
    }
}

struct Request {
    pattern: Pattern,
    folder: String,
}

impl Request {
    /// What a pattern begins with that is a plain path is the folder to look in: so `../x/*.rs`, `/tmp/*` and `.github/*` are
    /// decided on, and walked, as what they are.
    fn of(input: &Value) -> Result<Self, String> {
        let args = Args::of(input)?;
        let (base, pattern) = Pattern::split(args.text("pattern")?)?;
        let path = args.optional_text("path")?.filter(|path| !path.is_empty()).unwrap_or(".");
        let folder = match base {
            base if base.is_empty() => path.to_owned(),
            base if base.starts_with('/') => base,
            base => format!("{path}/{base}"),
        };
        Ok(Self { pattern, folder })
    }
}

fn glob(request: &Request, workspace: &Workspace, cancel: &CancelToken) -> Result<ToolOutput, String> {
    let root = workspace.permitted(&request.folder).map_err(|error| error.to_string())?;
    if !root.is_dir() {
        let shown = workspace.shown(&root);
        return Err(match root.exists() {
            true => format!("{shown} is a file: give a folder as `path`, or use Read"),
            false => {
                format!("the folder {shown} does not exist: leave `path` out to look in the working folder")
            }
        });
    }
    let mut newest = Newest::default();
    let walk = Walk {
        root: &root,
        hidden: request.pattern.names_hidden(),
        git: request.pattern.names_git(),
        types: None,
    };
    let unread = walk.files(cancel, |path| {
        let is_match = path.strip_prefix(&root).is_ok_and(|relative| request.pattern.matches(relative));
        // A file that can be looked at without following a link lies where it says.
        if is_match
            && !workspace.passes_over(&path)
            && let Some(modified) = modified(&path)
        {
            newest.add(modified, path);
        }
        Ok(())
    })?;
    Ok(newest.output(workspace, unread))
}

/// The newest files, however many there are.
#[derive(Default)]
struct Newest {
    files: Vec<(Reverse<SystemTime>, PathBuf)>,
    count: u64,
}

impl Newest {
    fn add(&mut self, modified: SystemTime, path: PathBuf) {
        self.count += 1;
        self.files.push((Reverse(modified), path));
        if self.files.len() >= RESULTS * 16 {
            self.shorten();
        }
    }

    fn shorten(&mut self) {
        self.files.sort_unstable();
        self.files.truncate(RESULTS);
    }

    fn output(mut self, workspace: &Workspace, unread: Unread) -> ToolOutput {
        self.shorten();
        let shown = Shown::Line(counted(self.count, "file", "files"));
        if self.count == 0 {
            let note = unread.note();
            return ToolOutput::done(format!("No file matches (ignored and hidden ones aside).{note}"))
                .shown(shown);
        }
        let mut text: String = self.files.iter().map(|(_, path)| workspace.shown(path) + "\n").collect();
        let more = self.count - self.files.len() as u64;
        if more > 0 {
            text.push_str(&format!("[… and {more} more, older ones: narrow the pattern or the path.]"));
        }
        text.push_str(&unread.note());
        ToolOutput::done(text.trim_end()).shown(shown)
    }
}
