//! Any command as a model: a request on its stdin, an answer on its stdout.

mod transcript;

use crate::process::{self, Env, Job, Overflow, Trouble, Watch};
use crate::{Answer, Argv, BoxFuture, Call, Delta, Model, ModelError, Usage, Wire, estimate, telemetry};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;
use throughline_wire::{Request, Response};
use tracing::Instrument;

/// A command that answers requests, such as `claude -p` or `llm`.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExecSettings {
    /// For people, in messages.
    pub name: String,
    /// The format of requests, and of answers if they are JSON.
    pub wire: Wire,
    /// The model behind it, for prices and token counts.
    pub model: String,
    /// The command. No shell is involved.
    pub command: Argv,
    /// What it reads.
    #[serde(default)]
    pub input: Input,
    /// What it prints.
    #[serde(default)]
    pub output: Output,
    /// Variables that it gets beside those of this process.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// How long it may take, in milliseconds.
    #[serde(default = "timeout")]
    pub timeout_ms: u64,
    /// The most bytes that it may print.
    #[serde(default = "answer_limit")]
    pub answer_limit: usize,
}

/// What a command reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Input {
    /// The body of the request.
    #[default]
    Json,
    /// The conversation in words: the system prompt, then each message under its role. The words of a conversation of one
    /// message stand alone.
    Text,
}

/// What a command prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Output {
    /// The answer in words.
    #[default]
    Text,
    /// The body of a response.
    Json,
}

fn timeout() -> u64 {
    600_000
}

fn answer_limit() -> usize {
    16 << 20
}

impl ExecSettings {
    /// A command that reads JSON and prints text.
    pub fn new(name: impl Into<String>, wire: Wire, command: Argv) -> Self {
        Self {
            name: name.into(),
            wire,
            model: String::new(),
            command,
            input: Input::default(),
            output: Output::default(),
            env: BTreeMap::new(),
            timeout_ms: timeout(),
            answer_limit: answer_limit(),
        }
    }
}

/// Variables may hold keys.
impl fmt::Debug for ExecSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExecSettings")
            .field("name", &self.name)
            .field("wire", &self.wire)
            .field("program", &self.command.program())
            .field("input", &self.input)
            .field("output", &self.output)
            .field("env", &self.env.keys())
            .finish_non_exhaustive()
    }
}

/// A command as a model. It is tried once: what can be tried again is the command's own business.
#[derive(Debug)]
pub struct Exec {
    settings: ExecSettings,
    at: String,
}

impl Exec {
    /// A model from its settings.
    pub fn new(settings: ExecSettings) -> Self {
        // Arguments may hold what is not to be shown.
        let at = format!("{} (`{}`)", settings.name, settings.command.program());
        Self { settings, at }
    }

    async fn run(&self, call: Call<'_>) -> Result<Answer, ModelError> {
        let Call { body, mut on_delta, cancel, limits } = call;
        let own = Duration::from_millis(self.settings.timeout_ms);
        let watch = Watch::new(cancel, Some(limits.deadline.map_or(own, |deadline| deadline.min(own))));
        let stdin = match self.settings.input {
            Input::Json => body.clone(),
            Input::Text => self.transcript(&body)?,
        };
        let job = Job {
            argv: &self.settings.command,
            env: Env::Also(&self.settings.env),
            cwd: None,
            stdin,
            limit: self.settings.answer_limit,
            overflow: Overflow::Fail,
        };
        let done = process::run(job, &watch).await.map_err(|trouble| self.trouble(trouble))?;
        if !done.status.success() {
            return Err(ModelError::Exec {
                at: self.at.clone(),
                code: done.status.code(),
                stderr: done.last_lines(),
            });
        }
        let mut response = self.response(&done.stdout)?;
        let is_reported = estimate::is_credible(&response.usage);
        if !is_reported {
            response.usage = estimate::usage(self.settings.wire, &self.settings.model, &body, &response);
        }
        let words =
            response.messages.iter().map(throughline_core::Message::to_text).collect::<Vec<_>>().join("\n");
        if let (Some(on_delta), false) = (&mut on_delta, words.is_empty()) {
            on_delta(Delta::Text(words));
        }
        Ok(Answer {
            response,
            attempts: 1,
            request_id: None,
            estimated: !is_reported,
            wasted: Usage::default(),
        })
    }

    fn transcript(&self, body: &[u8]) -> Result<Bytes, ModelError> {
        let request = Request::decode(self.settings.wire, body).map_err(|error| ModelError::Invalid {
            at: self.at.clone(),
            status: None,
            message: format!("the request can't be put into words: {error}"),
        })?;
        Ok(Bytes::from(transcript::render(&request)))
    }

    fn response(&self, stdout: &[u8]) -> Result<Response, ModelError> {
        let wire = self.settings.wire;
        let malformed = |message: String| ModelError::Malformed { at: self.at.clone(), wire, message };
        match self.settings.output {
            Output::Json => Response::decode(wire, stdout).map_err(|error| malformed(error.to_string())),
            Output::Text => {
                let text = String::from_utf8_lossy(stdout);
                let text = text.trim();
                if text.is_empty() {
                    return Err(malformed("it printed nothing".to_owned()));
                }
                Response::from_value(wire, said(wire, &self.settings.model, text))
                    .map_err(|error| malformed(error.to_string()))
            }
        }
    }

    fn trouble(&self, trouble: Trouble) -> ModelError {
        let at = self.at.clone();
        match trouble {
            Trouble::Io(error) => {
                ModelError::Exec { at, code: None, stderr: format!("{error}; is it installed and in PATH?") }
            }
            Trouble::Interrupt(interrupt) => interrupt.into_error(&self.at, None),
            Trouble::TooLarge => ModelError::TooLarge { at, limit: self.settings.answer_limit },
        }
    }
}

/// Words as a response of the wire.
fn said(wire: Wire, model: &str, text: &str) -> serde_json::Value {
    match wire {
        Wire::Anthropic => json!({
            "type": "message", "role": "assistant", "model": model,
            "content": [{"type": "text", "text": text}], "stop_reason": "end_turn",
        }),
        Wire::Responses => json!({
            "object": "response", "status": "completed", "model": model,
            "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}],
        }),
        Wire::Chat => json!({
            "object": "chat.completion", "model": model,
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        }),
    }
}

impl Model for Exec {
    fn wire(&self) -> Wire {
        self.settings.wire
    }

    fn id(&self) -> &str {
        &self.settings.model
    }

    fn send<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<Answer, ModelError>> {
        let span = telemetry::span(&self.settings.name, &self.settings.model, None);
        Box::pin(async move {
            let result = self.run(call).instrument(span.clone()).await;
            telemetry::record(&span, &result);
            result
        })
    }
}
