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
        let cwd =
            meta.and_then(|meta| meta.cwd.as_deref()).or(cwd).filter(|cwd| Path::new(cwd).is_absolute());
        let project = cwd.map(|cwd| {
            let look = || Project::look(self.home, Path::new(cwd));
            &*self.folders.entry(cwd.to_owned()).or_insert_with(look)
        });
        match (remote, project) {
            (Some(remote), Some(project)) if !project.is_apart() => ProjectKey::new(remote.as_str()),
            (Some(remote), None) => ProjectKey::new(remote.as_str()),
            (Some(_) | None, Some(project)) => ProjectKey::of(project, self.id),
            (None, None) => ProjectKey::nowhere(self.id),
        }
    }
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
