//! Where the paths of commands really lead. The one place where permissions look at the disk.

use super::glob::can_meet;
use super::named::Named;
use crate::workspace::Workspace;
use std::path::{Component, Path, PathBuf};

/// The most files that a pattern is followed to.
const MOST: usize = 2000;

/// Where a path leads, links followed; several places for a pattern. `None`: that can't be said.
pub(super) fn follow(workspace: &Workspace, named: &Named) -> Option<Vec<PathBuf>> {
    let path = named.path.as_deref()?;
    let mut candidates = if named.is_glob { expand(path)? } else { Vec::new() };
    // A pattern that means nothing stands for itself, a name that no file has.
    if candidates.is_empty() {
        let is_plain =
            |part: &Component<'_>| !named.is_glob || !is_pattern(&part.as_os_str().to_string_lossy());
        candidates.push(path.components().take_while(is_plain).collect());
    }
    candidates.iter().map(|path| workspace.resolve(path.to_str()?).ok()).collect()
}

fn is_pattern(name: &str) -> bool {
    name.contains(['*', '?', '['])
}

/// The files that a pattern may mean.
fn expand(pattern: &Path) -> Option<Vec<PathBuf>> {
    let mut found = vec![PathBuf::new()];
    for part in pattern.components() {
        let Component::Normal(name) = part else {
            found.iter_mut().for_each(|path| path.push(part));
            continue;
        };
        let name = name.to_str()?;
        if !is_pattern(name) {
            found.iter_mut().for_each(|path| path.push(name));
            continue;
        }
        let mut next = Vec::new();
        for folder in &found {
            let Ok(entries) = std::fs::read_dir(folder) else { continue };
            for entry in entries {
                let entry = entry.ok()?;
                if can_meet(name, &entry.file_name().to_string_lossy()) {
                    next.push(entry.path());
                }
                if next.len() > MOST {
                    return None;
                }
            }
        }
        found = next;
    }
    Some(found)
}
