//! What was probably meant by a path that leads to nothing.

use crate::workspace::Workspace;
use std::path::{Path, PathBuf};

/// Names of a folder that are looked at.
const NAMES: usize = 2000;
const SUGGESTIONS: usize = 3;

/// Tells the model that a file is missing, and which it may have meant.
pub(super) fn message(workspace: &Workspace, asked: &str, path: &Path) -> String {
    let shown = workspace.shown(path);
    let found = suggestions(workspace, asked, path);
    if !found.is_empty() {
        let names: Vec<_> = found.iter().map(|path| workspace.shown(path)).collect();
        return format!("{shown} does not exist. Did you mean {}?", names.join(" or "));
    }
    let missing_folder = path.parent().filter(|folder| workspace.contains(folder) && !folder.is_dir());
    match missing_folder {
        Some(folder) => format!(
            "{shown} does not exist, nor does the folder {}. Use Glob to find the file",
            workspace.shown(folder)
        ),
        None => format!("{shown} does not exist. Use Glob to find the file"),
    }
}

fn suggestions(workspace: &Workspace, asked: &str, path: &Path) -> Vec<PathBuf> {
    let in_workspace = tails(workspace, asked);
    if !in_workspace.is_empty() {
        return in_workspace;
    }
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return Vec::new();
    };
    // What lies outside is none of the model's business, names included.
    if !workspace.contains(folder) {
        return Vec::new();
    }
    let names: Vec<String> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .take(NAMES)
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    let lower = name.to_lowercase();
    let same_stem = |other: &str| Path::new(other).file_stem() == Path::new(name).file_stem();
    let mut best: Vec<&str> = names
        .iter()
        .map(String::as_str)
        .filter(|other| other.to_lowercase() == lower || same_stem(other))
        .collect();
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    for close in similar::get_close_matches(name, &all, SUGGESTIONS, 0.6) {
        if !best.contains(&close) {
            best.push(close);
        }
    }
    best.into_iter().take(SUGGESTIONS).map(|name| folder.join(name)).collect()
}

/// The end of the path, below the working folder: models like to put a root in front.
fn tails(workspace: &Workspace, asked: &str) -> Vec<PathBuf> {
    let parts: Vec<&str> = asked.split('/').filter(|part| !part.is_empty()).collect();
    (1..parts.len())
        .filter_map(|from| workspace.resolve(&parts[from..].join("/")).ok())
        .find(|path| workspace.contains(path) && path.is_file())
        .into_iter()
        .collect()
}
