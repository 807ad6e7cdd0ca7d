//! `Bash`.

use super::capture::{Capture, Keep};
use super::run::{Ended, Limits};
use super::tasks::{Begin, MOST};
use super::words::{self, Caged};
use super::{BACKGROUND_CHARS, OUTPUT, RESULT_CHARS, Shell};
use crate::sandbox::SandboxLevel;
use crate::workspace::Workspace;
use crate::{Access, Shown, Tool, ToolContext, ToolOutput};
use serde_json::{Value, json};
use std::time::Duration;
use throughline_core::text::one_line;
use throughline_core::{ToolDefinition, prompt};
use throughline_model::BoxFuture;

/// How long a command may take, unless the model says.
const TIMEOUT: Duration = Duration::from_secs(120);
/// The longest that it may say.
const LONGEST: Duration = Duration::from_secs(600);
/// So many lines are told while a command runs; after that, one for so many bytes.
const LINES: usize = 200;
const BYTES: u64 = 4 << 10;

/// Runs a command.
#[derive(Clone, Debug)]
pub struct Bash {
    shell: Shell,
}

/// What the model asks for.
struct Request<'a> {
    command: &'a str,
    timeout: Option<Duration>,
    description: Option<&'a str>,
    run_in_background: bool,
    unsandboxed: bool,
}

impl Bash {
    /// Runs commands with a shell.
    pub fn new(shell: Shell) -> Self {
        Self { shell }
    }

    async fn carry_out(&self, input: &Value, cx: ToolContext<'_>) -> Result<ToolOutput, String> {
        let request = Request::of(input)?;
        if request.run_in_background && !self.shell.tasks.has_room() {
            return Err(format!(
                "{MOST} commands run in the background already: stop one with KillShell first"
            ));
        }
        let level = self.shell.level(cx.mode, request.unsandboxed, request.command);
        let running = self.shell.start(request.command, level, cx.workspace)?;
        let capture = |chars, keep| Capture::new(chars, &self.shell.folder.join(OUTPUT), keep);
        if request.run_in_background {
            let begin = Begin {
                command: request.command.to_owned(),
                description: request.description.map(str::to_owned),
                timeout: request.timeout,
                capture: capture(BACKGROUND_CHARS, Keep::Always),
            };
            let task = self.shell.tasks.begin(running, begin);
            let text = format!(
                "It runs in the background as {}. BashOutput gives what it prints, KillShell stops it; you are told when it ends.",
                task.id
            );
            return Ok(ToolOutput::done(text).shown(Shown::Line(format!("runs as {}", task.id))));
        }
        let mut capture = capture(RESULT_CHARS, Keep::WhenCut);
        let limits = Limits { timeout: Some(request.timeout.unwrap_or(TIMEOUT)), cancel: cx.cancel.clone() };
        let mut teller = Teller::default();
        let ended = running
            .until_ended(limits, |bytes| {
                capture.push(bytes);
                teller.tell(&capture, cx.progress);
            })
            .await;
        capture.finish();
        Ok(self.report(&ended, &capture, level))
    }

    fn report(&self, ended: &Ended, capture: &Capture, level: SandboxLevel) -> ToolOutput {
        let window = capture.window();
        let note = |missing| format!("\n[… {missing} characters left out; {} …]\n", capture.place());
        let mut text = match window.is_blank() {
            true => "(it printed nothing)".to_owned(),
            false => window.show(note).trim_end().to_owned(),
        };
        let caged = Caged { level, network: self.shell.settings.network, output: &text };
        let hint = caged.hint(ended).map(str::to_owned);
        for line in words::endings(ended, false).into_iter().chain(hint) {
            text.push('\n');
            text.push_str(&line);
        }
        match words::failed(ended) {
            true => ToolOutput::failed(text),
            false => ToolOutput::done(text),
        }
    }
}

impl Tool for Bash {
    fn definition(&self) -> ToolDefinition<'_> {
        ToolDefinition {
            name: "Bash",
            description: prompt(include_str!("../../../../../prompts/tool_bash.md")),
            parameters: json!({
                "type": "object",
                "properties": {
                    "command": {"type": "string", "description": "The command."},
                    "description": {"type": "string", "description": "What it does, in five to ten words."},
                    "timeout": {"type": "integer", "description": "Milliseconds, 600000 at most."},
                    "run_in_background": {"type": "boolean", "description": "Returns an id at once; the command goes on."},
                    "unsandboxed": {"type": "boolean", "description": "Without the sandbox; the user is asked."}
                },
                "required": ["command"]
            }),
        }
    }

    fn access(&self, input: &Value, workspace: &Workspace) -> Result<Access, String> {
        let request = Request::of(input)?;
        Ok(Access::Command {
            command: request.command.to_owned(),
            cwd: workspace.cwd().to_owned(),
            unsandboxed: request.unsandboxed || !self.shell.support.can_cage(),
        })
    }

    fn run<'a>(&'a self, input: &'a Value, cx: ToolContext<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move { self.carry_out(input, cx).await.unwrap_or_else(ToolOutput::failed) })
    }

    fn summary(&self, input: &Value) -> String {
        match Request::of(input) {
            Ok(request) => format!("Bash {}", one_line(request.command, 80)),
            Err(_) => "Bash".to_owned(),
        }
    }
}

impl<'a> Request<'a> {
    fn of(input: &'a Value) -> Result<Self, String> {
        let command = input.get("command").and_then(Value::as_str);
        let command = command.ok_or("command is missing: give the command as a string")?;
        if command.trim().is_empty() {
            return Err("command is empty".to_owned());
        }
        if command.contains('\0') {
            return Err("command holds a NUL character, which no shell takes".to_owned());
        }
        Ok(Self {
            command,
            timeout: timeout(input.get("timeout"))?,
            description: input.get("description").and_then(Value::as_str),
            run_in_background: flag(input, "run_in_background")?,
            unsandboxed: flag(input, "unsandboxed")?,
        })
    }
}

/// Models give numbers as strings at times.
fn timeout(value: Option<&Value>) -> Result<Option<Duration>, String> {
    let given = match value {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) => text.trim().parse::<f64>().ok(),
        Some(other) => other.as_f64(),
    };
    let wrong = || "timeout is not a number of milliseconds above 0".to_owned();
    let millis = given.filter(|millis| *millis >= 1.0).ok_or_else(wrong)?;
    Ok(Some(Duration::try_from_secs_f64(millis / 1000.0).map_or(LONGEST, |time| time.min(LONGEST))))
}

fn flag(input: &Value, name: &str) -> Result<bool, String> {
    match input.get(name) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(Value::String(text)) if text == "true" => Ok(true),
        Some(Value::String(text)) if text == "false" => Ok(false),
        Some(_) => Err(format!("{name} is neither true nor false")),
    }
}

/// Tells people the last line as it comes, not more often than they can bear.
#[derive(Default)]
struct Teller {
    told: usize,
    at: u64,
    line: String,
}

impl Teller {
    fn tell(&mut self, capture: &Capture, progress: &(dyn Fn(&str) + Send + Sync)) {
        let bytes = capture.window().bytes();
        let wait = if self.told < LINES { 1 } else { BYTES };
        if bytes < self.at + wait {
            return;
        }
        let line = capture.window().last_line().map(|line| one_line(&line, 200));
        // Behind a blank line the one before is still the last.
        if let Some(line) = line.filter(|line| *line != self.line) {
            self.told += 1;
            self.at = bytes;
            progress(&line);
            self.line = line;
        }
    }
}
