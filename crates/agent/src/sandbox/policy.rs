//! What a helper is told: one JSON value, made by the agent and carried out to the letter.

use super::readable::git_folders;
use super::{SandboxLevel, SandboxSettings};
use crate::protected::{RESERVED, find_protected};
use crate::workspace::Workspace;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What a helper does to itself before it becomes the command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Policy {
    /// Which of the helper's processes reads it.
    #[serde(default)]
    pub stage: Stage,
    /// Whether it begins a session of its own, without a terminal.
    pub session: bool,
    /// Where the command runs.
    pub cwd: PathBuf,
    /// The cage; none: no cage.
    pub cage: Option<CagePolicy>,
}

/// Which of the helper's processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Stage {
    /// The one that is started.
    #[default]
    Outer,
    /// The first one in the namespaces that the outer one made.
    Init,
}

/// The cage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CagePolicy {
    /// Who builds the walls that Landlock can't.
    pub walls: Walls,
    /// Whether Landlock must be there. Bubblewrap does without.
    pub landlock: bool,
    /// Folders and files that can be written.
    pub writable: Vec<PathBuf>,
    /// Folders and files that can be read beside those.
    pub readable: Vec<PathBuf>,
    /// Paths inside them that can't be read.
    pub unreadable: Vec<PathBuf>,
    /// What is mounted, in this order.
    pub mounts: Vec<Mount>,
    /// Whether the network is there.
    pub network: bool,
    /// Whether Unix sockets can be made.
    pub unix_sockets: bool,
    /// Processes beyond those that the machine runs.
    pub processes: u64,
}

/// Who builds the walls that Landlock can't.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Walls {
    /// The helper, in namespaces of its own.
    Namespaces,
    /// Bubblewrap did already.
    Bubblewrap,
    /// Nobody.
    Absent,
}

/// A place that gets a mount of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Mount {
    pub path: PathBuf,
    pub kind: MountKind,
}

/// What is mounted there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum MountKind {
    /// Itself. A mount can't be renamed or removed: so nobody moves a protected folder away by moving what it lies in.
    Anchor,
    /// Itself, read-only.
    ReadOnly,
    /// An empty folder.
    HiddenFolder,
    /// An empty file.
    HiddenFile,
}

/// Folders that a level may write.
pub(super) fn writable(
    level: SandboxLevel,
    workspace: &Workspace,
    tmp: &Path,
    settings: &SandboxSettings,
) -> Vec<PathBuf> {
    let mut paths = vec![tmp.to_owned()];
    match level {
        SandboxLevel::Workspace => {
            paths.extend(workspace.folders().map(Path::to_owned));
            paths.extend(settings.writable.iter().cloned());
        }
        SandboxLevel::ReadOnly | SandboxLevel::None => {}
    }
    // What is not there can't be opened for a rule; a link counts as what it leads to.
    paths.iter().filter_map(|path| path.canonicalize().ok()).collect()
}

/// Folders and files that can be read beside the writable ones.
pub(super) fn readable(workspace: &Workspace, tmp: &Path, settings: &SandboxSettings) -> Vec<PathBuf> {
    let Some(readable) = &settings.readable else { return vec![PathBuf::from("/")] };
    let mut paths = readable.clone();
    for folder in workspace.folders() {
        paths.push(folder.to_owned());
        paths.extend(git_folders(folder));
    }
    // What earlier commands of the session printed.
    paths.push(tmp.with_file_name(crate::tools::bash::OUTPUT));
    let mut paths: Vec<PathBuf> = paths.iter().filter_map(|path| path.canonicalize().ok()).collect();
    paths.sort();
    paths.dedup();
    paths
}

/// The protected names at the top of the workspace whose place an empty folder could hold.
pub(super) fn to_reserve(workspace: &Workspace) -> Vec<PathBuf> {
    let in_folder = |folder: &Path| RESERVED.iter().map(|name| folder.join(name)).collect::<Vec<_>>();
    workspace.folders().flat_map(in_folder).collect()
}

/// What must be mounted so that nothing protected is written and nothing hidden is read, outermost first.
pub(super) fn mounts(workspace: &Workspace, writable: &[PathBuf], hidden: &[PathBuf]) -> Vec<Mount> {
    let mut all: BTreeMap<PathBuf, MountKind> = BTreeMap::new();
    for folder in workspace.folders() {
        // Where nothing can be written there is nothing to protect.
        if !writable.iter().any(|root| root.starts_with(folder) || folder.starts_with(root)) {
            continue;
        }
        for path in find_protected(folder).into_iter().filter_map(|path| path.canonicalize().ok()) {
            if writable.iter().any(|root| path.starts_with(root)) {
                all.insert(path, MountKind::ReadOnly);
            }
        }
    }
    let hidden = hidden.iter().filter_map(|path| path.canonicalize().ok());
    // What the command works in can't be hidden from it.
    for path in hidden.filter(|path| !writable.iter().any(|root| root.starts_with(path))) {
        let kind = if path.is_dir() { MountKind::HiddenFolder } else { MountKind::HiddenFile };
        all.insert(path, kind);
    }
    let above: Vec<PathBuf> = all.keys().flat_map(|path| anchors(path, writable)).collect();
    for path in above {
        all.entry(path).or_insert(MountKind::Anchor);
    }
    // Paths are ordered by their parts: a folder comes before what lies in it.
    all.into_iter().map(|(path, kind)| Mount { path, kind }).collect()
}

/// The folders above a path that somebody who may write in `writable` could rename.
fn anchors(path: &Path, writable: &[PathBuf]) -> Vec<PathBuf> {
    let could = |above: &Path| writable.iter().any(|root| above != root && above.starts_with(root));
    path.ancestors().skip(1).filter(|above| could(above)).map(Path::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_between_a_writable_folder_and_a_protected_name_is_anchored() {
        let roots = [PathBuf::from("/w"), PathBuf::from("/w/a/b")];
        assert_eq!(
            anchors(Path::new("/w/a/b/.git/hooks"), &roots),
            [PathBuf::from("/w/a/b/.git"), PathBuf::from("/w/a/b"), PathBuf::from("/w/a"),]
        );
        assert_eq!(anchors(Path::new("/w/.claude"), &roots), Vec::<PathBuf>::new());
        assert_eq!(anchors(Path::new("/home/u/.ssh"), &roots), Vec::<PathBuf>::new());
    }

    #[test]
    fn mounts_come_outermost_first_and_only_where_something_can_be_written() {
        let dir = tempfile::tempdir().unwrap();
        for folder in [".git/hooks", ".claude", "secret"] {
            std::fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        std::fs::write(dir.path().join(".git/config"), "").unwrap();
        std::fs::write(dir.path().join(".git/HEAD"), "").unwrap();
        std::fs::create_dir(dir.path().join(".git/objects")).unwrap();
        let workspace = Workspace::new(dir.path(), &[]).unwrap();
        let root = workspace.cwd().to_owned();
        let mounted = mounts(&workspace, std::slice::from_ref(&root), &[root.join("secret")]);
        let names: Vec<_> = mounted
            .iter()
            .map(|mount| (mount.path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned(), mount.kind))
            .collect();
        assert_eq!(
            names,
            [
                (".claude".to_owned(), MountKind::ReadOnly),
                (".git".to_owned(), MountKind::Anchor),
                (".git/config".to_owned(), MountKind::ReadOnly),
                (".git/hooks".to_owned(), MountKind::ReadOnly),
                ("secret".to_owned(), MountKind::HiddenFolder),
            ]
        );
        assert_eq!(mounts(&workspace, &[], &[]), []);
        assert_eq!(mounts(&workspace, &[root.join("secret")], std::slice::from_ref(&root)), []);
    }
}
