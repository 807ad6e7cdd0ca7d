//! Who is asked, and how: settings as people write them.

mod address;
mod variables;

pub(crate) use address::{endpoint, host_is_local, shown};

use crate::environment::lookup;
use crate::key::Key;
use crate::{Argv, Environment, ModelError, Retries, Secret};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;
use throughline_core::Wire;

/// A model behind HTTP.
///
/// Keys stand in the environment or are printed by a command; they are not part of the settings, and nothing in the
/// settings that may hold one is shown by `Debug` or when serialised.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provider {
    /// For people, in messages.
    pub name: String,
    /// The format it speaks.
    pub wire: Wire,
    /// The model.
    pub model: String,
    /// Its address, with or without the version at its end. Unset: the wire's own provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The variable that holds the key. Unset, and no command either: the usual variable if the address is the usual one,
    /// else no key is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_env: Option<String>,
    /// A command that prints the key. It is run once, and again when the key was rejected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_command: Option<Argv>,
    /// The header that carries the key. Unset: the wire's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_header: Option<KeyHeader>,
    /// Further headers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, Secret>,
    /// Further headers whose values are in variables.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub header_env: BTreeMap<String, String>,
    /// Anthropic's features in testing (`anthropic-beta`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub betas: Vec<String>,
    /// The tokens the model can hold, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// The most tokens of an answer, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u64>,
    /// How long is waited.
    #[serde(default)]
    pub timeouts: Timeouts,
    /// How often is tried.
    #[serde(default)]
    pub retries: Retries,
    /// The largest answer that is read, in bytes.
    #[serde(default = "answer_limit")]
    pub answer_limit: usize,
    /// A file of certificates (PEM) that are trusted beside the system's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<PathBuf>,
    /// A proxy. Unset: by the usual variables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy: Option<Secret>,
    /// Whether the key may go over plain HTTP to another machine.
    #[serde(default)]
    pub insecure_http: bool,
}

/// The header that carries the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyHeader {
    /// `x-api-key`: Anthropic.
    XApiKey,
    /// `authorization: Bearer`: everybody else.
    Bearer,
    /// `api-key`: Azure.
    ApiKey,
}

/// How long is waited, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Timeouts {
    /// For a connection.
    pub connect_ms: u64,
    /// For the next byte. Answers that are not streamed are silent until they are done.
    pub idle_ms: u64,
    /// For everything, retries included.
    pub total_ms: u64,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { connect_ms: 10_000, idle_ms: 300_000, total_ms: 1_800_000 }
    }
}

impl Timeouts {
    pub(crate) fn connect(&self) -> Duration {
        Duration::from_millis(self.connect_ms)
    }

    pub(crate) fn idle(&self) -> Duration {
        Duration::from_millis(self.idle_ms)
    }

    pub(crate) fn total(&self) -> Duration {
        Duration::from_millis(self.total_ms)
    }
}

fn answer_limit() -> usize {
    throughline_wire::stream::ANSWER_LIMIT
}

impl Provider {
    /// A provider with nothing special about it.
    pub fn new(name: impl Into<String>, wire: Wire, model: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            wire,
            model: model.into(),
            base_url: None,
            key_env: None,
            key_command: None,
            key_header: None,
            headers: BTreeMap::new(),
            header_env: BTreeMap::new(),
            betas: Vec::new(),
            context_window: None,
            max_output: None,
            timeouts: Timeouts::default(),
            retries: Retries::default(),
            answer_limit: answer_limit(),
            ca_file: None,
            proxy: None,
            insecure_http: false,
        }
    }

    /// The provider that the usual variables name, or none if none is set.
    ///
    /// In this order, unless `model` is plainly of another: Anthropic (`ANTHROPIC_AUTH_TOKEN`, `ANTHROPIC_API_KEY`,
    /// `ANTHROPIC_BASE_URL`), OpenAI (`OPENAI_API_KEY`, `OPENAI_BASE_URL`: Responses at OpenAI itself, Chat Completions
    /// anywhere else), Ollama (`OLLAMA_HOST`). The model is `model`, or from `ANTHROPIC_MODEL`, `OPENAI_MODEL`,
    /// `OLLAMA_MODEL`; without one it is an error that says so.
    pub fn from_environment(
        environment: Environment<'_>,
        model: Option<&str>,
    ) -> Result<Option<Self>, ModelError> {
        variables::read(environment, model)
    }

    pub(crate) fn error(&self, message: impl Into<String>) -> ModelError {
        ModelError::Config { at: self.name.clone(), message: message.into() }
    }

    /// Where the key comes from.
    pub(crate) fn key(&self, environment: Environment<'_>) -> Result<Key, ModelError> {
        let variable = match (&self.key_command, &self.key_env) {
            (Some(_), Some(_)) => {
                return Err(self.error("both key_env and key_command are set; keep one"));
            }
            (Some(command), None) => return Ok(Key::command(command.clone())),
            (None, Some(variable)) => variable.as_str(),
            // A key is never sent to an address that it was not meant for.
            (None, None) if self.base_url.is_some() => return Ok(Key::None),
            (None, None) => match self.wire {
                Wire::Anthropic => "ANTHROPIC_API_KEY",
                Wire::Responses | Wire::Chat => "OPENAI_API_KEY",
            },
        };
        match lookup(environment, variable) {
            Some(key) => Ok(Key::Fixed(Secret::new(key))),
            None => Err(ModelError::Key {
                at: self.name.clone(),
                message: format!(
                    "{variable} is not set; set it, or name another source by key_env or key_command"
                ),
            }),
        }
    }
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider")
            .field("name", &self.name)
            .field("wire", &self.wire)
            .field("model", &self.model)
            .field("base_url", &self.base_url.as_deref().map(shown))
            .field("key_env", &self.key_env)
            .field("key_command", &self.key_command.as_ref().map(Argv::program))
            .field("headers", &self.headers.keys())
            .field("timeouts", &self.timeouts)
            .field("retries", &self.retries)
            .finish_non_exhaustive()
    }
}
