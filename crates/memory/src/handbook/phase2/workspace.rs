//! A handbook's folder, for those who work with it.

use super::error::Phase2Error;
use super::folder::Folder;
use crate::handbook::{HandbookLimits, Scope};
use std::collections::BTreeMap;
use std::path::Path;
use throughline_ledger::Home;

/// The folder of one handbook: its notes, its past. It need not be there yet.
#[derive(Clone, Debug)]
pub struct Workspace {
    pub(super) folder: Folder,
    pub(super) scope: Scope,
    pub(super) limits: HandbookLimits,
    pub(super) uses_git: bool,
}

impl Workspace {
    /// The handbook of a scope in a home.
    pub fn new(home: &Home, scope: &Scope, limits: &HandbookLimits) -> Self {
        Self {
            folder: Folder(scope.folder(home)),
            scope: scope.clone(),
            limits: limits.clone(),
            uses_git: true,
        }
    }

    /// Without git, as where it is not installed: of the past there is only what an undo of the newest editions takes.
    pub fn without_git(self) -> Self {
        Self { uses_git: false, ..self }
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder.0
    }

    /// Whose it is.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// A file of the handbook; `None` if it is not there. What is no file of one, and a link, is refused.
    pub(in crate::handbook) fn read(&self, path: &str) -> Result<Option<Vec<u8>>, Phase2Error> {
        if self.folder.is_there()? { self.folder.read(path) } else { Ok(None) }
    }

    /// All files of the handbook.
    pub(in crate::handbook) fn files(&self) -> Result<BTreeMap<String, Vec<u8>>, Phase2Error> {
        self.folder.files()
    }

    /// Makes the folder, if it is not there.
    pub(super) fn prepare(&self) -> Result<(), Phase2Error> {
        if !self.folder.is_there()? {
            drop(self.folder.hold()?);
        }
        self.seed_instructions()
    }
}
