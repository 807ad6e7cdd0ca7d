//! Whose handbook.

use crate::project::Project;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use throughline_ledger::{Home, LedgerError, write_private};

/// A home folder, among those that share a store: only who has it can read its ledgers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HomeId(String);

const HANDBOOKS: &str = "handbooks";
const HOME_ID: &str = "handbooks/.home-id";

impl HomeId {
    /// As a store knows it.
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// The id of a home folder; made the first time.
    pub fn of(home: &Home) -> Result<Self, LedgerError> {
        let path = home.root().join(HOME_ID);
        let read = || {
            let text = std::fs::read_to_string(&path).ok()?;
            let id = text.trim();
            let is_id =
                (8..=64).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
            is_id.then(|| Self(id.to_owned()))
        };
        if let Some(id) = read() {
            return Ok(id);
        }
        let fresh = throughline_core::SessionId::fresh();
        write_private(home.root(), HOME_ID, fresh.as_str().as_bytes())?;
        // Two processes may have made one: the file says which it is.
        Ok(read().unwrap_or_else(|| Self(fresh.to_string())))
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A project, by a name that means the same to everybody who shares a store.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProjectKey(String);

impl ProjectKey {
    /// As a store knows it.
    pub fn new(key: impl Into<String>) -> Self {
        Self(key.into())
    }

    /// The key of a project: where it comes from, or, if it comes from nowhere or is kept apart, its folder in this home.
    pub fn of(project: &Project, home: &HomeId) -> Self {
        match project.shared_remote() {
            Some(remote) => Self(remote.to_string()),
            None => Self(format!("local/{}/{}", home.as_str(), project.slug)),
        }
    }

    /// The key of sessions that ran in a folder of another system, by its path alone: letters count alike in either case there.
    pub fn elsewhere(path: &str, home: &HomeId) -> Self {
        let path = path.replace('\\', "/").to_lowercase();
        let slug = crate::project::ProjectSlug::of(std::path::Path::new(path.trim_end_matches('/')));
        Self(format!("local/{}/{}", home.as_str(), slug.as_str()))
    }

    /// The key of sessions of which nobody knows where they ran.
    pub fn nowhere(home: &HomeId) -> Self {
        Self(format!("local/{}/nowhere", home.as_str()))
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// For people: without the home.
    pub fn shown(&self) -> &str {
        self.0.strip_prefix("local/").and_then(|rest| rest.split_once('/')).map_or(&self.0, |(_, slug)| slug)
    }
}

impl fmt::Display for ProjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whose handbook.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Holds in every project.
    Global,
    /// One project's.
    Project(ProjectKey),
}

impl Scope {
    /// The handbook's folder: `handbooks/<name>` in the home.
    pub fn folder(&self, home: &Home) -> PathBuf {
        let name = match self {
            Self::Global => "global".to_owned(),
            Self::Project(key) => {
                // The name is for people; the hash keeps projects apart that people would call the same.
                let hash = blake3::hash(key.as_str().as_bytes()).to_hex();
                format!("{}-{}", legible(key.shown()), &hash[..8])
            }
        };
        home.root().join(HANDBOOKS).join(name)
    }

    /// A text that means this one and no other, for stores: `global`, or `project:` and the key.
    pub fn to_text(&self) -> String {
        match self {
            Self::Global => "global".to_owned(),
            Self::Project(key) => format!("project:{key}"),
        }
    }

    /// Reads what [`to_text`](Self::to_text) writes.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "global" => Some(Self::Global),
            _ => text.strip_prefix("project:").map(|key| Self::Project(ProjectKey::new(key))),
        }
    }
}

/// A key as part of a file's name.
fn legible(key: &str) -> String {
    const MOST: usize = 80;
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let words: String = key.chars().map(plain).collect();
    let words: Vec<&str> = words.split('-').filter(|word| !word.is_empty()).collect();
    let name = words.join("-");
    // The end tells projects apart.
    let end = name.get(name.len().saturating_sub(MOST)..).unwrap_or(&name);
    if end.is_empty() { "project".to_owned() } else { end.trim_start_matches('-').to_owned() }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Global => f.write_str("global"),
            Self::Project(key) => f.write_str(key.shown()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_single_harmless_names_and_differ() {
        let home = Home::new("/h");
        let folder = |key: &str| Scope::Project(ProjectKey::new(key)).folder(&home);
        let name =
            |key: &str| folder(key).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap();
        assert!(name("github.com/me/app").starts_with("github-com-me-app-"));
        assert!(name("local/0192ab/home-me-app-12345678").starts_with("home-me-app-12345678-"));
        for odd in ["", "../..", "/", "a/../b", "日本", &"x/".repeat(300)] {
            let name = name(odd);
            assert!(name.len() < 100 && !name.starts_with(['.', '-']) && !name.contains('/'), "{name}");
        }
        assert_ne!(folder("github.com/me/app"), folder("github.com/me-app"));
        assert_eq!(Scope::Global.folder(&home), PathBuf::from("/h/handbooks/global"));
    }

    #[test]
    fn scopes_read_back() {
        for scope in [Scope::Global, Scope::Project(ProjectKey::new("github.com/me/app"))] {
            assert_eq!(Scope::parse(&scope.to_text()), Some(scope));
        }
        assert_eq!(Scope::parse("elsewhere"), None);
    }

    #[test]
    fn a_home_keeps_its_id() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path());
        let id = HomeId::of(&home).unwrap();
        assert_eq!(HomeId::of(&home).unwrap(), id);
    }
}
