//! Who is asked.

use super::error::ConfigError;
use super::layers::{Setting, Settings};
use super::schema::SCHEMA;
use super::tables;
use super::types::Writer;
use serde::Deserialize;
use std::fmt;
use throughline_model::{Environment, Exec, ExecSettings, Http, Model, ModelError, Provider};
use toml::{Table, Value};

/// The model of a session (`[model]`) or of the scribe (`[scribe]`).
#[derive(Clone)]
pub enum ModelSettings {
    /// By the usual variables, with what else is set.
    ByVariables {
        /// The model, where it is named.
        model: Option<String>,
        /// Keys that win over what the variables say.
        keys: Table,
    },
    /// A provider.
    Http(Box<Provider>),
    /// A command.
    Exec(Box<ExecSettings>),
}

/// Keys may be secret.
impl fmt::Debug for ModelSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ByVariables { model, .. } => {
                f.debug_struct("ByVariables").field("model", model).finish_non_exhaustive()
            }
            Self::Http(provider) => provider.fmt(f),
            Self::Exec(exec) => exec.fmt(f),
        }
    }
}

/// Who writes summaries and notes.
#[derive(Clone, Debug)]
pub enum ScribeSettings {
    /// The built-in scribe.
    Offline,
    /// The session's model.
    Model,
    /// A model of its own.
    Own(ModelSettings),
}

impl ModelSettings {
    /// The provider, where it is one; none where no usual variable is set. The address, the key and the model of
    /// `ByVariables` are read now.
    pub fn provider(&self, environment: Environment<'_>) -> Result<Option<Provider>, ModelError> {
        match self {
            Self::Http(provider) => Ok(Some((**provider).clone())),
            Self::Exec(_) => Ok(None),
            Self::ByVariables { model, keys } => {
                let Some(provider) = Provider::from_environment(environment, model.as_deref())? else {
                    return Ok(None);
                };
                let failed = |message: String| ModelError::Config { at: provider.name.clone(), message };
                // Nothing that the variables give is hidden when serialised: headers and proxies are set by keys alone.
                let mut table = Table::try_from(&provider).map_err(|error| failed(error.to_string()))?;
                merge(&mut table, keys);
                Provider::deserialize(table).map(Some).map_err(|error| failed(error.message().to_owned()))
            }
        }
    }

    /// Somebody to ask; none where nobody is named.
    pub fn connect(&self, environment: Environment<'_>) -> Result<Option<Box<dyn Model>>, ModelError> {
        if let Self::Exec(settings) = self {
            return Ok(Some(Box::new(Exec::new((**settings).clone()))));
        }
        match self.provider(environment)? {
            Some(provider) => Ok(Some(Box::new(Http::new(&provider, environment)?))),
            None => Ok(None),
        }
    }
}

fn merge(table: &mut Table, over: &Table) {
    for (name, value) in over {
        match (table.get_mut(name), value) {
            (Some(Value::Table(below)), Value::Table(over)) => merge(below, over),
            _ => drop(table.insert(name.clone(), value.clone())),
        }
    }
}

/// Keys that only commands have.
const EXEC: [&str; 5] = ["command", "input", "output", "env", "timeout_ms"];
/// Keys that commands share with providers.
const SHARED: [&str; 6] = ["name", "wire", "model", "answer_limit", "context_window", "max_output"];

/// Reads a section that holds a provider or a command.
pub(super) fn read(settings: &Settings, section: &str) -> Result<ModelSettings, ConfigError> {
    let prefix = format!("{section}.");
    let set: Vec<(&str, &Setting)> = settings
        .range(prefix.clone()..)
        .map_while(|(path, setting)| Some((path.strip_prefix(&prefix)?, setting)))
        .filter(|(name, setting)| *name != "use" && !is_off(setting))
        .collect();
    let has = |name: &str| set.iter().any(|(set, _)| *set == name);
    let is_command = has("command");
    let is_stray = |name: &str| match is_command {
        true => !EXEC.contains(&name) && !SHARED.contains(&name),
        false => EXEC.contains(&name),
    };
    if let Some((_, setting)) = set.iter().find(|(name, _)| is_stray(name)) {
        let message =
            if is_command { "has no effect beside `command`" } else { "has no effect without `command`" };
        return Err(invalid(setting, format!("{message}; remove one of them")));
    }
    let mut table = Table::new();
    for (name, setting) in &set {
        tables::set(&mut table, name, setting.value.clone());
    }
    let Some((_, first)) = set.first() else {
        return Ok(ModelSettings::ByVariables { model: None, keys: table });
    };
    let whole = |error: toml::de::Error| ConfigError::Invalid {
        origin: first.origin.clone(),
        key: section.to_owned(),
        message: format!("can't be used as a whole: {}", error.message()),
    };
    let text = |word: &str| Value::String(word.to_owned());
    if is_command {
        table.remove("context_window");
        table.remove("max_output");
        for (name, value) in [("name", section), ("wire", "chat"), ("model", "")] {
            table.entry(name).or_insert_with(|| text(value));
        }
        return Ok(ModelSettings::Exec(Box::new(ExecSettings::deserialize(table).map_err(whole)?)));
    }
    if has("wire") {
        if !has("model") {
            let message = format!("is there, but no model; set `{section}.model`");
            return Err(invalid(settings.get(&format!("{section}.wire")).unwrap_or(first), message));
        }
        table.entry("name").or_insert_with(|| text(section));
        return Ok(ModelSettings::Http(Box::new(Provider::deserialize(table).map_err(whole)?)));
    }
    // An address of its own needs a format of its own: keys are never sent to where they were not meant for.
    for name in ["base_url", "key_env", "key_command"] {
        if let Some((_, setting)) = set.iter().find(|(set, _)| *set == name) {
            let message =
                format!("is there, but no wire; set `{section}.wire` to anthropic, responses or chat");
            return Err(invalid(setting, message));
        }
    }
    let model = table.remove("model").and_then(|model| model.as_str().map(str::to_owned));
    Ok(ModelSettings::ByVariables { model, keys: table })
}

pub(super) fn scribe(settings: &Settings) -> Result<ScribeSettings, ConfigError> {
    let own = read(settings, "scribe")?;
    let setting = settings.get("scribe.use");
    let chosen = setting.and_then(|setting| Writer::deserialize(setting.value.clone()).ok());
    let is_own = !matches!(own, ModelSettings::ByVariables { .. });
    // Whoever describes a model for the scribe means it to be used.
    Ok(match chosen.unwrap_or(if is_own { Writer::Own } else { Writer::Offline }) {
        Writer::Offline => ScribeSettings::Offline,
        Writer::Model => ScribeSettings::Model,
        Writer::Own if is_own => ScribeSettings::Own(own),
        Writer::Own => {
            let message =
                "is \"own\", but this section has neither `wire` and `model` nor `command`".to_owned();
            return match setting {
                Some(setting) => Err(invalid(setting, message)),
                None => Ok(ScribeSettings::Offline),
            };
        }
    })
}

fn is_off(setting: &Setting) -> bool {
    SCHEMA.find(&setting.key).is_some_and(|key| key.is_off(&setting.value))
}

fn invalid(setting: &Setting, message: String) -> ConfigError {
    ConfigError::Invalid { origin: setting.origin.clone(), key: setting.key.clone(), message }
}
