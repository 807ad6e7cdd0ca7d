//! Which repository a folder belongs to, by its `.git` alone. No program is run, nothing is written.
//!
//! What stands in a `.git` may be anybody's: an archive can hold one. So a folder is taken for a part of another only if that other
//! one says the same of it. Whatever is not in order makes the folder a project by itself.

use super::Remote;
use super::git_config::GitConfig;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// The most bytes of a file that names a path, and of a `config`.
const POINTER_BYTES: u64 = 8 << 10;
const CONFIG_BYTES: u64 = 1 << 20;

/// The files by which git knows that an operation was begun.
const OPERATIONS: [(&str, &str); 6] = [
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisect"),
];

/// Checked-out branch or commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Head {
    /// A branch, by its name.
    Branch(String),
    /// A commit, by its id.
    Commit(String),
}

/// A folder with what a repository says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkout {
    /// The folder that stands for the repository, the same for all of its worktrees, links resolved: the main worktree, the bare
    /// repository where there is none, the folder itself where there is no repository.
    pub root: PathBuf,
    /// The linked worktree that the folder is in; `None` in the main one.
    pub worktree: Option<PathBuf>,
    /// Where the repository comes from.
    pub remote: Option<Remote>,
    /// What is not in order, and what follows from that.
    pub warnings: Vec<String>,
    /// The folder that git keeps its own in, shared by all worktrees.
    pub(super) git: Option<PathBuf>,
    /// The same of this worktree alone: where its `HEAD` is.
    worktree_git: Option<PathBuf>,
}

impl Checkout {
    /// Of a folder that somebody works in.
    pub fn of(cwd: &Path) -> Self {
        let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
        for folder in cwd.ancestors() {
            let dot_git = folder.join(".git");
            let found = match fs::symlink_metadata(&dot_git) {
                Err(error) if is_absent(&error) => continue,
                Err(error) => Err(format!("cannot be looked at: {error}")),
                Ok(meta) if meta.is_dir() => main(folder, &dot_git),
                Ok(meta) if meta.is_file() => pointed(folder, &dot_git),
                Ok(meta) if meta.is_symlink() => Err("is a link, which is not followed".to_owned()),
                Ok(_) => Err("is neither a file nor a folder".to_owned()),
            };
            return found.unwrap_or_else(|why| {
                let shown = folder.display();
                Self {
                    warnings: vec![format!("{shown}/.git {why}; memories are kept for {shown} by itself")],
                    ..Self::alone(folder)
                }
            });
        }
        Self::alone(&cwd)
    }

    fn alone(folder: &Path) -> Self {
        Self {
            root: folder.to_owned(),
            worktree: None,
            remote: None,
            warnings: Vec::new(),
            git: None,
            worktree_git: None,
        }
    }

    /// With what the repository's `config` says.
    fn with_config(mut self, git: PathBuf) -> Self {
        match config(&git) {
            Ok(config) => self.remote = config.origin.as_deref().and_then(Remote::parse),
            Err(why) => {
                self.warnings.push(format!("{}/config {why}; its remote is not known", git.display()))
            }
        }
        self.worktree_git.get_or_insert_with(|| git.clone());
        self.git = Some(git);
        self
    }

    /// Checked-out branch or commit, by `HEAD`; `None` where that can't be read.
    pub fn head(&self) -> Option<Head> {
        let line = String::from_utf8(line(&self.worktree_git.as_ref()?.join("HEAD")).ok()??).ok()?;
        match line.strip_prefix("ref:").map(str::trim) {
            // The stand-in of repositories that keep their branches in a table.
            Some("refs/heads/.invalid") => None,
            Some(name) => Some(Head::Branch(name.strip_prefix("refs/heads/").unwrap_or(name).to_owned())),
            None => crate::history::is_id(&line).then_some(Head::Commit(line)),
        }
    }

    /// The operation of git that was begun here and not ended, such as a merge.
    pub fn operation(&self) -> Option<&'static str> {
        let git = self.worktree_git.as_ref()?;
        let begun = OPERATIONS.iter().find(|(file, _)| git.join(file).symlink_metadata().is_ok());
        begun.map(|(_, operation)| *operation)
    }
}

/// A folder with a `.git` folder: the main worktree.
fn main(folder: &Path, git: &Path) -> Result<Checkout, String> {
    is_repository(git)?;
    Ok(Checkout::alone(folder).with_config(git.to_owned()))
}

/// A folder with a `.git` file, which names another folder: a linked worktree, or a checkout whose repository is elsewhere, as a
/// submodule's is.
fn pointed(folder: &Path, dot_git: &Path) -> Result<Checkout, String> {
    let git = gitdir(folder, dot_git)?;
    is_repository(&git)?;
    let common = match pointer(&git.join("commondir")) {
        // By itself: what it points to is asked nothing but where it comes from.
        Ok(None) => return Ok(Checkout::alone(folder).with_config(git)),
        Ok(Some(path)) => git.join(path).canonicalize().map_err(|error| format!("leads nowhere: {error}"))?,
        Err(why) => return Err(format!("leads to {}, whose commondir {why}", git.display())),
    };
    // Anybody can write that a folder belongs to a repository. The repository has to say so too.
    let is_its_own = git.parent().is_some_and(|above| above == common.join("worktrees"));
    let back = pointer(&git.join("gitdir")).ok().flatten();
    let back = back.and_then(|path| git.join(path).canonicalize().ok());
    if !is_its_own || back.as_deref() != Some(dot_git) {
        let shown = common.display();
        return Err(format!(
            "names the repository {shown}, which does not name it; see `git worktree repair`"
        ));
    }
    let mut checkout = Checkout::alone(&root_of(&common));
    checkout.worktree = Some(folder.to_owned());
    checkout.worktree_git = Some(git);
    Ok(checkout.with_config(common))
}

/// The folder that stands for a repository: its main worktree if it has one that both sides agree on, else the repository itself.
fn root_of(common: &Path) -> PathBuf {
    let leads_here = |folder: &Path| gitdir(folder, &folder.join(".git")).is_ok_and(|git| git == common);
    if let Some(parent) = common.parent()
        && (common.file_name().is_some_and(|name| name == ".git") || leads_here(parent))
    {
        return parent.to_owned();
    }
    let worktree = config(common).ok().and_then(|config| config.worktree);
    let worktree = worktree.and_then(|path| common.join(path).canonicalize().ok());
    worktree.filter(|folder| leads_here(folder)).unwrap_or_else(|| common.to_owned())
}

/// The folder that a `.git` file names.
fn gitdir(folder: &Path, dot_git: &Path) -> Result<PathBuf, String> {
    let text = line(dot_git)?.ok_or("is not there")?;
    let path = text.strip_prefix(b"gitdir:").map(<[u8]>::trim_ascii_start).filter(|path| !path.is_empty());
    let path = path_of(path.ok_or("is a file that names no folder (`gitdir: …`)")?.to_vec());
    let git = folder.join(&path).canonicalize();
    git.map_err(|error| format!("names {}, which can't be found: {error}", path.display()))
}

fn is_repository(git: &Path) -> Result<(), String> {
    let has_head = git.is_dir() && fs::symlink_metadata(git.join("HEAD")).is_ok();
    if has_head { Ok(()) } else { Err("is no repository that can be read".to_owned()) }
}

fn config(git: &Path) -> Result<GitConfig, String> {
    let Some(bytes) = read(&git.join("config"), CONFIG_BYTES)? else { return Ok(GitConfig::default()) };
    let text = String::from_utf8_lossy(&bytes);
    GitConfig::parse(&text).ok_or_else(|| "is not in order".to_owned())
}

/// The one path that a file holds.
fn pointer(path: &Path) -> Result<Option<PathBuf>, String> {
    Ok(line(path)?.map(path_of))
}

/// The one line that a file holds.
fn line(path: &Path) -> Result<Option<Vec<u8>>, String> {
    let Some(mut bytes) = read(path, POINTER_BYTES)? else { return Ok(None) };
    while matches!(bytes.last(), Some(b'\n' | b'\r')) {
        bytes.pop();
    }
    let is_line = !bytes.is_empty() && !bytes.iter().any(|b| matches!(b, b'\0' | b'\n'));
    if is_line { Ok(Some(bytes)) } else { Err("names no path".to_owned()) }
}

#[cfg(unix)]
fn path_of(bytes: Vec<u8>) -> PathBuf {
    use std::os::unix::ffi::OsStringExt as _;
    std::ffi::OsString::from_vec(bytes).into()
}

#[cfg(not(unix))]
fn path_of(bytes: Vec<u8>) -> PathBuf {
    String::from_utf8_lossy(&bytes).into_owned().into()
}

/// A plain file of at most so many bytes; `None` if it is not there. Links are not followed, and pipes, which would be waited for,
/// not opened.
pub(super) fn read(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, String> {
    match fs::symlink_metadata(path) {
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(format!("cannot be looked at: {error}")),
        Ok(meta) if !meta.is_file() => return Err("is no plain file".to_owned()),
        Ok(_) => {}
    }
    let mut bytes = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(limit + 1).read_to_end(&mut bytes));
    read.map_err(|error| format!("cannot be read: {error}"))?;
    if bytes.len() as u64 > limit { Err(format!("is larger than {limit} bytes")) } else { Ok(Some(bytes)) }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
