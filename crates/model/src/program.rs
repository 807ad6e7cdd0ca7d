//! Lookup of programs by name, outside the workspace.
//!
//! Everything that is started outside the sandbox goes through [`ProgramSearch`]. A folder of the workspace may stand in `PATH`
//! (`./bin`, `node_modules/.bin`, a virtual environment); what lies there belongs to the repository and is not started by name.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The folders that are searched where `PATH` is not set.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Further folders of this process's sessions that commands in the sandbox may write.
static EXCLUDED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// The folders in which programs are searched: those of `PATH` that are absolute and outside the workspace.
#[derive(Clone, Debug)]
pub struct ProgramSearch {
    folders: Vec<PathBuf>,
    /// Folders of `PATH` that were left out.
    skipped: Vec<PathBuf>,
    workspaces: Vec<PathBuf>,
}

/// Input of a [`ProgramSearch`].
#[derive(Clone, Copy, Debug, Default)]
pub struct SearchSources<'a> {
    /// The value of `PATH`.
    pub path: Option<&'a OsStr>,
    /// Folders that somebody works in. The workspace of each is the outermost repository around it, else the folder itself.
    pub work: &'a [&'a Path],
    /// The user's home folder. A folder that contains it is not a workspace.
    pub home: Option<&'a Path>,
}

impl ProgramSearch {
    /// Sorts the folders of `PATH`.
    pub fn new(sources: SearchSources<'_>) -> Self {
        let home = sources.home.map(resolve);
        let workspaces: Vec<PathBuf> =
            sources.work.iter().filter_map(|folder| workspace(&resolve(folder), home.as_deref())).collect();
        let path = sources.path.unwrap_or(OsStr::new(DEFAULT_PATH));
        let (folders, skipped) = std::env::split_paths(path)
            .partition(|folder| folder.is_absolute() && !is_within(&resolve(folder), &workspaces));
        Self { folders, skipped, workspaces }
    }

    /// The search for a program that this process starts in `cwd` (unset: where this process runs), with its own `PATH` or another.
    pub fn from_process(cwd: Option<&Path>, path: Option<&OsStr>) -> Self {
        let own = std::env::var_os("PATH");
        let here = std::env::current_dir().ok();
        let excluded = EXCLUDED.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let excluded = excluded.iter().map(PathBuf::as_path);
        let work: Vec<&Path> = here.as_deref().into_iter().chain(cwd).chain(excluded).collect();
        let home = std::env::home_dir().filter(|home| home.is_absolute());
        Self::new(SearchSources { path: path.or(own.as_deref()), work: &work, home: home.as_deref() })
    }

    /// Leaves a folder and all below it out of every later search of this process, as its workspace is.
    pub fn exclude(folder: &Path) {
        EXCLUDED.lock().unwrap_or_else(PoisonError::into_inner).push(folder.to_owned());
    }

    /// The absolute path of a program. A name is searched; an absolute path is returned as it is; a relative path is an error,
    /// because it names a file of whatever folder the process runs in.
    pub fn find(&self, program: impl AsRef<OsStr>) -> io::Result<PathBuf> {
        let program = Path::new(program.as_ref());
        if program.is_absolute() {
            return Ok(program.to_owned());
        }
        let shown = program.display();
        if program.components().count() != 1 || program.file_name().is_none() {
            let message =
                format!("`{shown}` is a relative path; give an absolute path, or a name that is in PATH");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let mut outside = self.candidates(&self.folders, program).filter(|path| !self.is_in_workspace(path));
        if let Some(path) = outside.next() {
            return Ok(path);
        }
        let message = match self.find_in_workspace(program) {
            Some(path) => format!(
                "`{shown}` is only found in the workspace ({}), whose programs are not started by name; give its absolute path \
                 if you trust it",
                path.display()
            ),
            None => format!("`{shown}` is not found in PATH"),
        };
        Err(io::Error::new(io::ErrorKind::NotFound, message))
    }

    /// The program of that name that is left out because it belongs to the workspace.
    pub fn find_in_workspace(&self, program: impl AsRef<OsStr>) -> Option<PathBuf> {
        let program = Path::new(program.as_ref());
        // A link outside may lead back into the workspace.
        let linked = self.candidates(&self.folders, program).find(|path| self.is_in_workspace(path));
        self.candidates(&self.skipped, program).next().or(linked)
    }

    fn candidates<'a>(
        &self,
        folders: &'a [PathBuf],
        program: &'a Path,
    ) -> impl Iterator<Item = PathBuf> + use<'a> {
        folders.iter().map(move |folder| folder.join(program)).filter(|path| is_executable(path))
    }

    fn is_in_workspace(&self, path: &Path) -> bool {
        is_within(&resolve(path), &self.workspaces)
    }

    /// The value of `PATH` for the child: only the folders that are searched.
    pub fn path(&self) -> OsString {
        std::env::join_paths(&self.folders).unwrap_or_else(|_| DEFAULT_PATH.into())
    }
}

/// The outermost repository around a folder, else the folder itself; none if it contains the user's home.
fn workspace(folder: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let is_inside_home = |folder: &&Path| home.is_none_or(|home| !home.starts_with(folder));
    let candidates = folder.ancestors().take_while(is_inside_home);
    let repository = candidates.filter(|folder| folder.join(".git").symlink_metadata().is_ok()).last();
    repository.or(Some(folder).filter(is_inside_home)).map(Path::to_owned)
}

fn is_within(path: &Path, folders: &[PathBuf]) -> bool {
    folders.iter().any(|folder| path.starts_with(folder))
}

fn resolve(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file() || path.with_extension("exe").is_file()
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    /// A folder with a home, a system folder and a workspace with a nested repository; each has a `bin/tool`.
    struct World(tempfile::TempDir);

    impl World {
        fn new() -> Self {
            let world = Self(tempfile::tempdir().unwrap());
            for folder in ["home/.local", "system", "home/ws", "home/ws/nested", "home/plain"] {
                world.program(&format!("{folder}/bin/tool"));
            }
            for repository in ["home/ws/.git", "home/ws/nested/.git"] {
                std::fs::create_dir_all(world.at(repository)).unwrap();
            }
            world
        }

        fn at(&self, path: &str) -> PathBuf {
            self.0.path().canonicalize().unwrap().join(path)
        }

        fn program(&self, path: &str) {
            let path = self.at(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "#!/bin/sh\n").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }

        fn search(&self, cwd: &str, path: &[&str]) -> ProgramSearch {
            let folders = path.iter().map(|folder| match folder.strip_prefix("./") {
                Some(_) => PathBuf::from(folder),
                None => self.at(folder),
            });
            let path = std::env::join_paths(folders).unwrap();
            let (work, home) = (self.at(cwd), self.at("home"));
            let sources = SearchSources { path: Some(&path), work: &[&work], home: Some(&home) };
            ProgramSearch::new(sources)
        }
    }

    #[test]
    fn skips_folders_of_the_workspace() {
        let world = World::new();
        let path = ["./bin", "home/ws/nested/bin", "home/ws/bin", "home/.local/bin", "system/bin"];
        for (cwd, found) in [
            ("home/ws", "home/.local/bin/tool"),
            ("home/ws/nested", "home/.local/bin/tool"),
            ("home/plain", "home/ws/nested/bin/tool"),
            // The home folder is nobody's repository.
            ("home", "home/ws/nested/bin/tool"),
        ] {
            let search = world.search(cwd, &path);
            assert_eq!(search.find("tool").unwrap(), world.at(found), "{cwd}");
        }
        let filtered = world.search("home/ws", &path).path();
        assert_eq!(
            filtered,
            std::env::join_paths([world.at("home/.local/bin"), world.at("system/bin")]).unwrap()
        );
    }

    #[test]
    fn skips_links_that_lead_into_the_workspace() {
        let world = World::new();
        std::fs::create_dir(world.at("links")).unwrap();
        symlink(world.at("home/ws/bin/tool"), world.at("links/tool")).unwrap();
        symlink(world.at("home/ws/bin"), world.at("linked")).unwrap();
        let search = world.search("home/ws", &["linked", "links", "system/bin"]);
        assert_eq!(search.find("tool").unwrap(), world.at("system/bin/tool"));
        let error = world.search("home/ws", &["links"]).find("tool").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(error.to_string().contains("only found in the workspace"), "{error}");
    }

    #[test]
    fn names_what_is_missing_or_relative() {
        let world = World::new();
        let search = world.search("home/ws", &["home/ws/bin"]);
        assert!(search.find("tool").unwrap_err().to_string().contains("home/ws/bin/tool"));
        assert_eq!(search.find("absent").unwrap_err().to_string(), "`absent` is not found in PATH");
        for relative in ["./tool", "bin/tool", "..", ""] {
            assert_eq!(search.find(relative).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{relative}");
        }
        assert_eq!(search.find(world.at("home/ws/bin/tool")).unwrap(), world.at("home/ws/bin/tool"));
    }
}
