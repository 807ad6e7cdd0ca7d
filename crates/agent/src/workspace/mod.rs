//! Where an agent works, and what lies outside.

use std::io;
use std::path::{Path, PathBuf};

/// Where an agent works: a folder, and others that the user added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    cwd: PathBuf,
    also: Vec<PathBuf>,
}

impl Workspace {
    /// A workspace. Its folders must exist; links are resolved.
    pub fn new(cwd: &Path, also: &[PathBuf]) -> io::Result<Self> {
        let also = also.iter().map(|folder| folder.canonicalize()).collect::<io::Result<_>>()?;
        Ok(Self { cwd: cwd.canonicalize()?, also })
    }

    /// Where commands run and relative paths begin.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Its folders: the working folder first.
    pub fn folders(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(self.cwd.as_path()).chain(self.also.iter().map(PathBuf::as_path))
    }
}
