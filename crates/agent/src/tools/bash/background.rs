//! `BashOutput` and `KillShell`.

use super::RESULT_CHARS;
use super::tasks::{Task, Tasks, how};
use super::window::Window;
use crate::workspace::Workspace;
use crate::{Access, Tool, ToolContext, ToolOutput};
use regex::Regex;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use throughline_core::text::one_line;
use throughline_core::{ToolDefinition, prompt};
use throughline_model::BoxFuture;

/// The names by which models give an id.
const ID: [&str; 4] = ["id", "bash_id", "shell_id", "task_id"];

/// What a command in the background printed since it was last asked for.
#[derive(Clone, Debug)]
pub struct BashOutput {
    tasks: Tasks,
}

/// Stops a command in the background.
#[derive(Clone, Debug)]
pub struct KillShell {
    tasks: Tasks,
}

impl BashOutput {
    /// Of these tasks.
    pub fn new(tasks: Tasks) -> Self {
        Self { tasks }
    }

    async fn carry_out(&self, input: &Value) -> Result<ToolOutput, String> {
        let task = find(&self.tasks, input)?;
        let filter = filter(input)?;
        let is_filtered = filter.is_some();
        let news = tokio::task::spawn_blocking(move || News::take(&task, filter.as_ref()))
            .await
            .map_err(|error| format!("what it printed can't be read: {error}"))??;
        let mut text = match (news.window.is_blank(), is_filtered) {
            (true, false) => "(nothing new)".to_owned(),
            (true, true) => "(nothing new that matches)".to_owned(),
            (false, _) => {
                let note = |missing| format!("\n[… {missing} characters left out; {} …]\n", news.place);
                news.window.show(note).trim_end().to_owned()
            }
        };
        for line in [news.unfinished, Some(format!("[{}]", news.state))].into_iter().flatten() {
            text.push('\n');
            text.push_str(&line);
        }
        Ok(ToolOutput::done(text))
    }
}

/// What was not told yet.
struct News {
    window: Window,
    place: String,
    unfinished: Option<String>,
    state: String,
}

impl News {
    /// Takes it: it is not given again.
    fn take(task: &Task, filter: Option<&Regex>) -> Result<Self, String> {
        let (from, path, to, mut news) = {
            let mut state = task.lock();
            let file = state.capture.file().map(|(path, bytes)| (path.to_owned(), bytes));
            let Some((path, to)) = file else { return Err(state.capture.place()) };
            let from = std::mem::replace(&mut state.told, to);
            let unfinished = one_line(state.capture.unfinished(), 500);
            let ended = state.end;
            state.end_told |= ended.is_some();
            let beyond = state.capture.window().bytes().saturating_sub(to);
            let mut words = match ended {
                None => "still running".to_owned(),
                Some(ended) => how(&ended),
            };
            if beyond > 0 {
                words.push_str(&format!("; {beyond} bytes more were printed than are kept"));
            }
            let news = Self {
                window: Window::new(RESULT_CHARS),
                place: state.capture.place(),
                unfinished: (!unfinished.is_empty()).then(|| format!("[unfinished line: {unfinished}]")),
                state: words,
            };
            (from, path, to, news)
        };
        read(&path, from..to, |line| {
            if filter.is_none_or(|filter| filter.is_match(line.trim_end_matches('\n'))) {
                news.window.push(line);
            }
        })
        .map_err(|error| format!("{} can't be read: {error}", path.display()))?;
        Ok(news)
    }
}

/// Part of a file, line by line.
fn read(path: &Path, part: std::ops::Range<u64>, mut each: impl FnMut(&str)) -> io::Result<()> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(part.start))?;
    let mut reader = BufReader::new(file.take(part.end.saturating_sub(part.start)));
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        each(&String::from_utf8_lossy(&line));
        line.clear();
    }
    Ok(())
}

impl KillShell {
    /// Of these tasks.
    pub fn new(tasks: Tasks) -> Self {
        Self { tasks }
    }

    fn carry_out(&self, input: &Value) -> Result<ToolOutput, String> {
        let task = find(&self.tasks, input)?;
        let mut state = task.lock();
        let text = match state.end {
            Some(ended) => format!("{} had ended already: {}.", task.id, how(&ended)),
            None => {
                task.stop();
                format!("{} is being stopped: {}", task.id, one_line(&task.command, 200))
            }
        };
        // Nobody needs to be told of an end that they ordered.
        state.end_told = true;
        Ok(ToolOutput::done(text))
    }
}

fn find(tasks: &Tasks, input: &Value) -> Result<Arc<Task>, String> {
    let id = ID.iter().find_map(|name| input.get(name).and_then(Value::as_str));
    let id = id.ok_or("id is missing: give the id that Bash returned, such as bash_1")?;
    tasks.find(id.trim()).ok_or_else(|| {
        let ids = tasks.ids();
        let there = if ids.is_empty() {
            "there are none".to_owned()
        } else {
            format!("there are {}", ids.join(", "))
        };
        format!("no command in the background has the id {:?}: {there}", one_line(id, 40))
    })
}

fn filter(input: &Value) -> Result<Option<Regex>, String> {
    match input.get("filter").and_then(Value::as_str).filter(|filter| !filter.is_empty()) {
        None => Ok(None),
        Some(filter) => Regex::new(filter).map(Some).map_err(|error| {
            format!("filter is not a regular expression: {}", one_line(&error.to_string(), 300))
        }),
    }
}

fn summary(name: &str, input: &Value) -> String {
    let id = ID.iter().find_map(|field| input.get(field).and_then(Value::as_str)).unwrap_or_default();
    format!("{name} {}", one_line(id, 40)).trim_end().to_owned()
}

impl Tool for BashOutput {
    fn definition(&self) -> ToolDefinition<'_> {
        ToolDefinition {
            name: "BashOutput",
            description: prompt(include_str!("../../../../../prompts/tool_bash_output.md")),
            parameters: json!({
                "type": "object",
                "properties": {
                    "id": {"type": "string", "description": "Such as bash_1."},
                    "filter": {"type": "string", "description": "A regular expression for lines."}
                },
                "required": ["id"]
            }),
        }
    }

    fn access(&self, input: &Value, _: &Workspace) -> Result<Access, String> {
        find(&self.tasks, input)?;
        filter(input)?;
        Ok(Access::Inner)
    }

    fn run<'a>(&'a self, input: &'a Value, _: ToolContext<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move { self.carry_out(input).await.unwrap_or_else(ToolOutput::failed) })
    }

    fn summary(&self, input: &Value) -> String {
        summary("BashOutput", input)
    }
}

impl Tool for KillShell {
    fn definition(&self) -> ToolDefinition<'_> {
        ToolDefinition {
            name: "KillShell",
            description: prompt(include_str!("../../../../../prompts/tool_kill_shell.md")),
            parameters: json!({
                "type": "object",
                "properties": {"id": {"type": "string", "description": "Such as bash_1."}},
                "required": ["id"]
            }),
        }
    }

    fn access(&self, input: &Value, _: &Workspace) -> Result<Access, String> {
        find(&self.tasks, input)?;
        Ok(Access::Inner)
    }

    fn run<'a>(&'a self, input: &'a Value, _: ToolContext<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move { self.carry_out(input).unwrap_or_else(ToolOutput::failed) })
    }

    fn summary(&self, input: &Value) -> String {
        summary("KillShell", input)
    }
}
