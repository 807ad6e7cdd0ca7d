use anyhow::{Context as _, bail};
use jiff::Timestamp;
use std::path::{Path, PathBuf};
use throughline_ledger::Home;

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
