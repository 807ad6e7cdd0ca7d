//! Protected paths: what runs by itself or configures agents, outside the sandbox. One list for permissions (writing is asked),
//! the sandbox (commands cannot write) and `docs/permissions.md`.

use std::path::{Path, PathBuf};

/// Folders that are protected wherever they are, with all that is in them.
pub const FOLDERS: &[&str] = &[
    ".throughline",
    ".agents",
    ".claude",
    ".codex",
    ".cursor",
    ".gemini",
    ".vscode",
    ".idea",
    ".devcontainer",
    ".husky",
];

/// Files that are protected wherever they are.
pub const FILES: &[&str] = &[
    ".mcp.json",
    ".envrc",
    "agents.md",
    "claude.md",
    "claude.local.md",
    "gemini.md",
    ".cursorrules",
    ".windsurfrules",
    "copilot-instructions.md",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".mkshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".logout",
    ".inputrc",
    "config.fish",
    ".gitconfig",
    ".gitmodules",
    ".ripgreprc",
    ".vimrc",
    ".exrc",
    ".nvimrc",
    ".tmux.conf",
    ".screenrc",
    ".xinitrc",
    ".xprofile",
    "authorized_keys",
    "crontab",
];

/// What git runs or obeys, in every git folder: `.git`, a nested one, one of a submodule or of a worktree. The rest of it stays
/// writable in the sandbox, or nobody could commit.
pub const IN_GIT: &[&str] = &["hooks", "config", "config.worktree", "commondir", "gitdir", "info"];

/// Names that are kept from being made at the top of a workspace: an empty folder holds the place while a command runs.
/// Git does not track empty folders.
pub(crate) const RESERVED: &[&str] = &[
    ".throughline",
    ".agents",
    ".claude",
    ".codex",
    ".cursor",
    ".gemini",
    ".vscode",
    ".idea",
    ".devcontainer",
    ".husky",
    ".mcp.json",
    ".envrc",
    "AGENTS.md",
    "CLAUDE.md",
    ".git/hooks",
    ".git/info",
    ".git/config.worktree",
];

/// Folders that hold what others made, too much to look through.
const PASSED_OVER: &[&str] = &["node_modules", "target", ".venv", "venv", "objects", "__pycache__"];
/// The most entries of folders that are looked at, and how deep.
const MOST_ENTRIES: usize = 20_000;
const DEEPEST: usize = 8;

/// Protected files and folders that are there, the highest first.
pub(crate) fn find_protected(workspace: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![(workspace.to_owned(), 0)];
    let mut seen = 0;
    let mut at = 0;
    while let Some((folder, depth)) = folders.get(at).cloned() {
        at += 1;
        let is_git = folder.file_name().is_some_and(|name| name == ".git")
            || (folder.join("HEAD").is_file() && folder.join("objects").is_dir())
            || folder.join("commondir").is_file();
        if is_git {
            found.extend(IN_GIT.iter().map(|name| folder.join(name)).filter(|path| path.exists()));
        }
        let Ok(entries) = folder.read_dir() else { continue };
        for entry in entries.flatten() {
            seen += 1;
            if seen > MOST_ENTRIES {
                return found;
            }
            let name = entry.file_name().to_string_lossy().to_ascii_lowercase();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let is_named = FOLDERS.contains(&name.as_str())
                || FILES.contains(&name.as_str())
                // The `.git` of a worktree or a submodule says where the repository is.
                || (name == ".git" && !is_folder);
            if is_named {
                found.push(entry.path());
            } else if is_folder && depth < DEEPEST && !PASSED_OVER.contains(&name.as_str()) {
                // Below a git folder only the git folders of submodules and worktrees count.
                let is_of_interest = !is_git || matches!(name.as_str(), "modules" | "worktrees");
                if is_of_interest {
                    folders.push((entry.path(), depth + 1));
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_protected_names_at_every_depth() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        };
        let protected = [
            ".envrc",
            "AGENTS.md",
            "web/.vscode/tasks.json",
            ".git/config",
            ".git/hooks/x",
            ".git/info/attributes",
            ".git/modules/lib/config",
            "nested/.git/config",
            "tree/.git",
        ];
        for path in protected {
            write(path);
        }
        for git in [".git", ".git/modules/lib", "nested/.git"] {
            write(&format!("{git}/HEAD"));
            write(&format!("{git}/objects/x"));
            write(&format!("{git}/index"));
        }
        write("src/main.rs");
        write("node_modules/a/.envrc");
        let found = find_protected(dir.path());
        for path in protected {
            let path = dir.path().join(path);
            assert!(found.iter().any(|found| path.starts_with(found)), "{}", path.display());
        }
        assert_eq!(found.len(), protected.len(), "{found:#?}");
    }

    #[test]
    fn every_protected_name_is_documented() {
        let page = include_str!("../../../docs/permissions.md").to_ascii_lowercase();
        let names = FOLDERS.iter().chain(FILES).chain(IN_GIT);
        let missing: Vec<_> = names.filter(|name| !page.contains(&format!("`{name}`"))).collect();
        assert_eq!(missing, Vec::<&&str>::new());
    }
}
