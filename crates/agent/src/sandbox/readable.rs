//! Paths that commands in the sandbox may read beside the workspace: system paths and toolchains, without credential files.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Folders of the system.
const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix",
    "/gnu",
    "/snap",
    "/proc",
    "/sys",
    "/dev",
    "/run/current-system",
    "/run/systemd/resolve",
    "/var/lib/dpkg",
    "/var/lib/rpm",
    "/home/linuxbrew",
];

/// Variables that name folders of toolchains. `PATH` counts too.
const BY_VARIABLE: &[&str] = &[
    "CARGO_HOME",
    "RUSTUP_HOME",
    "CARGO_TARGET_DIR",
    "GOPATH",
    "GOROOT",
    "GOCACHE",
    "GOMODCACHE",
    "NVM_DIR",
    "NODE_PATH",
    "PNPM_HOME",
    "VOLTA_HOME",
    "FNM_DIR",
    "BUN_INSTALL",
    "DENO_DIR",
    "DENO_INSTALL",
    "PYENV_ROOT",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "PIPX_HOME",
    "UV_CACHE_DIR",
    "JAVA_HOME",
    "MAVEN_HOME",
    "GRADLE_HOME",
    "GRADLE_USER_HOME",
    "SDKMAN_DIR",
    "ANDROID_HOME",
    "RBENV_ROOT",
    "GEM_HOME",
    "ASDF_DATA_DIR",
    "MISE_DATA_DIR",
    "DOTNET_ROOT",
    "HOMEBREW_PREFIX",
];

/// Toolchains and harmless settings in the user's home.
const IN_HOME: &[&str] = &[
    ".cargo",
    ".rustup",
    "go",
    ".cache/go-build",
    ".nvm",
    ".npm",
    ".local/share/pnpm",
    ".local/share/fnm",
    ".volta",
    ".bun",
    ".deno",
    ".pyenv",
    ".local/bin",
    ".local/lib",
    ".local/pipx",
    ".local/share/pipx",
    ".local/share/uv",
    ".cache/uv",
    ".cache/pip",
    "miniconda3",
    "miniforge3",
    "anaconda3",
    ".sdkman",
    ".m2",
    ".gradle",
    ".rbenv",
    ".gem",
    ".asdf",
    ".local/share/mise",
    ".dotnet",
    ".nix-profile",
    ".gitconfig",
    ".config/git",
];

/// Credential files and folders in the user's home.
const CREDENTIALS: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".config/gcloud",
    ".config/gh",
    ".kube",
    ".docker",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".git-credentials",
    ".config/git/credentials",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".gradle/gradle.properties",
    ".gem/credentials",
];

/// Credential files below a folder that a variable names, and of the system.
const BY_VARIABLE_CREDENTIALS: &[(&str, &str)] = &[
    ("CARGO_HOME", "credentials"),
    ("CARGO_HOME", "credentials.toml"),
    ("GRADLE_USER_HOME", "gradle.properties"),
];
const SYSTEM_CREDENTIALS: &[&str] = &["/etc/shadow", "/etc/gshadow", "/etc/ssl/private", "/etc/sudoers"];

/// Paths that commands may read beside the workspace.
pub fn readable_paths(home: Option<&Path>, variables: &BTreeMap<OsString, OsString>) -> Vec<PathBuf> {
    let variable = |name: &str| variables.get(OsStr::new(name));
    let named = BY_VARIABLE.iter().chain(&["PATH"]).filter_map(|name| variable(name));
    let named = named.flat_map(std::env::split_paths);
    // A variable that names the whole home folder, or a folder above it, does not open it.
    let is_narrow = |path: &PathBuf| path.is_absolute() && !home.is_some_and(|home| home.starts_with(path));
    let of_home = home.into_iter().flat_map(|home| IN_HOME.iter().map(|name| home.join(name)));
    SYSTEM.iter().map(PathBuf::from).chain(named.filter(is_narrow)).chain(of_home).collect()
}

/// Credential files and folders, which no command may read.
pub fn credential_paths(home: Option<&Path>, variables: &BTreeMap<OsString, OsString>) -> Vec<PathBuf> {
    let of_home = home.into_iter().flat_map(|home| CREDENTIALS.iter().map(|name| home.join(name)));
    let named = BY_VARIABLE_CREDENTIALS.iter().filter_map(|(name, file)| {
        variables.get(OsStr::new(name)).map(|folder| Path::new(folder).join(file))
    });
    of_home.chain(named).chain(SYSTEM_CREDENTIALS.iter().map(PathBuf::from)).collect()
}

/// The git folders of a worktree, which lie outside of it. Only if the repository knows this worktree: everything that the workspace
/// holds may be forged, so its git folder must lie in `worktrees/` of the repository that it names.
pub(super) fn git_folders(workspace: &Path) -> Vec<PathBuf> {
    let folders = || -> Option<Vec<PathBuf>> {
        let link = workspace.join(".git");
        let own =
            workspace.join(read_pointer(&link)?.trim().strip_prefix("gitdir: ")?).canonicalize().ok()?;
        let back = read_pointer(&own.join("gitdir"))?;
        let is_known = Path::new(back.trim()).canonicalize().ok()? == link.canonicalize().ok()?;
        let common = own.join(read_pointer(&own.join("commondir"))?.trim()).canonicalize().ok()?;
        let is_inside = own.parent() == Some(common.join("worktrees").as_path());
        let is_repository = common.join("HEAD").is_file() && common.join("objects").is_dir();
        (is_known && is_inside && is_repository).then(|| vec![own, common])
    };
    folders().unwrap_or_default()
}

/// Reads a file that holds one path. Anything but a small regular file is refused: reading a pipe would wait forever.
fn read_pointer(path: &Path) -> Option<String> {
    const LONGEST: u64 = 16 << 10;
    std::fs::symlink_metadata(path).ok().filter(|meta| meta.is_file() && meta.len() <= LONGEST)?;
    std::fs::read_to_string(path).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A repository, and a workspace whose `.git` file names `own` as its git folder.
    fn linked(root: &Path, own: &Path) -> (PathBuf, PathBuf) {
        let (common, workspace) = (root.join("repo/.git"), root.join("workspace"));
        for folder in [&common.join("objects"), &workspace, own] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(common.join("HEAD"), "ref: refs/heads/main").unwrap();
        fs::write(workspace.join(".git"), format!("gitdir: {}", own.display())).unwrap();
        fs::write(own.join("gitdir"), workspace.join(".git").display().to_string()).unwrap();
        fs::write(own.join("commondir"), common.display().to_string()).unwrap();
        (common, workspace)
    }

    #[test]
    fn a_worktree_reads_its_own_repository() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let own = root.join("repo/.git/worktrees/w");
        let (common, workspace) = linked(&root, &own);
        assert_eq!(git_folders(&workspace), [own, common]);
    }

    #[test]
    fn a_workspace_cannot_name_another_repository_as_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (_, workspace) = linked(&root, &root.join("workspace/forged"));
        assert!(git_folders(&workspace).is_empty());
    }
}
