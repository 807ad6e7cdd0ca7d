//! Paths that are asked about whatever else is permitted: what runs by itself, what configures agents, and secrets.

use super::glob::{can_meet, is_one_of};
use crate::protected::{FILES, FOLDERS};
use crate::workspace::Workspace;
use std::path::{Component, Path, PathBuf};

/// Folders that hold secrets. Reading and writing there is asked.
const SECRET_FOLDERS: &[&str] = &[".ssh", ".aws", ".gnupg", ".kube", ".azure", ".password-store"];
/// Makes a folder a repository. Writing it is asked.
const REPOSITORY: &[&str] = &["head"];
/// Files that hold secrets. Reading and writing them is asked.
const SECRET_FILES: &[&str] = &[
    ".env*",
    ".npmrc",
    ".pypirc",
    ".netrc",
    "_netrc",
    ".git-credentials",
    ".pgpass",
    ".my.cnf",
    ".htpasswd",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "credentials",
    "credentials.json",
    "credentials.toml",
    "service-account*.json",
    "service_account*.json",
];
/// What is named like a secret and made to be shown.
const SHOWN_FILES: &[&str] =
    &[".env.example", ".env.sample", ".env.template", ".env.dist", ".env.schema", ".env.defaults"];

/// Which paths are asked about, for one workspace.
#[derive(Clone, Debug)]
pub(super) struct Guard {
    folders: Vec<PathBuf>,
    own: PathBuf,
}

/// How a path is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// As names.
    Plain,
    /// As patterns of names.
    Pattern,
}

impl Guard {
    pub(super) fn new(workspace: &Workspace, own: PathBuf) -> Self {
        Self { folders: workspace.folders().map(Path::to_owned).collect(), own }
    }

    /// Whether a path is the agent's own: sessions, memory, settings and approvals.
    pub(super) fn is_own(&self, path: &Path) -> bool {
        path.starts_with(&self.own)
    }

    /// Whether the agent's own folder lies below.
    pub(super) fn is_above_own(&self, path: &Path) -> bool {
        self.own.starts_with(path)
    }

    /// Why writing a path is asked whatever else is permitted.
    pub(super) fn writing(&self, path: &Path, written: Written) -> Option<String> {
        let names = self.names(path);
        let folder =
            names.iter().find(|name| meets(name, written, FOLDERS) || meets(name, written, &[".git"]));
        let last = names.last();
        if let Some(folder) = folder {
            return Some(format!("`{folder}` holds what runs by itself or configures agents"));
        }
        if let Some(file) =
            last.filter(|name| meets(name, written, FILES) || meets(name, written, REPOSITORY))
        {
            return Some(format!("`{file}` is run or names what is run"));
        }
        self.reading(path, written)
    }

    /// Why reading a path is asked whatever else is permitted.
    pub(super) fn reading(&self, path: &Path, written: Written) -> Option<String> {
        let names = self.names(path);
        if let Some(folder) = names.iter().find(|name| meets(name, written, SECRET_FOLDERS)) {
            return Some(format!("`{folder}` holds secrets"));
        }
        let file = names.last()?;
        let is_secret =
            meets(file, written, SECRET_FILES) && !SHOWN_FILES.contains(&file.to_ascii_lowercase().as_str());
        is_secret.then(|| format!("`{file}` may hold secrets"))
    }

    /// The names that count: below the workspace where it lies there, for it was the user who chose that.
    fn names(&self, path: &Path) -> Vec<String> {
        let below = self.folders.iter().filter_map(|folder| path.strip_prefix(folder).ok());
        let below = below.min_by_key(|rest| rest.components().count()).unwrap_or(path);
        let names = below.components().filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
            Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => None,
        });
        names.collect()
    }
}

/// Whether a name, or a pattern of names, can be one of these.
fn meets(name: &str, written: Written, guarded: &[&str]) -> bool {
    guarded.iter().any(|guarded| match written {
        Written::Plain => is_one_of(name, guarded),
        Written::Pattern => can_meet(name, guarded),
    })
}
