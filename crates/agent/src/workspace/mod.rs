//! Where an agent works, and what lies outside.
//!
//! A path that a model gives is first [resolved](Workspace::resolve): every link in it is followed, so that the answer says where
//! it really leads. Permissions are decided on that answer. Then it is opened by [`open_read`] or [`replace_file`], which follow
//! no link at all: whoever puts a link in the way in between gets an error, not a file.

mod open;
mod resolve;
mod write;

pub use open::{OpenError, Opened, modified, open_read, read_whole};
pub use resolve::PathError;
pub use write::{remove_empty_folder, remove_file, replace_file};

use crate::Access;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where an agent works: a folder, and others that the user added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    cwd: PathBuf,
    also: Vec<PathBuf>,
    home: Option<PathBuf>,
    permitted: Option<Vec<PathBuf>>,
    passed_over: PassedOver,
    saved: Option<SavedOutput>,
}

/// What the session saved for the model to read back: results that were put aside, output of commands. It lies outside the
/// workspace, may be read, and is given in pages that fit into the model's window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedOutput {
    /// Its folders, links resolved.
    pub folders: Vec<PathBuf>,
    /// Bytes of one page.
    pub page_bytes: usize,
}

/// Decides which files a search passes over.
type IsPassedOver = dyn Fn(&Path) -> bool + Send + Sync;

/// What searches pass over, though they may look into its folder. Two are equal if they are the same.
#[derive(Clone, Default)]
struct PassedOver(Option<Arc<IsPassedOver>>);

impl PartialEq for PassedOver {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        }
    }
}

impl Eq for PassedOver {}

impl std::fmt::Debug for PassedOver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "by a policy" } else { "nothing" })
    }
}

impl SavedOutput {
    /// With the folders of another.
    #[must_use]
    pub fn and(mut self, other: Option<&Self>) -> Self {
        self.folders.extend(other.into_iter().flat_map(|other| other.folders.iter().cloned()));
        self
    }
}

impl Workspace {
    /// A workspace. Its folders must exist; links are resolved.
    pub fn new(cwd: &Path, also: &[PathBuf]) -> io::Result<Self> {
        let also = also.iter().map(|folder| folder.canonicalize()).collect::<io::Result<_>>()?;
        Ok(Self {
            cwd: cwd.canonicalize()?,
            also,
            home: None,
            permitted: None,
            passed_over: PassedOver::default(),
            saved: None,
        })
    }

    /// With a home, which `~` stands for. Without one a path that begins with `~/` is refused.
    #[must_use]
    pub fn with_home(self, home: PathBuf) -> Self {
        Self { home: Some(home), ..self }
    }

    /// With what the session saved for the model to read back.
    #[must_use]
    pub fn with_saved(self, saved: SavedOutput) -> Self {
        Self { saved: Some(saved), ..self }
    }

    /// What the session saved for the model to read back, if anything can be.
    pub fn all_saved(&self) -> Option<&SavedOutput> {
        self.saved.as_ref()
    }

    /// Returns what a resolved path belongs to, if the session saved it for the model to read back.
    pub fn saved(&self, resolved: &Path) -> Option<&SavedOutput> {
        self.saved.as_ref().filter(|saved| saved.folders.iter().any(|folder| resolved.starts_with(folder)))
    }

    /// With files that a search passes over, though it may look into their folder: reading them by themselves would be asked or
    /// refused.
    #[must_use]
    pub fn passing_over(self, is_passed_over: impl Fn(&Path) -> bool + Send + Sync + 'static) -> Self {
        Self { passed_over: PassedOver(Some(Arc::new(is_passed_over))), ..self }
    }

    /// Whether a search passes a file over.
    pub fn passes_over(&self, path: &Path) -> bool {
        self.passed_over.0.as_ref().is_some_and(|decide| decide(path))
    }

    /// Adds a folder. It must exist; links are resolved. One that lies inside already changes nothing.
    pub fn add(&mut self, folder: &Path) -> io::Result<()> {
        let folder = folder.canonicalize()?;
        if !folder.is_dir() {
            return Err(io::Error::new(
                io::ErrorKind::NotADirectory,
                format!("{} is not a folder", folder.display()),
            ));
        }
        if !self.contains(&folder) {
            self.also.push(folder);
        }
        Ok(())
    }

    /// The same workspace for one call that was permitted: [`permitted`](Self::permitted) gives the paths that `access` names,
    /// and no others. That is how a call that was permitted for one file can't be led to another one in between.
    #[must_use]
    pub fn permitting(&self, access: &Access) -> Self {
        let paths = match access {
            Access::Read { paths } | Access::Write { paths } => paths.clone(),
            Access::Inner
            | Access::Command { .. }
            | Access::Network { .. }
            | Access::Mcp { .. }
            | Access::Memory
            | Access::Agent => Vec::new(),
        };
        Self { permitted: Some(paths), ..self.clone() }
    }

    /// Where commands run and relative paths begin.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Its folders: the working folder first.
    pub fn folders(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(self.cwd.as_path()).chain(self.also.iter().map(PathBuf::as_path))
    }

    /// Where a path leads: absolute, links and `..` resolved as far as it exists, the rest normalised. A link that leads to
    /// nothing gives the place that it names. Nothing is opened, and the place may lie outside.
    pub fn resolve(&self, path: &str) -> Result<PathBuf, PathError> {
        resolve::follow(&resolve::absolute(path, &self.cwd, self.home.as_deref())?)
    }

    /// Where a path leads now, if that is permitted: one of the paths of the call's [access](Self::permitting), or, in a
    /// workspace that is for no call in particular, any path inside. What tools use when they run.
    pub fn permitted(&self, path: &str) -> Result<PathBuf, PathError> {
        let resolved = self.resolve(path)?;
        let is_permitted = match &self.permitted {
            Some(paths) => paths.contains(&resolved),
            None => self.contains(&resolved),
        };
        if is_permitted { Ok(resolved) } else { Err(PathError::NotPermitted { path: resolved }) }
    }

    /// Whether a resolved path lies inside.
    pub fn contains(&self, resolved: &Path) -> bool {
        self.folders().any(|folder| resolved.starts_with(folder))
    }

    /// A path for people and models: relative to the working folder where it lies there. Always one line.
    pub fn shown(&self, path: &Path) -> String {
        let relative = path.strip_prefix(&self.cwd).unwrap_or(path);
        if relative.as_os_str().is_empty() {
            return ".".to_owned();
        }
        let mut shown = String::new();
        for c in relative.to_string_lossy().chars() {
            if c.is_control() {
                // Writing to a string does not fail.
                let _ = write!(shown, "{}", c.escape_default());
            } else {
                shown.push(c);
            }
        }
        shown
    }
}
