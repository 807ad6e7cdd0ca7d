//! Whose memories a session has.

use super::MemoryOptions;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use throughline_engine::remember::{Memory, Remembering};
use throughline_ledger::Home;
use throughline_memory::handbook::read::Reading;
use throughline_memory::handbook::{HomeId, ProjectKey};
use throughline_memory::recall::Recall;
use throughline_memory::{Memories, Project};

/// The memories of a folder, shared by all sessions that run in it.
pub(super) struct Place {
    pub(super) memories: Memories,
    remembering: Option<Remembering>,
    recall: Arc<Recall>,
    pub(super) reading: Option<Reading>,
    pub(super) project: Option<ProjectKey>,
    /// The folder; `None`: nobody said which, and only what holds everywhere is told.
    pub(super) folder: Option<PathBuf>,
    /// What could not be had, for people.
    pub(super) problems: Vec<String>,
}

impl Place {
    /// The memories of a folder on this machine. Files are read, and what was found of the project is written down.
    pub(super) fn find(home: &Home, options: &MemoryOptions, folder: Option<PathBuf>) -> Self {
        let settings = &options.settings;
        let places = settings.places();
        let mut problems = Vec::new();
        let project = folder.as_deref().map(|folder| Project::find(home, folder));
        let memories = match &project {
            Some(project) => Memories::open(home, project, &places),
            None => Memories::of_no_project(home, &places),
        };
        let mut remembering = Remembering::of(settings, memories.clone(), options.zone.clone());
        if let Some(remembering) = &mut remembering {
            match &project {
                Some(project) => {
                    let root = project.worktree.as_ref().map_or(&project.root, |worktree| &worktree.folder);
                    remembering.root = Some(root.clone());
                }
                // What is said where nobody knows belongs to no project.
                None => remembering.extract = None,
            }
        }
        let key =
            project.as_ref().filter(|_| settings.enabled && settings.handbook.enabled).and_then(|project| {
                HomeId::of(home)
                    .map(|id| ProjectKey::of(project, &id))
                    .map_err(|error| problems.push(format!("there is no handbook: {error}")))
                    .ok()
            });
        let reading = key.as_ref().filter(|_| settings.handbook.is_used);
        let reading = reading.map(|key| Reading::new(home, key, &settings.handbook.limits));
        problems.extend(project.into_iter().flat_map(|project| project.notices));
        let recall = Arc::new(Recall::new(memories.clone()));
        Self { memories, remembering, recall, reading, project: key, folder, problems }
    }

    /// The memory of a session that runs here; `None` if nothing is remembered.
    pub(super) fn memory(&self) -> Option<Memory> {
        Some(Memory::sharing(self.remembering.clone()?, self.recall.clone()))
    }
}

/// The folder that a client says it runs in, if it is one of this machine.
pub(super) fn folder_of(cwd: Option<&str>) -> Option<PathBuf> {
    let path = Path::new(cwd?);
    if !path.is_absolute() {
        return None;
    }
    path.canonicalize().ok().filter(|folder| folder.is_dir())
}
