//! What can be wrong with a configuration.

use super::origin::{Origin, Place};
use std::path::PathBuf;

/// Why a configuration can't be used. Values that may be secret are in none of these.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file is there and can't be read.
    #[error("cannot read {}: {source}; make it readable, or move it away", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file is no plain file, or not text.
    #[error("{} is {what}; it must be a text file", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// A file is too large.
    #[error("{} is larger than {limit} bytes, which no configuration is; shorten it, or move it away", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The most bytes.
        limit: u64,
    },
    /// A file is not TOML.
    #[error("{place}: {message}; {fix}")]
    Syntax {
        /// Where.
        place: Place,
        /// What is wrong.
        message: String,
        /// What to do.
        fix: &'static str,
    },
    /// A key that nobody knows.
    #[error("{origin}: there is no key `{key}`{}", hint(nearest))]
    Unknown {
        /// Where.
        origin: Origin,
        /// The key.
        key: String,
        /// The known key most like it.
        nearest: Option<String>,
    },
    /// A key with a value that it can't have, or that does not go with the others.
    #[error("{origin}: `{key}` {message}")]
    Invalid {
        /// Where.
        origin: Origin,
        /// The key.
        key: String,
        /// What is wrong, and what to do.
        message: String,
    },
}

fn hint(nearest: &Option<String>) -> String {
    match nearest {
        Some(key) => format!("; did you mean `{key}`?"),
        None => "; docs/config.md lists all keys".to_owned(),
    }
}

/// Something in a project's file that has no effect. The rest of the file has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Where.
    pub origin: Origin,
    /// The key.
    pub key: String,
    /// Why it is ignored.
    pub reason: &'static str,
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { origin, key, reason } = self;
        write!(f, "{origin}: `{key}` is ignored: {reason}; set it in your own configuration if you want it")
    }
}
