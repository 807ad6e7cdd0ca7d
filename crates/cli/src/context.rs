use crate::output;
use anyhow::{Context as _, bail};
use jiff::Timestamp;
use std::path::{Path, PathBuf};
use throughline_core::profile::Profile;
use throughline_engine::config::{Config, Loaded, ScribeSettings, Sources};
use throughline_ledger::Home;
use throughline_model::{Model, process_environment};

/// What every command needs: the one place where the environment and the clock are read.
pub(crate) struct Context {
    pub(crate) home: Home,
    pub(crate) json: bool,
}

impl Context {
    pub(crate) fn new(home: Option<PathBuf>, json: bool) -> anyhow::Result<Self> {
        let root = match home {
            Some(root) if root.as_os_str().is_empty() => bail!("the home folder's name is empty"),
            Some(root) => root,
            None => user_home()
                .context("cannot tell your home folder: set HOME, or THROUGHLINE_HOME, or give --home")?
                .join(".throughline"),
        };
        let root = std::path::absolute(root).context("cannot tell the current folder")?;
        Ok(Self { home: Home::new(root), json })
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    /// The configuration for the current folder. What has no effect is told on standard error.
    pub(crate) fn config(&self) -> anyhow::Result<Loaded> {
        let cwd = std::env::current_dir().context("cannot tell the current folder")?;
        let loaded = Config::load(&Sources::new(self.home.root(), &cwd, &process_environment))?;
        for warning in &loaded.warnings {
            crate::errln!("{}: {warning}", output::yellow("config"));
        }
        Ok(loaded)
    }

    /// A profile: the one named, of the built-in ones or the configuration's, else the one in force.
    pub(crate) fn profile(&self, name: Option<&str>) -> anyhow::Result<Profile> {
        let config = self.config()?.config;
        let Some(name) = name else { return Ok(config.profile) };
        // Wrong usage, and told as such.
        config.profile_named(name).or_else(|error| output::wrong_usage(&error.to_string()))
    }

    /// The model that writes, by the configuration or the usual variables.
    pub(crate) fn scribe_model(&self) -> anyhow::Result<Box<dyn Model>> {
        let config = self.config()?.config;
        let settings = match &config.scribe {
            ScribeSettings::Own(settings) => settings,
            ScribeSettings::Offline | ScribeSettings::Model => &config.model,
        };
        settings.connect(&process_environment)?.context(
            "no model is set up: set ANTHROPIC_API_KEY and ANTHROPIC_MODEL (or OPENAI_…, OLLAMA_…), or [model] in \
             config.toml; `--scribe offline` needs none",
        )
    }

    /// The provider's model of that name.
    pub(crate) fn model_named(&self, name: &str) -> anyhow::Result<Box<dyn Model>> {
        let cwd = std::env::current_dir().context("cannot tell the current folder")?;
        let sources = Sources::new(self.home.root(), &cwd, &process_environment).flag("model.model", name);
        let connected = Config::load(&sources)?.config.model.connect(&process_environment)?;
        connected.with_context(|| {
            format!("no provider is set up for the model {name}: see [model] in config.toml")
        })
    }

    /// The tokens that the model can hold, where the configuration says so.
    pub(crate) fn window(&self) -> anyhow::Result<Option<u64>> {
        Ok(self.config()?.config.window.tokens)
    }

    /// Waits for what a model or a hook takes.
    pub(crate) fn block_on<T>(&self, future: impl Future<Output = T>) -> anyhow::Result<T> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        Ok(runtime.context("cannot start the runtime")?.block_on(future))
    }

    /// The program that edits text, as a command line: `VISUAL`, else `EDITOR`.
    pub(crate) fn editor(&self) -> Option<String> {
        ["VISUAL", "EDITOR"]
            .into_iter()
            .filter_map(|name| std::env::var(name).ok())
            .find(|command| !command.trim().is_empty())
    }

    /// A ledger, by session id, by a unique beginning of it, or by its path.
    pub(crate) fn ledger(&self, session: &str) -> anyhow::Result<PathBuf> {
        let path = Path::new(session);
        if session.ends_with(".jsonl") && path.is_file() {
            return Ok(path.to_owned());
        }
        Ok(self.home.find(session)?)
    }
}

pub(crate) fn user_home() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| !home.as_os_str().is_empty())
}
