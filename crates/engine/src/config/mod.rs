//! Configuration: every figure as a key, and for each key what it is, who set it, and what it would be otherwise.
//!
//! `config.toml` in the home folder is the user's; `.throughline/config.toml` in a project is the project's. A flag wins over a
//! variable, a variable over the project, the project over the user, the user over what is built in. `docs/config.md` lists
//! all keys; it is made from the same list ([`reference()`]).
//!
//! **A project's file is somebody else's.** It may choose profiles and figures. It may not redirect storage, change endpoints,
//! keys, commands, headers or proxies, add hooks, permit an agent anything, say what is remembered, nor switch network or telemetry
//! on: such keys are ignored, and a [`Warning`] says why.
//!
//! **Bad input is an error that names its place**, and the nearest known key. Secrets are in no message.
//!
//! ```
//! use throughline_engine::config::{Config, Sources};
//!
//! let sources = Sources { user: None, project: None, environment: &|_| None, flags: Vec::new() };
//! let loaded = Config::load(&sources.flag("profiles.mine.base", "claude").flag("profile", "mine"))?;
//! assert_eq!(loaded.config.profile.compact.map(|limits| limits.keep_tokens), Some(10_000));
//! # Ok::<(), throughline_engine::config::ConfigError>(())
//! ```

mod error;
mod explain;
mod file;
mod key;
mod layers;
mod mcp;
mod memory;
mod model;
mod origin;
mod page;
mod permissions;
mod profiles;
mod proxy;
mod schema;
mod sections;
mod tables;
mod types;

pub use error::{ConfigError, Warning};
pub use explain::KeyInfo;
pub use file::FILE_LIMIT;
pub use layers::{PROJECT_FILE, Sources};
pub use mcp::{Deferred, Mcp, McpServer};
pub use memory::{
    ExtractBy, ExtractSettings, HandbookSettings, LifetimeDays, MemorySettings, RecallBy, RecallSettings,
};
pub use model::{ModelSettings, ScribeSettings};
pub use origin::{Origin, Place};
pub use page::reference;
pub use permissions::{PermissionMode, PermissionSettings, SandboxRead};
pub use proxy::ProxySettings;
pub use types::{AgentSettings, Storage, Sync, Telemetry, Tools, Window, Writer};

use crate::hooks::HookSettings;
use layers::Settings;
use schema::SCHEMA;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fmt;
use throughline_core::pipeline;
use throughline_core::profile::Profile;
use throughline_core::stages::OwnTools;
use throughline_memory::notes::NotesLimits;
use throughline_model::GovernorLimits;
use toml::Table;

/// A whole configuration. Two are equal if they say the same, wherever they say it.
#[derive(Clone)]
pub struct Config {
    /// The profile in force.
    pub profile: Profile,
    /// The model of sessions.
    pub model: ModelSettings,
    /// Who writes summaries and notes.
    pub scribe: ScribeSettings,
    /// The context window.
    pub window: Window,
    /// When notes are written, and how long they get.
    pub notes: NotesLimits,
    /// What is remembered beyond sessions.
    pub memory: MemorySettings,
    /// What background work may take.
    pub governor: GovernorLimits,
    /// Our own tools.
    pub tools: Tools,
    /// Our own agent.
    pub agent: AgentSettings,
    /// What an agent may do without asking.
    pub permissions: PermissionSettings,
    /// Where sessions are kept.
    pub storage: Storage,
    /// Hooks.
    pub hooks: HookSettings,
    /// Spans and metrics.
    pub telemetry: Telemetry,
    /// Servers of tools.
    pub mcp: Mcp,
    /// Between other agents and their providers.
    pub proxy: ProxySettings,
    settings: Settings,
}

/// A configuration, and how it came to be.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The configuration.
    pub config: Config,
    /// What has no effect.
    pub warnings: Vec<Warning>,
    /// Who set each key that is not as built in.
    pub origin: BTreeMap<String, Origin>,
}

impl Config {
    /// Reads everything. Files that are not there are fine.
    pub fn load(sources: &Sources<'_>) -> Result<Loaded, ConfigError> {
        let (settings, warnings) = layers::gather(sources)?;
        let origin = settings.iter().map(|(key, setting)| (key.clone(), setting.origin.clone())).collect();
        Ok(Loaded { config: Self::from_settings(settings)?, warnings, origin })
    }

    fn from_settings(settings: Settings) -> Result<Self, ConfigError> {
        profiles::check_bases(&settings)?;
        Ok(Self {
            profile: profiles::resolve(&settings, &profiles::in_force(&settings))?,
            model: model::read(&settings, "model")?,
            scribe: model::scribe(&settings)?,
            window: section(&settings, "window")?,
            notes: section(&settings, "notes")?,
            memory: section(&settings, "memory")?,
            governor: section(&settings, "governor")?,
            tools: section(&settings, "tools")?,
            agent: section(&settings, "agent")?,
            permissions: section(&settings, "permissions")?,
            storage: section(&settings, "storage")?,
            hooks: section(&settings, "hooks")?,
            telemetry: section(&settings, "telemetry")?,
            mcp: section(&settings, "mcp")?,
            proxy: section(&settings, "proxy")?,
            settings,
        })
    }

    /// A section as the type that its keys were declared by. What is not set is as the type has it by itself.
    pub fn section<T: DeserializeOwned>(&self, name: &str) -> Result<T, ConfigError> {
        section(&self.settings, name)
    }

    /// Any profile: a built-in one or one of the user's, by its name.
    pub fn profile_named(&self, name: &str) -> Result<Profile, ConfigError> {
        profiles::resolve(&self.settings, name)
    }

    /// What the pipeline is told about a model.
    pub fn pipeline_settings(&self, model: &str) -> pipeline::Settings {
        let usual = pipeline::Settings::for_model(model);
        let figure = |name: &str| {
            let setting = self.settings.get(&format!("model.{name}"))?;
            setting.value.as_integer().and_then(|figure| u64::try_from(figure).ok())
        };
        pipeline::Settings {
            window: self.window.tokens.or_else(|| figure("context_window")).unwrap_or(usual.window),
            max_output: self.window.max_output.or_else(|| figure("max_output")),
            cache_edits: self.window.cache_edits,
            ttl: self.window.cache_ttl,
            tools: self.tools.unless_said(OwnTools::default()),
            ..usual
        }
    }

    /// What is set, as a file that sets the same. Headers, variables and proxies, which may hold keys, are left out.
    pub fn to_toml(&self) -> String {
        let mut table = Table::new();
        for (path, setting) in &self.settings {
            if SCHEMA.find(path).is_some_and(|key| !key.is_secret) {
                tables::set(&mut table, path, setting.value.clone());
            }
        }
        table.to_string()
    }
}

fn section<T: DeserializeOwned>(settings: &Settings, name: &str) -> Result<T, ConfigError> {
    let prefix = format!("{name}.");
    let mut table = Table::new();
    let mut origin = Origin::Default;
    let mut off = Vec::new();
    for (path, setting) in settings.range(prefix.clone()..) {
        let Some(below) = path.strip_prefix(&prefix) else { break };
        match SCHEMA.find(path).filter(|key| key.is_off(&setting.value)) {
            Some(key) if key.default.is_some() => off.push(below),
            Some(_) => {}
            None => tables::set(&mut table, below, setting.value.clone()),
        }
        origin = setting.origin.clone();
    }
    let failed = |error: serde_json::Error| ConfigError::Invalid {
        origin: origin.clone(),
        key: name.to_owned(),
        message: format!("can't be used as a whole: {error}"),
    };
    // By way of JSON, which can say that a built-in value is taken away.
    let mut json = serde_json::to_value(table).map_err(failed)?;
    for below in off {
        let place = below.split('.').try_fold(&mut json, |json, name| {
            json.as_object_mut().map(|fields| fields.entry(name).or_insert_with(|| serde_json::json!({})))
        });
        if let Some(place) = place {
            *place = serde_json::Value::Null;
        }
    }
    T::deserialize(json).map_err(failed)
}

impl PartialEq for Config {
    fn eq(&self, other: &Self) -> bool {
        let pairs = |config: &'_ Self| -> Vec<(String, toml::Value)> {
            config.settings.values().map(|setting| (setting.key.clone(), setting.value.clone())).collect()
        };
        pairs(self) == pairs(other)
    }
}

/// Keys, and values that may be shown.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.settings.iter().filter_map(|(path, setting)| {
            let key = SCHEMA.find(path)?;
            Some((path, key.shown(&setting.value)))
        });
        f.write_str("Config ")?;
        f.debug_map().entries(shown).finish()
    }
}
