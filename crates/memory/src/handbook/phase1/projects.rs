//! Which project a recorded session belongs to.

use crate::handbook::{HomeId, ProjectKey};
use crate::{Project, Remote};
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;
use throughline_core::{Meta, Record};
use throughline_ledger::{Home, Listed, Reader};

/// Tells projects of sessions. Folders are looked at once each, however many sessions ran there; nothing is written.
///
/// The remote that the client recorded when the session ran comes first: what is in the folder today may be another repository. But a folder
/// that the user keeps apart stays apart. Failing that, the folder is asked ([`Project::look`]).
pub(crate) struct SessionProjects<'a> {
    home: &'a Home,
    id: &'a HomeId,
    folders: HashMap<String, Project>,
}

impl<'a> SessionProjects<'a> {
    pub(crate) fn new(home: &'a Home, id: &'a HomeId) -> Self {
        Self { home, id, folders: HashMap::new() }
    }

    /// The project of a session in a list; `None` if its ledger can't be opened any more.
    pub(crate) fn of(&mut self, listed: &Listed) -> Option<ProjectKey> {
        let meta = match Reader::open(self.home, &listed.path, 0).ok()?.next_record() {
            Ok(Some((_, Record::Meta(meta)))) => Some(meta),
            Ok(_) | Err(_) => None,
        };
        Some(self.key(meta.as_deref(), listed.card.cwd.as_deref()))
    }

    /// The project of a session by its first line, or by where its card says that it ran.
    pub(crate) fn key(&mut self, meta: Option<&Meta>, cwd: Option<&str>) -> ProjectKey {
        let remote = meta.and_then(recorded_remote);
        let cwd = meta.and_then(|meta| meta.cwd.as_deref()).or(cwd);
        let elsewhere = cwd.filter(|cwd| is_windows_path(cwd) && !Path::new(cwd).is_absolute());
        let cwd = cwd.filter(|cwd| Path::new(cwd).is_absolute());
        let project = cwd.map(|cwd| {
            let look = || Project::look(self.home, Path::new(cwd));
            &*self.folders.entry(cwd.to_owned()).or_insert_with(look)
        });
        match (remote, project) {
            (Some(remote), Some(project)) if !project.is_apart() => ProjectKey::new(remote.as_str()),
            (Some(remote), None) => ProjectKey::new(remote.as_str()),
            (Some(_) | None, Some(project)) => ProjectKey::of(project, self.id),
            (None, None) => match elsewhere {
                Some(cwd) => ProjectKey::elsewhere(cwd, self.id),
                None => ProjectKey::nowhere(self.id),
            },
        }
    }
}

/// Returns true for an absolute path of Windows: `C:\\x`, `C:/x` or `\\\\server\\x`.
fn is_windows_path(path: &str) -> bool {
    let bytes = path.as_bytes();
    let has_drive = bytes.first().is_some_and(u8::is_ascii_alphabetic)
        && bytes.get(1) == Some(&b':')
        && matches!(bytes.get(2), Some(b'\\' | b'/'));
    has_drive || path.starts_with("\\\\")
}

/// Where the repository came from when the session ran, as Codex records it.
fn recorded_remote(meta: &Meta) -> Option<Remote> {
    let url = meta.extra.get("git")?.get("repository_url")?;
    Remote::parse(url.as_str()?)
}

/// The branch that a session began on: Codex and Claude Code record it in different places.
pub(super) fn branch(extra: &serde_json::Map<String, Value>) -> Option<String> {
    let codex = extra.get("git").and_then(|git| git.get("branch"));
    codex.or_else(|| extra.get("git_branch")).and_then(Value::as_str).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_windows_are_told_from_others() {
        for path in ["C:\\Users\\ann\\app", "d:/work/app", "\\\\server\\share\\app"] {
            assert!(is_windows_path(path), "{path}");
        }
        for path in ["/home/ann", "app", "c:", "http://x/y", ""] {
            assert!(!is_windows_path(path), "{path}");
        }
    }

    #[test]
    fn projects_of_windows_are_told_apart() {
        let id = HomeId::new("home");
        let key = |path| ProjectKey::elsewhere(path, &id);
        assert_eq!(key("C:\\Work\\App"), key("c:/work/app/"));
        assert_ne!(key("C:\\Work\\App"), key("C:\\Work\\Other"));
        assert_ne!(key("C:\\Work\\App"), ProjectKey::nowhere(&id));
    }
}
