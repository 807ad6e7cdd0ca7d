//! Configuration.

mod layers;
mod mcp;
mod memory;
mod mistakes;
mod permissions;
mod project;
mod properties;
mod proxy;
mod shown;

use std::collections::BTreeMap;
use std::path::PathBuf;
use tempfile::TempDir;
use throughline_engine::config::{Config, ConfigError, Loaded, PROJECT_FILE, Sources};

/// A user with a home, a project and variables.
struct Machine {
    dir: TempDir,
    variables: BTreeMap<String, String>,
    flags: Vec<(String, String)>,
}

impl Machine {
    fn new() -> Self {
        Self { dir: TempDir::new().unwrap(), variables: BTreeMap::new(), flags: Vec::new() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(self, name: &str, text: impl AsRef<[u8]>) -> Self {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    fn user(self, text: &str) -> Self {
        self.write("home/config.toml", text)
    }

    fn project(self, text: &str) -> Self {
        self.write(&format!("work/{PROJECT_FILE}"), text)
    }

    fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    fn flag(mut self, key: &str, value: &str) -> Self {
        self.flags.push((key.to_owned(), value.to_owned()));
        self
    }

    fn load(&self) -> Result<Loaded, ConfigError> {
        let environment = |name: &str| self.variables.get(name).cloned();
        let sources = Sources::new(&self.path("home"), &self.path("work"), &environment);
        Config::load(&Sources { flags: self.flags.clone(), ..sources })
    }

    fn config(&self) -> Config {
        self.load().unwrap().config
    }

    /// What is wrong, with paths relative to the machine.
    fn error(&self) -> String {
        let error = self.load().unwrap_err().to_string();
        error.replace(&format!("{}/", self.dir.path().display()), "")
    }
}
