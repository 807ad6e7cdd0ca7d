//! What of a project the user's words name, and is there: paths, symbols, commits.

use crate::recall::holds;
use crate::topics::Anchor;
use std::path::{Component, Path};
use throughline_core::entity::{Kind, scan};

/// Anchors of one memory at most.
const MOST: usize = 5;

/// The anchors that a text names and that are under `root`.
pub fn anchors(text: &str, root: Option<&Path>) -> Vec<Anchor> {
    let Some(root) = root.and_then(|root| root.canonicalize().ok()) else { return Vec::new() };
    let (mut paths, mut names, mut commits) = (Vec::new(), Vec::new(), Vec::new());
    scan(text, |entity| match entity.kind {
        Kind::Path => paths.push(entity.text),
        Kind::Symbol => names.push(entity.text),
        Kind::Quoted => {
            let inner = entity.text.trim();
            if inner.contains('/') { paths.push(inner) } else { names.push(inner) }
        }
        Kind::Id => commits.push(entity.text),
        Kind::Error | Kind::Number | Kind::Flag => {}
    });
    let mut found: Vec<Anchor> = Vec::new();
    let mut add = |anchor: Anchor| {
        if found.len() < MOST && !found.contains(&anchor) {
            found.push(anchor);
        }
    };
    let paths: Vec<String> = paths.into_iter().filter_map(|path| inside(&root, path)).collect();
    for path in &paths {
        let own: Vec<Anchor> = names.iter().filter_map(|name| defined(&root, path, name)).collect();
        if own.is_empty() {
            add(Anchor::Path(path.clone()));
        }
        own.into_iter().for_each(&mut add);
    }
    // Shorter ones are as likely numbers.
    for id in commits.into_iter().filter(|id| id.len() >= 7) {
        let anchor = Anchor::Commit(id.to_owned());
        if holds(&root, &anchor) {
            add(anchor);
        }
    }
    found
}

/// A path from the root on, if it is there and leads nowhere else.
fn inside(root: &Path, path: &str) -> Option<String> {
    let path = path.trim_end_matches(['.', ',', ':', ';', '/']);
    let relative = Path::new(path).strip_prefix(root).unwrap_or(Path::new(path));
    let mut plain = Vec::new();
    for part in relative.components() {
        match part {
            Component::Normal(name) => plain.push(name.to_str()?),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    let relative = plain.join("/");
    let real = root.join(&relative).canonicalize().ok()?;
    (!relative.is_empty() && real.starts_with(root)).then_some(relative)
}

/// The symbol of a file that a name means, if it stands there.
fn defined(root: &Path, path: &str, name: &str) -> Option<Anchor> {
    let name = name.rsplit(['.', ':']).next()?.trim_end_matches("()");
    let is_name = name.len() >= 3 && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    let anchor = Anchor::Symbol { path: path.to_owned(), name: name.to_owned() };
    (is_name && holds(root, &anchor)).then_some(anchor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_there_is_an_anchor() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("project");
        std::fs::create_dir_all(root.join("src/gen")).unwrap();
        std::fs::write(root.join("src/json.rs"), "pub fn parse_json() {}\n").unwrap();
        std::fs::write(folder.path().join("secret.rs"), "x").unwrap();
        let found =
            |text: &str| anchors(text, Some(&root)).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(found("never edit src/gen/ by hand, nor src/none.rs"), ["path:src/gen"]);
        assert_eq!(found("parse_json in src/json.rs must not fail"), ["symbol:src/json.rs#parse_json"]);
        assert_eq!(found("不要改 src/json.rs 里的 other_name"), ["path:src/json.rs"]);
        assert!(found("see ../secret.rs and /etc/hosts").is_empty());
        assert!(found("see commit 4f2a9c1d").is_empty());
        std::fs::create_dir_all(root.join(".git/objects/4f")).unwrap();
        std::fs::write(root.join(".git/objects/4f/2a9c1d0e"), "x").unwrap();
        assert_eq!(found("see commit 4f2a9c1d"), ["commit:4f2a9c1d"]);
        assert!(found("see commit 4f2a9c1e").is_empty());
        assert!(anchors("src/json.rs", None).is_empty());
    }
}
